package stats

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestProportion checks Wilson's interval at a few points that were computed from its formula.
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

func TestPartsDiffer(t *testing.T) {
	got, half := PartsDiffer(Sampled{[]float64{400}, 200}, 100, Sampled{[]float64{600}, 300}, 225, 1)
	if got != 250 || math.Abs(half-1.959964*2*math.Sqrt(325)) > 1e-4 {
		t.Errorf("%v ± %v", got, half)
	}
}

// TestSampledRatio checks that about 95 % of the intervals contain the true ratio. This must hold if
// only the number of samples limits the precision, and also if differences between trials limit it.
func TestSampledRatio(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	for _, c := range []struct {
		name   string
		trials int
		spread float64 // standard deviation of the logarithm of a trial's true value
		least  float64
	}{
		{"few trials", 2, 0, 0.93},
		{"equal trials", 20, 0, 0.94},
		{"trials that differ", 8, 0.3, 0.92},
		{"many that differ", 30, 0.5, 0.92},
	} {
		const runs, truth = 1000, 1.3
		drawn := func(mean float64) (s Sampled) {
			for range c.trials {
				value := mean * math.Exp(c.spread*random.NormFloat64())
				n := int64(math.Round(value + math.Sqrt(value)*random.NormFloat64())) // approximately Poisson-distributed
				s.Values, s.Samples = append(s.Values, float64(n)), s.Samples+n
			}
			return s
		}
		held := 0
		for range runs {
			ratio, i := SampledRatio(drawn(40), drawn(40*truth))
			if ratio < i.Low || ratio > i.High {
				t.Fatalf("%s: %v is not in %+v", c.name, ratio, i)
			}
			if i.Low <= truth && truth <= i.High {
				held++
			}
		}
		if share := float64(held) / runs; share < c.least {
			t.Errorf("%s: %.3f of the intervals have the true ratio", c.name, share)
		}
	}
}
