package stats_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sqlite3perf/sqlite3perf/internal/stats"
)

// steady returns a function that returns the time of a driver in a table and a round. In each table
// the second driver's times are multiplied by the factor of that table. Rounds vary a little.
func steady(factors ...float64) func(table, driver, round int) float64 {
	return func(table, driver, round int) float64 {
		v := 1 + 0.1*float64(round%5) + 0.001*float64((round*(driver+3))%7)
		if driver == 1 {
			v *= factors[table]
		}
		return v
	}
}

// TestOnMachines checks that two machines agree if they have the same verdict on two drivers, and
// that the agreement is Reversed if they have opposite verdicts. Drivers in a table that only one
// machine has must not be among the pairs.
func TestOnMachines(t *testing.T) {
	first := stats.Analyze(made(5, 2, 16, steady(2, 2, 2, 1, 3)), "")
	second := stats.Analyze(made(4, 2, 16, steady(1.5, 0.5, 1, 1)), "")
	m := stats.OnMachines([]*stats.Analysis{first, nil, second})
	got := map[string]stats.Agreement{}
	for _, p := range m.Pairs {
		got[p.Workload] = p.Agreement
		if p.Said[1].Verdict != "" {
			t.Errorf("%s: a nil run has the verdict %s", p.TableName, p.Said[1].Verdict)
		}
	}
	want := map[string]stats.Agreement{"w0": stats.Everywhere, "w1": stats.Reversed, "w2": stats.Partly, "w3": stats.Nowhere}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if n := m.Count(stats.Reversed); n != 1 {
		t.Errorf("%d reversed, want 1", n)
	}
	for _, p := range m.Pairs {
		if p = p.SlowerSecond(); p.Workload == "w0" && (p.Second != "d1" || p.Said[0].Verdict != stats.Slower || p.Said[0].Ratio.Median < 1.9) {
			t.Errorf("%+v", p)
		}
	}
}

// TestOnMachinesFloor checks that no pair has the floor, because users do not choose the floor, the
// driver that ratios are relative to.
func TestOnMachinesFloor(t *testing.T) {
	run := made(1, 3, 16, func(_, d, round int) float64 { return float64(1+d) * (1 + 0.1*float64(round%5)) })
	m := stats.OnMachines([]*stats.Analysis{stats.Analyze(run, "d0"), stats.Analyze(run, "d0")})
	if len(m.Pairs) != 1 || m.Pairs[0].First == "d0" || m.Pairs[0].Second == "d0" {
		t.Errorf("%+v", m.Pairs)
	}
}

// TestOnMachinesSides checks runs that compare two sides. They must be combined cell by cell, with
// the sides in the same order.
func TestOnMachinesSides(t *testing.T) {
	first := stats.Analyze(asked(made(2, 2, 16, steady(0.5, 2)), false), "")
	second := stats.Analyze(asked(made(2, 2, 16, steady(0.6, 0.5)), false), "")
	m := stats.OnMachines([]*stats.Analysis{first, second})
	want := map[string]stats.Agreement{"w0": stats.Everywhere, "w1": stats.Reversed}
	got := map[string]stats.Agreement{}
	for _, p := range m.Pairs {
		if got[p.Workload] = p.Agreement; p.First != "d0" || p.Second != "d1" {
			t.Errorf("%s: %s, %s", p.TableName, p.First, p.Second)
		}
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}
