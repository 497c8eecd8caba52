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

// bestOf says which of a table's ranked cells comes first, what it can lose, and how much
// longer the next ones take.
func bestOf(t *stats.Table, ranked []*stats.Cell) string {
	best := ranked[0]
	words := name(best.Outcome) + " is fastest"
	if len(best.Tied) > 0 {
		var others []string
		for _, i := range best.Tied {
			others = append(others, name(t.Cells[i].Outcome))
		}
		words = fmt.Sprintf("%s comes first, tied with %s: noise hides which is faster", name(best.Outcome), andOthers(others))
	}
	next := slices.IndexFunc(ranked, func(c *stats.Cell) bool { return c != best && !tiedWith(t, best, c) })
	safe := slices.IndexFunc(ranked, func(c *stats.Cell) bool { return !losesDatabase(c.Outcome, t.Phase) })
	switch {
	case safe > 0 && len(best.Tied) == 0:
		words += ", but can lose the database"
	case safe > 0:
		words += fmt.Sprintf("; %s can lose the database", name(best.Outcome))
	}
	for i := range ranked {
		switch {
		case i == 0 || i != next && i != safe:
		case next == safe:
			words += "; next, and the first without that risk, is " + timed(t, ranked[i])
		case i == next:
			words += "; next is " + timed(t, ranked[i])
		default:
			words += "; the first without that risk is " + timed(t, ranked[i])
		}
	}
	if n := len(t.Cells) - len(ranked); n > 0 {
		words += fmt.Sprintf("; rows without a rank: %d", n)
	}
	return words
}

// timed names a cell with its time, compared with that of the first of its table.
func timed(t *stats.Table, c *stats.Cell) string {
	if tiedWith(t, t.Cells[0], c) {
		return name(c.Outcome) + ", tied with it"
	}
	ratio := t.Ratio(stats.Pair{First: slices.Index(t.Cells, c), Second: 0})
	return fmt.Sprintf("%s, with %s the time %s", name(c.Outcome), times(ratio.Median), interval(ratio.Interval))
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
