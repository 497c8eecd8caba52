package stats

import (
	"cmp"
	"math"
	"slices"
)

// Point is a value with the round in which it was measured.
type Point struct {
	Round int
	Value float64
}

func Values(points []Point) []float64 {
	v := make([]float64, len(points))
	for i, p := range points {
		v[i] = p.Value
	}
	return v
}

// Test is the result of comparing a first set of samples with a second one, round by round.
type Test struct {
	N int `json:"n"` // number of rounds that both sets have

	// P is the p-value of the two-sided Wilcoxon signed-rank test of the logarithms of the
	// ratios. Adjusted is P corrected for all comparisons that were made together, never less
	// than P.
	P        float64 `json:"p" jsonschema:"minimum=0,maximum=1"`
	Adjusted float64 `json:"p_adjusted" jsonschema:"minimum=0,maximum=1"`

	// Delta is Cliff's delta within rounds: the share of rounds in which the first set has the
	// greater value, minus the share of rounds in which the second set has it.
	Delta float64 `json:"delta" jsonschema:"minimum=-1,maximum=1"`

	sign   int       // -1: the first set is lower; 1: it is higher; 0: neither
	fine   float64   // p-value from which corrections for several comparisons start; see [corrected]
	single float64   // the value of the field "fine" before corrections; set only if shares of failed operations are compared
	logs   []float64 // logarithms of the ratios; if shares of failed operations are compared, the differences of the shares
	alone  bool      // the table has two sets, so this is its only comparison

	family float64 // P was corrected for at most this number of comparisons
}

// CompareRatios tests whether ratios, one from each round, differ from 1. In the result, Adjusted equals P
// until the comparison is corrected together with others.
func CompareRatios(ratios []float64) Test {
	d := logs(ratios)
	p, sign := signedRank(d)
	t := Test{N: len(d), P: p, Adjusted: p, sign: sign, fine: corrected(d, p), logs: d}
	for _, v := range d {
		t.Delta += float64(cmp.Compare(v, 0))
	}
	if t.N > 0 {
		t.Delta /= float64(t.N)
	}
	return t
}

// CompareRatiosAt is like [CompareRatios], for a comparison that is judged several times. The level
// [Alpha] is divided among these judgments. The parameter "share" is the part of the level for this
// judgment. The p-values are divided by it.
func CompareRatiosAt(ratios []float64, share float64) Test {
	t := CompareRatios(ratios)
	t.P, t.fine = min(1, t.P/share), min(1, t.fine/share)
	t.Adjusted = t.P
	return t
}

// Significant reports whether the two sets differ significantly.
func (t Test) Significant() bool { return t.Adjusted < Alpha }

// TooFew reports whether the two sets may differ although their difference is not significant. They
// may differ if the same set is greater in all rounds, but there are so few rounds, or so many
// comparisons, that chance could be the cause. If the same set is greater in all further rounds, too,
// the difference is certainly significant once the total number of rounds is the result "enough".
func (t Test) TooFew() (enough int, few bool) {
	if t.Significant() || t.N < MinSamples || math.Abs(t.Delta) < 1 {
		return 0, false
	}
	return telling(t.N+1, t.family, t.alone), true
}

// telling returns how many rounds, at least n, are enough for a significant difference between two sets if the
// same set is greater in each round. The parameter "family" is the number of comparisons that are made. The
// parameter "alone" is true if the table has no other comparison.
func telling(n int, family float64, alone bool) int {
	for math.Ldexp(1, 1-n)*family >= Alpha { // 2^(1-n) is the p-value of n rounds in which the same set is greater
		n++
	}
	if !alone {
		n = max(n, rankRounds)
	}
	return n
}

// Telling returns the least number of rounds after which two of several sets certainly differ
// significantly if one of them is greater in each round. The parameter "sets" is the number of sets.
func Telling(sets int) int { return telling(MinSamples, float64(sets*(sets-1)/2), sets == 2) }

// Further estimates how many more rounds are needed to judge two sets that do not differ significantly yet.
// Rounds are needed until the sets differ significantly, or until the interval of their ratio is within the
// margin around 1. A margin of 0.05 is 5 %. Further assumes that the ratio stays the same. If the result is
// [MaxRounds], at least that many rounds are needed.
func (t Test) Further(ratio Summary, margin, confidence float64) int {
	if enough, few := t.TooFew(); few {
		return enough - t.N
	}
	i, family := ratio.Interval, max(t.family, 1)
	if i == nil || !(i.Low > 0) || math.IsInf(i.High, 0) {
		return max(telling(MinSamples, family, t.alone)-t.N, 1)
	}
	return Further(t.N, narrower(ratio, math.Log1p(margin), 1-confidence, Alpha/family))
}

// FromT reports whether corrections start from the p-value of the t test, because there are too few rounds to
// correct the p-value of the signed-rank test. In that case, a significant result also requires that the
// signed-rank test agrees.
func (t Test) FromT() bool { return !t.alone && t.N < rankRounds }

// Sign returns -1 if the first set tends to be less than the second, 1 if it tends to be
// greater, and 0 otherwise.
func (t Test) Sign() int { return t.sign }

func (t Test) inverse() Test {
	t.Delta, t.sign = -t.Delta, -t.sign
	return t
}

// Ratios divides each point of a by the point of b in the same round. The result "skipped" is the
// number of common rounds without a ratio, because b's value is zero. Rounds that only a or only b
// has are ignored.
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

