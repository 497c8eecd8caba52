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

// CountsDiffer returns the difference of two rates, k2·unit2 - k1·unit1, and half the
// width of its 95 % interval, where k1 and k2 are counts of independent events. Each has a
// Poisson distribution, and so its own value as its variance.
func CountsDiffer(k1 int64, unit1 float64, k2 int64, unit2 float64) (difference, half float64) {
	return float64(k2)*unit2 - float64(k1)*unit1, normal95 * math.Sqrt(float64(k1)*unit1*unit1+float64(k2)*unit2*unit2)
}

// Sampled are values of trials that were estimated from samples, such as the CPU time that
// a profiler saw.
type Sampled struct {
	Values  []float64
	Samples int64 // of all trials
}

// mean returns the mean, and the variance of its logarithm with the quantile to be used
// with it. The variance is the greater one of two: that of a count of independent events,
// and, with at least [MinSamples] trials, that of the trials' mean. Both are first-order
// approximations: d log x = dx/x.
func (s Sampled) mean() (mean, variance, quantile float64) {
	mean, variance, quantile = Mean(s.Values), 1/float64(s.Samples), normal95
	n := float64(len(s.Values))
	if n < MinSamples {
		return mean, variance, quantile
	}
	sd, _ := StdDev(s.Values)
	if ofTrials := sd * sd / (n * mean * mean); ofTrials > variance {
		variance, quantile = ofTrials, mstats.InvCDF(mstats.TDist{V: n - 1})((1+Confidence)/2)
	}
	return mean, variance, quantile
}

// SampledRatio returns the ratio of the mean of b to that of a, with its 95 % interval. Both
// must have samples. The interval says how few samples there are, and, with at least
// [MinSamples] trials, how much these differ.
func SampledRatio(a, b Sampled) (ratio float64, interval Interval) {
	meanA, varianceA, quantileA := a.mean()
	meanB, varianceB, quantileB := b.mean()
	ratio = meanB / meanA
	factor := math.Exp(max(quantileA, quantileB) * math.Sqrt(varianceA+varianceB))
	return ratio, Interval{ratio / factor, ratio * factor, Confidence}
}

// normal95 is the quantile of the standard normal distribution that leaves 2.5 % above it.
const normal95 = 1.959963984540054
