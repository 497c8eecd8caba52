package stats_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sqlite3perf/sqlite3perf/result"
	"github.com/sqlite3perf/sqlite3perf/stats"
)

// sides returns a comparison of two drivers in tables of which the second driver takes the
// given multiples of the time, and as much of the memory.
func sides(seed uint64, spread float64, factors ...float64) *stats.Analysis {
	r := rand.New(rand.NewPCG(4, seed))
	run := asked(made(len(factors), 2, 20, func(table, d, _ int) float64 {
		v := math.Exp(spread * r.NormFloat64())
		if d == 1 {
			v *= factors[table]
		}
		return v
	}), false)
	for i := range run.Trials {
		run.Trials[i].Samples[0].PeakRSSBytes = run.Trials[i].Samples[0].WallNS
	}
	return stats.Analyze(run, "")
}

func states(g *stats.Gate) map[string]stats.State {
	m := map[string]stats.State{}
	for _, c := range g.Cells {
		m[c.Workload+" "+string(c.Metric)] = c.State
	}
	return m
}

func TestGate(t *testing.T) {
	a := sides(1, 0.01, 1.2, 1.03, 0.8, 1.2, 1.044)
	g := stats.NewGate(0.05, stats.CompareRun(a), stats.CompareRunBy(a, stats.Memory), stats.CompareRunBy(a, stats.Allocs))
	if n := len(g.Doubtful()); n != 4 || len(g.Cells) != 10 {
		t.Fatalf("%d doubtful of %d, want 4 of 10; allocations are not known", n, len(g.Cells))
	}
	b := sides(2, 0.01, 1.2, 1.03, 0.8, 1, 1.044)
	g.Confirm(stats.CompareRun(b), stats.CompareRunBy(b, stats.Memory))
	want := map[string]stats.State{}
	for _, metric := range []string{"time", "memory"} {
		want["w0 "+metric], want["w1 "+metric], want["w2 "+metric] = stats.GateRegression, stats.GatePassed, stats.GatePassed
		want["w3 "+metric], want["w4 "+metric] = stats.GateUnconfirmed, stats.GatePossible
	}
	if d := cmp.Diff(want, states(g)); d != "" {
		t.Error(d)
	}
	if !g.Shut() || !g.Complete() || g.Cells[0].State != stats.GateRegression || g.Cells[0].Again == nil {
		t.Error("the gate is open, or the regression is not first")
	}
	if g = stats.NewGate(0.25, stats.CompareRun(a)); g.Shut() {
		t.Error("20 % are a regression of more than 25 %")
	}
}

// A cell that could not be measured again is not confirmed, and none is judged twice.
func TestGateConfirmsWhatItHas(t *testing.T) {
	g := stats.NewGate(0.05, stats.CompareRun(sides(3, 0.01, 1, 1.2)))
	g.Confirm(stats.CompareRun(sides(4, 0.01, 1)))
	if g.Shut() || g.Count(stats.GateUnconfirmed) != 1 || len(g.Doubtful()) != 0 {
		t.Errorf("%v", states(g))
	}
}

func TestGateStatuses(t *testing.T) {
	spoiled := func(id int, change func(*result.Trial)) *stats.Gate {
		a := sides(5, 0.01, 1)
		for i := range a.Run.Trials {
			if x := &a.Run.Trials[i]; x.Case == id {
				change(x)
			}
		}
		return stats.NewGate(0.05, stats.CompareRun(stats.Analyze(a.Run, "")))
	}
	status := func(s result.Status) func(*result.Trial) { return func(x *result.Trial) { x.Status = s } }
	failing := func(x *result.Trial) { x.Samples[0].Failed = 100 }
	for _, c := range []struct {
		name           string
		gate           *stats.Gate
		state          stats.State
		shut, complete bool
	}{
		{"the candidate is wrong", spoiled(2, status(result.Wrong)), stats.GateWrong, true, true},
		{"the baseline is wrong", spoiled(1, status(result.Wrong)), stats.GateUnusable, false, false},
		{"the candidate fails", spoiled(2, status(result.Failed)), stats.GateUnusable, false, false},
		{"more operations fail", spoiled(2, failing), stats.GateWrong, true, true},
		{"fewer operations fail", spoiled(1, failing), stats.GatePassed, false, true},
		{"nothing", stats.NewGate(0.05), "", false, false},
	} {
		var state stats.State
		if len(c.gate.Cells) > 0 {
			state = c.gate.Cells[0].State
		}
		if state != c.state || c.gate.Shut() != c.shut || c.gate.Complete() != c.complete {
			t.Errorf("%s: %q, shut %v, complete %v", c.name, state, c.gate.Shut(), c.gate.Complete())
		}
	}
}

// Of gates with equal sides, as good as none is shut.
func TestGateOfEqualSides(t *testing.T) {
	shut := 0
	for i := range uint64(300) {
		g := stats.NewGate(0.05, stats.CompareRun(sides(100+2*i, 0.1, 1, 1, 1)))
		if len(g.Doubtful()) > 0 {
			g.Confirm(stats.CompareRun(sides(101+2*i, 0.1, 1, 1, 1)))
		}
		if g.Shut() {
			shut++
		}
	}
	if shut > 0 {
		t.Errorf("%d of 300 gates of equal sides are shut", shut)
	}
}
