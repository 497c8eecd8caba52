package plan_test

import (
	"slices"
	"testing"

	"github.com/sqlite3perf/sqlite3perf/worker/plan"
)

// TestSQL checks that SQL returns the schema and the SQL of every kind of phase, without empty
// strings for phases that have no script.
func TestSQL(t *testing.T) {
	p := plan.Plan{Schema: "schema", Phases: []plan.Phase{
		{Script: "script"},
		{Query: &plan.Query{Call: plan.Call{SQL: "query"}}},
		{HTTP: &plan.HTTP{Call: plan.Call{SQL: "http"}}},
		{Mix: &plan.Mix{Operations: []plan.Operation{{Calls: []plan.MixCall{{Call: plan.Call{SQL: "first"}}, {Call: plan.Call{SQL: "second"}}}}}}},
		{Replay: &plan.Replay{Statements: []plan.Replayed{{SQL: "recorded"}}}},
	}}
	want := []string{"schema", "script", "query", "http", "first", "second", "recorded"}
	if got := p.SQL(); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
