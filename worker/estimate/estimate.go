// Package estimate computes the median of samples with its confidence interval, for the
// benchmarks of this module and for package stats of the root module.
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

// Of returns the median of the values with its 95 % interval. There must be at least one value.
// With fewer than 6 values the interval is their range, and its confidence level is below 95 %.
func Of(values []float64) Estimate {
	e, _ := At(values, 0.95)
	return e
}

// At returns the median of the values with an interval. The confidence level of the interval is at
// least the parameter "confidence", which must be below 1. There must be at least one value. The
// result "actual" is the exact confidence level. If there are too few values, "actual" is 0 and the
// interval is their range.
//
// The ends of the interval are order statistics, because the number of values below the true median
// has a binomial distribution. See W. J. Conover, Practical Nonparametric Statistics, section 3.2.
// At uses the pair of ranks with the smallest distance. Of two pairs with the same distance, it
// uses the pair with the lower ranks.
func At(values []float64, confidence float64) (e Estimate, actual float64) {
	x := slices.Sorted(slices.Values(values))
	n := len(x)
	e = Estimate{(x[(n-1)/2] + x[n/2]) / 2, x[0], x[n-1]}
	low, high, actual := ranks(n, confidence)
	if low < 1 || high > n {
		return e, 0
	}
	e.Low, e.High = x[low-1], x[high-1]
	return e, actual
}

// ranks returns two ranks among n sorted values, counted from 1. The true median lies between the
// values with these ranks, with at least the given confidence. Rank 0 means minus infinity, and rank
// n+1 plus infinity.
func ranks(n int, confidence float64) (low, high int, actual float64) {
	// p[k] is the probability that exactly k values are less than the median. It is also the
	// probability that exactly n-k values are less than the median.
	p := make([]float64, n/2+1)
	p[n/2] = 1
	for k := 2; k <= n+n%2; k += 2 {
		p[n/2] = p[n/2] * float64(k-1) / float64(k)
	}
	for k := n / 2; k > 0; k-- {
		p[k-1] = p[k] * float64(k) / float64(n-k+1)
	}
	low, high = n/2, n/2+1 // the ranks are right if at least low and at most high-1 values are less than the true median
	for actual = p[low]; actual < confidence && low > 0; {
		if p[low-1] >= p[n-high] {
			low--
			actual += p[low]
		} else {
			actual += p[n-high]
			high++
		}
	}
	return low, high, actual
}

// Ratios returns the estimate for the median of the ratios a[i] ÷ b[i].
func Ratios(a, b []float64) Estimate {
	r := make([]float64, len(a))
	for i := range a {
		r[i] = a[i] / b[i]
	}
	return Of(r)
}
