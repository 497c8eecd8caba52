package stats_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sqlite3perf/sqlite3perf/stats"
)

func near(a, b float64) bool { return math.Abs(a-b) < 1e-9 }

func TestSummarize(t *testing.T) {
	for _, tc := range []struct {
		name     string
		samples  []float64
		median   float64
		interval *stats.Interval
		warnings int
	}{
		{"none", nil, 0, nil, 1},
		{"five have no interval", []float64{5, 1, 4, 2, 3}, 3, nil, 1},
		// P(min < median < max) = 1 - 2/2^6.
		{"six have their range", []float64{6, 1, 5, 2, 4, 3}, 3.5, &stats.Interval{Low: 1, High: 6, Confidence: 1 - 2./64}, 0},
		// Order statistics 2 and 8: 1 - 2(1+9)/2^9.
		{"nine", []float64{9, 8, 7, 6, 5, 4, 3, 2, 1}, 5, &stats.Interval{Low: 2, High: 8, Confidence: 1 - 2*10./512}, 0},
		{"zeros", make([]float64, 6), 0, &stats.Interval{Confidence: 1 - 2./64}, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			before := slices.Clone(tc.samples)
			got := stats.Summarize(tc.samples)
			if got.N != len(tc.samples) || got.Median != tc.median || len(got.Warnings) != tc.warnings {
				t.Errorf("got %+v", got)
			}
			if d := cmp.Diff(tc.interval, got.Interval, cmp.Comparer(near)); d != "" {
				t.Error(d)
			}
			if !slices.Equal(before, tc.samples) {
				t.Errorf("the samples were changed to %v", tc.samples)
			}
		})
	}
}

func TestTight(t *testing.T) {
	for _, tc := range []struct {
		samples   []float64
		precision float64
		want      bool
	}{
		{[]float64{100, 100, 100, 100, 100, 102}, 0.02, true},
		{[]float64{100, 100, 100, 100, 100, 102}, 0.019, false},
		{[]float64{97, 100, 100, 100, 100, 102}, 0.02, false}, // the farther end counts
		{[]float64{100, 100, 100, 100, 100}, 0.5, false},      // too few
		{make([]float64, 6), 0, true},
		{[]float64{0, 0, 0, 0, 0, 1}, 0.5, false}, // no relative width about zero
	} {
		if got := stats.Tight(tc.samples, tc.precision); got != tc.want {
			t.Errorf("Tight(%v, %v) = %v", tc.samples, tc.precision, got)
		}
	}
}

func TestCompare(t *testing.T) {
	low, high := []float64{1, 2, 3, 4, 5, 6}, []float64{7, 8, 9, 10, 11, 12}
	least := 2. / 924 // two of the C(12,6) arrangements are as extreme
	for _, tc := range []struct {
		name     string
		a, b     []float64
		p, delta float64
	}{
		{"apart", low, high, least, -1},
		{"apart, the other way", high, low, least, 1},
		{"the same", low, low, 1, 0},
		{"all equal", []float64{1, 1, 1, 1, 1, 1}, []float64{1, 1, 1, 1, 1, 1}, 1, 0},
		{"none", nil, low, 1, 0},
		// 7 is above 6 of 6, 1.5 above 1: (6+1-5)/12.
		{"unequal numbers", []float64{7, 1.5}, low, 24. / 28, (6. + 1 - 5) / 12},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := stats.Compare(tc.a, tc.b)
			if !near(got.P, tc.p) || !near(got.Delta, tc.delta) || got.N1 != len(tc.a) || got.N2 != len(tc.b) {
				t.Errorf("got %+v, want p %v, delta %v", got, tc.p, tc.delta)
			}
		})
	}
}

