package stats_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// asked turns a run into a comparison of the drivers d0 and d1.
func asked(run *result.Run, looks bool) *result.Run {
	run.Compares = &result.Compares{Factor: result.FactorDriver, First: "d0", Second: "d1", Margin: 0.02, Looks: looks}
	return run
}

// verdicts returns the verdicts by workload.
func verdicts(c *stats.Comparison) map[string]stats.Verdict {
	m := map[string]stats.Verdict{}
	for _, x := range c.Cells {
		m[x.Workload] = x.Verdict
	}
	return m
}

func TestCompareRun(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 1))
	factor := []float64{1.1, 0.9, 1, 1.03}
	spread := []float64{0.01, 0.01, 0.004, 0.1}
	run := asked(made(4, 2, 44, func(table, d, round int) float64 {
		v := 1 + 0.2*math.Sin(float64(round))
		if d == 1 {
			v *= factor[table] * math.Exp(spread[table]*r.NormFloat64())
		}
		return v
	}), true)
	for i := range run.Trials {
		run.Trials[i].TookNS = int64(time.Second)
	}
	c := stats.CompareRun(stats.Analyze(run, ""))
	want := map[string]stats.Verdict{"w0": stats.Slower, "w1": stats.Faster, "w2": stats.Same, "w3": stats.Unclear}
	if d := cmp.Diff(want, verdicts(c)); d != "" {
		t.Error(d)
	}
	for _, x := range c.Cells {
		i := x.Workload[1] - '0'
		if x.Ratio.Interval == nil || x.Ratio.Interval.Confidence < 0.99 {
			t.Errorf("%s: interval %v, want at least 99 %%", x.Workload, x.Ratio.Interval)
		} else if f := factor[i]; x.Ratio.Interval.Low > f || x.Ratio.Interval.High < f {
			t.Errorf("%s: interval %v does not contain %v", x.Workload, x.Ratio.Interval, f)
		}
		if unclear := x.Verdict == stats.Unclear; unclear != (x.Rounds > 0) || x.Time != 2*time.Second*time.Duration(x.Rounds) {
			t.Errorf("%s: %s, %d further rounds in %v", x.Workload, x.Verdict, x.Rounds, x.Time)
		}
	}
	if m := c.Mean; m == nil || m.N != 44 || math.Abs(math.Log(m.Median)-math.Log(1.1*0.9*1.03)/4) > 0.02 {
		t.Errorf("mean %+v", m)
	}
	if d := cmp.Diff([]int{1, 2, 3, 4, 5, 6}, slices.Sorted(slices.Values(c.Settled()))); d != "" {
		t.Errorf("settled cases: %s", d)
	}
}

// TestFurtherRounds checks that the estimated number of further rounds suffices in most cases.
func TestFurtherRounds(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 2))
	settled, of := 0, 0
	for range 60 {
		seconds := func(_, d, _ int) float64 { return 1 + float64(d)*(0.03+0.05*r.NormFloat64()) }
		run := asked(made(1, 2, 16, seconds), false)
		x := stats.CompareRun(stats.Analyze(run, "")).Cells[0]
		if x.Verdict != stats.Unclear || x.Rounds > 500 {
			continue
		}
		of++
		if stats.CompareRun(stats.Analyze(asked(made(1, 2, 16+x.Rounds, seconds), false), "")).Cells[0].Verdict != stats.Unclear {
			settled++
		}
	}
	if of < 20 || 2*settled < of {
		t.Errorf("%d of %d settled", settled, of)
	}
}

func TestCompareStatuses(t *testing.T) {
	run := asked(made(3, 2, 16, func(table, d, _ int) float64 { return 1 + 0.5*float64(d) }), false)
	for i := range run.Trials {
		switch x := &run.Trials[i]; x.Case {
		case 4: // d1 in workload w1
			x.Status, x.Reason, x.Samples = result.Failed, &protocol.Reason{Code: "error", Message: "disk full"}, nil
		case 6: // d1 in workload w2
			x.Samples[0].Failed = 100
		}
	}
	c := stats.CompareRun(stats.Analyze(run, ""))
	want := map[string]stats.Verdict{"w0": stats.Slower, "w1": stats.Bad, "w2": stats.FailsMore}
	if d := cmp.Diff(want, verdicts(c)); d != "" {
		t.Error(d)
	}
	if c.Cells[0].Verdict != stats.Bad || c.Cells[2].Verdict != stats.Slower {
		t.Error("the cells are not in the order Bad, FailsMore, Slower")
	}
	if c.Measured() != 1 {
		t.Errorf("%d cells measured, want 1", c.Measured())
	}
	if w := c.Cells[1].Why; !strings.Contains(w, "more operations of d1 failed: 10% with d1, 0% with d0") {
		t.Errorf("why: %s", w)
	}
}

