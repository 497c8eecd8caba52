package simulate

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync/atomic"

	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
)

// allowed is the value of --max-regression in simulated gates.
const allowed = 0.05

func gates(runs int) string {
	rows := [][]string{{"times", "cells", "the candidate's ratio", "shut", "at most", "passed", "at most", "not excluded"},
		{"---", "---:", "---:", "---:", "---:", "---:", "---:", "---:"}}
	for _, x := range []struct {
		shape string
		cells int
		ratio float64
		shut  string
		pass  string
	}{
		{"normal", 1, 1, "1 %", ""}, {"normal", 1, 1.045, "1 %", ""}, {"normal", 8, 1.045, "1 %", ""}, {"normal", 1, 1.05, "1 %", ""}, {"normal", 8, 1.05, "1 %", ""},
		{"outliers", 1, 1.05, "1 %", ""}, {"outliers", 8, 1.05, "1 %", ""}, {drifting, 8, 1.05, "1 %", ""}, {"long tail", 8, 1.05, "1 %", ""},
		{"normal", 1, 1.051, "", "1 %"}, {"outliers", 1, 1.051, "", "1 %"}, {noisy, 1, 1.2, "", "1 %"}, {"normal", 1, 1.2, "", "1 %"},
	} {
		g := gateOf(x.shape, x.cells, x.ratio, 64, max(runs/x.cells, 20))
		rows = append(rows, []string{x.shape, fmt.Sprint(x.cells), fmt.Sprint(x.ratio), percent(g.failed), x.shut, percent(g.passed), x.pass, percent(1 - g.failed - g.passed)})
	}
	return "Gates that allow 5 %, judged after 11, 16, 22 rounds and so on, up to 64, and once more if they seem to be shut. " +
		"A candidate within what is allowed must not shut one, and one beyond it must not pass:\n\n" + markdown(rows)
}

type decided struct{ failed, passed float64 }

// gateOf simulates gates of two sides, which are measured as in a real run. In all cells the second
// side's time is the first side's time multiplied by the parameter "ratio". The parameter "most" is
// the greatest number of rounds of a measurement.
func gateOf(shape string, cells int, ratio float64, most, runs int) decided {
	var failed, passed atomic.Int64
	shareOf(runs, 0, func(r *rand.Rand) bool {
		measure := func(of []int) *stats.Comparison {
			return stats.CompareRun(stats.Preview(untilSettled(shape, of, ratio, most, r), ""))
		}
		var every, again []int
		for i := range cells {
			every = append(every, i)
		}
		g := stats.NewGate(allowed, measure(every))
		for _, c := range g.Doubtful() {
			var cell int
			if _, err := fmt.Sscanf(c.Workload, "w%d", &cell); err != nil {
				panic(err)
			}
			again = append(again, cell)
		}
		if len(again) > 0 {
			g.Confirm(measure(again))
		}
		switch g.Decision() {
		case stats.Failed:
			failed.Add(1)
		case stats.Passed:
			passed.Add(1)
		}
		return true
	})
	return decided{float64(failed.Load()) / float64(runs), float64(passed.Load()) / float64(runs)}
}

func untilSettled(shape string, cells []int, ratio float64, most int, r *rand.Rand) *result.Run {
	run := &result.Run{Compares: &result.Compares{Factor: result.FactorDriver, First: "d0", Second: "d1", Margin: allowed, Looks: true}}
	full := map[int][]stats.Point{}
	for _, cell := range cells {
		w := world{shape: shape, drivers: 2, rounds: most, slower: ratio - 1}
		for d, points := range w.table(r) {
			c := result.Case{ID: len(run.Cases) + 1, Workload: fmt.Sprint("w", cell), Driver: fmt.Sprint("d", d), Phases: []string{"p"}}
			run.Cases = append(run.Cases, c)
			full[c.ID] = points
		}
	}
	var done []int
	for n := 1; n <= most && len(done) < len(run.Cases); n++ {
		for _, c := range run.Cases {
			if !slices.Contains(done, c.ID) {
				addTrial(run, c.ID, full[c.ID][n-1])
			}
		}
		if stats.Look(n) {
			done = stats.NewGate(allowed, stats.CompareRun(stats.Preview(run, ""))).Settled()
		}
	}
	return run
}
