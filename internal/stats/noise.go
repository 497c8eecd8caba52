package stats

import (
	"math"
	"math/rand/v2"
	"slices"

	"github.com/sqlite3perf/sqlite3perf/internal/result"
)

// NewNoise compares the values, such as times, of two equal cases. Both cases have the same driver, which is
// measured twice in each round. The result n has all figures of [result.NoisePhase] except Smallest, and no
// name. ok is false if the cases have fewer than [MinSamples] rounds in common, or values that are not above 0.
func NewNoise(a, b []Point) (n result.NoisePhase, ok bool) {
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

// NoiseTold is the share of runs that must detect a difference for [SmallestDifference] to
// return it.
const NoiseTold = 0.9

// SmallestDifference returns the smallest difference between two cases that a run detects with
// probability [NoiseTold]. The parameter "measured" has the ratios of two equal cases, one for each round that was
// measured. The run has the given number of rounds, at least [MinSamples]. A difference of 0.02 is a ratio of 1.02.
//
// It simulates many runs of that length. Each run draws random ratios of the equal cases, and
// computes their interval by [SummarizeRatios]. If one case took longer by some factor, all ratios
// and both ends of the interval would be multiplied by this factor. A run detects the difference if
// the lower end is then above 1. It does not matter which of two equal cases is divided by the
// other, so each ratio is drawn as often as its inverse. Beyond 100 rounds, intervals are assumed
// to shrink with the square root of the rounds.
func SmallestDifference(measured []float64, rounds int) float64 {
	const runs = 400
	random := rand.New(rand.NewPCG(1, 2)) // fixed seed: the same ratios always give the same result
	drawn := make([]float64, min(rounds, exactSignedRank))
	distances := make([]float64, runs) // distance of each interval's lower end from 1, as a logarithm
	for i := range distances {
		for j := range drawn {
			drawn[j] = measured[random.IntN(len(measured))]
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

// DifferenceRange returns a range for a difference that [SmallestDifference] returned. In about nine of ten
// cases, the range contains the difference that SmallestDifference would return after a very long
// measurement. DifferenceRange resamples the measured rounds. It assumes that the logarithm of the difference is
// proportional to the width of the interval of the ratios. The result is the union of two bootstrap
// intervals: the percentile interval and the basic interval of the logarithm (A. C. Davison, D. V. Hinkley,
// Bootstrap Methods and their Application, chapter 5). Both are computed at 95 %. With few rounds, each of
// the two intervals contains the true value in fewer than 95 % of cases. Therefore DifferenceRange returns the union.
func DifferenceRange(ratios []float64, difference float64) result.Range {
	const times = 200
	random := rand.New(rand.NewPCG(3, 4))
	measured := width(ratios)
	if measured == 0 {
		return result.Range{Low: difference, High: difference}
	}
	drawn := make([]float64, len(ratios))
	factors := make([]float64, times)
	for i := range factors {
		for j := range drawn {
			drawn[j] = ratios[random.IntN(len(ratios))]
		}
		factors[i] = width(drawn) / measured
	}
	slices.Sort(factors)
	const least = 0.05 // limits the range if only rounds without any noise are drawn
	small, large := max(least, factors[times/40]), factors[times-1-times/40]
	of := func(factor float64) float64 { return math.Expm1(math.Log1p(difference) * factor) }
	return result.Range{Low: of(min(small, 1/large)), High: of(max(large, 1/small))}
}

// width returns half the width of the interval of the logarithms of ratios. Each ratio and its
// inverse are equally likely, so both count, and the interval is symmetric about 0.
func width(ratios []float64) float64 {
	both := make([]float64, 0, 2*len(ratios))
	for _, r := range ratios {
		both = append(both, r, 1/r)
	}
	return math.Log(SummarizeRatios(both).Interval.High)
}
