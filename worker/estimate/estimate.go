// Package estimate sums up the figures of this module's benchmarks. What a run
// measures is judged by package stats of the root module, in the same way.
package estimate

import (
	"fmt"
	"math"
	"slices"
)

// Estimate is a median with its 95 % confidence interval.
type Estimate struct {
	Median float64 `json:"median"`
	Low    float64 `json:"low"`
	High   float64 `json:"high"`
}

func (e Estimate) String() string {
	if math.Abs(e.Median) < 10 {
		return fmt.Sprintf("%.3f [%.3f, %.3f]", e.Median, e.Low, e.High)
	}
	return fmt.Sprintf("%.0f [%.0f, %.0f]", e.Median, e.Low, e.High)
}

// Of is the median with its interval by order statistics: the k-th least and
// the k-th greatest value, with the greatest k for which less than k of n values
// lie on one side of the true median with a probability of at most 2.5 %. See
// W. J. Conover, Practical Nonparametric Statistics, section 3.2. Below 6 values
// the interval is their range, and its level is lower. There is at least one
// value.
func Of(values []float64) Estimate {
	x := slices.Sorted(slices.Values(values))
	n := len(x)
	k := 0
	for below, p := 0.0, math.Pow(0.5, float64(n)); k < n/2; k++ {
		if below += p; below > 0.025 { // of at most k values
			break
		}
		p *= float64(n-k) / float64(k+1)
	}
	k = max(k, 1)
	return Estimate{(x[(n-1)/2] + x[n/2]) / 2, x[k-1], x[n-k]}
}

// Ratios is the estimate of a[i] ÷ b[i].
func Ratios(a, b []float64) Estimate {
	r := make([]float64, len(a))
	for i := range a {
		r[i] = a[i] / b[i]
	}
	return Of(r)
}
