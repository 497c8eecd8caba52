package simulate

import (
	"math"
	"testing"
)

// TestVerdicts checks that no verdict is false, and no interval misses the true value, more
// often than promised.
func TestVerdicts(t *testing.T) { promised(t, 60) }

// TestSoakVerdicts is TestVerdicts with more simulations.
func TestSoakVerdicts(t *testing.T) { promised(t, 2000) }

// promised simulates each verdict, and fails the test if a verdict is false more often than promised.
// The number of simulations of a verdict is the parameter "simulations", divided by the verdict's cost, so
// that all verdicts take about the same time.
func promised(t *testing.T, simulations int) {
	for i, v := range verdicts {
		if v.unpromised || v.share != nil { // verdicts with a share have their own tests
			continue
		}
		runs := max(simulations/v.cost, 20)
		found, wrong := v.found(i, runs), v.most
		if v.least > 0 {
			found, wrong = 1-found, 1-v.least
		}
		if most := wrong + 3.5*math.Sqrt(wrong*(1-wrong)/float64(runs)) + 0.5/float64(runs); found > most {
			t.Errorf("%s, of %s: false in %s of %d, want at most %s", v.says, v.of, percent(found), runs, percent(most))
		}
	}
}

// TestDriftingMedians checks intervals for rounds that depend on each other. As the reports say,
// the interval of a median then contains the true median too rarely, but the interval of a ratio
// within rounds contains the true ratio as often as promised.
func TestDriftingMedians(t *testing.T) {
	held := map[string]float64{}
	for i, v := range medianVerdicts() {
		held[v.says+v.of] = v.found(i, 400)
	}
	for _, n := range []string{"autoregression 0.8", "1/f"} {
		median, ratio := held["run: the interval of a median holds it20 rounds, "+n], held["run: the interval of a ratio holds it20 rounds of two trials in shuffled order, "+n]
		if median > 0.9 || ratio < 0.91 {
			t.Errorf("%s: %s of intervals contain the median, %s the ratio", n, percent(median), percent(ratio))
		}
	}
}

// TestGains checks that the reported gain of a setting is too large no more often than too
// small, although only large gains are reported.
func TestGains(t *testing.T) {
	large, n := gainsTooLarge(300, 1.05)
	if n < 60 || math.Abs(float64(large)/float64(n)-0.5) > 0.2 {
		t.Errorf("%d of %d gains are too large", large, n)
	}
}

// TestSoakLongTrends checks that a drifting machine causes no more false changes in long series than in
// short ones. Package stats uses an upper bound of the dependence between values. With the measured
// dependence instead, 7 % of long series would have a false change.
func TestSoakLongTrends(t *testing.T) {
	const runs = 800
	list := trendVerdicts(80)
	if v := list[len(list)-1].found(0, runs); v > 0.055 {
		t.Errorf("%s of series show a change", percent(v))
	} else {
		t.Log(percent(v))
	}
}
