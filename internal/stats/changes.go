package stats

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
)

// Change is a place in a series of values where their level changes.
type Change struct {
	At int // index of the first value of the new level

	// P estimates the probability that noise alone looks like a change as clear as this one, or clearer. It
	// is a share of random series without a change: those that can be divided at least as clearly, at any
	// index. The share is computed for each kind of noise, and P is the greatest of these shares.
	P float64
}

const (
	// ChangeLevel is the probability of finding a change in any of the series that are judged
	// together, if none of them has one.
	ChangeLevel = 0.05

	// MinChanges is the least number of values of a series in which changes are searched for.
	MinChanges = 12

	// leastLevel is the least number of values of a level. Fewer values may be outliers.
	leastLevel = 3

	// notWeaker is the greatest probability that the noise of a series is stronger than
	// [noise.strongest] says. The stronger noise is, the more its successive values depend on each
	// other.
	notWeaker = 0.01

	// calibrations is the number of random series that are generated for each strength of noise, to
	// measure how strongly successive values of such noise are correlated.
	calibrations = 200
)

// Changes returns the places where the level of a series changes, in ascending order. The parameter
// "series" is the number of series that are judged together. Series of fewer than [MinChanges]
// values do not count. The method is E-divisive (Matteson, James 2014, Journal of the American
// Statistical Association 109(505)). It divides the series where the energy distance of the two
// parts is greatest. But it does so only if almost no other order of the values can be divided as
// clearly. Then it divides each part in the same way. It assumes no distribution.
//
// If the machine drifts from run to run, values are not independent, and a wandering level looks
// like a step. So the other orders of the values imitate three kinds of noise: independent values,
// an autoregression and 1/f noise. For the latter two, the dependence of successive values is
// measured after the series' levels (three at most) are subtracted. The upper confidence bound of
// that dependence is used. About two dozen values are necessary to find anything.
//
// Changes compares differences of values, so pass logarithms if ratios matter. The running time
// grows with the square of the number of values.
func Changes(values []float64, series int) []Change {
	if len(values) < MinChanges || slices.ContainsFunc(values, func(v float64) bool { return math.IsNaN(v) || math.IsInf(v, 0) }) {
		return nil
	}
	return divide(values, 0, ChangeLevel/float64(max(series, 1)))
}

func divide(values []float64, from int, level float64) []Change {
	parts, distance := levels(values)
	if len(parts) < 2 || distance <= 0 {
		return nil
	}
	p, found := rarer(values, distance, level, autoregression, 0)
	if !found {
		return nil
	}
	left := lag1(values)
	for _, n := range dependent {
		q, found := rarer(values, distance, level, n.make, n.strongest(len(values), left))
		if !found {
			return nil
		}
		p = max(p, q)
	}
	at, _ := farthest(values)
	list := divide(values[:at], from, level)
	list = append(list, Change{from + at, p})
	return append(list, divide(values[at:], from+at, level)...)
}

// rarer tests whether noise may be the cause of a division of the values into levels. It reorders the values
// many times, in the order of random noise. The function "imitate" generates the noise, with the given
// strength. The least value is placed where the noise is least, the second least value where the noise is
// second least, and so on. The result p is the share of the random orders that [levels] divides with at
// least the given distance. The result ok is true if p is at most the given level. Otherwise p is 0. The
// seed is fixed, so that a series always has the same changes.
func rarer(values []float64, distance, level float64, imitate generator, strength float64) (p float64, ok bool) {
	r := rand.New(rand.NewPCG(3, uint64(len(values))))
	sorted := slices.Sorted(slices.Values(values))
	mixed := make([]float64, len(values))
	orders := math.Ceil(5 / level)
	reached := 1.0
	for range int(orders) - 1 {
		for rank, i := range ascending(imitate(r, len(values), strength)) {
			mixed[i] = sorted[rank]
		}
		// The last digits of a sum depend on the order of its terms, so distances may differ by
		// rounding.
		if _, d := levels(mixed); d >= distance*(1-1e-9) {
			if reached++; reached > level*orders {
				return 0, false
			}
		}
	}
	return reached / orders, true
}

// A generator returns n random values. The greater the parameter "strength" is, the more the values depend on
// each other.
type generator func(r *rand.Rand, n int, strength float64) []float64

// noise is a kind of noise whose values depend on each other.
type noise struct {
	make      generator
	strengths []float64 // possible strengths, ascending

	// lags caches the correlations of random series of this kind, as [lag1] computes them, in
	// ascending order. The key has the length and the strength of the series.
	lags *sync.Map
}

var dependent = []noise{
	{autoregression, []float64{0, 0.2, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95}, new(sync.Map)},
	{pink, []float64{0, 0.25, 0.5, 0.75, 1}, new(sync.Map)},
}

