package stats_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sqlite3perf/sqlite3perf/internal/stats"
)

// all returns a function that reports whether the i-th set has enough samples to be compared.
func all(sets [][]stats.Point) func(int) bool {
	return func(i int) bool { return len(sets[i]) >= stats.MinSamples }
}

// noisy returns one sample for each round. The samples vary around the parameter "center", by the
// parameter "spread". Each sample is multiplied by the factor of its round.
func noisy(r *rand.Rand, rounds []float64, center, spread float64) []stats.Point {
	var p []stats.Point
	for i, f := range rounds {
		p = append(p, stats.Point{Round: i + 1, Value: center * f * math.Exp(spread*r.NormFloat64())})
	}
	return p
}

// unsteady returns, for each of n rounds, the factor by which the round's times are multiplied.
func unsteady(r *rand.Rand, n int) []float64 {
	f := make([]float64, n)
	for i := range f {
		f[i] = math.Exp(0.1 * r.NormFloat64())
	}
	return f
}

func TestCompareRatios(t *testing.T) {
	for _, tc := range []struct {
		name     string
		ratios   []float64
		p, delta float64
		sign     int
	}{
		{"none", nil, 1, 0, 0},
		{"all equal", []float64{1, 1, 1, 1, 1, 1}, 1, 0, 0},
		{"all above", []float64{1.1, 1.2, 1.3, 1.1, 1.2, 1.3}, 2. / 64, 1, 1},
		{"all below", []float64{0.9, 0.8, 0.7, 0.9, 0.8, 0.7}, 2. / 64, -1, -1},
		// The negative logarithm has the least absolute value: the rank sums are 1 and 20.
		{"one below", []float64{1.2, 1.3, 1.4, 1.5, 1.6, 0.9}, 4. / 64, 4. / 6, 1},
		// The negative logarithm has the greatest absolute value: the rank sums are 6 and 15,
		// and P(T ≤ 6) = 14/64.
		{"one far below", []float64{1.2, 1.3, 1.4, 1.5, 1.6, 0.1}, 28. / 64, 4. / 6, 1},
		{"zero is below", []float64{0, 0.1, 0.2, 0.3, 0.4, 0.5}, 2. / 64, -1, -1},
		// Wilcoxon's table: for n = 10, the critical value at 5 % is T = 8.
		{"ten", []float64{1.01, 1.02, 0.97, 1.04, 0.951, 1.06, 1.07, 1.08, 1.09, 1.1}, 2 * 25. / 1024, 0.6, 1},
	} {
		got := stats.CompareRatios(tc.ratios)
		if math.Abs(got.P-tc.p) > 1e-12 || got.Adjusted != got.P || !near(got.Delta, tc.delta) || got.Sign() != tc.sign || got.N != len(tc.ratios) {
			t.Errorf("%s: %+v with sign %d, want p %v, delta %v, sign %d", tc.name, got, got.Sign(), tc.p, tc.delta, tc.sign)
		}
	}
}

// TestIntervalAgreesWithTest checks that the interval of a ratio excludes 1 exactly if the
// test is significant.
func TestIntervalAgreesWithTest(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	told := 0
	for i := range 3000 {
		ratios := make([]float64, 6+i%55)
		for j := range ratios {
			ratios[j] = math.Exp(0.03*r.NormFloat64() + 0.02)
			if i%3 == 0 { // round the ratios, so that some are equal and some are 1
				ratios[j] = 1 + math.Round(20*(ratios[j]-1))/20
			}
		}
		test, s := stats.CompareRatios(ratios), stats.SummarizeRatios(ratios)
		excludes := s.Interval.Low > 1+1e-12 || s.Interval.High < 1-1e-12
		if excludes != (test.P < 0.05) {
			t.Fatalf("p is %v, and the interval %+v: %v", test.P, s.Interval, ratios)
		}
		if excludes {
			told++
		}
		if s.Interval.Low > s.Median || s.Median > s.Interval.High || s.Interval.Confidence < 0.95 || s.Interval.Confidence >= 1 {
			t.Errorf("%+v %+v", s, s.Interval)
		}
	}
	if told < 100 || told > 2900 {
		t.Errorf("%d of 3000 differences are significant: want both kinds of results, to test both", told)
	}
}

