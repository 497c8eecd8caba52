package stats

import (
	"math"
	"math/rand/v2"
)

// permutations is how many random ones the test of a table makes; their seed is
// fixed, so that a run always has the same verdicts.
const permutations = 1999

// permutationTest is the p-value of the hypothesis that all sets of a table are
// equal: in how many of random exchanges of the sets within each round the greatest
// t statistic of any two is at least what it is. Where all are equal it is exact
// for any distribution, and for times that drift within rounds, whose order is
// shuffled. Rounds that any set lacks are passed over; with too few, nothing can be
// said against the other tests, and the p-value is 0.
func permutationTest(sets [][]Point) float64 {
	rows := completeRounds(sets)
	if len(rows) < MinSamples {
		return 0
	}
	observed := greatestT(rows, math.Inf(1))
	r := rand.New(rand.NewPCG(1, uint64(len(rows))))
	reached := 1
	for range permutations {
		for _, row := range rows {
			r.Shuffle(len(row), func(i, j int) { row[i], row[j] = row[j], row[i] })
		}
		if greatestT(rows, observed) >= observed {
			reached++
		}
		if p := float64(reached) / (permutations + 1); p > 2*Alpha { // it will not get less
			return p
		}
	}
	return float64(reached) / (permutations + 1)
}

// completeRounds are the logarithms of the values of all sets, by round.
func completeRounds(sets [][]Point) (rows [][]float64) {
	byRound := map[int][]float64{}
	for i, set := range sets {
		for _, p := range set {
			if row := byRound[p.Round]; len(row) == i && p.Value > 0 {
				byRound[p.Round] = append(row, math.Log(p.Value))
			}
		}
	}
	for _, p := range sets[0] { // in order
		if row := byRound[p.Round]; len(row) == len(sets) {
			rows = append(rows, row)
		}
	}
	return rows
}

// greatestT is the greatest t statistic, squared and without its factor, of the
// differences of any two columns, or the first that is at least enough.
func greatestT(rows [][]float64, enough float64) float64 {
	greatest := 0.0
	for i := range rows[0] {
		for j := range i {
			sum, squares := 0.0, 0.0
			for _, row := range rows {
				d := row[i] - row[j]
				sum += d
				squares += d * d
			}
			if squares == 0 {
				continue
			}
			// t² grows with the share of the squares that the mean has.
			if share := sum * sum / squares; share > greatest {
				if greatest = share; greatest >= enough {
					return greatest
				}
			}
		}
	}
	return greatest
}
