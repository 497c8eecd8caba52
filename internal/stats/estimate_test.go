package stats_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"golang.org/x/perf/benchmath"

	"github.com/sqlite3perf/sqlite3perf/internal/stats"
)

// TestSummaryIsBenchmaths checks that medians and intervals equal those of benchstat. It checks
// only numbers of values for which benchstat does not round binomial coefficients.
func TestSummaryIsBenchmaths(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for n := 1; n <= 20; n++ {
		values := make([]float64, n)
		for i := range values {
			values[i] = r.NormFloat64()
		}
		for _, confidence := range []float64{0.5, 0.9, stats.Confidence, stats.Sequential, 0.999} {
			got := stats.SummarizeAt(values, confidence)
			want := benchmath.AssumeNothing.Summary(benchmath.NewSample(append([]float64{}, values...), &benchmath.DefaultThresholds), confidence)
			at := fmt.Sprintf("%d values at %v", n, confidence)
			if math.Abs(got.Median-want.Center) > 1e-12 {
				t.Errorf("%s: median %v, want %v", at, got.Median, want.Center)
			}
			finite := !math.IsInf(want.Lo, 0) && !math.IsInf(want.Hi, 0)
			switch {
			case finite != (got.Interval != nil):
				t.Errorf("%s: interval %v, want %v to %v", at, got.Interval, want.Lo, want.Hi)
			case !finite:
				if len(want.Warnings) != 1 || len(got.Warnings) != 1 || got.Warnings[0] != want.Warnings[0].Error() {
					t.Errorf("%s: warnings %q, want %q", at, got.Warnings, want.Warnings)
				}
			case got.Interval.Low != want.Lo || got.Interval.High != want.Hi || math.Abs(got.Interval.Confidence-want.Confidence) > 1e-9:
				t.Errorf("%s: %v, want %v to %v at %v", at, *got.Interval, want.Lo, want.Hi, want.Confidence)
			}
		}
	}
}
