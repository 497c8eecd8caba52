package stats

import (
	"math"
	"testing"
)

// TestProportion checks Wilson's interval at a few points that are worked out from the formula.
func TestProportion(t *testing.T) {
	for _, c := range []struct {
		k, n      int64
		low, high float64
	}{
		{0, 0, 0, 1},
		{0, 10, 0, 0.2775},
		{10, 10, 0.7225, 1},
		{50, 100, 0.4038, 0.5962},
		{305, 500, 0.5666, 0.6518},
	} {
		got := Proportion(c.k, c.n)
		if math.Abs(got.Low-c.low) > 1e-4 || math.Abs(got.High-c.high) > 1e-4 {
			t.Errorf("%d of %d: [%.4f, %.4f], want [%.4f, %.4f]", c.k, c.n, got.Low, got.High, c.low, c.high)
		}
	}
}

func TestCountsDiffer(t *testing.T) {
	got, half := CountsDiffer(100, 2, 225, 2)
	if got != 250 || math.Abs(half-1.959964*2*math.Sqrt(325)) > 1e-4 {
		t.Errorf("%v ± %v", got, half)
	}
}
