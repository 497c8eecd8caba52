package stats

import (
	"math"

	mstats "github.com/aclements/go-moremath/stats"
)

// Proportion returns the 95 % interval of the share of a population, of which k of n
// drawn members were found to be in it. It is Wilson's score interval: E. B. Wilson,
// Probable Inference, the Law of Succession, and Statistical Inference, JASA 22 (1927).
// With n = 0 it is from 0 to 1.
func Proportion(k, n int64) Interval {
	if n == 0 {
		return Interval{0, 1, Confidence}
	}
	share, total := float64(k)/float64(n), float64(n)
	z2 := normal95 * normal95
	center := (share + z2/(2*total)) / (1 + z2/total)
	half := normal95 / (1 + z2/total) * math.Sqrt(share*(1-share)/total+z2/(4*total*total))
	return Interval{max(center-half, 0), min(center+half, 1), Confidence}
}

// PartsDiffer returns the difference of one part of the samples of b to the same part of a, k2
// and k1 of them, per trial, and half the width of its interval. The intervals of all parts
// hold together with a probability of 95 %. A count of independent events has a Poisson
// distribution, and so its own value as its variance. Where the trials' sums vary more than
// that, the parts' counts are taken to vary as much more.
func PartsDiffer(a Sampled, k1 int64, b Sampled, k2 int64, parts int) (difference, half float64) {
	confidence := 1 - (1-Confidence)/float64(max(parts, 1))
	of := func(s Sampled, k int64) (mean, half float64) {
		if s.Samples == 0 {
			return 0, 0
		}
		total, reach := s.mean(confidence)
		share := float64(k) / float64(s.Samples)
		return total * share, total * math.Sqrt(share) * reach
	}
	meanA, halfA := of(a, k1)
	meanB, halfB := of(b, k2)
	return meanB - meanA, math.Hypot(halfA, halfB)
}

// Sampled are values of trials that were estimated from samples, such as the CPU time that
// a profiler saw.
type Sampled struct {
	Values  []float64
	Samples int64 // of all trials
}

// mean returns the mean, and half the width of the interval of its logarithm at a level. That is
// the greater one of two: by the count of independent events and, with two trials or more, by
// how much these differ (Student's t). Both are first-order approximations: d log x = dx/x.
func (s Sampled) mean(confidence float64) (mean, half float64) {
	mean, half = Mean(s.Values), mstats.InvCDF(mstats.StdNormal)((1+confidence)/2)/math.Sqrt(float64(s.Samples))
	if n := float64(len(s.Values)); n > 1 {
		sd, _ := StdDev(s.Values)
		half = max(half, mstats.InvCDF(mstats.TDist{V: n - 1})((1+confidence)/2)*sd/(math.Sqrt(n)*mean))
	}
	return mean, half
}

// SampledRatio returns the ratio of the mean of b to that of a, with its 95 % interval. Both
// must have samples. The interval says how few samples there are, and how much the trials differ
// unless there is only one.
func SampledRatio(a, b Sampled) (ratio float64, interval Interval) {
	meanA, halfA := a.mean(Confidence)
	meanB, halfB := b.mean(Confidence)
	ratio = meanB / meanA
	factor := math.Exp(math.Hypot(halfA, halfB))
	return ratio, Interval{ratio / factor, ratio * factor, Confidence}
}

// normal95 is the quantile of the standard normal distribution that leaves 2.5 % above it.
const normal95 = 1.959963984540054
