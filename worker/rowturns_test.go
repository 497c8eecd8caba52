package worker_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/plan"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// TestRowSlices checks how often four executions of a query of 30 rows pause, in slices of 10 rows.
// Their first slices have 7, 3, 9 and 5 rows after the first row, so each pauses three times. There is a
// pause before each execution except the first.
func TestRowSlices(t *testing.T) {
	f := newFake()
	f.answer = func(string, []any) ([]driver.Row, error) { return slices.Repeat([]driver.Row{{{Int: 1}}}, 30), nil }
	call := plan.Call{SQL: "SELECT 1", Columns: []driver.ColumnType{{Type: driver.Int}}, Rows: 30}
	req := trialOf(t, blog(1, plan.Phase{Name: "query", Query: &plan.Query{Call: call, Clients: 1, Repeat: 1}}), driver.Settings{"pool_size": "1"})
	req.Alternate, req.Slices, req.Repeats = true, map[string]int64{"query": 10}, map[string]int64{"query": 4}
	line, err := json.Marshal(req)
	if err != nil {
		t.Fatal(err)
	}
	got := serveLine(t, f, string(line)+strings.Repeat("\n"+`{"type":"proceed","protocol":2}`, 30))
	pauses := 0
	for _, a := range got {
		if a.Type == protocol.TypeWaiting && a.Phase == "query" {
			pauses++
		}
	}
	if last := got[len(got)-1]; last.Type != protocol.TypeDone || pauses != 4*3+3 {
		t.Errorf("%d pauses, want 15; %+v", pauses, last.Reason)
	}
}
