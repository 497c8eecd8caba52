package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync/atomic"

	"github.com/sqlite3perf/sqlite3perf/result"
	"github.com/sqlite3perf/sqlite3perf/stats"
)

// stopping shows how often the interval of a median holds it if a run ended because
// its intervals were narrow, and how often two equal drivers are then told apart.
func stopping(runs int) string {
	rows := [][]string{{"times", "cells", "holds, now", "holds, 95 % intervals", "equal ones told apart"}, {"---", "---:", "---:", "---:", "---:"}}
	for _, s := range []string{"normal", "skewed", "long tail"} {
		for _, cells := range []int{1, 2, 10} {
			now, told := stopped(s, cells, stats.Sequential, runs)
			before, _ := stopped(s, cells, stats.Confidence, runs)
			words := percent(told)
			if cells == 1 {
				words = ""
			}
			rows = append(rows, []string{s, fmt.Sprint(cells), percent(now), percent(before), words})
		}
	}
	return "Runs that end because their intervals are within 2 % of their medians (only those that do within 100 rounds; the rounds do not vary):\n\n" + markdown(rows)
}

// medians are the medians of the shapes that are used here.
var medians = map[string]float64{
	"normal":    1,
	"skewed":    math.Exp(0.03 * math.Ln2),
	"long tail": math.Exp(0.03 * math.Ln2 * math.Ln2),
}

// stopped simulates runs that end when all intervals are narrow at a level. It
// returns the share of intervals that hold the median, and the share of runs in
// which any two equal drivers are then told apart.
func stopped(shape string, cells int, level float64, runs int) (holds, told float64) {
	const precision, most = 0.02, 100
	w := world{shape: shape, drivers: cells, rounds: most, steady: true}
	var held, all, apart, ended atomic.Int64
	shareOf(runs, 0, func(r *rand.Rand) bool {
		full := w.table(r)
		sets := make([][]stats.Point, cells)
		for n := stats.MinSamples; n <= most; n++ {
			narrow := true
			for i := range sets {
				sets[i] = full[i][:n]
				v, ok := stats.SummarizeAt(stats.Values(sets[i]), level).Spread()
				if narrow = ok && v <= precision; !narrow {
					break
				}
			}
			if !narrow {
				continue
			}
			ended.Add(1)
			for _, p := range sets {
				all.Add(1)
				if i := stats.SummarizeAt(stats.Values(p), level).Interval; i.Low <= medians[shape] && medians[shape] <= i.High {
					held.Add(1)
				}
			}
			if len(paired(sets)) > 0 {
				apart.Add(1)
			}
			break
		}
		return true
	})
	return float64(held.Load()) / float64(max(all.Load(), 1)), float64(apart.Load()) / float64(max(ended.Load(), 1))
}

// wholeRuns shows how often a run of 15 tables has a false verdict.
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

// twoDrifting makes tables of two equal drivers whose times drift within rounds. The
// ratio depends mostly on which of the two was run first, and if that is always the
// same one by chance, it looks like a difference without noise.
func twoDrifting(int) world { return world{shape: drifting, drivers: 2, steady: true} }

// run makes a run of 15 tables.
func run(of func(table int) world, n int, r *rand.Rand) *result.Run {
	out := &result.Run{}
	for table := range 15 {
		w := of(table)
		w.rounds = n
		for d, points := range w.table(r) {
			c := result.Case{ID: len(out.Cases) + 1, Workload: fmt.Sprint("w", table), Driver: fmt.Sprint("d", d), Phases: []string{"p"}}
			out.Cases = append(out.Cases, c)
			for _, p := range points {
				out.Trials = append(out.Trials, result.Trial{Case: c.ID, Round: p.Round, Order: c.ID, Status: result.OK,
					Samples: []result.Sample{{Phase: "p", Metric: result.MetricTime, WallNS: int64(1e9 * p.Value), Operations: 1}}})
			}
		}
	}
	return out
}

// wrong counts the tables of a run that tell any drivers apart, and those among them
// that tell equal drivers apart.
func wrong(of func(table int) world, a *stats.Analysis) (telling, wrong int) {
	for i, g := range a.Groups {
		t, w := g.Tables[0], of(i)
		told := func(p stats.Pair) bool { return p.Significant() }
		isFalse := func(p stats.Pair) bool {
			driver := func(cell int) int { return (t.Cells[cell].Case.ID - 1) % w.drivers }
			return p.Significant() && w.time(driver(p.First)) == w.time(driver(p.Second))
		}
		if slices.ContainsFunc(t.Pairs, told) {
			telling++
		}
		if slices.ContainsFunc(t.Pairs, isFalse) {
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

// falseTables returns the mean share of tables with a false verdict among those
// that tell any drivers apart.
func falseTables(of func(int) world, n, runs int) float64 {
	var sum atomic.Int64 // of millionths
	shareOf(runs, 0, func(r *rand.Rand) bool {
		if t, w := wrong(of, stats.Analyze(run(of, n, r), "")); t > 0 {
			sum.Add(int64(1e6 * float64(w) / float64(t)))
		}
		return true
	})
	return float64(sum.Load()) / 1e6 / float64(runs)
}

// anyFalseApart does the same with the previous method, each table by itself.
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
