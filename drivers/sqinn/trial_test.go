package sqinn_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sqlite3perf/sqlite3perf/drivers/sqinn"
	"github.com/sqlite3perf/sqlite3perf/worker"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/plan"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// trial runs a trial in this process and returns the worker's answers.
func trial(t *testing.T, p *plan.Plan, s driver.Settings) []protocol.Response {
	t.Helper()
	answers, err := worker.Exchange(t.Context(), sqinn.New(), protocol.Request{
		Type: protocol.TypeTrial, Protocol: protocol.Version, Seed: 3,
		Path: filepath.Join(t.TempDir(), "test.db"), Settings: s, Plan: p,
	})
	if err != nil {
		t.Fatal(err)
	}
	return answers
}

// samples returns the samples of a trial. The trial must have run to its end.
func samples(t *testing.T, answers []protocol.Response) (list []protocol.Response) {
	t.Helper()
	for _, a := range answers {
		switch a.Type {
		case protocol.TypeFailed:
			t.Fatalf("%+v", a.Reason)
		case protocol.TypeSample:
			list = append(list, a)
		}
	}
	if answers[len(answers)-1].Type != protocol.TypeDone || len(list) == 0 {
		t.Fatalf("%d samples, the last answer is %s", len(list), answers[len(answers)-1].Type)
	}
	return list
}

// TestTrials checks that the queries of the built-in workloads return the generated values. For
// each connection, the worker must report that the requested settings are in force.
func TestTrials(t *testing.T) {
	for _, name := range []string{"simple", "real", "complex", "concurrent"} {
		data, err := os.ReadFile("../../worker/plan/testdata/" + name + ".json")
		if err != nil {
			t.Fatal(err)
		}
		var of struct{ Plan *plan.Plan }
		if err := json.Unmarshal(data, &of); err != nil {
			t.Fatal(err)
		}
		s := driver.Settings{"pool_size": "2", "journal_mode": "wal", "synchronous": "normal", "busy_timeout": "5000", "txlock": "immediate", "cache": "private"}
		answers := trial(t, of.Plan, s)
		gen, err := plan.NewGenerator(3, of.Plan)
		if err != nil {
			t.Fatal(err)
		}
		verified := 0
		for _, a := range samples(t, answers) {
			for _, p := range of.Plan.Phases {
				if p.Name != a.Sample.Phase || p.Query == nil || p.Query.Returns == nil {
					continue
				}
				sum, _, err := gen.Expected(p.Query.Returns, func(int64, int64) {})
				if err != nil || a.Sample.Checksum != sum {
					t.Errorf("%s, %s: checksum %s, want %s (%v)", name, p.Name, a.Sample.Checksum, sum, err)
				}
				verified++
			}
		}
		proof := answers[0].Proof
		if verified == 0 || proof == nil || len(proof.Connections) != 2 {
			t.Fatalf("%s: %d checksums, proof %+v", name, verified, proof)
		}
		for _, got := range proof.Connections {
			if bad := driver.Check(s, got); len(bad) > 0 {
				t.Errorf("%s: %v", name, bad)
			}
		}
		if proof.SQLiteVersion == "" || proof.ModuleVersion == "" && len(proof.CompileOptions) == 0 {
			t.Errorf("%s: %+v", name, proof)
		}
	}
}

// TestRequests checks that all rows of a batch are sent in one request, no matter how many rows a
// statement has. If the statement's AdHoc is set, executions must be sent one by one.
func TestRequests(t *testing.T) {
	for _, c := range []struct {
		adHoc  bool
		groups int
		want   string
	}{
		{false, 1, "6 times, 2 parameters\n"},
		{false, 3, "2 times, 6 parameters\n"},
		{true, 3, strings.Repeat("1 times, 6 parameters\n", 2)},
	} {
		file := filepath.Join(t.TempDir(), "trace")
		t.Setenv("SQINN_PATH", standIn)
		t.Setenv("SQINN_TRACE", file)
		db, err := open(t, nil)
		if err != nil {
			t.Fatal(err)
		}
		b := &driver.Batch{PerExec: c.groups, Columns: []driver.Column{
			{Type: driver.Int, Ints: []int64{1, 2, 3, 4, 5, 6}},
			{Type: driver.Real, Reals: make([]float64, 6), Nulls: []bool{false, true, false, true, false, true}},
		}}
		st := driver.Statement{SQL: "INSERT INTO t VALUES (?, ?)" + strings.Repeat(", (?, ?)", c.groups-1), AdHoc: c.adHoc}
		for range c.groups {
			st.Params = append(st.Params, driver.Int, driver.Real)
		}
		if err := db.Script(t.Context(), "CREATE TABLE t (a, b)"); err != nil {
			t.Fatal(err)
		}
		s, err := db.Prepare(t.Context(), st)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(s.Exec(t.Context(), b, 0, 6), s.Close()); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(file); err != nil || string(got) != c.want {
			t.Errorf("%+v: got %q (%v)", c, got, err)
		}
	}
}

func TestWrap(t *testing.T) {
	for message, code := range map[string]int{
		"sqinn: sqlite3_step: err=19, msg=UNIQUE constraint failed: t.id":    19,
		"sqinn: conn_bind_text: err=25, msg=column index out of range":       25,
		"sqinn: sqlite3_step: err=5, msg=database is locked, err=6, msg=not": 5,
		"sqinn: cannot open, db is already open":                             0,
		"cannot read resp size: EOF":                                         0,
	} {
		err := sqinn.Wrap(errors.New(message))
		var e *driver.Error
		got := 0
		if errors.As(err, &e) {
			got = e.Code
		}
		if got != code || err.Error() != message {
			t.Errorf("%s: code %d (%v), want %d", message, got, err, code)
		}
	}
}
