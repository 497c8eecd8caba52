package locks

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/sqlite3perf/sqlite3perf/internal/conditions"
	"github.com/sqlite3perf/sqlite3perf/internal/document"
)

// whyShort explains an error of a lock on a terminal, where [whyWords] has no room, and says what
// to do.
var whyShort = map[LockWhy]string{
	WhyNoWait:        "another connection held the lock, and with busy_timeout=0 nothing waits for it",
	WhySnapshot:      "a deferred transaction read, and then wanted to write after another had committed; immediate ones wait before they read",
	WhyUpgrade:       "a deferred transaction read, and then wanted to write beside another that wrote; immediate ones wait before they read",
	WhyTimeout:       "the lock was not free within busy_timeout: SQLite does not queue, but a mutex or a pool with one writer does",
	WhySharedCache:   "connections share a cache: SQLITE_LOCKED, for which no busy_timeout waits; with cache=private each has its own",
	WhyCanceled:      "the operation's timeout in the workload had passed",
	WhyEndless:       "each waited for what another held: one that takes a second connection waits for the pool's last; make the pool larger",
	WhyEndlessShared: "connections share a cache, and the library waits for its tables without a limit; with cache=private each has its own",
	WhyOther:         "not an error of a lock, so no way of sharing the file ends it",
	WhyUnknown:       "what held the lock is not known",
}

// shortLegend explains the columns on a terminal.
var shortLegend = document.Glossary{
	{Column: whatFailed, Text: "successes per second of the operations that failed, with the change divided by without it."},
	{Column: theRest, Text: "the same of all others."},
	{Column: "queued", Text: "share of the clients' time in which they waited for a connection or the mutex."},
}

// writeLocksTable writes an explanation or, if it has more lines than opts allows, a shorter one.
// Of that rows are left out before causes, and tables only as a whole.
func writeLocksTable(w io.Writer, l *Locks, o document.Options) error {
	lines := func(d document.Document) int {
		var b strings.Builder
		_ = document.RenderText(&b, d, o) // a builder takes everything
		return strings.Count(b.String(), "\n")
	}
	whole := locks(l, o)
	room := max(o.Lines, document.LeastLines)
	if o.Lines == 0 || lines(whole) <= room {
		return document.RenderText(w, whole, o)
	}
	room -= len(o.Hints.Rest) + document.NotShownLines
	short, left := locksInShort(l, 1, false)
	if lines(append(short, shortLegend)) > room {
		var rest document.Document
		for _, m := range l.Mixes {
			rest = append(rest, driverTables(m)...)
		}
		return document.RenderPart(w, append(short, rest...), o)
	}
	const mostRows = 12
sizes:
	for _, minor := range []bool{true, false} {
		for rows := mostRows; rows > 0; rows-- {
			if d, n := locksInShort(l, rows, minor); lines(append(d, shortLegend)) <= room {
				short, left = d, n
				break sizes
			}
		}
	}
	var missing []string
	if left > 0 {
		missing = append(missing, fmt.Sprintf("how %s with errors are mended", document.Counted(int64(left), "more case")))
	}
	for _, m := range l.Mixes {
		for t := driverTables(m); len(t) > 0; t = t[2:] {
			if more := append(slices.Clone(short), t[:2]...); lines(append(more, shortLegend)) <= room {
				short = more
			} else {
				missing = append(missing, t[:2].Names(0))
			}
		}
	}
	s := document.NewScreen(o)
	s.Labeled("not shown", strings.Join(append(missing, "what was measured where"), "; "), document.NotShownLines, true)
	s.Rest(o.Hints.Rest, false)
	if err := document.RenderText(w, append(short, shortLegend), o); err != nil {
		return err
	}
	_, err := io.WriteString(w, s.Out.String())
	return err
}

// locksInShort is the explanation for a terminal: why operations failed, and how some cells with
// errors are mended, those of today first. left is how many cells there was no room for. minor
// asks for what else is told in a list.
func locksInShort(l *Locks, rows int, minor bool) (d document.Document, left int) {
	d = document.Document{document.Heading{Level: 1, Text: LocksAnswer(l)}}
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
		var bad []*LockCell
		for _, c := range m.Cells {
			if c.Trouble() {
				bad = append(bad, c)
			}
		}
		slices.SortStableFunc(bad, func(a, b *LockCell) int { return oddness(a) - oddness(b) })
		if n := min(rows, len(bad)); n > 0 {
			d = append(d, document.Space{}, remediesOf(bad[:n]))
			left += len(bad) - n
		}
	}
	return d, left
}

// oddness orders cells by how likely somebody is to use their choice: that of today first, and
// those that wait for no lock last.
func oddness(c *LockCell) int {
	switch {
	case c.Today:
		return 0
	case c.Choice.BusyTimeout != "0":
		return 1
	}
	return 2
}

// causesShort lists why operations failed, in a sentence each.
func causesShort(m *LockedMix) (l document.List) {
	type key struct {
		why  LockWhy
		name string
	}
	type sum struct {
		count int64
		today bool
	}
	var all conditions.Groups[key, sum]
	for _, c := range m.Cells {
		for _, cause := range c.Causes {
			all.Add(key{cause.Why, cause.Name}, sum{cause.Count, c.Today})
		}
	}
	for _, k := range all.Keys {
		it := document.Item{Label: k.name, Alarm: true}
		n, today := int64(0), ""
		for _, s := range all.Of[k] {
			n += s.count
			if s.today {
				today = ", also as today"
			}
		}
		many := fmt.Sprintf("%s in %s", document.Thousands(n), document.Counted(int64(len(all.Of[k])), "case"))
		if k.why.Endless() {
			it.Label, many = "endless wait", document.Counted(int64(len(all.Of[k])), "case")
		}
		it.Text = fmt.Sprintf("%s%s: %s", many, today, whyShort[k.why])
		l = append(l, it)
	}
	return l
}

// someChoices lists the first choices, and says how many more there are.
func someChoices(list []LockChoice) string {
	const most = 3
	if more := len(list) - most; more > 1 {
		return fmt.Sprintf("%s; %d more", choicesShort(list[:most]), more)
	}
	return choicesShort(list)
}
