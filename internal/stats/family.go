package stats

import (
	"cmp"
	"math/bits"
	"slices"
)

// maxClosed is the most sets of which every subset is tested.
const maxClosed = 12

// adjustPairs corrects comparisons of all pairs of k sets. The probability that
// any two equal sets are told apart is at most [Alpha], no matter which of the
// others are equal.
//
// It is the closed testing procedure over all subsets: two sets are told apart
// if the test finds for each subset with both of them that its sets are not all
// equal. A subset is tested by Simes's inequality over its own pairs. Its share of
// the level is its share of the k sets (Ryan 1960), since there may be several
// groups of equal sets. More than [maxClosed] sets have too many subsets. Then
// Holm's procedure is used instead, which tells fewer apart.
func adjustPairs(k int, pairs []Pair) {
	for i := range pairs {
		pairs[i].family = float64(len(pairs))
	}
	if k == 2 {
		for i := range pairs { // one at most: nothing to correct, and the run starts from the exact test
			pairs[i].fine, pairs[i].alone = pairs[i].P, true
		}
		return
	}
	order := make([]int, len(pairs))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(pairs[a].fine, pairs[b].fine) })
	adjusted := make([]float64, len(pairs))
	if k > maxClosed {
		family := make([]*float64, len(pairs))
		for i := range pairs {
			adjusted[i], family[i] = pairs[i].fine, &adjusted[i]
		}
		holm(family, 1)
	} else {
		closedTesting(k, pairs, order, adjusted)
	}
	for i := range pairs {
		pairs[i].fine = adjusted[i]
		pairs[i].Adjusted = max(pairs[i].P, adjusted[i])
	}
}

func closedTesting(k int, pairs []Pair, order []int, adjusted []float64) {
	masks := make([]uint, len(pairs)) // by p-value, ascending
	for i, at := range order {
		masks[i] = 1<<pairs[at].First | 1<<pairs[at].Second
	}
	for subset := uint(1); subset < 1<<k; subset++ {
		size := bits.OnesCount(subset)
		if size < 2 {
			continue
		}
		of := float64(size*(size-1)) / 2
		if size < k-1 { // else the rest is not a group
			of *= float64(k) / float64(size)
		}
		least, found := 1.0, 0.0
		for i, at := range order {
			if masks[i]&^subset == 0 {
				found++
				least = min(least, pairs[at].fine*of/found)
			}
		}
		for i, at := range order {
			if masks[i]&^subset == 0 {
				adjusted[at] = max(adjusted[at], least)
			}
		}
	}
}

// Adjust corrects comparisons that are not pairs of a table, such as those of a
// study's claims, by the step-up procedure of Benjamini and Hochberg (1995, Journal of the
// Royal Statistical Society B 57(1)). Of those
// that are told apart, at most 5 % are expected to be equal.
func Adjust(family []*Test) {
	order := slices.Clone(family)
	slices.SortStableFunc(order, func(a, b *Test) int { return cmp.Compare(a.fine, b.fine) })
	least := 1.0
	for i := len(order) - 1; i >= 0; i-- {
		least = min(least, order[i].fine*float64(len(order))/float64(i+1))
		order[i].Adjusted = max(order[i].P, least)
	}
}

// adjustRun corrects the tables of a run together (Benjamini and Bogomolov 2014).
// The procedure of Benjamini and Hochberg selects the tables that tell any two
// drivers apart. Comparisons within them are made at the level times the share of
// tables that was selected. If all drivers of all tables are equal, the probability
// that the run tells any two apart is at most [Alpha]. If each table tells some
// apart, nothing is lost. With two drivers and few rounds no one table could be told
// apart by itself. For these [exchangeRun] is used as well.
//
// First, all p-values are multiplied by looks, because the samples were looked at before.
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

// Reliability is how far the verdicts of a run can be trusted together.
type Reliability struct {
	Tables      int // in which anything was compared, including the summary
	Comparisons int
	Telling     int // tables that tell any two drivers apart

	// Exchanged says that tables of two drivers have too few rounds for the signed-rank
	// test, so that a permutation test of the run can tell them apart as well.
	Exchanged bool
}

// FalseTables returns how many of the tables that tell drivers apart are expected,
// at most, to tell apart two that are equal.
func (r Reliability) FalseTables() float64 { return Alpha * float64(r.Telling) }
