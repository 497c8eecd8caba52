package estimate

import "testing"

// The ranks are those of the binomial distribution: with n = 9, say, 1 - 2 *
// (1 + 9) / 2^9 = 96.1 % for the second least and the second greatest.
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
			values[i] = float64((i*7)%c.n + 1) // each once, out of order
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
