package stats_test

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// sides returns a comparison of two drivers in several tables. For each factor there is one table,
// in which the second driver's time and memory are those of the first driver multiplied by the
// factor.
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
	g := stats.NewGate(0.05, stats.CompareRun(a), stats.CompareRunBy(a, "memory"), stats.CompareRunBy(a, "allocs"))
	if n := len(g.Doubtful()); n != 4 || len(g.Cells) != 10 {
		t.Fatalf("%d doubtful of %d, want 4 of 10; allocations are not known", n, len(g.Cells))
	}
	b := sides(2, 0.01, 1.2, 1.03, 0.8, 1, 1.044)
	g.Confirm(stats.CompareRun(b), stats.CompareRunBy(b, "memory"))
	want := map[string]stats.State{}
	for _, metric := range []string{"time", "memory"} {
		want["w0 "+metric], want["w1 "+metric], want["w2 "+metric] = stats.GateRegression, stats.GatePassed, stats.GatePassed
		want["w3 "+metric], want["w4 "+metric] = stats.GateUnconfirmed, stats.GatePossible
	}
	if d := cmp.Diff(want, states(g)); d != "" {
		t.Error(d)
	}
	if len(g.Unknown) != 1 || g.Unknown[0] != "allocs" || g.Passes() {
		t.Errorf("not known: %v, passes %v", g.Unknown, g.Passes())
	}
	if !g.Shut() || g.Cells[0].State != stats.GateRegression || g.Cells[0].Again == nil {
		t.Error("the gate is open, or the regression is not first")
	}
	if g = stats.NewGate(0.25, stats.CompareRun(a)); g.Shut() {
		t.Error("a candidate that is 20 % slower is called a regression of more than 25 %")
	}
}

// TestGateConfirmsWhatItHas checks a doubtful cell that was not measured again. It must get the
// state GateUnconfirmed, so that it is no longer doubtful.
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
		name     string
		gate     *stats.Gate
		state    stats.State
		decision stats.Decision
	}{
		{"the candidate is wrong", spoiled(2, status(result.Wrong)), stats.GateWrong, stats.Failed},
		{"the baseline is wrong", spoiled(1, status(result.Wrong)), stats.GateUnusable, stats.NotPassed},
		{"the candidate fails", spoiled(2, status(result.Failed)), stats.GateUnusable, stats.NotPassed},
		{"more operations fail", spoiled(2, failing), stats.GateFailing, stats.Failed},
		{"fewer operations fail", spoiled(1, failing), stats.GatePassed, stats.Passed},
		{"nothing", stats.NewGate(0.05), "", stats.NotPassed},
	} {
		var state stats.State
		if len(c.gate.Cells) > 0 {
			state = c.gate.Cells[0].State
		}
		if state != c.state || c.gate.Decision() != c.decision {
			t.Errorf("%s: %q, %s", c.name, state, c.gate.Decision())
		}
	}
}

// TestGateCountsOneFault checks that a gate shows a wrong trial in only one of the cells of its
// phases. It must be the cell of the wrong phase or, if that phase is not timed, the first cell.
func TestGateCountsOneFault(t *testing.T) {
	for fault, want := range map[string]string{"query": "query", "verify": "insert", "": "insert query update"} {
		a := sides(5, 0.01, 1)
		for i := range a.Run.Cases {
			a.Run.Cases[i].Phases = []string{"insert", "query", "update"}
		}
		for i := range a.Run.Trials {
			x := &a.Run.Trials[i]
			s := x.Samples[0]
			x.Samples = nil
			for _, p := range a.Run.Cases[0].Phases {
				s.Phase = p
				x.Samples = append(x.Samples, s)
			}
			if x.Case == 2 {
				x.Status, x.Reason, x.Samples = result.Wrong, &protocol.Reason{Phase: fault, Message: "17, not 18"}, nil
			}
		}
		g := stats.NewGate(0.05, stats.CompareRun(stats.Analyze(a.Run, "")))
		var phases []string
		for _, c := range g.Cells {
			phases = append(phases, c.Phase)
			if c.State != stats.GateWrong || c.Second.Reason.Phase != fault {
				t.Errorf("%q: %s is %s because of %q", fault, c.Phase, c.State, c.Second.Reason.Phase)
			}
		}
		if got := len(g.Cells) + g.Following; got != 3 {
			t.Errorf("%q is wrong: %d cells in all", fault, got)
		}
		if got := strings.Join(phases, " "); got != want || g.Decision() != stats.Failed {
			t.Errorf("%q is wrong: cells %s, want %s; %s", fault, got, want, g.Decision())
		}
	}
}

// TestGateOfEqualSides checks that hardly any gate with equal sides is shut.
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

