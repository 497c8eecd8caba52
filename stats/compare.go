package stats

import (
	"cmp"
	"math"
	"slices"

	mstats "github.com/aclements/go-moremath/stats"
	"golang.org/x/perf/benchmath"
)

// Point is one sample with the round that it was taken in.
type Point struct {
	Round int
	Value float64
}

// Values returns the points' values.
func Values(points []Point) []float64 {
	v := make([]float64, len(points))
	for i, p := range points {
		v[i] = p.Value
	}
	return v
}

// Test is the outcome of comparing a first with a second set of samples.
type Test struct {
	N1 int `json:"n1"`
	N2 int `json:"n2"`

	// P is the p-value of the two-sided Mann-Whitney U test, whose null
	// hypothesis is that both come from one distribution, or of the sign test
	// that [CompareToBase] makes. Adjusted is P as [Adjust] makes it over all
	// comparisons of a family.
	P        float64 `json:"p"`
	Adjusted float64 `json:"p_adjusted"`

	// Delta is Cliff's delta: the share of pairs in which the first's sample
	// is the greater, less the share in which the second's is. -1: every
	// sample of the first is below every one of the second; 0: no tendency.
	Delta float64 `json:"delta"`

	Warnings []string `json:"warnings,omitempty"`
}

// Compare tests whether two sets of samples differ. The result's Adjusted is
// its P until [Adjust] has seen its family.
func Compare(a, b []float64) Test {
	c := benchmath.AssumeNothing.Compare(sample(a), sample(b))
	return Test{
		N1: c.N1, N2: c.N2,
		P: c.P, Adjusted: c.P,
		Delta:    delta(a, b),
		Warnings: messages(c.Warnings),
	}
}

// CompareToBase tests whether ratios to a base differ from 1, by the two-sided
// sign test; ratios of exactly 1 count for neither side. It takes the place of
// [Compare] where the second set would be the base's own ratios: these are 1 in
// every round, so no sample of anything, and its p-value would be far too small.
// The sign test's agrees with the interval of the ratios' median, which is its
// inversion. See W. J. Conover, Practical Nonparametric Statistics, 3.4.
func CompareToBase(ratios []float64) Test {
	less, greater := 0, 0
	for _, r := range ratios {
		switch {
		case r < 1:
			less++
		case r > 1:
			greater++
		}
	}
	p := 1.0
	if n := less + greater; n > 0 {
		p = min(1, 2*mstats.BinomialDist{N: n, P: 0.5}.CDF(float64(min(less, greater))))
	}
	t := Test{N1: len(ratios), N2: len(ratios), P: p, Adjusted: p}
	if len(ratios) > 0 {
		t.Delta = float64(greater-less) / float64(len(ratios))
	}
	return t
}

func delta(a, b []float64) float64 {
	if len(a) == 0 || len(b) == 0 {
		return 0
	}
	sum := 0
	for _, x := range a {
		for _, y := range b {
			sum += cmp.Compare(x, y)
		}
	}
	return float64(sum) / float64(len(a)*len(b))
}

// Significant reports whether the two are told apart.
func (t Test) Significant() bool { return t.Adjusted < Alpha }

// Adjust sets Adjusted of every test of a family by the step-up procedure of
// Benjamini and Hochberg: the i-th smallest of m p-values becomes the least of
// p(j)·m/j over j ≥ i. A family is what is read together: the pairs of a table.
func Adjust(family []*Test) {
	order := slices.Clone(family)
	slices.SortStableFunc(order, func(a, b *Test) int { return cmp.Compare(a.P, b.P) })
	least := 1.0
	for i := len(order) - 1; i >= 0; i-- {
		least = min(least, order[i].P*float64(len(order))/float64(i+1))
		order[i].Adjusted = least
	}
}

// Ratios divides the points of a by the points of b of the same round.
// skipped counts the rounds that both have and that yield no ratio because b's
// value is zero. Rounds that only one of them has are passed over.
func Ratios(a, b []Point) (ratios []Point, skipped int) {
	base := make(map[int]float64, len(b))
	for _, p := range b {
		base[p.Round] = p.Value
	}
	for _, p := range a {
		v, ok := base[p.Round]
		if !ok {
			continue
		}
		r := p.Value / v
		if math.IsNaN(r) || math.IsInf(r, 0) {
			skipped++
			continue
		}
		ratios = append(ratios, Point{p.Round, r})
	}
	return ratios, skipped
}

// Pair is the comparison of two of the sets that [CompareAll] was given, by
// their indexes.
type Pair struct {
	First, Second int
	Test
}

// CompareAll compares every two of sets, First < Second, with p-values
// adjusted over all of these pairs. Sets of fewer than [MinSamples] take no
// part.
func CompareAll(sets [][]Point) []Pair {
	return compareAll(sets, func(i, j int) Test { return Compare(Values(sets[i]), Values(sets[j])) })
}

func compareAll(sets [][]Point, compare func(i, j int) Test) []Pair {
	var pairs []Pair
	for i := range sets {
		for j := i + 1; j < len(sets); j++ {
			if len(sets[i]) >= MinSamples && len(sets[j]) >= MinSamples {
				pairs = append(pairs, Pair{i, j, compare(i, j)})
			}
		}
	}
	family := make([]*Test, len(pairs))
	for i := range pairs {
		family[i] = &pairs[i].Test
	}
	Adjust(family)
	return pairs
}

// Standing is a place in a ranking.
type Standing struct {
	Rank int  `json:"rank"` // from 1; 0: not ranked, for want of samples
	Tied bool `json:"tied"` // another has the same rank
}

// Rank ranks n sets by the pairs that [CompareAll] made of them: 1 plus the
// number of sets that are significantly less. ranked says which sets take part.
func Rank(n int, pairs []Pair, ranked func(int) bool) []Standing {
	s := make([]Standing, n)
	for i := range s {
		if ranked(i) {
			s[i].Rank = 1
		}
	}
	for _, p := range pairs {
		switch {
		case !p.Significant():
		case p.Delta < 0:
			s[p.Second].Rank++
		case p.Delta > 0:
			s[p.First].Rank++
		}
	}
	count := map[int]int{}
	for _, x := range s {
		count[x.Rank]++
	}
	for i := range s {
		s[i].Tied = s[i].Rank > 0 && count[s[i].Rank] > 1
	}
	return s
}