// TestCompareValues compares two values of a setting, and two of a parameter, with one driver.
func TestCompareValues(t *testing.T) {
	run := &result.Run{Compares: &result.Compares{Factor: result.FactorSetting, Name: "synchronous", First: "normal", Second: "full", Margin: 0.02}}
	for i, s := range []string{"normal", "full"} {
		run.Cases = append(run.Cases, result.Case{ID: i + 1, Workload: "w", Driver: "d", Phases: []string{"p"},
			Settings: driver.Settings{"synchronous": s}, Parameters: map[string]int64{"n": int64(10 * (i + 1))}})
	}
	for round := 1; round <= 44; round++ {
		for id := 1; id <= 2; id++ {
			run.Trials = append(run.Trials, result.Trial{Case: id, Round: round, Status: result.OK, Samples: []result.Sample{
				{Phase: "p", Metric: "time", WallNS: int64(id * (1000 + round)), Operations: int64(10 * id), Rows: int64(10 * id)}}})
		}
	}
	a := stats.Analyze(run, "")
	if c := stats.CompareRun(a); len(c.Cells) != 0 || len(c.Alone) != 2 {
		t.Errorf("cells of different parameters are compared: %+v", c)
	}
	run.Cases[1].Parameters["n"] = 10
	c := stats.CompareRun(stats.Analyze(run, ""))
	if len(c.Cells) != 1 || !c.Cells[0].PerOp || math.Abs(c.Cells[0].Ratio.Median-1) > 1e-9 {
		t.Errorf("different numbers of operations: %+v", c.Cells)
	}
	run.Cases[1].Settings["synchronous"], run.Cases[1].Parameters["n"] = "normal", 20
	run.Compares = &result.Compares{Factor: result.FactorParameter, Name: "n", First: "10", Second: "20", Margin: 0.02}
	if c := stats.CompareRun(stats.Analyze(run, "")); len(c.Cells) != 1 || c.Cells[0].Verdict != stats.Same {
		t.Errorf("values of a parameter: %+v", c)
	}
}

// TestCompareDriversPerOperation compares drivers that do different numbers of operations. They
// must be compared by the time per operation.
func TestCompareDriversPerOperation(t *testing.T) {
	run := &result.Run{}
	for i, d := range []string{"a", "b", "c"} {
		run.Cases = append(run.Cases, result.Case{ID: i + 1, Workload: "w", Driver: d, Phases: []string{"p"}})
		for round := 1; round <= 20; round++ {
			n := int64(10 * (i + 1))
			run.Trials = append(run.Trials, result.Trial{Case: i + 1, Round: round, Status: result.OK,
				Samples: []result.Sample{{Phase: "p", Metric: result.MetricTime, WallNS: n * int64(1e6+round), Operations: n}}})
		}
	}
	x := stats.CompareDrivers(stats.Analyze(run, ""), "a", "c", 0.02).Cells[0]
	if first, _ := x.Medians(); !x.PerOp || math.Abs(x.Ratio.Median-1) > 1e-9 || math.Abs(first-1e-3) > 1e-6 {
		t.Errorf("per operation %v, ratio %v, first %v s", x.PerOp, x.Ratio.Median, first)
	}
}

func TestCompareRuns(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 3))
	measured := func(factor float64) *result.Run {
		return made(2, 2, 44, func(table, d, _ int) float64 {
			v := math.Exp(0.01 * r.NormFloat64())
			if table == 0 && d == 1 {
				v *= factor
			}
			return v
		})
	}
	first, second := measured(1), measured(1.2)
	second.Cases[3].Workload = "other"
	for i := range second.Trials {
		second.Trials[i].Round += 100 // so that the two runs have no rounds in common
	}
	c := stats.CompareRuns([2]string{"run 12", "new.json"}, stats.Analyze(first, ""), stats.Analyze(second, ""), 0.05)
	var got []string
	for _, x := range c.Cells {
		got = append(got, fmt.Sprint(x.Workload, " ", x.Variant, " ", x.Verdict))
	}
	slices.Sort(got[1:])
	if d := cmp.Diff([]string{"w0 d1 slower", "w0 d0 same", "w1 d0 same"}, got); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]string{"w1 d1 p", "other d1 p"}, c.Alone); d != "" {
		t.Error(d)
	}
	if c.Mean != nil || c.Interleaved {
		t.Error("two runs have rounds in common")
	}
	// The two runs read different values.
	for i := range second.Trials {
		second.Trials[i].Samples[0].Checksum = strings.Repeat("b", 64)
		first.Trials[i].Samples[0].Checksum = strings.Repeat("a", 64)
	}
	c = stats.CompareRuns([2]string{"run 12", "new.json"}, stats.Analyze(first, ""), stats.Analyze(second, ""), 0.05)
	if c.Count(stats.Differing) != 3 || !strings.Contains(c.Cells[0].Why, "answers differ") {
		t.Errorf("%d cells differ", c.Count(stats.Differing))
	}
	second.Seed = 2 // with another seed, other values are read
	if c = stats.CompareRuns([2]string{"run 12", "new.json"}, stats.Analyze(first, ""), stats.Analyze(second, ""), 0.05); c.Count(stats.Differing) != 0 {
		t.Error("answers for different seeds are compared")
	}
}