// TestGateConfirmsVariants checks that a cell is found in the second measurement although its
// variant has no name in that measurement, because only one variant is measured again.
func TestGateConfirmsVariants(t *testing.T) {
	measured := func(values ...int64) *stats.Analysis {
		r := rand.New(rand.NewPCG(4, 9))
		run := asked(made(len(values), 2, 20, func(table, d, _ int) float64 {
			v := math.Exp(0.01 * r.NormFloat64())
			if d == 1 && values[table] == 100 {
				v *= 1.2
			}
			return v
		}), false)
		for i := range run.Cases {
			run.Cases[i].Workload, run.Cases[i].Parameters = "w", map[string]int64{"n": values[i/2]}
		}
		return stats.Analyze(run, "")
	}
	g := stats.NewGate(0.05, stats.CompareRun(measured(10, 100)))
	if n := len(g.Doubtful()); n != 1 {
		t.Fatalf("%d doubtful cells, want 1", n)
	}
	if g.Confirm(stats.CompareRun(measured(100))); !g.Shut() {
		t.Errorf("the regression is not confirmed: %v", states(g))
	}
}

// TestGateWithTooFewRounds checks that a gate does not pass if there are too few rounds to
// find a regression, unless the intervals exclude a regression.
func TestGateWithTooFewRounds(t *testing.T) {
	for _, c := range []struct {
		rounds int
		factor float64
		state  stats.State
	}{{6, 10, stats.GateTooFew}, {6, 1, stats.GateTooFew}, {7, 10, stats.GateTooFew}, {7, 0.5, stats.GateTooFew}, {8, 0.5, stats.GatePassed}, {8, 10, stats.GateRegression}} {
		run := asked(made(2, 2, c.rounds, func(_, d, round int) float64 {
			return (1 + 0.001*float64(round)) * (1 + float64(d)*(c.factor-1))
		}), false)
		g := stats.NewGate(0.05, stats.CompareRun(stats.Analyze(run, "")))
		passed := c.state == stats.GatePassed
		if g.Cells[0].State != c.state || g.Passes() != passed {
			t.Errorf("%d rounds, %g times as slow: %s, %s", c.rounds, c.factor, g.Cells[0].State, g.Decision())
		}
	}
}

// TestGateStrict checks a gate whose times are so noisy that it neither finds nor excludes
// regressions. If the gate is strict, the candidate must not pass; otherwise it must.
func TestGateStrict(t *testing.T) {
	run := asked(made(2, 2, 12, func(_, d, round int) float64 { return 1 + 0.3*float64((round*7+d*5)%11)/11 }), false)
	g := stats.NewGate(0.05, stats.CompareRun(stats.Analyze(run, "")))
	if g.Cells[0].State != stats.GatePossible || g.Cells[0].Rounds == 0 || g.Decision() != stats.NotExcluded || g.Passes() {
		t.Fatalf("%s, %d more rounds, %s, passes %v", g.Cells[0].State, g.Cells[0].Rounds, g.Decision(), g.Passes())
	}
	if g.Strict = false; g.Decision() != stats.NotExcluded || !g.Passes() {
		t.Errorf("not strict: %s, passes %v", g.Decision(), g.Passes())
	}
}

// TestGateAtWhatIsAllowed checks that a ratio exactly at the limit is not a regression. A ratio of
// two counts can be exactly at the limit.
func TestGateAtWhatIsAllowed(t *testing.T) {
	for factor, want := range map[float64]stats.State{1.05: stats.GatePassed, 1.051: stats.GateRegression} {
		run := asked(made(1, 2, 12, func(_, d, _ int) float64 { return 0.1 * (1 + float64(d)*(factor-1)) }), false)
		if c := stats.NewGate(0.05, stats.CompareRun(stats.Analyze(run, ""))).Cells[0]; c.State != want {
			t.Errorf("%g times as slow: %s, want %s", factor, c.State, want)
		}
	}
}

// TestGateCorrectsForMetrics checks that p-values of a gate are corrected for the cells of all
// its metrics together.
func TestGateCorrectsForMetrics(t *testing.T) {
	a := sides(9, 0.01, 1.2)
	one, two := stats.NewGate(0.05, stats.CompareRun(a)), stats.NewGate(0.05, stats.CompareRun(a), stats.CompareRunBy(a, "memory"))
	if p, both := one.Cells[0].P, two.Cells[0].P; p <= 0 || !near(both, 2*p) {
		t.Errorf("p is %g for one metric and %g for two, want it doubled", p, both)
	}
}

