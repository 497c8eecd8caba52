package stats_test

import (
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sqlite3perf/sqlite3perf/internal/stats"
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
		// With six values, P(min < median < max) = 1 - 2/2^6.
		{"six have their range", []float64{6, 1, 5, 2, 4, 3}, 3.5, &stats.Interval{Low: 1, High: 6, Confidence: 1 - 2./64}, 0},
		// With nine values, order statistics 2 and 8 have the level 1 - 2(1+9)/2^9.
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

func points(values ...float64) []stats.Point {
	var p []stats.Point
	for i, v := range values {
		p = append(p, stats.Point{Round: i + 1, Value: v})
	}
	return p
}

// TestRatiosCancelDrift checks that the ratio's interval is not widened by a drift of both sides of
// a round.
func TestRatiosCancelDrift(t *testing.T) {
	var a, b []stats.Point
	for round := 1; round <= 6; round++ {
		drift := float64(round * round)
		a = append(a, stats.Point{Round: round, Value: 2 * drift})
		b = append(b, stats.Point{Round: 7 - round, Value: float64((7 - round) * (7 - round))}) // b has the rounds in the opposite order
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

// TestInverse checks that the median of an inverse is 1 divided by the summary's median. With an
// even number of samples, as here, that is not the median of the reciprocals.
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