func TestSummarizeRatios(t *testing.T) {
	for _, tc := range []struct {
		name     string
		ratios   []float64
		median   float64
		interval *stats.Interval
	}{
		{"none", nil, 0, nil},
		{"five have no interval", []float64{2, 2, 2, 2, 2}, 2, nil},
		{"six have their range", []float64{1, 2, 4, 8, 16, 32}, math.Sqrt(32), &stats.Interval{Low: 1, High: 32, Confidence: 1 - 2./64}},
		// The ends of the interval are the 6th and the 40th of the 45 Walsh averages (means of two
		// logarithms): 1 - 2·P(T ≤ 5) = 1 - 20/512.
		{"nine", []float64{1, 2, 4, 8, 16, 32, 64, 128, 256}, 16, &stats.Interval{Low: math.Sqrt(8), High: math.Sqrt(1 << 13), Confidence: 1 - 20./512}},
		{"zeros", make([]float64, 6), 0, &stats.Interval{Confidence: 1 - 2./64}},
	} {
		got := stats.SummarizeRatios(tc.ratios)
		if got.N != len(tc.ratios) || math.Abs(got.Median-tc.median) > 1e-9 {
			t.Errorf("%s: %+v, want %v", tc.name, got, tc.median)
		}
		if d := cmp.Diff(tc.interval, got.Interval, cmp.Comparer(near)); d != "" {
			t.Errorf("%s: %s", tc.name, d)
		}
	}
}

// TestManyRounds checks that intervals do not change abruptly where the normal distribution
// replaces the exact one.
func TestManyRounds(t *testing.T) {
	width := func(n int) float64 {
		ratios := make([]float64, n)
		for i := range ratios {
			ratios[i] = math.Exp(0.1 * (float64(i) - float64(n-1)/2) / float64(n))
		}
		s, ok := stats.SummarizeRatios(ratios).Spread()
		if !ok {
			t.Fatalf("n=%d has no interval", n)
		}
		return s
	}
	if a, b := width(100), width(101); math.Abs(a-b) > 0.01*a {
		t.Errorf("100 rounds give ±%v, 101 give ±%v", a, b)
	}
}

func TestRank(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	rounds := unsteady(r, 6)
	sets := [][]stats.Point{noisy(r, rounds, 100, 0.01), noisy(r, rounds, 100.5, 0.01), noisy(r, rounds, 200, 0.01),
		noisy(r, rounds, 300, 0.01), points(301, 301, 301), noisy(r, rounds, 300.1, 0.01)}
	pairs := stats.CompareAll(sets, all(sets))
	for _, tc := range []struct {
		floors []int
		want   string
	}{
		{nil, "[{1 [1] false false} {2 [0] false false} {3 [] true false} {4 [5] true false} {0 [] false false} {5 [3] true false}]"},
		// The floor (see [stats.Standing]) has ties but no rank. A driver that is slower only
		// than the floor is first.
		{[]int{0}, "[{0 [1] false true} {1 [0] false false} {2 [] true false} {3 [5] true false} {0 [] false false} {4 [3] true false}]"},
		{[]int{0, 1}, "[{0 [1] false true} {0 [0] false true} {1 [] false false} {2 [5] true false} {0 [] false false} {3 [3] true false}]"},
		// All compared sets belong to the floor, so they are ranked like other sets.
		{[]int{0, 1, 2, 3, 5}, "[{1 [1] false true} {2 [0] false true} {3 [] true true} {4 [5] true true} {0 [] false false} {5 [3] true true}]"},
	} {
		got := fmt.Sprint(stats.Rank(len(sets), pairs, all(sets), func(i int) bool { return slices.Contains(tc.floors, i) }))
		if got != tc.want {
			t.Errorf("floors %v: ranks %s, want %s", tc.floors, got, tc.want)
		}
	}
	for _, p := range pairs {
		if p.First == 4 || p.Second == 4 {
			t.Errorf("three samples were compared: %+v", p)
		}
	}
}

