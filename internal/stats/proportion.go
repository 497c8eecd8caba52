package stats

import (
	"math"

	mstats "github.com/aclements/go-moremath/stats"
)

// Proportion returns the 95 % interval of the share of a population's members that have some
// property. Of n randomly drawn members, k have the property. The interval is Wilson's score
// interval: E. B. Wilson, Probable Inference, the Law of Succession, and Statistical Inference,
// JASA 22 (1927). If n is 0, the interval is from 0 to 1.
func Proportion(k, n int64) Interval {
	if n == 0 {
		return Interval{0, 1, Confidence}
	}
	share, total := float64(k)/float64(n), float64(n)
	z := normalQuantile(1 - Confidence)
	z2 := z * z
	center := (share + z2/(2*total)) / (1 + z2/total)
	half := z / (1 + z2/total) * math.Sqrt(share*(1-share)/total+z2/(4*total*total))
	return Interval{max(center-half, 0), min(center+half, 1), Confidence}
}

// PartsDiffer compares the same part of two sampled values a and b. A part is, for example, the CPU
// time of one group of functions. k1 of a's samples and k2 of b's samples belong to the part. The
// result "difference" is the part of b minus the part of a, per trial. The result "half" is half
// the width of the interval of the difference. The parameter "parts" is the number of parts that
// are compared. With a probability of 95 %, the intervals of all these parts contain the true
// differences.
//
// A count of independent events has a Poisson distribution, so its variance equals the count. If
// the trials' values vary more than such counts, the parts are assumed to vary more by the same
// factor.
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

// Sampled has the values of a figure that was estimated from samples, such as the CPU time that a
// profiler saw. It has one value for each trial.
type Sampled struct {
	Values  []float64
	Samples int64 // number of samples, over all trials
}

// mean returns the mean of the values, and half the width of the interval of the mean's logarithm.
// It computes two intervals and uses the wider one. The first interval assumes that the samples are
// independent events. The second interval is computed from the differences between trials
// (Student's t), so it needs at least two trials. Both are first-order approximations: d log x =
// dx/x.
func (s Sampled) mean(confidence float64) (mean, half float64) {
	mean, half = Mean(s.Values), normalQuantile(1-confidence)/math.Sqrt(float64(s.Samples))
	if n := float64(len(s.Values)); n > 1 {
		sd, _ := StdDev(s.Values)
		half = max(half, mstats.InvCDF(mstats.TDist{V: n - 1})((1+confidence)/2)*sd/(math.Sqrt(n)*mean))
	}
	return mean, half
}

// SampledRatio returns the mean of b divided by the mean of a, with its 95 % interval. Both must
// have samples. Few samples make the interval wide, and so do differences between trials. With only
// one trial, differences between trials are unknown and do not widen the interval.
func SampledRatio(a, b Sampled) (ratio float64, interval Interval) {
	meanA, halfA := a.mean(Confidence)
	meanB, halfB := b.mean(Confidence)
	ratio = meanB / meanA
	factor := math.Exp(math.Hypot(halfA, halfB))
	return ratio, Interval{ratio / factor, ratio * factor, Confidence}
}