// TestGateSettled checks that a gate measures a cell until a regression is found or excluded. It
// must not stop as soon as it is clear that the candidate is slower. The test checks time and
// memory.
func TestGateSettled(t *testing.T) {
	a := sides(7, 0.01, 1.2, 1.044, 1)
	a.Run.Compares.Looks = true
	if d := cmp.Diff([]int{1, 2, 5, 6}, stats.NewGate(0.05, stats.CompareRun(a)).Settled()); d != "" {
		t.Error(d)
	}
	for i := range a.Run.Trials {
		if x := &a.Run.Trials[i]; x.Case == 6 {
			x.Samples[0].PeakRSSBytes += x.Samples[0].PeakRSSBytes * int64(x.Round%3-1) / 5
		}
	}
	g := stats.NewGate(0.05, stats.CompareRun(a), stats.CompareRunBy(a, "memory"))
	if d := cmp.Diff([]int{1, 2}, g.Settled()); d != "" {
		t.Error(d)
	}
}

// TestGateByStoredBaseline checks that a gate with a stored baseline also corrects its p-values for
// judging the run repeatedly. [stats.Gate.Settled] must return only cases of the new run.
func TestGateByStoredBaseline(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 8))
	one := func(first int, shift float64) *stats.Analysis {
		run := made(1, 1, 22, func(_, _, _ int) float64 { return math.Exp(shift + 0.01*r.NormFloat64()) })
		run.Cases[0].ID = first
		for i := range run.Trials {
			run.Trials[i].Case = first
		}
		return stats.Analyze(run, "")
	}
	base, now := one(7, 0), one(1, 0.01)
	compared := func(looks bool) *stats.Comparison {
		return stats.Across{Metric: stats.Time, Names: [2]string{"a", "b"}, Margin: 0.05, Looks: looks}.Compare(base, now)
	}
	once, looks := compared(false).Cells[0], compared(true).Cells[0]
	if once.P > 0.02 || looks.P != 12*once.P { // after 22 rounds the run is judged for the third time, with a twelfth of the level
		t.Errorf("p is %v with looks, %v without", looks.P, once.P)
	}
	if d := cmp.Diff([]int{1}, stats.NewGate(0.05, compared(true)).Settled()); d != "" {
		t.Error(d)
	}
}

// TestGateConfirmsFailures checks that failures must also be significant in a second
// measurement, because a few operations may fail by chance.
func TestGateConfirmsFailures(t *testing.T) {
	measured := func(failed func(round int) int64) *stats.Comparison {
		a := sides(6, 0.01, 1)
		for i := range a.Run.Trials {
			if x := &a.Run.Trials[i]; x.Case == 2 {
				x.Samples[0].Failed = failed(x.Round)
			}
		}
		return stats.CompareRun(stats.Analyze(a.Run, ""))
	}
	always := func(round int) int64 { return int64(50 + round) }
	once := func(round int) int64 { return int64(max(0, 500*(2-round))) }
	if g := stats.NewGate(0.05, measured(once)); len(g.Doubtful()) != 0 || g.Cells[0].State != stats.GatePossible {
		t.Errorf("failures of one trial: %s", g.Cells[0].State)
	}
	for i, again := range []func(int) int64{once, always} {
		want := []stats.State{stats.GateUnconfirmed, stats.GateFailing}[i]
		g := stats.NewGate(0.05, measured(always))
		if n := len(g.Doubtful()); n != 1 {
			t.Fatalf("%d doubtful cells, want 1", n)
		}
		g.Confirm(measured(again))
		if c := g.Cells[0]; c.State != want || g.Shut() != (want == stats.GateFailing) {
			t.Errorf("%s, want %s", c.State, want)
		}
	}
}

// TestGateConfirmsStoredBaseline checks that regressions against a stored baseline are
// confirmed by measuring the baseline's driver in the same rounds as the candidate, if that is
// possible. A dismissed cell is no longer in doubt.
func TestGateConfirmsStoredBaseline(t *testing.T) {
	for factor, want := range map[float64]stats.State{1: stats.GateUnconfirmed, 1.2: stats.GateRegression} {
		beside := sides(8, 0.01, factor)
		alone := func(id int, faster int64) *stats.Analysis {
			run := *beside.Run
			run.Compares, run.Cases, run.Trials = nil, []result.Case{run.Cases[id-1]}, nil
			for _, x := range beside.Run.Trials {
				if x.Case == id {
					x.Samples = []result.Sample{x.Samples[0]}
					x.Samples[0].WallNS /= faster
					run.Trials = append(run.Trials, x)
				}
			}
			return stats.Analyze(&run, "")
		}
		stored := func() *stats.Gate {
			return stats.NewGate(0.05, stats.Across{Metric: stats.Time, Names: [2]string{"base.json", "b"}, Looks: true}.Compare(alone(1, 2), alone(2, 1)))
		}
		g := stored()
		g.Confirm(stats.CompareRun(beside))
		if c := g.Cells[0]; c.State != want || !c.Stored || !c.Beside {
			t.Errorf("%g times the baseline's time in the same rounds: %s, want %s", factor, c.State, want)
		}
		g = stored()
		g.Dismiss(g.Doubtful()[0], "it is the same", factor == 1)
		g.Confirm()
		if c := g.Cells[0]; c.State != stats.GateUnconfirmed || c.Moot != "it is the same" || len(g.Doubtful()) != 0 {
			t.Errorf("dismissed: %s, %q", c.State, c.Moot)
		}
		if g.Passes() != (factor == 1) {
			t.Errorf("dismissed, same build %v: %s", factor == 1, g.Decision())
		}
	}
}

