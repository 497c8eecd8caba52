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

// TestRepeatedQuery checks how often the worker pauses if it executes a query of 30 rows several
// times, and how many executions the sample reports. If a slice has 10 rows, the first row of each
// execution belongs to no slice, so four executions have 116 rows in slices. If the request gives
// no size of a slice, the worker pauses after every second execution, unless only one execution is
// left.
func TestRepeatedQuery(t *testing.T) {
	for _, tc := range []struct {
		slice, executions int64
		pauses            int
	}{
		{slice: 10, executions: 4, pauses: 11},
		{executions: 3, pauses: 0},
		{executions: 7, pauses: 2},
		{executions: 8, pauses: 3},
	} {
		pauses, s := pausesOf(t, tc.slice, tc.executions)
		if pauses != tc.pauses || s.Executions != tc.executions || s.Rows != 30 {
			t.Errorf("%+v: %d pauses, %d executions, %d rows", tc, pauses, s.Executions, s.Rows)
		}
	}
}

// pausesOf runs a query of 30 rows. It returns how often the worker pauses within the phase, and the sample.
func pausesOf(t *testing.T, slice, executions int64) (pauses int, s *protocol.Sample) {
	t.Helper()
	f := newFake()
	f.answer = func(string, []any) ([]driver.Row, error) { return slices.Repeat([]driver.Row{{{Int: 1}}}, 30), nil }
	call := plan.Call{SQL: "SELECT 1", Columns: []driver.ColumnType{{Type: driver.Int}}, Rows: 30}
	req := trialOf(t, blog(1, plan.Phase{Name: "query", Query: &plan.Query{Call: call, Clients: 1, Repeat: 1}}), driver.Settings{"pool_size": "1"})
	req.Alternate, req.Slices, req.Repeats = true, map[string]int64{"query": slice}, map[string]int64{"query": executions}
	line, err := json.Marshal(req)
	if err != nil {
		t.Fatal(err)
	}
	got := serveLine(t, f, string(line)+strings.Repeat("\n"+`{"type":"proceed","protocol":2}`, 30))
	for _, a := range got {
		if a.Type == protocol.TypeWaiting && a.Phase == "query" {
			pauses++
		}
		if a.Sample != nil && a.Sample.Phase == "query" {
			s = a.Sample
		}
	}
	if last := got[len(got)-1]; last.Type != protocol.TypeDone || s == nil {
		t.Fatalf("%+v", last.Reason)
	}
	return pauses, s
}
