package stats

import (
	"math"
	"math/rand/v2"
	"slices"
)

// Noise is how much the times of two equal cases differ: those of a driver that is
// measured beside itself.
type Noise struct {
	Median      float64   // of all values
	Least, Most float64   // the extreme values, divided by the median
	Ratios      []float64 // of the two cases, by round

	// Half is the share by which the two differ at least in half of the rounds, Widest
	// that by which they differ at most. 0.02 is 2 %, whichever of the two is greater.
	Half, Widest float64
}

// NewNoise compares the values of two equal cases. ok is false if they have fewer than
// [MinSamples] rounds in common, or values that are not above 0.
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

// NoiseTold is the share of runs that show a difference as large as the one that
// [Noise.SmallestDifference] returns.
const NoiseTold = 0.9

// SmallestDifference returns the smallest difference between two cases that a run of some
// rounds, at least [MinSamples], shows with the probability [NoiseTold]: 0.02 is a ratio
// of 1.02. It draws many runs of that length from the ratios of the equal cases, and takes
// the interval of [SummarizeRatios] of each. A difference multiplies all ratios, and so
// the ends of the interval; a run shows it if it lifts the lower end above 1. Which of two
// equal cases is divided by which does not matter, so each ratio is drawn as often as its
// inverse.
// Beyond 100 rounds intervals narrow with the square root of the rounds.
func (n Noise) SmallestDifference(rounds int) float64 {
	const runs = 400
	random := rand.New(rand.NewPCG(1, 2)) // the same ratios always give the same figure
	drawn := make([]float64, min(rounds, exactSignedRank))
	distances := make([]float64, runs) // of the lower ends from 1
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

// Range says how certain a difference is that [Noise.SmallestDifference] returned: between
// which values it lies, about nine times of ten, if the noise is measured for long. The
// measured rounds are drawn again many times, and the difference is taken to grow with the
// width of their interval. The range covers two bootstrap intervals of 95 %, the percentile
// and the basic one of the logarithm (A. C. Davison, D. V. Hinkley, Bootstrap Methods and
// their Application, chapter 5), because with few rounds either alone is too narrow.
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
	const least = 0.05 // if rounds without any noise are drawn, anything is possible
	small, large := max(least, factors[times/40]), factors[times-1-times/40]
	of := func(factor float64) float64 { return math.Expm1(math.Log1p(difference) * factor) }
	return of(min(small, 1/large)), of(max(large, 1/small))
}

// width returns the distance of the ends of the interval of ratios from 1, as a logarithm,
// if each ratio is as likely as its inverse.
func (n Noise) width(ratios []float64) float64 {
	both := make([]float64, 0, 2*len(ratios))
	for _, r := range ratios {
		both = append(both, r, 1/r)
	}
	return math.Log(SummarizeRatios(both).Interval.High)
}
