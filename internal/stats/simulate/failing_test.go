package simulate

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/sqlite3perf/sqlite3perf/internal/bisect"
	"github.com/sqlite3perf/sqlite3perf/internal/recommend"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
	"github.com/sqlite3perf/sqlite3perf/internal/tune"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/latency"
)

// failures says how many operations of a trial fail.
type failures struct {
	name   string
	share  float64 // average share of operations that fail
	spread float64 // standard deviation of the share between trials, relative to share; -1: operations fail independently, and few trials have failures
	varies float64 // relative range by which 99th percentiles and peak memory vary; 0: samples have neither
}

var equalFailures = []failures{
	{"0.06 a trial", 0.06 / trialOperations, -1, 0},
	{"5 % ± a half", 0.05, 0.5, 0},
	{"15 % ± a third", 0.15, 1. / 3, 0},
	{"15 % ± a half", 0.15, 0.5, 0},
}

const trialOperations = 2000

func (f failures) draw(r *rand.Rand) int64 {
	if f.spread < 0 {
		n := int64(0)
		for p := r.ExpFloat64(); p < f.share*trialOperations; p += r.ExpFloat64() {
			n++
		}
		return n
	}
	return int64(trialOperations * min(max(f.share*(1+f.spread*r.NormFloat64()), 0), 0.95))
}

// trial adds a trial of the case with the ID c to the run. The trial takes the given number of
// seconds, varied by 3 %.
func (f failures) trial(r *rand.Rand, run *result.Run, c, round int, seconds float64) {
	s := result.Sample{Phase: "mix", Metric: result.MetricTimePerOp, WallNS: int64(1e9 * seconds * math.Exp(0.03*r.NormFloat64())),
		Operations: trialOperations, Failed: f.draw(r)}
	if f.varies > 0 {
		s.Latency = []latency.Summary{{Operation: "mix", Count: trialOperations, P99NS: int64(5e6 * (1 + f.varies*(2*r.Float64()-1)))}}
		s.PeakRSSBytes = int64(1e8 * (1 + f.varies*(2*r.Float64()-1)))
	}
	run.Trials = append(run.Trials, result.Trial{Case: c, Round: round, Order: len(run.Trials) + 1, Status: result.OK, TookNS: 1e9, Samples: []result.Sample{s}})
}

// measured adds trials to a run, as package lab does, and analyzes the run. The function "of"
// returns how operations of the case with index c fail, and the case's time in seconds. If the
// function "settled" is not nil, a case whose ID it returns gets no further trials.
func measured(r *rand.Rand, run *result.Run, rounds int, settled func(*result.Run, int) ([]int, bool), of func(c int) (failures, float64)) *stats.Analysis {
	var done []int
	for n := 1; n <= rounds && len(done) < len(run.Cases); n++ {
		for _, i := range r.Perm(len(run.Cases)) {
			if id := run.Cases[i].ID; !slices.Contains(done, id) {
				f, seconds := of(i)
				f.trial(r, run, id, n, seconds)
			}
		}
		run.Rounds = n
		if settled == nil {
			continue
		}
		if ids, judged := settled(run, n); judged {
			done = ids
		}
	}
	return stats.Analyze(run, "")
}

const mostSides = 64

// failingSides simulates and analyzes a run that compares two sides in the given number of cells. A
// case gets no further trials while the function "settled" returns its ID.
func failingSides(r *rand.Rand, first, second failures, cells int, settled func(*result.Run, int) ([]int, bool)) *stats.Analysis {
	run := &result.Run{Compares: &result.Compares{Factor: result.FactorDriver, First: "a", Second: "b", Margin: 0.02, Looks: true}}
	for i := range 2 * cells {
		run.Cases = append(run.Cases, result.Case{ID: i + 1, Workload: fmt.Sprint("w", i/2), Driver: []string{"a", "b"}[i%2], Phases: []string{"mix"}})
	}
	return measured(r, run, mostSides, settled, func(c int) (failures, float64) {
		if c%2 == 1 {
			return second, 0.1
		}
		return first, 0.1
	})
}

func failingSettled(run *result.Run, round int) ([]int, bool) {
	if !stats.Look(round) {
		return nil, false
	}
	return stats.CompareRun(stats.Analyze(run, "")).Settled(), true
}

func saysFailing(c *stats.Comparison) bool {
	return c.Count(stats.FailsMore)+c.Count(stats.FailsLess) > 0
}

