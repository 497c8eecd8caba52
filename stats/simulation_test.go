package stats_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/sqlite3perf/sqlite3perf/stats"
)

// shares are what comes of many tables.
type shares struct {
	discoveries float64 // the mean share of false ones among the pairs told apart
	anyFalse    float64 // tables in which any two equal drivers are told apart
	truly       float64 // tables in which the slower driver is told from the first
}

// simulate makes tables of drivers whose times are log-normal, as times are
// about their floor, with a relative spread of 1 %. All are equal but the
// last.
func simulate(drivers, n int, lastSlower float64) (s shares) {
	const tables = 1000
	r := rand.New(rand.NewPCG(1, 2))
	for range tables {
		sets := make([][]stats.Point, drivers)
		for d := range sets {
			for round := range n {
				v := math.Exp(0.01 * r.NormFloat64())
				if d == drivers-1 {
					v *= 1 + lastSlower
				}
				sets[d] = append(sets[d], stats.Point{Round: round + 1, Value: v})
			}
		}
		found, wrong := 0, 0
		for _, p := range stats.CompareAll(sets) {
			if !p.Significant() {
				continue
			}
			found++
			switch {
			case lastSlower == 0 || p.Second < drivers-1:
				wrong++
			case p.First == 0:
				s.truly += 1. / tables
			}
		}
		if wrong > 0 {
			s.anyFalse += 1. / tables
			s.discoveries += float64(wrong) / float64(found) / tables
		}
	}
	return s
}

// The false discovery rate must be what is promised; docs/methodology.md gives
// the other shares.
func TestSharesToldApart(t *testing.T) {
	for _, tc := range []struct {
		drivers, n int
		slower     float64
		truly      float64 // at least
	}{
		{2, 6, 0, 0},
		{2, 6, 0.02, 0.8},
		{2, 6, 0.03, 0.98},
		{10, 6, 0, 0},
		{10, 6, 0.02, 0.3},
		{10, 6, 0.03, 0.8},
		{10, 12, 0, 0},
		{10, 12, 0.02, 0.9},
		{10, 12, 0.03, 0.99},
	} {
		s := simulate(tc.drivers, tc.n, tc.slower)
		t.Logf("%d drivers, n=%d, the last %g%% slower: told apart in %.0f%% of tables; false discoveries %.1f%%, any in %.0f%% of tables",
			tc.drivers, tc.n, 100*tc.slower, 100*s.truly, 100*s.discoveries, 100*s.anyFalse)
		if s.discoveries > 0.05 {
			t.Errorf("false discovery rate %v, want at most 0.05", s.discoveries)
		}
		if s.truly < tc.truly {
			t.Errorf("the slower driver is told apart in %v of tables, want at least %v", s.truly, tc.truly)
		}
	}
}

// Two equal drivers: one is told from the base no more often than promised,
// though the base's own ratio is the same in every round.
func TestCompareToBaseSharesToldApart(t *testing.T) {
	const runs = 4000
	r := rand.New(rand.NewPCG(3, 4))
	for _, n := range []int{6, 8, 12, 20} {
		apart := 0
		for range runs {
			ratios := make([]float64, n)
			for i := range ratios {
				ratios[i] = math.Exp(0.01 * (r.NormFloat64() - r.NormFloat64()))
			}
			if stats.CompareToBase(ratios).Significant() {
				apart++
			}
		}
		if share := float64(apart) / runs; share > 0.05 {
			t.Errorf("n=%d: told apart in %.1f%% of runs, want at most 5%%", n, 100*share)
		}
	}
}

func TestCompareToBase(t *testing.T) {
	for _, tc := range []struct {
		ratios   []float64
		p, delta float64
	}{
		{nil, 1, 0},
		{[]float64{1, 1, 1, 1, 1, 1}, 1, 0},
		{[]float64{1.1, 1.2, 1.3, 1.1, 1.2, 1.3}, 2. / 64, 1},
		{[]float64{0.9, 0.8, 0.7, 0.9, 0.8, 0.7}, 2. / 64, -1},
		{[]float64{1.1, 1.2, 1.3, 1.1, 1.2, 0.9}, 14. / 64, 4. / 6},
		{[]float64{1, 1.2, 1.3, 1.1, 1.2, 1.4, 1.1}, 2. / 64, 6. / 7},
	} {
		got := stats.CompareToBase(tc.ratios)
		if math.Abs(got.P-tc.p) > 1e-12 || got.Adjusted != got.P || math.Abs(got.Delta-tc.delta) > 1e-12 {
			t.Errorf("%v: p %v, delta %v, want %v and %v", tc.ratios, got.P, got.Delta, tc.p, tc.delta)
		}
	}
}