// strongest returns the greatest strength that the noise of a series may have. The parameter
// "count" is the number of values of the series, and the parameter "left" is their [lag1]
// correlation. The function generates random series with each strength and the same length. A
// strength is possible if the share of these series with a smaller correlation is at least
// [notWeaker]. If no strength is possible, strongest returns the least one.
func (n noise) strongest(count int, left float64) float64 {
	for _, s := range slices.Backward(n.strengths) {
		type key struct {
			count    int
			strength float64
		}
		lags, ok := n.lags.Load(key{count, s})
		if !ok {
			r := rand.New(rand.NewPCG(4, uint64(count)))
			list := make([]float64, calibrations)
			for i := range list {
				list[i] = lag1(n.make(r, count, s))
			}
			slices.Sort(list)
			lags, _ = n.lags.LoadOrStore(key{count, s}, list)
		}
		if i, _ := slices.BinarySearch(lags.([]float64), left); float64(i) >= notWeaker*calibrations {
			return s
		}
	}
	return n.strengths[0]
}

// autoregression returns n values, each of which depends on the previous one. The correlation of
// successive values is the parameter "strength".
func autoregression(r *rand.Rand, n int, strength float64) []float64 {
	x := make([]float64, n)
	own := math.Sqrt(1 - strength*strength)
	for i := range x {
		if x[i] = r.NormFloat64(); i > 0 {
			x[i] = strength*x[i-1] + own*x[i]
		}
	}
	return x
}

// pink returns n values that are the sum of two kinds of noise. The given share of their variance is 1/f
// noise, which varies as much over two values as over four, eight and so on. The other kind of noise is
// independent from value to value.
func pink(r *rand.Rand, n int, share float64) []float64 {
	const octaves = 9
	x := autoregression(r, n, 0)
	for i := range x {
		x[i] *= math.Sqrt(1 - share)
	}
	for o := range octaves {
		for i, v := range autoregression(r, n, math.Exp(-math.Exp2(-float64(o)))) {
			x[i] += math.Sqrt(share/octaves) * v
		}
	}
	return x
}

// lag1 returns the correlation of the ranks of successive values of a series. First it subtracts
// from each value the median of the part that contains the value. The parts are those that [levels]
// returns. Equal values have the same rank.
func lag1(values []float64) float64 {
	x := slices.Clone(values)
	parts, _ := levels(x)
	for _, part := range parts {
		m := Summarize(part).Median
		for i := range part {
			part[i] -= m
		}
	}
	sorted := slices.Sorted(slices.Values(x))
	var sum, of, before float64
	for _, v := range x {
		first, _ := slices.BinarySearch(sorted, v)
		after, _ := slices.BinarySearch(sorted, math.Nextafter(v, math.Inf(1)))
		d := float64(first+after) - float64(len(x)) // twice the distance of the value's rank from the mean rank
		sum, of, before = sum+d*before, of+d*d, d
	}
	if of == 0 {
		return 0
	}
	return sum / of
}

// ascending returns the indexes of values in ascending order of the values.
func ascending(values []float64) []int {
	order := make([]int, len(values))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(values[i], values[j]) })
	return order
}

// levels divides a series where the energy distance of its parts is greatest, and then divides one
// of the parts in the same way. It returns the parts, at most three, and the sum of the distances.
// The second division is necessary. After only one division, a series that returns to its first level
// would look like a series whose level wanders.
func levels(x []float64) (parts [][]float64, distance float64) {
	at, distance := farthest(x)
	if at == 0 {
		return [][]float64{x}, 0
	}
	left, d := farthest(x[:at])
	right, e := farthest(x[at:])
	switch {
	case left > 0 && (right == 0 || d >= e):
		return [][]float64{x[:left], x[left:at], x[at:]}, distance + d
	case right > 0:
		return [][]float64{x[:at], x[at : at+right], x[at+right:]}, distance + e
	}
	return [][]float64{x[:at], x[at:]}, distance
}

// farthest finds the division of a series into two parts with the greatest scaled energy distance. It
// returns the index of the first value of the second part, and the distance. The index is 0 if the series is
// too short.
func farthest(x []float64) (at int, distance float64) {
	n := len(x)
	var left, right, between float64 // sums of the distances of pairs of values: within the left part, within the right part, and between the parts
	for i := range x {
		for j := range i {
			right += math.Abs(x[i] - x[j])
		}
	}
	for k := range n - leastLevel { // x[k] moves from the right part to the left one
		var before, after float64
		for i, v := range x {
			if d := math.Abs(v - x[k]); i < k {
				before += d
			} else {
				after += d
			}
		}
		left, right, between = left+before, right-after, between+after-before
		l, r := float64(k+1), float64(n-k-1)
		if k+1 < leastLevel {
			continue
		}
		d := l * r / (l + r) * (2/(l*r)*between - 2/(l*(l-1))*left - 2/(r*(r-1))*right)
		if at == 0 || d > distance {
			at, distance = k+1, d
		}
	}
	return at, distance
}