// TestCompareSoleDrivers checks that two runs with one driver each are compared even if the two
// drivers have different names.
func TestCompareSoleDrivers(t *testing.T) {
	one := func(name string, seconds float64) *stats.Analysis {
		run := made(1, 1, 12, func(_, _, round int) float64 { return seconds * (1 + 0.001*float64(round)) })
		run.Cases[0].Driver = name
		return stats.Analyze(run, "")
	}
	c := stats.CompareRuns([2]string{"run 12", "new.json"}, one("a", 1), one("b", 2), 0.02)
	if len(c.Cells) != 1 || c.Cells[0].Verdict != stats.Slower || !strings.HasPrefix(c.Second, "b in ") {
		t.Errorf("%+v", c)
	}
}

// TestSoakLooksKeepTheLevel checks that, however often a comparison is judged while it runs, two
// equal sides are called slower or faster in at most 1 % of runs.
func TestSoakLooksKeepTheLevel(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 4))
	const runs = 400
	wrong := 0
	for range runs {
		all := asked(made(2, 2, 128, func(_, _, round int) float64 { return math.Exp(0.05 * r.NormFloat64() * r.ExpFloat64()) }), true)
		open := map[int]bool{1: true, 2: true, 3: true, 4: true}
		run := *all
		run.Trials = nil
		for _, x := range all.Trials {
			if !open[x.Case] {
				continue
			}
			run.Trials = append(run.Trials, x)
			if x.Case != 4 && open[4] || x.Case == 1 || !stats.Look(x.Round) {
				continue
			}
			for _, id := range stats.CompareRun(stats.Analyze(&run, "")).Settled() {
				delete(open, id)
			}
		}
		c := stats.CompareRun(stats.Analyze(&run, ""))
		if c.Count(stats.Slower)+c.Count(stats.Faster) > 0 {
			wrong++
		}
	}
	if wrong > runs*stats.Doubt*2 { // by chance alone, the share is hardly ever twice as large as Doubt
		t.Errorf("%d of %d comparisons of equal sides have a false verdict", wrong, runs)
	}
}

// TestLooks checks after which rounds a comparison is judged. The level of significance is divided
// among these judgments and the end of the run, so their shares must add up to 1.
func TestLooks(t *testing.T) {
	var looks []int
	sum := 1 / stats.Spent(5000) // the end of the run
	for n := 1; n < 5000; n++ {
		if stats.Look(n) {
			looks = append(looks, n)
			sum += 1 / stats.Spent(n)
		}
	}
	if d := cmp.Diff([]int{11, 16, 22, 32, 44, 64, 88, 128, 176, 256, 352, 512, 704, 1024, 1408}, looks); d != "" {
		t.Error(d)
	}
	if math.Abs(sum-1) > 1e-9 {
		t.Errorf("the shares add up to %v, want 1", sum)
	}
}

// TestUnpaired checks that unpaired samples have the p-value of the Mann-Whitney test. There are
// 12870 ways to divide 16 samples into eight and eight. In four of them, the difference is at least
// as great as between a and b, in the same direction.
func TestUnpaired(t *testing.T) {
	a := []float64{1.01, 1.05, 0.98, 1.10, 1.03, 0.99, 1.02, 1.07}
	b := []float64{1.11, 1.21, 1.09, 1.30, 1.15, 1.08, 1.16, 1.19}
	s, p := stats.UnpairedRatio(b, a, 0.99)
	if want := 2.0 * 4 / 12870; math.Abs(p-want) > 1e-9 { // a is greater in two of the 64 pairs
		t.Errorf("p = %v, want %v", p, want)
	}
	if s.Interval == nil || s.Interval.Low <= 1 || s.Median < 1.08 || s.Median > 1.16 {
		t.Errorf("%+v %+v", s, s.Interval)
	}
	_, same := stats.UnpairedRatio(a, a, 0.99)
	if same < 0.5 {
		t.Errorf("p of equal samples is %v", same)
	}
	if s, p := stats.UnpairedRatio(nil, a, 0.99); s.N != 0 || p != 1 {
		t.Errorf("no samples: %v %v", s, p)
	}
}

