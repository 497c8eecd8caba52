package stats_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
)

// TestExceeds compares p-values with an exact count. Each difference is reduced by the parameter
// "value". The p-value is the share of all subsets of these differences whose sum is at most zero.
// Rounding may make a p-value only greater, and not by much.
func TestExceeds(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 1))
	for range 200 {
		d := make([]float64, 1+r.IntN(12))
		for i := range d {
			switch r.IntN(3) {
			case 0: // no operation failed on either side
			case 1:
				d[i] = float64(r.IntN(5)-2) / 100
			case 2:
				d[i] = 0.02 + 0.1*r.NormFloat64()
			}
		}
		value := 0.01 * r.Float64()
		want := 0.0
		for subset := range 1 << len(d) {
			sum := 0.0
			for i, v := range d {
				if subset>>i&1 == 1 {
					sum += v - value
				}
			}
			if sum <= 1e-12 {
				want += math.Ldexp(1, -len(d))
			}
		}
		if got := stats.Exceeds(d, value); got < want-1e-9 || got > want+0.03 {
			t.Errorf("%v above %g: %g, want %g", d, value, got, want)
		}
	}
}

// TestExceedsManyRounds checks the p-value of so many differences that the number of their subsets
// is greater than any float64. Half of the subsets have a sum of at most zero.
func TestExceedsManyRounds(t *testing.T) {
	d := make([]float64, 2048)
	for i := range d {
		d[i] = float64(i%2*2-1) / 4
	}
	if got := stats.Exceeds(d, 0); got < 0.5 || got > 0.55 {
		t.Errorf("%g, want a half", got)
	}
}

// failingSides returns a run that compares two sides in one cell. The function "failed" returns how
// many operations of a side fail in a round.
func failingSides(rounds int, failed func(side, round int) int64) *result.Run {
	run := asked(made(1, 2, rounds, func(_, _, round int) float64 { return 1 + 0.001*float64(round%3) }), false)
	for i := range run.Trials {
		x := &run.Trials[i]
		x.Samples[0].Failed = failed(x.Case-1, x.Round)
	}
	return run
}

// TestFailuresInFewRounds checks cells in which operations of only one side fail, in each round. The
// difference must be significant if there are enough rounds. With fewer rounds the cell must be
// unclear, even if the times are the same.
func TestFailuresInFewRounds(t *testing.T) {
	for rounds := 6; rounds < 60; rounds++ {
		x := stats.CompareRun(stats.Analyze(failingSides(rounds, func(side, _ int) int64 { return int64(side * 999) }), "")).Cells[0]
		want := stats.Unclear
		if 2*math.Ldexp(1, 1-rounds) < stats.Doubt { // the factor 2 corrects for two comparisons: of times and of failures
			want = stats.FailsMore
		}
		if x.Verdict != want || x.Why == "" || (x.Rounds > 0) != (want == stats.Unclear) {
			t.Errorf("%d rounds: %s, %q, %d more rounds", rounds, x.Verdict, x.Why, x.Rounds)
		}
	}
}

// TestRareFailures checks that failures in only a few trials are significant if all of them are
// on one side and there are enough of them.
func TestRareFailures(t *testing.T) {
	every := func(n int) *stats.Compared {
		return stats.CompareRun(stats.Analyze(failingSides(60, func(side, round int) int64 {
			if side == 1 && round%n == 0 {
				return int64(40 + round)
			}
			return 0
		}), "")).Cells[0]
	}
	if x := every(5); x.Verdict != stats.FailsMore {
		t.Errorf("12 of 60 rounds: %s, %+v", x.Verdict, x.Failing)
	}
	if x := every(20); x.Verdict == stats.FailsMore || x.Failing == nil {
		t.Errorf("3 of 60 rounds: %s", x.Verdict)
	}
}

