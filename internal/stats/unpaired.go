package stats

import (
	"cmp"
	"math"
	"slices"

	mstats "github.com/aclements/go-moremath/stats"
)

// unpairedRatio returns the ratio of two sets of times that were not measured in the same rounds.
// It also returns the p-value p of the test that they differ, and the least value that p can have.
// The ratio is the Hodges-Lehmann estimate. It divides each time of a by each time of b, and takes
// the median of these ratios. Its interval inverts the Mann-Whitney test (Hollander, Wolfe,
// Chicken, Nonparametric Statistical Methods, chapter 4). Times of zero in b are ignored.
func unpairedRatio(a, b []float64, confidence float64) (s Summary, p, least float64) {
	b = slices.DeleteFunc(slices.Clone(b), func(v float64) bool { return v == 0 })
	n := min(len(a), len(b))
	if n == 0 {
		return Summary{Warnings: []string{"no samples"}}, 1, 1
	}
	var differences []float64
	less, greater := 0, 0 // numbers of pairs; a pair of equal values counts for both, so p can only be greater
	for _, x := range logs(a) {
		for _, y := range logs(b) {
			if x == y { // also if both logarithms are -Inf, because both times are zero
				differences = append(differences, 0)
				less++
				greater++
				continue
			}
			differences = append(differences, x-y)
			if x < y {
				less++
			} else {
				greater++
			}
		}
	}
	slices.SortFunc(differences, cmp.Compare)
	null := mannWhitneyNull(len(a), len(b))
	s = Summary{N: n, Median: math.Exp(middle(differences)), Interval: inverted(differences, null, confidence)}
	return s, min(1, 2*null(min(less, greater))), min(1, 2*null(0))
}

// exactMannWhitney is the greatest number of samples on a side for which the exact distribution
// of the Mann-Whitney statistic is computed. For more samples, the normal distribution is as
// good.
const exactMannWhitney = 50

// mannWhitneyNull returns the distribution function of the Mann-Whitney statistic of n
// and m samples of the same distribution without ties. The number of arrangements that
// give the statistic u is the coefficient of q^u in the product of (1-q^(m+i))/(1-q^i)
// for i from 1 to n (Mann, Whitney 1947, Annals of Mathematical Statistics 18(1)). The normal
// approximation has the mean nm/2 and the variance nm(n+m+1)/12.
func mannWhitneyNull(n, m int) func(u int) float64 {
	if max(n, m) > exactMannWhitney {
		nm := float64(n) * float64(m)
		normal := mstats.NormalDist{Mu: nm / 2, Sigma: math.Sqrt(nm * float64(n+m+1) / 12)}
		return func(u int) float64 { return normal.CDF(float64(u) + 0.5) }
	}
	ways := make([]float64, n*m+1)
	ways[0] = 1
	for i := 1; i <= n; i++ {
		for u := n * m; u >= m+i; u-- {
			ways[u] -= ways[u-m-i]
		}
		for u := i; u <= n*m; u++ {
			ways[u] += ways[u-i]
		}
	}
	for u := 1; u < len(ways); u++ {
		ways[u] += ways[u-1]
	}
	all := ways[n*m]
	return func(u int) float64 {
		if u < 0 {
			return 0
		}
		return ways[min(u, n*m)] / all
	}
}