// TestGateFewerFailures checks a candidate whose operations fail less often. It must not pass if
// it needs far more time, but must pass if it needs no more.
func TestGateFewerFailures(t *testing.T) {
	for _, c := range []struct {
		times float64
		want  stats.Decision
	}{{1, stats.Passed}, {3, stats.NotExcluded}} {
		run := failingSides(40, func(side, round int) int64 { return int64((1 - side) * (100 + round%3)) })
		for i := range run.Trials {
			if x := &run.Trials[i]; x.Case == 2 {
				x.Samples[0].WallNS = int64(c.times * float64(x.Samples[0].WallNS))
			}
		}
		g := stats.NewGate(0.05, stats.CompareRun(stats.Analyze(run, "")))
		if x := g.Cells[0]; g.Decision() != c.want || x.Why == "" || x.Verdict != stats.FailsLess {
			t.Errorf("%g times the time: %s, %s, %q", c.times, g.Decision(), x.Verdict, x.Why)
		}
		if len(g.Settled()) != 2 {
			t.Errorf("%g times the time: %v are settled", c.times, g.Settled())
		}
	}
}

// TestGateSlowTrials checks a candidate that takes 3 times as long in one trial of ten. It must not
// pass once its mean time shows that it is slower.
func TestGateSlowTrials(t *testing.T) {
	r := rand.New(rand.NewPCG(6, 6))
	run := asked(made(1, 2, 88, func(_, d, round int) float64 {
		v := math.Exp(0.01 * r.NormFloat64())
		if d == 1 && round%10 == 5 {
			v *= 3
		}
		return v
	}), true)
	g := stats.NewGate(0.05, stats.CompareRun(stats.Analyze(run, "")))
	if g.Decision() != stats.NotExcluded || g.Cells[0].Why == "" {
		t.Errorf("%s: %q, mean %+v", g.Decision(), g.Cells[0].Why, g.Cells[0].Means)
	}
}

// TestGateExpectations checks that a gate's decision depends on the workloads' expectations of the
// candidate, and that the candidate is measured until these are decided. The candidate's operations take
// about 1 ms.
func TestGateExpectations(t *testing.T) {
	for _, c := range []struct {
		figure   string
		bound    float64
		decision stats.Decision
		complete [2]bool // results of Complete with and without Strict
		settled  []int
	}{
		{"time", 1, stats.Passed, [2]bool{true, true}, []int{1, 2}},
		{"time", 1e-6, stats.Failed, [2]bool{true, true}, []int{1, 2}},
		{"time", 1e-3, stats.NotExcluded, [2]bool{false, true}, []int{1}},
		{"p99", 1, stats.NotPassed, [2]bool{false, false}, []int{1, 2}}, // the samples have no latencies, so nothing can be decided
	} {
		run := sides(7, 0.01, 1).Run
		for i := range run.Cases {
			run.Cases[i].Expects = []result.Expectation{{Phase: "p", Figure: c.figure, Bound: c.bound}}
		}
		run.Cases[0].Expects[0].Bound = 0 // the expectation of the baseline is not judged
		a := stats.Analyze(run, "")
		g := stats.NewGate(0.05, stats.CompareRun(a))
		g.Expected = a.ExpectationsOfSecond()
		if len(g.Expected) != 1 || g.Expected[0].Case.Driver != "d1" {
			t.Fatalf("%+v", g.Expected)
		}
		complete := [2]bool{g.Complete()}
		g.Strict = false
		complete[1] = g.Complete()
		if g.Decision() != c.decision || complete != c.complete || g.Shut() != (c.decision == stats.Failed) {
			t.Errorf("%s < %g: %s, complete %v", c.figure, c.bound, g.Decision(), complete)
		}
		if d := cmp.Diff(c.settled, g.Settled()); d != "" {
			t.Errorf("%s < %g: settled %s", c.figure, c.bound, d)
		}
	}
}