func comparesFailing(r *rand.Rand, first, second failures, cells int) bool {
	return saysFailing(stats.CompareRun(failingSides(r, first, second, cells, failingSettled)))
}

// gated returns the gate of two simulated sides. Its doubtful cells are measured a second
// time.
func gated(r *rand.Rand, first, second failures, cells int) *stats.Gate {
	const most = allowed
	judged := func(a *stats.Analysis) *stats.Gate { return stats.NewGate(most, stats.CompareRun(a)) }
	settled := func(run *result.Run, round int) ([]int, bool) {
		if !stats.Look(round) {
			return nil, false
		}
		return judged(stats.Analyze(run, "")).Settled(), true
	}
	g := judged(failingSides(r, first, second, cells, settled))
	if len(g.Doubtful()) > 0 {
		g.Confirm(stats.CompareRun(failingSides(r, first, second, cells, settled)))
	}
	return g
}

// bisected searches 16 releases for the first bad one. The parameter "changed" is the index of the
// first bad release. Operations of earlier releases fail as the parameter "before" says. From the
// first bad release on, operations fail as the parameter "after" says, and the time is multiplied
// by the parameter "times".
func bisected(r *rand.Rand, before, after failures, changed int, times float64) *bisect.Finding {
	var releases []string
	for i := range 16 {
		releases = append(releases, fmt.Sprintf("v%02d", i))
	}
	s := &bisect.Search{Releases: releases, Margin: 0.05}
	s.Measure = func(_ context.Context, first, second string, _ *bisect.Change, settled func(*result.Run, int) ([]int, bool)) (*stats.Analysis, error) {
		run := &result.Run{Compares: &result.Compares{Factor: result.FactorDriver, First: first, Second: second, Margin: 0.05, Looks: true}}
		for i, v := range []string{first, second} {
			run.Cases = append(run.Cases, result.Case{ID: i + 1, Workload: "w", Driver: v, Phases: []string{"mix"}})
		}
		return measured(r, run, mostSides, settled, func(c int) (failures, float64) {
			if slices.Index(releases, run.Cases[c].Driver) >= changed {
				return after, 0.1 * times
			}
			return before, 0.1
		}), nil
	}
	f, err := s.Run(context.Background())
	if err != nil {
		panic(err)
	}
	return f
}

// drivers simulates and analyzes a run of equally fast drivers, one for each of the given failures.
func drivers(r *rand.Rand, tables, rounds int, of ...failures) *stats.Analysis {
	run := &result.Run{}
	for t := range tables {
		for d := range of {
			run.Cases = append(run.Cases, result.Case{ID: len(run.Cases) + 1, Workload: fmt.Sprint("w", t), Driver: fmt.Sprint("d", d), Phases: []string{"mix"}})
		}
	}
	return measured(r, run, rounds, nil, func(c int) (failures, float64) { return of[c%len(of)], 0.1 })
}

func choosesByFailures(a *stats.Analysis) bool {
	x := recommend.Decide(recommend.FactsOf(a, nil))
	return slices.ContainsFunc(x.Rejected, func(r recommend.Rejection) bool { return r.Cause == recommend.CauseErrors })
}

func unrankedRows(a *stats.Analysis) (share float64) {
	rows, without := 0., 0.
	for _, g := range a.Groups {
		for _, t := range g.Tables {
			for _, c := range t.Cells {
				if rows++; c.Unranked != "" {
					without++
				}
			}
		}
	}
	return without / rows
}

// tuned reports whether a search finds the one setting that saves time. It saves 20 %. The
// parameter "today" says how operations fail with the present settings, and the parameter "with"
// how they fail with the better setting.
func tuned(r *rand.Rand, today, with failures) bool {
	f := searched(r, func(gains bool) (failures, float64) {
		if gains {
			return with, 0.08
		}
		return today, 0.1
	})
	return len(f.Steps) > 0 && f.Steps[f.Choice(0)].Changes["cache_size"] == "-64000"
}

