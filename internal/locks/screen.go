package locks

import (
	"fmt"
	"slices"

	"github.com/sqlite3perf/sqlite3perf/internal/document"
)

// shortLegend explains the columns of the tables on a terminal.
var shortLegend = document.Glossary{
	{Column: whatFailed, Text: "successes per second of the operations that failed, with the change divided by without it."},
	{Column: theRest, Text: "the same of all others."},
	{Column: "queued", Text: "share of the clients' time in which they waited for a connection or the mutex."},
}

// onScreen returns the explanation for a terminal. If the terminal has too few lines, tables are left out
// first, then remedies, and finally details.
func onScreen(l *Locks) document.Document {
	const mostRows = 12
	d := document.Document{document.Heading{Level: 1, Text: LocksAnswer(l)}}
	var forms []document.Form
	for _, minor := range []bool{true, false} {
		for rows := mostRows; rows > 0; rows-- {
			forms = append(forms, inShort(l, rows, minor))
		}
	}
	d = append(d, document.Section{Rank: 1, Forms: forms})
	for _, m := range l.Mixes {
		for t := driverTables(m); len(t) > 0; t = t[2:] {
			d = append(d, document.Optional(2, t[:2].Names(0), t[:2:2]...))
		}
	}
	return append(d, shortLegend, document.Section{Forms: []document.Form{{Missing: "the origin of the figures"}}})
}

// inShort says why operations failed, and lists remedies for cells with errors. Cells with the
// workload's own settings come first. The parameter "rows" is the greatest number of cells that are
// listed for a mix. If the parameter "minor" is true, inShort adds details, such as waits.
func inShort(l *Locks, rows int, minor bool) (f document.Form) {
	d, left := document.Document(nil), 0
	for _, m := range l.Mixes {
		if len(l.Mixes) > 1 {
			d = append(d, document.Heading{Level: 2, Text: m.String()})
		}
		why := causesShort(m)
		if minor {
			why = append(why, waits(m)...)
			why.Note(document.Item{Label: "failed", Text: failedBy(m)})
			why.Note(document.Item{Label: "as fast", Text: someChoices(tiedChoices(m))})
		}
		if why == nil && len(l.Mixes) > 1 {
			why = document.List{{Label: "failed", Text: "nothing"}}
		}
		if why != nil {
			d = append(d, why)
		}
		bad := slices.DeleteFunc(slices.Clone(m.Cells), func(c *LockCell) bool { return !c.Trouble() })
		slices.SortStableFunc(bad, func(a, b *LockCell) int { return oddness(a) - oddness(b) })
		if n := min(rows, len(bad)); n > 0 {
			d = append(d, document.Space{}, remedies(bad[:n]))
			left += len(bad) - n
		}
	}
	f.Body = d
	if left > 0 {
		f.Missing = fmt.Sprintf("remedies for %s with errors", document.Counted(int64(left), "more case"))
	}
	return f
}

// oddness returns the rank of a cell by how likely applications are to use its settings: 0 for the
// workload's own settings, 2 for other settings with busy_timeout=0, and 1 for all remaining
// settings.
func oddness(c *LockCell) int {
	switch {
	case c.Today:
		return 0
	case c.Choice.BusyTimeout != "0":
		return 1
	}
	return 2
}

func someChoices(list []LockChoice) string {
	const most = 3
	if more := len(list) - most; more > 1 {
		return fmt.Sprintf("%s; %d more", choicesShort(list[:most]), more)
	}
	return choicesShort(list)
}