// The 15 p-values of the first example of Benjamini and Hochberg (1995), whose
// procedure rejects the four least at 0.05, where Bonferroni's rejects three.
func TestAdjust(t *testing.T) {
	p := []float64{0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459, 0.3240, 0.4262, 0.5719, 0.6528, 0.7590, 1}
	var family []*stats.Test
	for i := range p { // in any order
		family = append(family, &stats.Test{P: p[(i*7)%len(p)]})
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

func points(values ...float64) []stats.Point {
	var p []stats.Point
	for i, v := range values {
		p = append(p, stats.Point{Round: i + 1, Value: v})
	}
	return p
}

// Drift that hits both in a round must not widen the ratio's interval.
func TestRatiosCancelDrift(t *testing.T) {
	var a, b []stats.Point
	for round := 1; round <= 6; round++ {
		drift := float64(round * round)
		a = append(a, stats.Point{Round: round, Value: 2 * drift})
		b = append(b, stats.Point{Round: 7 - round, Value: float64((7 - round) * (7 - round))}) // in another order
	}
	ratios, skipped := stats.Ratios(a, b)
	if s := stats.Summarize(stats.Values(ratios)); s.N != 6 || skipped != 0 || s.Interval.Low != 2 || s.Interval.High != 2 {
		t.Errorf("ratios %v, %d skipped", ratios, skipped)
	}
}

func TestRatiosLeaveOut(t *testing.T) {
	a := []stats.Point{{1, 3}, {2, 4}, {3, 0}, {5, 9}}
	b := []stats.Point{{1, 0}, {2, 2}, {3, 5}, {4, 1}}
	got, skipped := stats.Ratios(a, b)
	if want := []stats.Point{{2, 2}, {3, 0}}; !slices.Equal(got, want) || skipped != 1 {
		t.Errorf("got %v and %d skipped, want %v and 1", got, skipped, want)
	}
}

// spaced makes six samples about a center.
func spaced(center float64) []stats.Point {
	return points(center*0.98, center*0.99, center, center*1.01, center*1.02, center*1.03)
}

func TestRank(t *testing.T) {
	sets := [][]stats.Point{spaced(100), spaced(100.5), spaced(200), spaced(300), points(1, 2, 3), spaced(300.1)}
	pairs := stats.CompareAll(sets)
	got := fmt.Sprint(stats.Rank(len(sets), pairs, func(i int) bool { return len(sets[i]) >= stats.MinSamples }))
	if want := "[{1 true} {1 true} {3 false} {4 true} {0 false} {4 true}]"; got != want {
		t.Errorf("ranks %s, want %s", got, want)
	}
	for _, p := range pairs {
		if p.First == 4 || p.Second == 4 {
			t.Errorf("three samples were compared: %+v", p)
		}
	}
}

// What the package comment says of ten drivers and six samples.
func TestTenDriversCanBeToldApart(t *testing.T) {
	var sets [][]stats.Point
	for i := range 10 {
		sets = append(sets, spaced(math.Pow(2, float64(i))))
	}
	pairs := stats.CompareAll(sets)
	if len(pairs) != 45 {
		t.Fatalf("%d pairs", len(pairs))
	}
	for _, p := range pairs {
		if holm := p.P * 45; holm < stats.Alpha {
			t.Errorf("Holm would tell %v apart, and the comment is wrong: %v", p, holm)
		}
		if !p.Significant() {
			t.Errorf("%v cannot be told apart", p)
		}
	}
	for i, s := range stats.Rank(10, pairs, func(int) bool { return true }) {
		if s.Rank != i+1 || s.Tied {
			t.Errorf("driver %d: %+v", i, s)
		}
	}
}

// Between two middle samples the median of rates is not the rate of the median.
func TestInverse(t *testing.T) {
	times := []float64{1, 1, 1, 3, 4, 4}
	got := stats.Summarize(times).Inverse()
	if got.N != 6 || got.Median != 0.5 || got.Interval.Low != 0.25 || got.Interval.High != 1 {
		t.Errorf("the inverse of %v is %+v", times, got)
	}
	for _, times := range [][]float64{nil, {0, 0, 0, 0, 0, 0}} {
		if got := stats.Summarize(times).Inverse(); got.Median != 0 || got.Interval != nil {
			t.Errorf("the inverse of %v is %+v", times, got)
		}
	}
}