// searched simulates a search for settings. The function "of" returns how operations of a trial
// fail, and the trial's time in seconds. Its parameter is true if the trial has the value that may
// save time.
func searched(r *rand.Rand, of func(gains bool) (failures, float64)) *tune.Finding {
	now := time.Unix(0, 0)
	s := &tune.Search{Time: 3 * time.Minute, Margin: 0.02, Loss: func(driver.Settings) int { return 0 }, Now: func() time.Time { return now }}
	s.Space = func(tune.Situation) ([]tune.Setting, []tune.Skipped) {
		return []tune.Setting{{Name: "cache_size", Values: []string{"-16000", "-64000"}}, {Name: "temp_store", Values: []string{"memory"}}}, nil
	}
	s.Measure = func(_ context.Context, p tune.Plan) (*stats.Analysis, error) {
		run := &result.Run{Started: now}
		for i, c := range p.Candidates {
			run.Cases = append(run.Cases, result.Case{ID: i + 1, Workload: "w", Driver: "d", Phases: []string{"mix"}, Settings: c})
		}
		return measured(r, run, p.Rounds, p.Settled, func(c int) (failures, float64) {
			now = now.Add(250 * time.Millisecond)
			return of(run.Cases[c].Settings["cache_size"] == "-64000")
		}), nil
	}
	f, err := s.Run(context.Background())
	if err != nil {
		panic(err)
	}
	return f
}

// failureVerdicts has simulations of statements about failed operations. The field "nominal" is a
// level: if the sides are equal, at most this share of simulations may make the statement. The
// function "of" runs one simulation, with the given failures on each side, and reports whether the
// statement is made.
var failureVerdicts = []struct {
	name    string
	nominal float64
	of      func(r *rand.Rand, first, second failures) bool
}{
	{"compare: more failed, one cell", stats.Doubt, func(r *rand.Rand, x, y failures) bool { return comparesFailing(r, x, y, 1) }},
	{"compare: more failed in any of four cells", stats.Doubt, func(r *rand.Rand, x, y failures) bool { return comparesFailing(r, x, y, 4) }},
	{"gate: failed, one cell, confirmed", stats.Doubt, func(r *rand.Rand, x, y failures) bool { return gated(r, x, y, 1).Shut() }},
	{"gate: failed, four cells, confirmed", stats.Doubt, func(r *rand.Rand, x, y failures) bool { return gated(r, x, y, 4).Shut() }},
	{"bisect: names a release of 16, in 4 steps", 4 * stats.Doubt, func(r *rand.Rand, x, y failures) bool { return bisected(r, x, y, 11, 1).Bad != "" }},
	{"bisect: the same, and is certain", 4 * stats.Doubt, func(r *rand.Rand, x, y failures) bool {
		f := bisected(r, x, y, 11, 1)
		return f.Bad == "v11" && f.Certain() || x == y && f.Bad != "" && f.Certain()
	}},
	{"advise: rejects one of three drivers, 20 rounds", stats.Alpha, func(r *rand.Rand, x, y failures) bool { return choosesByFailures(drivers(r, 1, 20, x, x, y)) }},
	{"run: a row of four drivers, two tables, 10 rounds, has no rank", stats.Alpha, func(r *rand.Rand, x, y failures) bool {
		return unrankedRows(drivers(r, 2, 10, x, x, x, y)) > 0
	}},
	{"tune: does not set what gains 20 %", stats.Alpha, func(r *rand.Rand, x, y failures) bool { return !tuned(r, x, y) }},
}

// failureLevels returns a table. It shows how often equal sides seem to differ because of failed
// operations, and how often a difference is found if one side fails three times as often.
func failureLevels(tables int) string {
	head := []string{"", "at most"}
	for _, f := range equalFailures {
		head = append(head, f.name)
	}
	rows := [][]string{append(head, "5 % against 15 %, ± a half"), slices.Repeat([]string{"---:"}, len(head)+1)}
	rows[1][0] = "---"
	runs := max(tables/20, 20)
	for i, v := range failureVerdicts {
		row := []string{v.name, percent(v.nominal)}
		for _, f := range equalFailures {
			row = append(row, percent(shareOf(runs, uint64(100+i), func(r *rand.Rand) bool { return v.of(r, f, f) })))
		}
		few, many := equalFailures[1], equalFailures[3]
		rows = append(rows, append(row, percent(shareOf(runs, uint64(100+i), func(r *rand.Rand) bool { return v.of(r, few, many) }))))
	}
	return fmt.Sprintf("This table shows how often verdicts about failed operations are found, with %d operations in a trial. The sides are equal, except in the last column. "+
		"Comparisons are judged after 11, 16, 22 rounds and so on, up to %d:\n\n", trialOperations, mostSides) + markdown(rows)
}
