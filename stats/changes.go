package stats

import (
	"math"
	"math/rand/v2"
)

// Change is a place in a series where its level changes.
type Change struct {
	At int // index of the first value of the new level

	// P is the probability that values which are all of one level, in any order, divide as
	// clearly anywhere.
	P float64
}

const (
	// ChangeLevel is the greatest P of a change. A series without a change shows one with at
	// most this probability.
	ChangeLevel = 0.01

	// leastLevel is how many values a level has at least: fewer may be outliers.
	leastLevel = 3

	// reorderings is the number of random orders in the test of a change. Their seed is
	// fixed, so that a series always has the same changes.
	reorderings = 999
)

// Changes returns where the level of a series changes, in order. The method is E-divisive
// (Matteson, James 2014, Journal of the American Statistical Association 109(505)): the
// series is divided where the energy distance of its two parts is greatest, if that is
// greater than in almost all random orders of the values; then each part is divided in the
// same way. It assumes no distribution. It takes about a dozen values to find anything.
//
// Differences count as they are, so pass logarithms if ratios matter. The time grows with
// the square of the number of values.
func Changes(values []float64) []Change {
	for _, v := range values {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return nil
		}
	}
	return divide(values, 0)
}

// divide returns the changes of a part of a series that begins at an index.
func divide(values []float64, from int) []Change {
	at, distance := farthest(values)
	if at == 0 || distance <= 0 {
		return nil
	}
	r := rand.New(rand.NewPCG(3, uint64(len(values))))
	mixed := append([]float64(nil), values...)
	reached := 1
	for range reorderings {
		r.Shuffle(len(mixed), func(i, j int) { mixed[i], mixed[j] = mixed[j], mixed[i] })
		// Sums in another order differ in their last digits.
		if _, d := farthest(mixed); d >= distance*(1-1e-9) {
			if reached++; float64(reached) > ChangeLevel*(reorderings+1) {
				return nil
			}
		}
	}
	list := divide(values[:at], from)
	list = append(list, Change{from + at, float64(reached) / (reorderings + 1)})
	return append(list, divide(values[at:], from+at)...)
}

// farthest returns where to divide a series so that the scaled energy distance of its
// parts is greatest, and that distance. at is 0 if the series is too short.
func farthest(x []float64) (at int, distance float64) {
	n := len(x)
	var left, right, between float64 // sums of the distances of every two values
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
