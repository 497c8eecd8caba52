package estimate

import (
	"math"
	"math/big"
	"testing"
)

// TestOf checks the median's interval for n values. Its level follows from the binomial distribution.
// For example, if n is 9, the interval from the second least to the second greatest value has the
// level 1 - 2 * (1 + 9) / 2^9 = 96.1 %.
func TestOf(t *testing.T) {
	for _, c := range []struct {
		n    int
		want Estimate
	}{
		{1, Estimate{1, 1, 1}}, {2, Estimate{1.5, 1, 2}}, {5, Estimate{3, 1, 5}}, {6, Estimate{3.5, 1, 6}},
		{8, Estimate{4.5, 1, 7}}, {9, Estimate{5, 2, 8}}, {15, Estimate{8, 4, 12}}, {20, Estimate{10.5, 6, 15}},
	} {
		values := make([]float64, c.n)
		for i := range values {
			values[i] = float64((i*7)%c.n + 1) // the numbers from 1 to n, out of order
			if c.n%7 == 0 {
				values[i] = float64(c.n - i)
			}
		}
		if got := Of(values); got != c.want {
			t.Errorf("%d values: got %v, want %v", c.n, got, c.want)
		}
	}
	if got, want := Ratios([]float64{2, 9, 4}, []float64{1, 3, 1}), (Estimate{3, 2, 4}); got != want {
		t.Errorf("ratios: got %v, want %v", got, want)
	}
}

// TestAt checks that At returns the exact confidence level of the interval, and that the level of a
// narrower interval would be too low.
func TestAt(t *testing.T) {
	for _, n := range []int{6, 7, 8, 30, 31, 100, 101, 1000, 5000} {
		values := make([]float64, n)
		for i := range values {
			values[i] = float64(n - i) // the value is its own rank
		}
		// p is the probability that exactly k of n values are less than the median.
		p := func(k int) float64 {
			v, _ := new(big.Float).SetMantExp(new(big.Float).SetInt(new(big.Int).Binomial(int64(n), int64(k))), -n).Float64()
			return v
		}
		for _, confidence := range []float64{0.5, 0.95, 0.98} {
			if n == 6 && confidence == 0.98 {
				continue // with 6 values even the whole range has only the level 96.9 %
			}
			e, got := At(values, confidence)
			level := 0.0
			for k := int(e.Low); k < int(e.High); k++ {
				level += p(k)
			}
			if math.Abs(got-level) > 1e-9 || level < confidence {
				t.Errorf("%d values at %v: At returned the level %v for the interval from %v to %v, want %v", n, confidence, got, e.Low, e.High, level)
			}
			if least := level - min(p(int(e.Low)), p(int(e.High)-1)); least >= confidence {
				t.Errorf("%d values at %v: the interval from %v to %v is too wide: without a value at one end, its level is still %v", n, confidence, e.Low, e.High, least)
			}
		}
	}
}
