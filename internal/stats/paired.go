package stats

import (
	"cmp"
	"math"
	"slices"
	"sync"

	mstats "github.com/aclements/go-moremath/stats"
)

// SummarizeRatios summarizes ratios, one from each round. Its median is the Hodges-Lehmann
// estimate: the median of the geometric means of every two ratios, including each ratio with
// itself. Its interval belongs to the Wilcoxon signed-rank test of [CompareRatios]. The interval
// excludes 1 exactly if the p-value of that test is below 0.05.
func SummarizeRatios(ratios []float64) Summary { return SummarizeRatiosAt(ratios, Confidence) }

// SummarizeRatiosAt is [SummarizeRatios] with an interval of at least the given
// confidence.
func SummarizeRatiosAt(ratios []float64, confidence float64) Summary {
	n := len(ratios)
	if n == 0 {
		return Summary{Warnings: []string{"no samples"}}
	}
	averages := walshAverages(logs(ratios))
	s := Summary{N: n, Median: math.Exp(middle(averages))}
	if n >= MinSamples {
		s.Interval = inverted(averages, signedRankNull(n), confidence)
	}
	return s
}

// inverted returns the interval that belongs to a test of a ratio. It has all ratios that the test does not
// reject. The parameter "sorted" has the sorted logarithms whose median is the estimate, such as the Walsh
// averages (see [signedRank]). The parameter "null" is the distribution function of the test's statistic. If
// there are too few values for an interval of the given confidence, inverted returns nil.
func inverted(sorted []float64, null func(int) float64, confidence float64) *Interval {
	outside := 0 // number of values beyond each end of the interval
	for outside < len(sorted)/2 && 2*null(outside) <= 1-confidence {
		outside++
	}
	if outside == 0 {
		return nil
	}
	return &Interval{
		Low: math.Exp(sorted[outside-1]), High: math.Exp(sorted[len(sorted)-outside]),
		Confidence: 1 - 2*null(outside-1),
	}
}

// middle returns the median of values, which must be sorted. If the two values in the middle are
// infinite, they must have the same sign.
func middle(sorted []float64) float64 {
	n := len(sorted)
	if a, b := sorted[(n-1)/2], sorted[n/2]; a != b {
		return a/2 + b/2
	}
	return sorted[n/2]
}

func logs(ratios []float64) []float64 {
	d := make([]float64, len(ratios))
	for i, r := range ratios {
		d[i] = math.Log(r)
	}
	return d
}

// walshAverages returns the Walsh averages of differences (see [signedRank]), sorted.
func walshAverages(d []float64) []float64 {
	list := make([]float64, 0, len(d)*(len(d)+1)/2)
	for i, x := range d {
		for _, y := range d[i:] {
			list = append(list, x/2+y/2)
		}
	}
	slices.Sort(list)
	return list
}

// signedRank is the two-sided Wilcoxon signed-rank test of whether differences are symmetric about
// 0. The rank sum of the positive differences is the number of Walsh averages above 0 (Tukey 1949).
// A Walsh average is the mean of two differences, or a single difference. An average of exactly 0
// counts for both sides, so ties and zeros can only make p greater. The result "sign" is 1 if the
// differences are mostly above 0, -1 if they are mostly below 0, and 0 otherwise.
func signedRank(d []float64) (p float64, sign int) {
	if len(d) == 0 {
		return 1, 0
	}
	negative, positive := walshSigns(d)
	return min(1, 2*signedRankNull(len(d))(min(negative, positive))), cmp.Compare(positive, negative)
}

// walshSigns counts the Walsh averages that are at most 0, and the Walsh averages that are at
// least 0.
func walshSigns(d []float64) (notAbove, notBelow int) {
	for i, x := range d {
		for _, y := range d[i:] {
			s := x + y
			if !(s > 0) {
				notAbove++
			}
			if !(s < 0) {
				notBelow++
			}
		}
	}
	return notAbove, notBelow
}

// exactSignedRank is the greatest number of rounds for which the exact distribution of the
// signed-rank statistic is computed. For more rounds, the normal distribution is as good.
const exactSignedRank = 100

var nulls = struct {
	sync.Mutex
	byN map[int][]float64
}{byN: map[int][]float64{}}

// signedRankNull returns the distribution function of the signed-rank statistic of
// n differences that are symmetric about 0. Each rank is added or not, with equal
// probability (Wilcoxon 1945, Biometrics Bulletin 1(6)). The normal approximation has the
// mean n(n+1)/4 and the variance n(n+1)(2n+1)/24, with a correction for continuity
// (Hollander, Wolfe, Chicken, section 3.1).
func signedRankNull(n int) func(t int) float64 {
	if n > exactSignedRank {
		mean := float64(n) * float64(n+1) / 4
		sd := math.Sqrt(mean * float64(2*n+1) / 6)
		return func(t int) float64 {
			return mstats.NormalDist{Mu: mean, Sigma: sd}.CDF(float64(t) + 0.5)
		}
	}
	nulls.Lock()
	defer nulls.Unlock()
	cdf := nulls.byN[n]
	if cdf == nil {
		cdf = make([]float64, n*(n+1)/2+1)
		cdf[0] = 1
		for rank := 1; rank <= n; rank++ {
			for t := rank * (rank + 1) / 2; t >= 0; t-- {
				cdf[t] /= 2
				if t >= rank {
					cdf[t] += cdf[t-rank] / 2
				}
			}
		}
		for t := 1; t < len(cdf); t++ {
			cdf[t] += cdf[t-1]
		}
		nulls.byN[n] = cdf
	}
	return func(t int) float64 {
		if t < 0 {
			return 0
		}
		return min(1, cdf[min(t, len(cdf)-1)])
	}
}

// rankRounds is the least number of rounds from which the p-values of the signed-rank test can be
// corrected for comparisons of three or more sets. With fewer rounds there are too few possible
// p-values. For example, the least p-value of six rounds is 2/64.
const rankRounds = 16

// shortTails is the factor by which p-values of the t test are multiplied. Without it, p-values
// would be a little too small for distributions with short tails, such as times that drift within
// rounds.
const shortTails = 1.25

// corrected returns the p-value from which corrections for many comparisons start. With enough
// rounds, it is the parameter "rank", which is the p-value of the signed-rank test of the
// differences d. With few rounds, it is the p-value of Student's paired t test, which can be as
// small as a correction needs. For symmetric distributions with long tails, the t test finds false
// differences less often than its level allows (Efron 1969). In any case, a significant result also
// requires that [signedRank] agrees.
func corrected(d []float64, rank float64) float64 {
	n := len(d)
	if n >= rankRounds || n < 2 {
		return rank
	}
	mean := mstats.Mean(d)
	if math.IsNaN(mean) || math.IsInf(mean, 0) { // the logarithm of a ratio of 0 is infinite
		return rank
	}
	sd := mstats.StdDev(d)
	if sd == 0 {
		if mean == 0 {
			return 1
		}
		return 0
	}
	t := mean / sd * math.Sqrt(float64(n))
	return min(1, shortTails*2*mstats.TDist{V: float64(n - 1)}.CDF(-math.Abs(t)))
}
