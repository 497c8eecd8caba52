package stats

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
)

// permutations is the number of random permutations in each permutation test. Their seed is
// fixed, so that a run always has the same verdicts.
const permutations = 1999

// permutationTest returns the p-value of the hypothesis that all sets of a table are equal. It
// exchanges the values of the sets at random within each round. It then counts how often the
// greatest t statistic of any two sets is at least as great as without exchanges. If all sets
// are equal, the test is exact for any distribution. That includes times that drift within
// rounds, because the order within a round is shuffled. Rounds that any set lacks are ignored.
// If fewer than [MinSamples] rounds remain, the p-value is 0, so that the test contradicts no
// other test.
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
	}
	return float64(reached) / (permutations + 1)
}

// completeRounds returns the logarithms of the values of all sets, for each round in which all
// sets have a value above 0.
func completeRounds(sets [][]Point) (rows [][]float64) {
	_, rows = byRound(sets...)
	rows = slices.DeleteFunc(rows, func(row []float64) bool {
		return slices.ContainsFunc(row, func(v float64) bool { return !(v > 0) })
	})
	for i, row := range rows {
		rows[i] = logs(row)
	}
	return rows
}

// greatestT returns a number that grows with the greatest t statistic of the differences between
// any two columns. As soon as the number for two columns reaches the parameter "enough", greatestT
// returns it.
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
			// t² grows with sum²/squares.
			if share := sum * sum / squares; share > greatest {
				if greatest = share; greatest >= enough {
					return greatest
				}
			}
		}
	}
	return greatest
}

// exchangeRun lowers the corrected p-values of tables that have only two sets and too few rounds.
// With six rounds the least p-value is 2/64. After a correction for many tables, that is never
// below [Alpha]. So exchangeRun uses another test. It exchanges the values of the two sets of each
// table at random within rounds. It compares each table's t statistic with the greatest t statistic
// after the exchanges, among this table and all tables whose t statistic was smaller (Westfall,
// Young 1993, step-down maxT). If the two sets are equal, the test is exact for any distribution.
//
// The p-values are multiplied by the parameter "looks". It is the factor for samples that were
// judged repeatedly.
func exchangeRun(list []*Test, looks float64) {
	list = slices.DeleteFunc(slices.Clone(list), func(x *Test) bool { return !(clearness(x.logs, 0) > 0) })
	slices.SortStableFunc(list, func(a, b *Test) int { return cmp.Compare(clearness(b.logs, 0), clearness(a.logs, 0)) })
	r := rand.New(rand.NewPCG(2, uint64(len(list))))
	reached := make([]int, len(list))
	for range permutations {
		greatest := 0.0
		for i, x := range slices.Backward(list) {
			if greatest = max(greatest, clearness(x.logs, r.Uint64())); greatest >= clearness(x.logs, 0) {
				reached[i]++
			}
		}
	}
	least := 0.0
	for i, x := range list {
		least = max(least, float64(reached[i]+1)/(permutations+1))
		x.Adjusted = min(x.Adjusted, looks*max(least, x.P))
	}
}

// clearness returns a number that grows with the t statistic of differences. It is 1 if all differences are the
// same. If bit i of the parameter "negated" is set, the i-th difference is negated. There may be at most 64
// differences.
func clearness(d []float64, negated uint64) float64 {
	sum, squares := 0.0, 0.0
	for i, v := range d {
		squares += v * v
		if negated>>i&1 == 1 {
			v = -v
		}
		sum += v
	}
	return sum * sum / squares / float64(len(d))
}
