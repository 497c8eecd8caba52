package stats

import (
	"math"
	"math/rand/v2"
	"slices"
)

// Noise says how much the times of two equal cases differ. Both cases have the same driver, which
// is measured twice in each round.
type Noise struct {
	Median      float64   // median of the values of both cases
	Least, Most float64   // the least and the greatest value, divided by Median
	Ratios      []float64 // the first case's time divided by the second case's time, for each round

	// Half and Widest say how much the two cases differ within a round: by at most Half in half of
	// the rounds, and by Widest in the worst round. 0.02 means that one of the cases, no matter
	// which, took 2 % longer.
	Half, Widest float64
}

// NewNoise compares the values of two equal cases, such as their times. ok is false if they
// have fewer than [MinSamples] rounds in common, or values that are not above 0.
func NewNoise(a, b []Point) (n Noise, ok bool) {
	ratios, skipped := Ratios(a, b)
	values := slices.Sorted(slices.Values(append(Values(a), Values(b)...)))
	if len(ratios) < MinSamples || skipped > 0 || !(values[0] > 0) {
		return n, false
	}
	n.Median = middle(values)
	n.Least, n.Most = values[0]/n.Median, values[len(values)-1]/n.Median
	n.Ratios = Values(ratios)
	distances := logs(n.Ratios)
	for i, d := range distances {
		distances[i] = math.Abs(d)
	}
	slices.Sort(distances)
	n.Half, n.Widest = math.Expm1(middle(distances)), math.Expm1(distances[len(distances)-1])
	return n, true
}

// NoiseTold is the share of runs that must detect a difference for [Noise.SmallestDifference] to
// return it.
const NoiseTold = 0.9

// SmallestDifference returns the smallest difference between two cases that a run detects with
// probability [NoiseTold]. The run has the given number of rounds, at least [MinSamples]. A
// difference of 0.02 is a ratio of 1.02.
//
// It simulates many runs of that length. Each run draws random ratios of the equal cases, and
// computes their interval by [SummarizeRatios]. If one case took longer by some factor, all ratios
// and both ends of the interval would be multiplied by this factor. A run detects the difference if
// the lower end is then above 1. It does not matter which of two equal cases is divided by the
// other, so each ratio is drawn as often as its inverse. Beyond 100 rounds, intervals are assumed
// to shrink with the square root of the rounds.
func (n Noise) SmallestDifference(rounds int) float64 {
	const runs = 400
	random := rand.New(rand.NewPCG(1, 2)) // fixed seed: the same ratios always give the same result
	drawn := make([]float64, min(rounds, exactSignedRank))
	distances := make([]float64, runs) // distance of each interval's lower end from 1, as a logarithm
	for i := range distances {
		for j := range drawn {
			drawn[j] = n.Ratios[random.IntN(len(n.Ratios))]
			if random.IntN(2) == 0 {
				drawn[j] = 1 / drawn[j]
			}
		}
		distances[i] = -math.Log(SummarizeRatios(drawn).Interval.Low)
	}
	slices.Sort(distances)
	at := max(0, distances[int(math.Ceil(NoiseTold*runs))-1])
	return math.Expm1(at * math.Sqrt(float64(len(drawn))/float64(rounds)))
}

// Range returns a range for a difference that [Noise.SmallestDifference] returned. In about nine of ten
// cases, the range contains the difference that SmallestDifference would return after a very long
// measurement. Range resamples the measured rounds. It assumes that the logarithm of the difference is
// proportional to the width of the interval of the ratios. The result is the union of two bootstrap
// intervals: the percentile interval and the basic interval of the logarithm (A. C. Davison, D. V. Hinkley,
// Bootstrap Methods and their Application, chapter 5). Both are computed at 95 %. With few rounds, each of
// the two intervals contains the true value in fewer than 95 % of cases. Therefore Range returns the union.
func (n Noise) Range(difference float64) (low, high float64) {
	const times = 200
	random := rand.New(rand.NewPCG(3, 4))
	measured := n.width(n.Ratios)
	if measured == 0 {
		return difference, difference
	}
	drawn := make([]float64, len(n.Ratios))
	factors := make([]float64, times)
	for i := range factors {
		for j := range drawn {
			drawn[j] = n.Ratios[random.IntN(len(n.Ratios))]
		}
		factors[i] = n.width(drawn) / measured
	}
	slices.Sort(factors)
	const least = 0.05 // limits the range if only rounds without any noise are drawn
	small, large := max(least, factors[times/40]), factors[times-1-times/40]
	of := func(factor float64) float64 { return math.Expm1(math.Log1p(difference) * factor) }
	return of(min(small, 1/large)), of(max(large, 1/small))
}

// width returns half the width of the interval of the logarithms of ratios. Each ratio and its
// inverse are equally likely, so both count, and the interval is symmetric about 0.
func (n Noise) width(ratios []float64) float64 {
	both := make([]float64, 0, 2*len(ratios))
	for _, r := range ratios {
		both = append(both, r, 1/r)
	}
	return math.Log(SummarizeRatios(both).Interval.High)
}
