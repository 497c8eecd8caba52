package stats

import (
	"cmp"
	"math/bits"
	"slices"
)

// maxClosed is the greatest number of sets for which [adjustPairs] tests every subset.
const maxClosed = 12

// adjustPairs corrects comparisons of all pairs of k sets of samples. Then the probability that any
// two equal sets differ significantly is at most [Alpha], even if the other sets differ.
//
// It uses the closed testing procedure: two sets differ significantly only if every subset that
// contains both is found to be unequal. A subset is tested by Simes's inequality over its pairs.
// There may be several groups of equal sets, so a subset of m sets is tested at m/k of the level
// (Ryan 1960). With more than [maxClosed] sets, there are too many subsets. In that case Holm's
// procedure is used, which finds fewer differences.
func adjustPairs(k int, pairs []Pair) {
	for i := range pairs {
		pairs[i].family = float64(len(pairs))
	}
	if k == 2 {
		for i := range pairs { // there is at most one pair, so nothing is corrected, and the pair keeps its exact p-value
			pairs[i].fine, pairs[i].alone = pairs[i].P, true
		}
		return
	}
	if k > maxClosed {
		family := make([]*float64, len(pairs))
		for i := range pairs {
			family[i] = &pairs[i].fine
		}
		holm(family, 1)
	} else {
		closedTesting(k, pairs)
	}
	for i := range pairs {
		pairs[i].Adjusted = max(pairs[i].P, pairs[i].fine)
	}
}

// closedTesting corrects the p-values of all pairs of k sets, in their field "fine", by the
// procedure that [adjustPairs] describes.
func closedTesting(k int, pairs []Pair) {
	fine := make([]float64, len(pairs))
	for i, p := range pairs {
		fine[i] = p.fine
	}
	order := ascending(fine)
	masks := make([]uint, len(pairs)) // for each pair, in ascending order of p-values: a mask with the bits of its two sets
	for i, at := range order {
		masks[i] = 1<<pairs[at].First | 1<<pairs[at].Second
	}
	for subset := uint(1); subset < 1<<k; subset++ {
		size := bits.OnesCount(subset)
		if size < 2 {
			continue
		}
		of := float64(size*(size-1)) / 2
		if size < k-1 { // if only one set is outside the subset, it cannot be another group of equal sets
			of *= float64(k) / float64(size)
		}
		least, found := 1.0, 0.0
		for i, at := range order {
			if masks[i]&^subset == 0 {
				found++
				least = min(least, fine[at]*of/found)
			}
		}
		for i, at := range order {
			if masks[i]&^subset == 0 {
				pairs[at].fine = max(pairs[at].fine, least)
			}
		}
	}
}

// Adjust corrects comparisons that are not pairs of a table, such as the comparisons of a study's claims. It
// uses the step-up procedure of Benjamini and Hochberg (1995, Journal of the Royal Statistical Society B
// 57(1)). Of the comparisons found to be significant, at most 5 % are expected to be between sets that are
// in fact equal.
func Adjust(family []*Test) {
	order := slices.Clone(family)
	slices.SortStableFunc(order, func(a, b *Test) int { return cmp.Compare(a.fine, b.fine) })
	least := 1.0
	for i, t := range slices.Backward(order) {
		least = min(least, t.fine*float64(len(order))/float64(i+1))
		t.Adjusted = max(t.P, least)
	}
}

// adjustRun corrects the tables of a run together (Benjamini and Bogomolov 2014):
//
//  1. It multiplies all p-values by the parameter "looks", the factor for samples that were judged
//     repeatedly.
//  2. It selects the tables in which any two drivers differ significantly, by the procedure of
//     Benjamini and Hochberg.
//  3. It divides all p-values by the share of tables that were selected (by the share of one table, if
//     none was selected). This changes nothing if all tables were selected.
//
// If all drivers of all tables are equal, the probability that the run finds any difference is at most
// [Alpha].
//
// After this correction, a table of two drivers with few rounds may be unable to show any
// significant difference. So such tables are also corrected by [exchangeRun].
func adjustRun(tables [][]Pair, looks float64) Reliability {
	var least []float64
	var r Reliability
	for _, pairs := range tables {
		for i := range pairs {
			x := &pairs[i].Test
			x.fine, x.Adjusted = min(1, x.fine*looks), min(1, x.Adjusted*looks)
		}
		if len(pairs) == 0 {
			continue
		}
		r.Tables++
		r.Comparisons += len(pairs)
		p := 1.0
		for _, x := range pairs {
			if x.P*looks < Alpha {
				p = min(p, x.fine)
			}
		}
		least = append(least, p)
	}
	for _, pairs := range tables {
		for i := range pairs {
			pairs[i].family *= float64(r.Tables) * looks
		}
	}
	slices.Sort(least)
	for i, p := range least {
		if p*float64(r.Tables) < Alpha*float64(i+1) {
			r.Telling = i + 1
		}
	}
	factor := float64(r.Tables) / float64(max(r.Telling, 1))
	if factor <= 1 {
		return r
	}
	var alone []*Test
	for _, pairs := range tables {
		for i := range pairs {
			pairs[i].Adjusted = max(pairs[i].Adjusted, min(1, pairs[i].fine*factor))
			least := 2 * signedRankNull(pairs[i].N)(0) * looks
			if x := &pairs[i].Test; x.alone && least*float64(r.Tables) >= Alpha {
				alone = append(alone, x)
			}
		}
	}
	r.Exchanged = len(alone) > 0
	exchangeRun(alone, looks)
	r.Telling = 0
	for _, pairs := range tables {
		if slices.ContainsFunc(pairs, func(p Pair) bool { return p.Significant() }) {
			r.Telling++
		}
	}
	return r
}

// Reliability says how reliable the verdicts of a run are when they are taken together.
type Reliability struct {
	Tables      int // tables in which anything was compared, including the summary over all tables
	Comparisons int
	Telling     int // tables that find a difference between two drivers

	// Exchanged is true if a permutation test of the whole run was used as well, because tables of
	// two drivers have too few rounds for the signed-rank test.
	Exchanged bool
}

// FalseTables returns an upper bound of the expected number of tables that report a difference
// although the drivers are equal.
func (r Reliability) FalseTables() float64 { return Alpha * float64(r.Telling) }