// TestTenDriversCanBeToldApart checks that the differences between ten drivers are significant
// after six rounds, even if rounds vary.
func TestTenDriversCanBeToldApart(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 3))
	rounds := unsteady(r, 6)
	var sets [][]stats.Point
	for i := range 10 {
		sets = append(sets, noisy(r, rounds, math.Pow(1.4, float64(i)), 0.02))
	}
	pairs := stats.CompareAll(sets, all(sets))
	if len(pairs) != 45 {
		t.Fatalf("%d pairs", len(pairs))
	}
	for _, p := range pairs {
		if !p.Significant() || p.Sign() != -1 {
			t.Errorf("%+v: want a significant difference with the sign -1", p)
		}
	}
}

// TestPermutationTest checks that the result behaves like a p-value: if all sets are equal, about
// half of the tables have a p-value above 0.5.
func TestPermutationTest(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 12))
	above := 0
	for range 40 {
		rounds := unsteady(r, 6)
		sets := [][]stats.Point{noisy(r, rounds, 1, 0.03), noisy(r, rounds, 1, 0.03), noisy(r, rounds, 1, 0.03)}
		if stats.PermutationTest(sets) > 0.5 {
			above++
		}
	}
	if above < 10 || above > 30 {
		t.Errorf("of 40 tables of equal drivers %d have a p-value above a half", above)
	}
}

// TestManyDrivers checks that differences are found even if there are more drivers than closed
// testing can handle.
func TestManyDrivers(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 4))
	for _, k := range []int{12, 13, 30} {
		rounds := unsteady(r, 20)
		var sets [][]stats.Point
		for i := range k {
			sets = append(sets, noisy(r, rounds, 1+float64(i%2), 0.03))
		}
		for _, p := range stats.CompareAll(sets, all(sets)) {
			if want := p.First%2 != p.Second%2; p.Significant() != want {
				t.Errorf("%d drivers: %+v, want significant: %v", k, p, want)
			}
		}
	}
}

// TestClosedTestingOfThree compares the adjusted p-values of three sets with a formula. If the
// p-values of the three pairs are a ≤ b ≤ c, the adjusted p-value of a pair is the greater of its
// own p-value and min(3a, 3b/2, c). So no p-value becomes smaller, and their order is kept.
func TestClosedTestingOfThree(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 5))
	for range 200 {
		rounds := unsteady(r, 20)
		sets := [][]stats.Point{noisy(r, rounds, 1, 0.03), noisy(r, rounds, 1.02, 0.03), noisy(r, rounds, 1.03, 0.03)}
		pairs := stats.CompareAll(sets, all(sets))
		p := []float64{pairs[0].P, pairs[1].P, pairs[2].P}
		slices.Sort(p)
		simes := min(3*p[0], 3*p[1]/2, p[2])
		for _, x := range pairs {
			if want := max(x.P, simes); !near(x.Adjusted, want) {
				t.Errorf("p %v adjusted is %v, want %v", x.P, x.Adjusted, want)
			}
		}
	}
}

// TestAdjust checks the 15 p-values of the first example of Benjamini and Hochberg (1995).
// Their procedure rejects the four least at 0.05, while Bonferroni's rejects three.
func TestAdjust(t *testing.T) {
	p := []float64{0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459, 0.3240, 0.4262, 0.5719, 0.6528, 0.7590, 1}
	var family []*stats.Test
	for i := range p { // not in ascending order
		family = append(family, stats.WithP(p[(i*7)%len(p)]))
	}
	stats.Adjust(family)
	rejected := 0
	for _, x := range family {
		if x.Significant() {
			rejected++
			if x.P > 0.0095 {
				t.Errorf("p %v is significant", x.P)
			}
		}
		if x.P == 0.0095 && !near(x.Adjusted, 0.0095*15/4) {
			t.Errorf("p 0.0095 adjusted is %v", x.Adjusted)
		}
		if x.Adjusted < x.P || x.Adjusted > 1 {
			t.Errorf("p %v adjusted is %v", x.P, x.Adjusted)
		}
	}
	if rejected != 4 {
		t.Errorf("%d rejected, want 4", rejected)
	}
}

func TestStdDev(t *testing.T) {
	if v, ok := stats.StdDev([]float64{2, 4, 4, 4, 5, 5, 7, 9}); !ok || math.Abs(v-2.138) > 0.001 {
		t.Errorf("%v %v, want 2.138", v, ok)
	}
	for _, few := range [][]float64{nil, {1}} {
		if v, ok := stats.StdDev(few); ok {
			t.Errorf("%v has standard deviation %v", few, v)
		}
	}
}
