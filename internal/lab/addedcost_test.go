package lab_test

import (
	"math"
	"testing"

	"github.com/sqlite3perf/sqlite3perf/internal/lab"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	costs "github.com/sqlite3perf/sqlite3perf/worker/estimate"
	"github.com/sqlite3perf/sqlite3perf/worker/plan"
)

// TestAddedCosts checks the files with the added costs of drivers. Each must have a figure for every phase,
// and a cause for every figure above the limits. The table in docs/proofs.md lists the drivers whose added
// cost was not measured.
func TestAddedCosts(t *testing.T) {
	for _, k := range known(t) {
		if k.AddedCost == nil {
			continue
		}
		if len(k.AddedCost.Phases) != 4 || k.AddedCost.Measured == "" || k.AddedCost.Pairs == 0 {
			t.Errorf("%s: %+v", k.Name, k.AddedCost)
		}
		for _, p := range k.AddedCost.Phases {
			if lab.AddsTooMuch(p) && k.AddedCost.Causes[p.Phase] == "" {
				t.Errorf("%s: %s adds %v ns, %v: state the cause under causes in its %s", k.Name, p.Phase, p.WallAdded, p.WallRatio, driver.AddedCostFile)
			}
		}
	}
}

func TestAdded(t *testing.T) {
	cost := &driver.AddedCost{}
	for phase, ns := range map[string]float64{"insert": 40, "query": 8, "mix": 100, "tx": 400} {
		cost.Phases = append(cost.Phases, driver.AddedPhase{Phase: phase, WallAdded: costs.Estimate{Median: ns, Low: ns - 4, High: ns + 4}})
	}
	read := plan.MixCall{Call: plan.Call{Columns: make([]driver.ColumnType, 4)}}
	pl := &plan.Plan{
		DataSets: []plan.DataSet{{Name: "t", Total: 10, Columns: append(make([]plan.Column, 8), plan.Column{Hidden: true})}},
		Phases: []plan.Phase{
			{Name: "untimed", Untimed: true, Insert: &plan.Insert{Sets: []string{"t"}}},
			{Name: "insert", Insert: &plan.Insert{Sets: []string{"t"}}},
			{Name: "query", Query: &plan.Query{Call: plan.Call{Columns: make([]driver.ColumnType, 2)}}},
			{Name: "mix", Mix: &plan.Mix{Operations: []plan.Operation{
				{Weight: 3, Calls: []plan.MixCall{read}}, {Weight: 1, Transaction: true, Calls: []plan.MixCall{{}, {}}},
			}}},
			{Name: "script", Script: "VACUUM"},
			{Name: "rate", Mix: &plan.Mix{Rate: 100}},
		},
	}
	got := lab.Added(cost, pl)
	if len(got) != 3 {
		t.Fatalf("%d phases: %+v", len(got), got)
	}
	for i, want := range []struct {
		phase          string
		operation, row float64
	}{
		{"insert", 0, 80}, // twice as many columns as the measured rows
		{"query", 100, 4}, // half as many columns
		{"mix", 0.75*100 + 0.25*400, 8},
	} {
		g := got[i]
		if g.Phase != want.phase || math.Abs(g.Operation.Median-want.operation) > 1e-9 || math.Abs(g.Row.Median-want.row) > 1e-9 || g.Row.Low >= g.Row.High {
			t.Errorf("%+v, want %+v", g, want)
		}
	}
	if lab.Added(nil, pl) != nil {
		t.Error("Added must return nil for a driver without measurements")
	}
}
