package simulate

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync/atomic"

	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
)

// settling returns a table about runs that stop measuring cases whose figures are precise enough.
// It shows how often the intervals of such runs contain the true value, and how often two equal
// drivers differ significantly.
func settling(runs int) string {
	rows := [][]string{{"times", "precision", "drivers", "rounds", "ratios", "ratios, 95 % intervals", "medians", "equal ones told apart"},
		{"---", "---:", "---:", "---:", "---:", "---:", "---:", "---:"}}
	for _, s := range []string{"normal", "skewed", "long tail", "outliers"} {
		for _, precision := range []float64{0.05, 0.03, 0.02} {
			for _, drivers := range []int{2, 10} {
				x := settle(s, drivers, precision, runs*2/drivers)
				rows = append(rows, []string{s, percent(precision), fmt.Sprint(drivers), fmt.Sprintf("%.1f", x.rounds),
					percent(x.ratios), percent(x.usual), percent(x.medians), percent(x.apart)})
			}
		}
	}
	return "Cases that are measured until they are settled: the mean number of their rounds, and how many of the reported intervals hold the true value. " +
		"Intervals of 95 % of the same samples would hold it less often (only runs that end within 100 rounds; the rounds do not vary):\n\n" + markdown(rows)
}

const floor = "d0"

var medians = map[string]float64{
	"normal":    1,
	"outliers":  math.Exp(0.03 * 0.0659), // median if 95 % of the times are normal, and the other 5 % are longer than all of these
	"skewed":    math.Exp(0.03 * math.Ln2),
	"long tail": math.Exp(0.03 * math.Ln2 * math.Ln2),
}

type settled struct {
	rounds          float64 // average number of rounds of a case
	ratios, medians float64 // shares of intervals that contain the true ratio or median
	usual           float64 // share of 95 % intervals that contain the true ratio
	apart           float64 // share of runs in which two equal drivers differ significantly
}

func settle(shape string, drivers int, precision float64, runs int) settled {
	const most = 100
	w := world{shape: shape, drivers: drivers, rounds: most, steady: true}
	ended := stats.UntilSettled(floor, precision)
	var rounds, ratios, held, usual, medianHeld, apart, complete atomic.Int64
	shareOf(runs, 0, func(r *rand.Rand) bool {
		full := w.table(r)
		run := &result.Run{Precision: precision}
		for d := range drivers {
			run.Cases = append(run.Cases, result.Case{ID: d + 1, Workload: "w", Driver: fmt.Sprint("d", d), Phases: []string{"p"}})
		}
		var done []int
		for n := 1; n <= most && len(done) < drivers; n++ {
			for d := range drivers {
				if !slices.Contains(done, d+1) {
					addTrial(run, d+1, full[d][n-1])
				}
			}
			if ids, judged := ended(run, n); judged {
				done = ids
			}
		}
		if len(done) < drivers {
			return true
		}
		complete.Add(1)
		a := stats.Analyze(run, floor)
		for _, f := range a.Figures() {
			ratios.Add(1)
			rounds.Add(int64(f.Summary.N))
			if holds(f.Summary.Interval, 1) {
				held.Add(1)
			}
			values, _ := stats.Ratios(f.Cell.Points(), f.Base.Points())
			if holds(stats.SummarizeRatios(stats.Values(values)).Interval, 1) {
				usual.Add(1)
			}
			if holds(f.Cell.Summary.Interval, medians[shape]) {
				medianHeld.Add(1)
			}
		}
		if toldApart(a.Groups[0].Tables[0].Pairs) {
			apart.Add(1)
		}
		return true
	})
	of := float64(max(ratios.Load(), 1))
	share := func(n *atomic.Int64) float64 { return float64(n.Load()) / of }
	return settled{share(&rounds), share(&held), share(&medianHeld), share(&usual), float64(apart.Load()) / float64(max(complete.Load(), 1))}
}

func holds(i *stats.Interval, v float64) bool { return i.Low <= v && v <= i.High }

func addTrial(run *result.Run, id int, p stats.Point) {
	run.Trials = append(run.Trials, result.Trial{Case: id, Round: p.Round, Order: id, Status: result.OK,
		Samples: []result.Sample{{Phase: "p", Metric: result.MetricTime, WallNS: int64(1e9 * p.Value), Operations: 1}}})
}