// TestDrift simulates a machine that becomes 10 % slower during a run. Equal sides must not
// differ significantly if they are measured in the same rounds. If they are measured one after
// the other, they do differ.
func TestDrift(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 5))
	false1, false2 := 0, 0
	const runs = 200
	for range runs {
		v := func(position float64) float64 { return (1 + 0.1*position) * math.Exp(0.01*r.NormFloat64()) }
		interleaved := asked(made(1, 2, 32, func(_, d, round int) float64 { return v((2*float64(round) + float64(d)) / 64) }), false)
		blocks := asked(made(1, 2, 32, func(_, d, round int) float64 { return v((32*float64(d) + float64(round)) / 64) }), false)
		for run, n := range map[*result.Run]*int{interleaved: &false1, blocks: &false2} {
			if v := stats.CompareRun(stats.Analyze(run, "")).Cells[0].Verdict; v == stats.Slower || v == stats.Faster {
				*n++
			}
		}
	}
	if false1 > 0 || false2 < runs*95/100 {
		t.Errorf("false verdicts: %d interleaved, %d in blocks, of %d", false1, false2, runs)
	}
}

// TestComparePoolSizes checks that cells are compared although a parameter for the number of
// clients also changes the size of the pool. The effect of the size is then part of the
// parameter's effect. A size that the user requested is its own factor.
func TestComparePoolSizes(t *testing.T) {
	measured := func(pools func(clients int64) []string) *stats.Analysis {
		run := &result.Run{Compares: &result.Compares{Factor: result.FactorParameter, Name: "clients", First: "1", Second: "8", Margin: 0.02}}
		for _, clients := range []int64{1, 8} {
			for _, size := range pools(clients) {
				run.Cases = append(run.Cases, result.Case{ID: len(run.Cases) + 1, Workload: "w", Driver: "d", Phases: []string{"p"},
					Settings: driver.Settings{"pool_size": size}, Parameters: map[string]int64{"clients": clients}})
			}
		}
		for round := 1; round <= 16; round++ {
			for _, c := range run.Cases {
				run.Trials = append(run.Trials, result.Trial{Case: c.ID, Round: round, Status: result.OK, Samples: []result.Sample{
					{Phase: "p", Metric: "time/op", WallNS: c.Parameters["clients"] * int64(1e6+round), Operations: 10}}})
			}
		}
		return stats.Analyze(run, "")
	}
	a := measured(func(clients int64) []string { return []string{fmt.Sprint(clients)} })
	if c := stats.CompareRun(a); len(c.Cells) != 1 || c.Cells[0].Verdict != stats.Slower || c.Cells[0].String() != "w p" {
		t.Errorf("%d cells, alone: %v", len(c.Cells), c.Alone)
	}
	if e := a.Factorials[0].Effects; len(e) != 1 || e[0].To.Name != "clients" {
		t.Errorf("%d effects, want that of clients", len(e))
	}
	c := stats.CompareRun(measured(func(int64) []string { return []string{"8", "16"} }))
	if len(c.Cells) != 2 || c.Cells[0].Variant == c.Cells[1].Variant {
		t.Errorf("%d cells of two sizes, alone: %v", len(c.Cells), c.Alone)
	}
}

// TestMeanOfSettledCells checks cells that get final verdicts after different numbers of rounds. The mean
// must cover the rounds that all cells have. Its interval must be corrected only for how often the
// run was judged during these rounds, so later rounds of single cells must not widen it.
func TestMeanOfSettledCells(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 6))
	run := asked(made(2, 2, 88, func(_, _, _ int) float64 { return math.Exp(0.01 * r.NormFloat64()) }), true)
	run.Trials = slices.DeleteFunc(run.Trials, func(x result.Trial) bool { return x.Case < 3 && x.Round > 11 })
	if m := stats.CompareRun(stats.Analyze(run, "")).Mean; m.N != 11 || m.Interval == nil {
		t.Errorf("%+v", m)
	}
}

