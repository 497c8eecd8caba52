package stats

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/sqlite3perf/sqlite3perf/result"
)

// sameShare is the greatest difference between the shares of failed operations of
// two cells that are ranked together, if some operations of both failed.
const sameShare = 0.01

// Failures returns how many of the cell's operations failed, in all trials together.
func (c *Cell) Failures() (failed, operations int64) {
	for _, s := range c.Samples {
		failed += s.Failed
		operations += s.Operations
	}
	return failed, operations
}

func (c *Cell) shareFailed() float64 {
	failed, operations := c.Failures()
	return float64(failed) / float64(max(operations, 1))
}

// FailuresDiffer reports whether two cells differ in the share of their operations
// that failed, so that their times are not of the same work. They differ if none of
// one cell's operations failed and some of the other's did, if the shares are more
// than one percentage point apart, or if the signed-rank test tells them apart round
// by round.
func FailuresDiffer(a, b *Cell) bool { return failuresDiffer(a, b) != "" }

// failuresDiffer says by which rule of [FailuresDiffer] two cells differ; "" if they
// don't.
func failuresDiffer(a, b *Cell) string {
	x, y := a.shareFailed(), b.shareFailed()
	switch {
	case x == 0 && y == 0:
		return ""
	case x == 0 || y == 0:
		return "any failure counts where another row has none"
	case math.Abs(x-y) > sameShare:
		return fmt.Sprintf("the shares are more than %g percentage point apart", 100*sameShare)
	}
	byRound := map[int]float64{}
	share := func(s Sample) float64 { return float64(s.Failed) / float64(max(s.Operations, 1)) }
	for _, s := range a.Samples {
		byRound[s.Round] = share(s)
	}
	var differences []float64
	for _, s := range b.Samples {
		if v, ok := byRound[s.Round]; ok {
			differences = append(differences, share(s)-v)
		}
	}
	if p, _ := signedRank(differences); p < Alpha {
		return "the signed-rank test over the rounds tells the shares apart"
	}
	return ""
}

// compareFailures marks the cells that are not ranked: those with too few samples,
// and those in which more operations failed than in the cell with the least share
// of failed operations.
func (t *Table) compareFailures() {
	measured := slices.DeleteFunc(slices.Clone(t.Cells), func(c *Cell) bool { return c.Status != result.OK })
	if len(measured) == 0 {
		return
	}
	least := slices.MinFunc(measured, func(a, b *Cell) int { return cmp.Compare(a.shareFailed(), b.shareFailed()) })
	for _, c := range measured {
		switch why := failuresDiffer(c, least); {
		case why != "":
			c.failuresDiffer = true
			c.Unranked = fmt.Sprintf("%s of its operations failed, and %s of %s's: %s", shareInWords(c.shareFailed()),
				shareInWords(least.shareFailed()), cmp.Or(least.As, least.Case.Driver), why)
		case c.LeftAfter > 0:
			c.Unranked = fmt.Sprintf("left out of the race after %d rounds", c.LeftAfter)
		case len(c.Samples) < MinSamples:
			c.Unranked = fmt.Sprintf("%d of at least %d samples", len(c.Samples), MinSamples)
		}
	}
}

func shareInWords(v float64) string {
	switch {
	case v == 0:
		return "none"
	case v < 0.0005:
		return "less than 0.1 %"
	}
	return fmt.Sprintf("%.1f %%", 100*v)
}
