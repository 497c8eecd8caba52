package worker_test

import (
	"strings"
	"testing"

	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/plan"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// TestTypes checks that a trial fails if SQLite reports that a value in a result has a wrong type.
// If the request sets TypesKnown, the trial must not fail.
func TestTypes(t *testing.T) {
	for name, p := range map[string]plan.Phase{
		"query": selectUsers(1),
		"mix":   mixOf(plan.Mix{Clients: 1, Count: 100}),
	} {
		for _, known := range []bool{false, true} {
			f := newFake()
			f.answer = func(sql string, params []any) ([]driver.Row, error) {
				if name == "query" {
					return []driver.Row{{{Int: params[0].(int64)}}}, nil
				}
				return one(sql, params)
			}
			f.classes = driver.Row{{Text: "text"}}
			plan := blog(3, p)
			plan.Schema = "PHASES"
			req := trialOf(t, plan, driver.Settings{"pool_size": "2"})
			req.TypesKnown = known
			got := serve(t, f, req)
			last := got[len(got)-1]
			switch {
			case known && last.Type != protocol.TypeDone:
				t.Errorf("%s, known: %+v", name, last.Reason)
			case !known && (last.Type != protocol.TypeFailed || last.Reason.Code != "type" || !strings.Contains(last.Reason.Message, "column 1 is declared int and holds TEXT in row 1")):
				t.Errorf("%s: %+v", name, last.Reason)
			}
		}
	}
}

// TestTypeErrorHasRow checks that the worker adds the number of the row to a library's error about
// a type.
func TestTypeErrorHasRow(t *testing.T) {
	f := newFake()
	f.answer = func(string, []any) ([]driver.Row, error) {
		return nil, &driver.TypeError{Column: 1, Declared: driver.ColumnType{Type: driver.Int}, Got: "text"}
	}
	got := serve(t, f, trialOf(t, blog(1, selectUsers(1)), driver.Settings{"pool_size": "2"}))
	if r := got[len(got)-1].Reason; r == nil || !strings.Contains(r.Message, "TEXT in row 1") {
		t.Errorf("%+v", r)
	}
}