// TestCompareZeros checks that times of zero and impossible numbers in a file result in
// figures that JSON can represent.
func TestCompareZeros(t *testing.T) {
	once := func(first, second int64) *stats.Comparison {
		var sides []*stats.Analysis
		for _, v := range []int64{first, second} {
			run := made(1, 1, 12, func(_, _, _ int) float64 { return 1 })
			for i := range run.Trials {
				run.Trials[i].Samples[0].WallNS, run.Trials[i].Samples[0].PeakRSSBytes = max(v, 0), v
			}
			sides = append(sides, stats.Analyze(run, ""))
		}
		if c := (stats.Across{Metric: "memory", Names: [2]string{"a", "b"}, Margin: 0.02}).Compare(sides[0], sides[1]); len(c.Cells) > 0 != (first > 0 && second > 0) {
			t.Errorf("memory of %d and %d: %d cells", first, second, len(c.Cells))
		}
		return stats.CompareRuns([2]string{"a", "b"}, sides[0], sides[1], 0.02)
	}
	for _, v := range [][2]int64{{0, 1}, {1, 0}, {0, 0}, {-1, 1}, {math.MaxInt64, 1}, {1, math.MaxInt64}} {
		for _, x := range once(v[0], v[1]).Cells {
			if m := x.Ratio.Median; math.IsNaN(m) || math.IsInf(m, 0) {
				t.Errorf("%v: %v", v, m)
			}
		}
	}
}

// TestCompareChangedWorkloads checks that different workloads of the same name are compared only if
// requested, and then without comparing the values that they read.
func TestCompareChangedWorkloads(t *testing.T) {
	var sides []*stats.Analysis
	for _, hash := range []string{"a", "b"} {
		run := made(1, 1, 44, func(_, _, round int) float64 { return 1 + 0.001*float64(round) })
		run.Cases[0].WorkloadSHA256 = hash
		for i := range run.Trials {
			run.Trials[i].Samples[0].Checksum = strings.Repeat(hash, 64)
		}
		sides = append(sides, stats.Analyze(run, ""))
	}
	how := stats.Across{Metric: stats.Time, Names: [2]string{"a", "b"}, Margin: 0.05}
	if c := how.Compare(sides[0], sides[1]); len(c.Cells) != 0 {
		t.Errorf("changed workloads are compared: %v", verdicts(c))
	}
	how.Changed = true
	if c := how.Compare(sides[0], sides[1]); len(c.Cells) != 1 || c.Cells[0].Verdict != stats.Same {
		t.Errorf("%v", verdicts(c))
	}
	sides[1].Run.Cases[0].WorkloadSHA256 = "a"
	if c := how.Compare(sides[0], sides[1]); c.Count(stats.Differing) == 0 {
		t.Error("answers differ, but no cell has the verdict Differing")
	}
}

// TestCompareDrivers checks that two of a run's three drivers are compared as in a run that has
// only these two, but with p-values corrected for all three pairs.
func TestCompareDrivers(t *testing.T) {
	times := func(table, d, round int) float64 {
		return (1 + 0.1*float64(table*d)) * (1 + 0.001*float64((round*7+d*3)%5))
	}
	two := stats.CompareRun(stats.Analyze(asked(made(2, 2, 16, times), false), ""))
	run := made(2, 3, 16, times)
	three := stats.CompareDrivers(stats.Analyze(run, ""), "d0", "d1", 0.02)
	if two.Pairs != 1 || three.Pairs != 3 || !three.Interleaved {
		t.Fatalf("pairs %d and %d, interleaved %t", two.Pairs, three.Pairs, three.Interleaved)
	}
	if d := cmp.Diff(verdicts(two), verdicts(three)); d != "" {
		t.Error(d)
	}
	for i, x := range three.Cells {
		y := two.Cells[i]
		if want := min(1, 3*y.Adjusted); x.P != y.P || math.Abs(x.Adjusted-want) > 1e-12 || x.Tests != 3*y.Tests {
			t.Errorf("%s: p %g, corrected %g for %d, want %g", x, x.P, x.Adjusted, x.Tests, want)
		}
		if d := cmp.Diff(y.Ratio, x.Ratio); d != "" {
			t.Errorf("%s: %s", x, d)
		}
	}

	run.Precision = 0.05 // the run was judged repeatedly, to decide which figures were precise enough, so p-values are corrected
	settled := stats.CompareDrivers(stats.Analyze(run, ""), "d0", "d1", 0.02)
	if x, y := settled.Cells[0], three.Cells[0]; !(x.P > y.P) {
		t.Errorf("p %g with precision, %g without", x.P, y.P)
	}
}