// wholeRuns returns a table that shows how often a run of 15 tables has a false verdict.
func wholeRuns(tables int) string {
	runs := max(tables/10, 10)
	rows := [][]string{{"drivers", "n", "now", "unpaired"}, {"---", "---:", "---:", "---:"}}
	equal := func(int) world { return world{shape: "normal", drivers: 10, steady: true} }
	mixed := func(table int) world {
		if table%3 == 0 {
			return world{shape: "normal", drivers: 10, steady: true}
		}
		return world{shape: "normal", drivers: 10, groups: 5, slower: 0.5, steady: true}
	}
	for _, n := range []int{6, 20} {
		rows = append(rows, []string{"all equal: runs with any false verdict", fmt.Sprint(n),
			percent(anyFalseInRun(equal, n, runs)), percent(anyFalseApart(equal, n, runs))})
	}
	for _, n := range []int{6, 10, 20} {
		rows = append(rows, []string{"two equal drivers, drifting: runs with any false verdict", fmt.Sprint(n),
			percent(anyFalseInRun(twoDrifting, n, tables)), ""})
	}
	for _, n := range []int{6, 20} {
		rows = append(rows, []string{"five pairs of equal ones in ten tables, all equal in five: false tables among those that tell drivers apart", fmt.Sprint(n),
			percent(falseTables(mixed, n, runs)), ""})
	}
	return "Runs of 15 tables, with 10 drivers unless stated otherwise. The rounds do not vary, except those that drift, so that the unpaired method is at its best:\n\n" + markdown(rows)
}

// twoDrifting describes tables of two equal drivers whose times drift within rounds. Their ratio
// depends mostly on which of them ran first. If by chance the same driver always ran first, the
// ratio looks like a difference without noise.
func twoDrifting(int) world { return world{shape: drifting, drivers: 2, steady: true} }

func run(of func(table int) world, n int, r *rand.Rand) *result.Run {
	out := &result.Run{}
	for table := range 15 {
		w := of(table)
		w.rounds = n
		addTable(out, fmt.Sprint("w", table), w.table(r))
	}
	return out
}

// addTable adds to a run the cases of a workload, one for each set of a driver's samples, and
// their trials.
func addTable(run *result.Run, workload string, sets [][]stats.Point) {
	for d, points := range sets {
		c := result.Case{ID: len(run.Cases) + 1, Workload: workload, Driver: fmt.Sprint("d", d), Phases: []string{"p"}}
		run.Cases = append(run.Cases, c)
		for _, p := range points {
			addTrial(run, c.ID, p)
		}
	}
}

// wrong returns two numbers of tables of a run. The result "telling" is the number of tables in which
// any two drivers differ significantly. The result "wrong" is the number of tables in which two equal
// drivers differ significantly.
func wrong(of func(table int) world, a *stats.Analysis) (telling, wrong int) {
	for i, g := range a.Groups {
		t, w := g.Tables[0], of(i)
		time := func(cell int) float64 { return w.time((t.Cells[cell].Case.ID - 1) % w.drivers) }
		if toldApart(t.Pairs) {
			telling++
		}
		if slices.ContainsFunc(t.Pairs, func(p stats.Pair) bool { return p.Significant() && time(p.First) == time(p.Second) }) {
			wrong++
		}
	}
	return telling, wrong
}

func anyFalseInRun(of func(int) world, n, runs int) float64 {
	return shareOf(runs, 0, func(r *rand.Rand) bool {
		_, w := wrong(of, stats.Analyze(run(of, n, r), ""))
		return w > 0
	})
}

// falseTables returns the average share of tables with a false verdict among the tables in
// which any drivers differ significantly.
func falseTables(of func(int) world, n, runs int) float64 {
	var sum atomic.Int64 // in millionths
	shareOf(runs, 0, func(r *rand.Rand) bool {
		if t, w := wrong(of, stats.Analyze(run(of, n, r), "")); t > 0 {
			sum.Add(int64(1e6 * float64(w) / float64(t)))
		}
		return true
	})
	return float64(sum.Load()) / 1e6 / float64(runs)
}

// anyFalseApart returns the share of runs with a false verdict if each table is judged by
// itself, with the method of [unpaired].
func anyFalseApart(of func(int) world, n, runs int) float64 {
	return shareOf(runs, 0, func(r *rand.Rand) bool {
		for table := range 15 {
			w := of(table)
			w.rounds = n
			if len(unpaired(w.table(r))) > 0 {
				return true
			}
		}
		return false
	})
}