// Pair is the comparison of two of the sets passed to [CompareAll]. First and Second are the indexes
// of the two sets.
type Pair struct {
	First, Second int
	Test
}

// CompareAll compares every two sets for which takesPart returns true, and corrects the p-values
// over all of these pairs. Each pair is returned once, with the lower index as First. Two sets that
// share fewer than [MinSamples] rounds are not compared.
func CompareAll(sets [][]Point, takesPart func(int) bool) []Pair {
	return compareAll(sets, takesPart, CompareRatios)
}

func compareAll(sets [][]Point, takesPart func(int) bool, test func(ratios []float64) Test) []Pair {
	var compared [][]Point
	var place []int // for each compared set, its index in "sets"
	for i, set := range sets {
		if takesPart(i) {
			compared, place = append(compared, set), append(place, i)
		}
	}
	var pairs []Pair
	for i := range compared {
		for j := i + 1; j < len(compared); j++ {
			ratios, _ := Ratios(compared[i], compared[j])
			if t := test(Values(ratios)); t.N >= MinSamples {
				pairs = append(pairs, Pair{i, j, t})
			}
		}
	}
	k := len(compared)
	adjustPairs(k, pairs)
	if k > 2 && slices.ContainsFunc(pairs, func(p Pair) bool { return p.Significant() && p.N < rankRounds }) {
		atLeast(pairs, permutationTest(compared))
	}
	for i, p := range pairs {
		pairs[i].First, pairs[i].Second = place[p.First], place[p.Second]
	}
	return pairs
}

func atLeast(pairs []Pair, p float64) {
	for i := range pairs {
		pairs[i].fine = max(pairs[i].fine, p)
		pairs[i].Adjusted = max(pairs[i].Adjusted, p)
	}
}

// Standing is the place of a driver's set of samples in a ranking. The driver that ratios are
// relative to, such as plain C, is called the floor. It is not one of the drivers to choose from,
// so its sets have no rank.
type Standing struct {
	Rank   int   // place among the ranked sets, from 1; 0 if the set has no rank
	Tied   []int // indexes of the sets that do not differ significantly from this set, including sets of the floor
	Beaten bool  // another ranked set is significantly lower
	Floor  bool  // the set belongs to the floor
}

// Rank ranks n sets. The sets are in the order that [inOrder] returns. The parameter "pairs" has the
// comparisons that [CompareAll] returned. The function "takesPart" reports whether a set is compared. The
// function "floor" reports whether a set belongs to the floor (see [Standing]). The floor has no rank and
// beats no set. If only sets of the floor are compared, they are ranked like other sets. Two sets that were
// not compared are tied.
func Rank(n int, pairs []Pair, takesPart, floor func(int) bool) []Standing {
	s := make([]Standing, n)
	choices := false
	for i := range s {
		s[i].Floor = floor(i)
		choices = choices || takesPart(i) && !s[i].Floor
	}
	choice := func(i int) bool { return takesPart(i) && (!choices || !s[i].Floor) }
	apart := map[[2]int]bool{}
	for _, p := range pairs {
		if !p.Significant() {
			continue
		}
		apart[[2]int{p.First, p.Second}] = true
		less, more := p.First, p.Second
		if p.Sign() > 0 {
			less, more = more, less
		}
		s[more].Beaten = s[more].Beaten || choice(less)
	}
	rank := 0
	for i := range s {
		if choice(i) {
			rank++
			s[i].Rank = rank
		}
		for j := range s {
			if i != j && takesPart(i) && takesPart(j) && !apart[[2]int{min(i, j), max(i, j)}] {
				s[i].Tied = append(s[i].Tied, j)
			}
		}
	}
	return s
}

// inOrder returns the indexes of n sets in the order of a table. The sets are ordered by their
// medians, but a set always comes after the sets that are significantly lower. The sets' medians
// must already be ascending.
func inOrder(n int, pairs []Pair) []int {
	above := make([][]bool, n) // above[i][j]: set j must come before set i
	left := make([]int, n)
	for i := range n {
		above[i], left[i] = make([]bool, n), i
	}
	for _, p := range pairs {
		if p.Significant() && p.Sign() < 0 {
			above[p.Second][p.First] = true
		} else if p.Significant() {
			above[p.First][p.Second] = true
		}
	}
	var order []int
	for len(left) > 0 {
		free := func(i int) bool {
			return !slices.ContainsFunc(left, func(j int) bool { return above[i][j] })
		}
		next := max(0, slices.IndexFunc(left, free)) // if no set is free, take the first one: it has the least median, because left is sorted by median
		order = append(order, left[next])
		left = slices.Delete(left, next, next+1)
	}
	return order
}

// arrange sorts sets in the order that [inOrder] returns, and renumbers their pairs. The result
// "order" has the old index of each set.
func arrange[T any](sets []T, pairs []Pair) (order []int) {
	order = inOrder(len(sets), pairs)
	before := slices.Clone(sets)
	place := make([]int, len(order))
	for i, old := range order {
		sets[i], place[old] = before[old], i
	}
	for i, p := range pairs {
		p.First, p.Second = place[p.First], place[p.Second]
		if p.First > p.Second {
			p.First, p.Second, p.Test = p.Second, p.First, p.inverse()
		}
		pairs[i] = p
	}
	return order
}
