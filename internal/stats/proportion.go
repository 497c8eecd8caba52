package stats

import (
	"math"

	mstats "github.com/aclements/go-moremath/stats"
)

// Proportion returns the 95 % interval of a share of a population, if k of n randomly drawn
// members belong to that share. It is Wilson's score interval: E. B. Wilson, Probable
// Inference, the Law of Succession, and Statistical Inference, JASA 22 (1927). If n is 0, the
// interval is from 0 to 1.
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

// PartsDiffer compares one part of two sampled values, such as the CPU time of one group. k1 of a's
// samples and k2 of b's samples belong to the part. difference is the part in b minus the part in
// a, per trial. The result "half" is half the width of the interval of difference. parts is the
// number of parts that are compared. With a probability of 95 %, the intervals of all parts contain
// the true differences.
//
// A count of independent events has a Poisson distribution, so its variance equals the count. If
// the trials' values vary more than that, the parts are assumed to vary more by the same factor.
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

// Sampled is a value, one for each trial, that was estimated from samples, such as the CPU
// time that a profiler saw.
type Sampled struct {
	Values  []float64
	Samples int64 // number of samples, over all trials
}

// mean returns the mean of the values, and half the width of the interval of its logarithm. It
// uses the wider of two intervals: one for a count of independent events and, if there are at
// least two trials, one for the differences between trials (Student's t). Both are first-order
// approximations: d log x = dx/x.
func (s Sampled) mean(confidence float64) (mean, half float64) {
	mean, half = Mean(s.Values), mstats.InvCDF(mstats.StdNormal)((1+confidence)/2)/math.Sqrt(float64(s.Samples))
	if n := float64(len(s.Values)); n > 1 {
		sd, _ := StdDev(s.Values)
		half = max(half, mstats.InvCDF(mstats.TDist{V: n - 1})((1+confidence)/2)*sd/(math.Sqrt(n)*mean))
	}
	return mean, half
}

// SampledRatio returns the mean of b divided by the mean of a, with its 95 % interval. Both must
// have samples. The interval is wide if there are few samples or if trials differ. If there is
// only one trial, it is not known how much trials differ.
func SampledRatio(a, b Sampled) (ratio float64, interval Interval) {
	meanA, halfA := a.mean(Confidence)
	meanB, halfB := b.mean(Confidence)
	ratio = meanB / meanA
	factor := math.Exp(math.Hypot(halfA, halfB))
	return ratio, Interval{ratio / factor, ratio * factor, Confidence}
}

// normal95 is the quantile of the standard normal distribution that leaves 2.5 % above it.
const normal95 = 1.959963984540054
