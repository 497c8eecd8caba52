package protocol_test

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// TestValue checks that a value does not change if NewValue converts it and Any converts it back,
// with and without encoding it as JSON in between.
func TestValue(t *testing.T) {
	for _, v := range []any{
		nil, int64(math.MinInt64), int64(1<<53 + 1), 0.1, math.Inf(-1), true, false, "", "a\x00b", "\xff", "<&>", strings.Repeat("é", 128),
		[]byte{}, []byte{0, 255}, time.Date(2024, 2, 29, 12, 34, 56, 789, time.UTC),
	} {
		data, err := json.Marshal(protocol.NewValue(v))
		if err != nil {
			t.Fatal(err)
		}
		var value protocol.Value
		if err := json.Unmarshal(data, &value); err != nil {
			t.Fatal(err)
		}
		got, err := value.Any()
		if err != nil || !cmp.Equal(got, v) {
			t.Errorf("%T %v became %T %v: %v", v, v, got, got, err)
		}
	}
	if v := protocol.NewValue(math.NaN()); v.Type != "float64" || v.Text != "NaN" {
		t.Errorf("%+v", v)
	}
}

func TestLongValue(t *testing.T) {
	long := strings.Repeat("é", 200)
	v, w := protocol.NewValue(long), protocol.NewValue(long[:398]+"e!")
	if v.Text != strings.Repeat("é", 128) || v.Length != 400 || v.SHA256 == w.SHA256 || v.Text != w.Text {
		t.Errorf("%+v, %+v", v, w)
	}
	if _, err := v.Any(); err == nil {
		t.Error("Any returned no error for a value that was cut")
	}
}

func TestCheckAnswers(t *testing.T) {
	for want, a := range map[string]protocol.Answers{
		"want a plan or statements":      {Executions: 1, Rows: 1},
		"want at least 1 execution":      {Statements: []protocol.Ask{{SQL: "SELECT 1"}}, Rows: 1},
		"statement 0 is empty":           {Statements: []protocol.Ask{{SQL: " ; -- nothing"}}, Executions: 1, Rows: 1},
		`followed by another, "SELECT 2`: {Statements: []protocol.Ask{{SQL: "SELECT 1; SELECT 2"}}, Executions: 1, Rows: 1},
		`type "int"`:                     {Statements: []protocol.Ask{{SQL: "SELECT ?", Arguments: []protocol.Value{{Type: "int"}}}}, Executions: 1, Rows: 1},
	} {
		if err := (&protocol.Job{Answers: &a}).Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