// TestFailuresOfStoredRuns checks that the failures of runs from different times are compared,
// although the runs have no rounds in common.
func TestFailuresOfStoredRuns(t *testing.T) {
	one := func(failed int64) *stats.Analysis {
		run := made(1, 1, 20, func(_, _, round int) float64 { return 1 + 0.001*float64(round%3) })
		for i := range run.Trials {
			run.Trials[i].Samples[0].Failed = failed * int64(5+i%3)
			run.Trials[i].Round += int(failed) // the two runs have different rounds
		}
		return stats.Analyze(run, "")
	}
	for _, c := range []struct {
		first, second int64
		want          stats.Verdict
	}{{1, 10, stats.FailsMore}, {10, 1, stats.FailsLess}} {
		x := stats.CompareRuns([2]string{"a", "b"}, one(c.first), one(c.second), 0.05).Cells[0]
		if x.Verdict != c.want || !strings.Contains(x.Why, fmt.Sprintf("%.3g%% with a", 100*x.Failing.First)) {
			t.Errorf("%d and %d: %s, %s", c.first, c.second, x.Verdict, x.Why)
		}
	}
}

// TestSameNeedsFailures checks two sides whose times are alike. They must not be called the same if
// their shares of failures may differ by more than the margin.
func TestSameNeedsFailures(t *testing.T) {
	compared := func(failed func(side, round int) int64) *stats.Compared {
		run := failingSides(60, failed)
		for i := range run.Trials {
			run.Trials[i].Samples[0].WallNS = 1e9
		}
		return stats.CompareRun(stats.Analyze(run, "")).Cells[0]
	}
	wide := compared(func(side, round int) int64 { return int64(400 * ((side + round) % 2)) })
	if !wide.Typical || wide.FailAlike || wide.Verdict != stats.Unclear || !wide.FailuresOpen() || wide.Rounds <= 0 {
		t.Errorf("40 %% of one side or of the other fail: %s, %q, %d more rounds", wide.Verdict, wide.Why, wide.Rounds)
	}
	narrow := compared(func(side, round int) int64 { return int64(40 + (side+round)%2) })
	if narrow.Verdict != stats.Same || !narrow.FailAlike {
		t.Errorf("4 %% of both fail: %s, %q", narrow.Verdict, narrow.Why)
	}
}

// TestFailuresInFewRoundsOfDrivers checks that in short runs of equal drivers nearly every row has
// a rank. A driver whose operations nearly all fail must never have a rank, whatever the number of
// rounds. That must also hold in a run that was judged repeatedly, where six rounds show no
// significant difference.
func TestFailuresInFewRoundsOfDrivers(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	const runs = 60
	for _, rounds := range []int{6, 7, 8, 9} {
		unranked := 0
		for range runs {
			run := made(2, 10, rounds, func(int, int, int) float64 { return math.Exp(0.03 * r.NormFloat64()) })
			for i := range run.Trials {
				run.Trials[i].Samples[0].Failed = int64(max(0, 50+25*r.NormFloat64()))
			}
			if unrankedOf(stats.Analyze(run, "")) > 0 {
				unranked++
			}
		}
		if unranked > 8 {
			t.Errorf("%d rounds: %d of %d runs of equal drivers have a row without a rank", rounds, unranked, runs)
		}
		run := made(2, 10, rounds, func(int, int, int) float64 { return math.Exp(0.03 * r.NormFloat64()) })
		run.Precision = 0.05
		for i := range run.Trials {
			if (run.Trials[i].Case-1)%10 == 4 {
				run.Trials[i].Samples[0].Failed = 900 + int64(i%7)
			}
		}
		if n := unrankedOf(stats.Analyze(run, "")); n != 2 {
			t.Errorf("%d rounds: %d rows without a rank, want the 2 rows of the driver with 90 %% failures", rounds, n)
		}
	}
}

func unrankedOf(a *stats.Analysis) (n int) {
	for _, g := range a.Groups {
		for _, c := range g.Tables[0].Cells {
			if c.UnlikeFailures() {
				n++
			}
		}
	}
	return n
}
