package stats_test

import (
	"testing"

	"github.com/sqlite3perf/sqlite3perf/internal/stats"
)

// TestFurther checks that the estimated number of further rounds is lower for a greater difference,
// and higher for more noise.
func TestFurther(t *testing.T) {
	points := func(rounds int, value func(i int) float64) (list []stats.Point) {
		for i := range rounds {
			list = append(list, stats.Point{Round: i + 1, Value: value(i)})
		}
		return list
	}
	further := func(rounds int, ratio, noise float64) int {
		one := points(rounds, func(int) float64 { return 1 })
		two := points(rounds, func(i int) float64 { return ratio * (1 + noise*float64(i%5-2)/2) })
		ratios, _ := stats.Ratios(two, one)
		s := stats.SummarizeRatiosAt(stats.Values(ratios), stats.Confidence)
		return stats.CompareRatios(stats.Values(ratios)).Further(s, 0.05, stats.Confidence)
	}
	if near, far := further(20, 1.08, 0.4), further(20, 1.15, 0.4); far <= 0 || near <= far {
		t.Errorf("%d more rounds at 1.15, %d at 1.08: want more for the smaller difference", far, near)
	}
	if little, much := further(20, 1, 0.2), further(20, 1, 0.4); little <= 0 || much <= little {
		t.Errorf("two equal sets need %d more rounds with much noise, %d with little: want more with much noise", much, little)
	}
}

// TestFigureFurther checks the estimated number of further rounds. It must grow with the square of
// the interval's width, and be 0 for a figure that is precise enough.
func TestFigureFurther(t *testing.T) {
	of := func(n int, spread float64) *stats.Figure {
		return &stats.Figure{Summary: stats.Summary{N: n, Median: 2, Interval: &stats.Interval{Low: 2 - 2*spread, High: 2 + spread}}}
	}
	for _, tc := range []struct {
		figure *stats.Figure
		want   int
	}{
		{of(10, 0.04), 0},
		{of(10, 0.1), 30},
		{of(10, 0.2), 150},
		{of(10, 10), stats.MaxRounds},
		{&stats.Figure{Summary: stats.Summary{N: 4, Median: 2}}, stats.MinSamples - 4},
		{&stats.Figure{Summary: stats.Summary{N: 10, Interval: &stats.Interval{Low: -1, High: 1}}}, stats.MaxRounds},
	} {
		if got := tc.figure.Further(0.05); got != tc.want {
			t.Errorf("%+v needs %d more rounds, want %d", tc.figure.Summary, got, tc.want)
		}
	}
}
