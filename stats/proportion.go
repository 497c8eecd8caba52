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
	of := func(s Sampled, k int64) (mean, variance, quantile float64) {
		if s.Samples == 0 {
			return 0, 0, 0
		}
		total, spread, quantile := s.mean(confidence)
		share := float64(k) / float64(s.Samples)
		return total * share, total * total * share * spread, quantile
	}
	meanA, varianceA, quantileA := of(a, k1)
	meanB, varianceB, quantileB := of(b, k2)
	return meanB - meanA, max(quantileA, quantileB) * math.Sqrt(varianceA+varianceB)
}

// Sampled are values of trials that were estimated from samples, such as the CPU time that
// a profiler saw.
type Sampled struct {
	Values  []float64
	Samples int64 // of all trials
}

// mean returns the mean, and the variance of its logarithm with the quantile to be used
// with it for an interval at a level. The variance is the greater one of two: that of a count of independent events,
// and, with at least [MinSamples] trials, that of the trials' mean. Both are first-order
// approximations: d log x = dx/x.
func (s Sampled) mean(confidence float64) (mean, variance, quantile float64) {
	mean, variance, quantile = Mean(s.Values), 1/float64(s.Samples), mstats.InvCDF(mstats.StdNormal)((1+confidence)/2)
	n := float64(len(s.Values))
	if n < MinSamples {
		return mean, variance, quantile
	}
	sd, _ := StdDev(s.Values)
	if ofTrials := sd * sd / (n * mean * mean); ofTrials > variance {
		variance, quantile = ofTrials, mstats.InvCDF(mstats.TDist{V: n - 1})((1+confidence)/2)
	}
	return mean, variance, quantile
}

// SampledRatio returns the ratio of the mean of b to that of a, with its 95 % interval. Both
// must have samples. The interval says how few samples there are, and, with at least
// [MinSamples] trials, how much these differ.
func SampledRatio(a, b Sampled) (ratio float64, interval Interval) {
	meanA, varianceA, quantileA := a.mean(Confidence)
	meanB, varianceB, quantileB := b.mean(Confidence)
	ratio = meanB / meanA
	factor := math.Exp(max(quantileA, quantileB) * math.Sqrt(varianceA+varianceB))
	return ratio, Interval{ratio / factor, ratio * factor, Confidence}
}

// normal95 is the quantile of the standard normal distribution that leaves 2.5 % above it.
const normal95 = 1.959963984540054
