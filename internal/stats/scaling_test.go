package stats_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/sqlite3perf/sqlite3perf/internal/stats"
)

func ExampleFitScaling() {
	law, ok := stats.FitScaling([]stats.Throughput{{1, 1000}, {2, 1770}, {4, 2760}, {8, 3300}, {16, 2900}})
	fmt.Println(ok)
	fmt.Printf("one client %.0f/s, contention %.1f %%, coherency %.2f %%\n", law.Lambda, 100*law.Sigma, 100*law.Kappa)
	fmt.Printf("peak at %.1f clients, %.0f/s; no point is farther than %.1f %% away\n", law.Peak(), law.At(law.Peak()), 100*law.Worst)
	// Output:
	// true
	// one client 1000/s, contention 10.2 %, coherency 1.25 %
	// peak at 8.5 clients, 3318/s; no point is farther than 0.5 % away
}

// TestFitScaling checks that if throughputs follow a law, the fit finds that law, even if σ or κ
// are at their bounds. If the throughputs vary, it must nearly find the law.
func TestFitScaling(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, law := range []stats.Scaling{
		{Lambda: 1000, Sigma: 0.05, Kappa: 0.002},
		{Lambda: 3, Sigma: 0.3},
		{Lambda: 5e6, Kappa: 0.01},
		{Lambda: 70},
		{Lambda: 70, Sigma: 1},
		{Lambda: 70, Sigma: 1, Kappa: 0.04},
	} {
		for _, noise := range []float64{0, 0.01} {
			var points []stats.Throughput
			for range 1 + int(noise*400) {
				for _, n := range []float64{1, 2, 4, 8, 16, 32} {
					points = append(points, stats.Throughput{Clients: n, PerSecond: law.At(n) * (1 + noise*random.NormFloat64())})
				}
			}
			got, ok := stats.FitScaling(points)
			if !ok {
				t.Fatalf("%+v: no fit", law)
			}
			near := 1e-9 + 3*noise
			if math.Abs(got.Lambda/law.Lambda-1) > near || math.Abs(got.Sigma-law.Sigma) > near || math.Abs(got.Kappa-law.Kappa) > near {
				t.Errorf("noise %g: %+v, want %+v", noise, got, law)
			}
			if got.Sigma < 0 || got.Sigma > 1 || got.Kappa < 0 || got.Worst > 1e-9+5*noise {
				t.Errorf("noise %g: %+v is out of bounds", noise, got)
			}
		}
	}
}

func TestScalingPeak(t *testing.T) {
	for want, law := range map[float64]stats.Scaling{
		10:          {Lambda: 1, Sigma: 0.5, Kappa: 0.005},
		1:           {Lambda: 1, Sigma: 1, Kappa: 0.1},
		math.Inf(1): {Lambda: 1, Sigma: 0.2},
	} {
		if got := law.Peak(); math.Abs(got-want) > 1e-9 {
			t.Errorf("%+v: %v, want %v", law, got, want)
		}
	}
	if got := (stats.Scaling{Lambda: 1, Sigma: 1}).Peak(); got != 1 {
		t.Errorf("only one at a time: %v", got)
	}
}

// TestNoScaling checks that no law is fitted if there are too few different numbers of clients, or
// impossible values.
func TestNoScaling(t *testing.T) {
	for name, points := range map[string][]stats.Throughput{
		"none":      nil,
		"three":     {{1, 10}, {2, 20}, {4, 30}, {4, 31}, {2, 19}},
		"zero":      {{1, 10}, {2, 20}, {4, 30}, {8, 0}},
		"negative":  {{1, 10}, {2, 20}, {4, 30}, {-8, 3}},
		"not known": {{1, 10}, {2, 20}, {4, 30}, {8, math.NaN()}},
		"infinite":  {{1, 10}, {2, 20}, {4, 30}, {math.Inf(1), 3}},
	} {
		if got, ok := stats.FitScaling(points); ok {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
