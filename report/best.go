package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sqlite3perf/sqlite3perf/stats"
)

// bestSettings says which of the settings and parameters that a run varied is fastest,
// and with which others it is tied: a sentence or two for each table. It returns "" if
// the run varied none, or if it was judged while it was under way, because only its
// comparison is corrected for that.
func bestSettings(a *stats.Analysis) string {
	if a.Run.Compares != nil && a.Run.Compares.Looks {
		return ""
	}
	var sentences, tied []string
	for _, f := range a.Factorials {
		for _, t := range f.Tables {
			ranked := slices.DeleteFunc(slices.Clone(t.Measured()), func(c *stats.Cell) bool { return c.Rank == 0 })
			if len(ranked) < 2 {
				continue
			}
			where := f.Workload + " " + t.Phase
			if slices.ContainsFunc(ranked, (*stats.Cell).TooShort) {
				where += fmt.Sprintf(" (less than %s, too short to judge by)", shortLimit())
			}
			if !slices.ContainsFunc(t.Pairs, func(p stats.Pair) bool { return p.Significant() }) {
				tied = append(tied, where)
				continue
			}
			sentences = append(sentences, fmt.Sprintf("In %s, %s.", where, bestOf(t, ranked)))
		}
	}
	if tied != nil {
		sentences = append(sentences, fmt.Sprintf("In %s, noise hides which is fastest: all rows with a rank are tied.", andOthers(tied)))
	}
	return strings.Join(sentences, " ")
}

// bestOf says which of a table's ranked cells is fastest and what it can lose, and which
// is the fastest of those that can lose less, until nothing can be lost. If none can lose
// less, it says which is next. What is both slower and more dangerous is left out.
func bestOf(t *stats.Table, ranked []*stats.Cell) string {
	risk := map[*stats.Cell]int{} // places in losses; the last is none
	differ := false
	for _, c := range ranked {
		risk[c] = severity(c.Outcome, t.Phase)
		differ = differ || risk[c] != risk[ranked[0]]
	}
	best := safest(t, ranked, risk)
	words := fastest(t, best, ranked, risk, differ)
	less := slices.DeleteFunc(slices.Clone(ranked), func(c *stats.Cell) bool { return risk[c] <= risk[best] })
	next := slices.IndexFunc(ranked, func(c *stats.Cell) bool { return c != best && risk[c] >= risk[best] && !tiedWith(t, best, c) })
	if len(less) == 0 && next >= 0 {
		words += "; next is " + timed(t, ranked[next], best, "")
	}
	for len(less) > 0 {
		c := safest(t, less, risk)
		tied := slices.DeleteFunc(slices.Clone(less), func(x *stats.Cell) bool { return risk[x] < risk[c] || !tiedWith(t, c, x) })
		words += fmt.Sprintf("; the fastest that %s is %s", losses[risk[c]].only, timed(t, c, best, tiedTo(tied, "")))
		less = slices.DeleteFunc(less, func(x *stats.Cell) bool { return risk[x] <= risk[c] })
	}
	if n := len(t.Cells) - len(ranked); n > 0 {
		words += fmt.Sprintf("; rows without a rank: %d", n)
	}
	return words
}

// safest returns the cell that can lose least of those than which no other of some cells is
// told apart as faster. Of several, it returns the first.
func safest(t *stats.Table, cells []*stats.Cell, risk map[*stats.Cell]int) *stats.Cell {
	var best *stats.Cell
	for _, c := range cells {
		beaten := slices.ContainsFunc(cells, func(other *stats.Cell) bool {
			test, ok := t.Against(slices.Index(t.Cells, other), slices.Index(t.Cells, c))
			return ok && test.Significant() && test.Sign() < 0
		})
		if !beaten && (best == nil || risk[c] > risk[best]) {
			best = c
		}
	}
	if best == nil { // each is slower than another, in a circle
		return cells[0]
	}
	return best
}

// fastest says that a cell is fastest, or with which others it is tied, and if cells differ in
// what they can lose, what this one can.
func fastest(t *stats.Table, best *stats.Cell, ranked []*stats.Cell, risk map[*stats.Cell]int, differ bool) string {
	tied := slices.DeleteFunc(slices.Clone(ranked), func(c *stats.Cell) bool { return !tiedWith(t, best, c) })
	loses := losses[risk[best]]
	switch {
	case len(tied) == 0 && !differ:
		return name(best.Outcome) + " is fastest"
	case len(tied) == 0 && risk[best] == len(losses)-1:
		return name(best.Outcome) + " is fastest, and " + loses.of
	case len(tied) == 0:
		return name(best.Outcome) + " is fastest, but " + loses.of
	case !differ:
		return fmt.Sprintf("%s comes first, tied with %s: noise hides which is faster", name(best.Outcome), cellNames(tied))
	}
	more := ""
	switch safer := func(c *stats.Cell) bool { return risk[c] >= risk[best] }; {
	case !slices.ContainsFunc(tied, safer):
		more = ", which can lose more"
	case slices.ContainsFunc(tied, func(c *stats.Cell) bool { return !safer(c) }):
		more = ", some of which can lose more"
	}
	return fmt.Sprintf("nothing is measurably faster than %s, which %s%s", name(best.Outcome), loses.of, tiedTo(tied, more))
}

// tiedTo lists in brackets the cells that another one is tied with, with what is to say of
// them. It returns "" if there are none.
func tiedTo(tied []*stats.Cell, more string) string {
	if len(tied) == 0 {
		return ""
	}
	return " (tied with " + cellNames(tied) + more + ")"
}

func cellNames(cells []*stats.Cell) string {
	var names []string
	for _, c := range cells {
		names = append(names, name(c.Outcome))
	}
	return andOthers(names)
}

// timed names a cell with its time, compared with that of another one. After the name comes
// note.
func timed(t *stats.Table, c, other *stats.Cell, note string) string {
	if tiedWith(t, other, c) {
		return name(c.Outcome) + note + ", tied with " + name(other.Outcome)
	}
	ratio := t.Ratio(stats.Pair{First: slices.Index(t.Cells, c), Second: slices.Index(t.Cells, other)})
	return fmt.Sprintf("%s%s, with %s the time %s", name(c.Outcome), note, times(ratio.Median), interval(ratio.Interval))
}

// tiedWith reports whether a cell of a table is tied with another one.
func tiedWith(t *stats.Table, c, other *stats.Cell) bool {
	return slices.Contains(c.Tied, slices.Index(t.Cells, other))
}

// andOthers lists a few names as in a sentence, and counts the rest.
func andOthers(names []string) string {
	const most = 3
	if len(names) > most {
		names = append(slices.Clone(names[:most-1]), fmt.Sprintf("%d others", len(names)-most+1))
	}
	last := len(names) - 1
	if last == 0 {
		return names[0]
	}
	return strings.Join(names[:last], ", ") + " and " + names[last]
}
