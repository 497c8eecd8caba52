package report

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/sqlite3perf/sqlite3perf/internal/advise"
)

// whyShort explains an error of a lock on a terminal, where [whyWords] has no room, and says what
// to do.
var whyShort = map[advise.LockWhy]string{
	advise.WhyNoWait:        "another connection held the lock, and with busy_timeout=0 nothing waits for it",
	advise.WhySnapshot:      "a deferred transaction read, and then wanted to write after another had committed; immediate ones wait before they read",
	advise.WhyUpgrade:       "a deferred transaction read, and then wanted to write beside another that wrote; immediate ones wait before they read",
	advise.WhyTimeout:       "the lock was not free within busy_timeout: SQLite does not queue, but a mutex or a pool with one writer does",
	advise.WhySharedCache:   "connections share a cache: SQLITE_LOCKED, for which no busy_timeout waits; with cache=private each has its own",
	advise.WhyCanceled:      "the operation's timeout in the workload had passed",
	advise.WhyEndless:       "each waited for what another held: one that takes a second connection waits for the pool's last; make the pool larger",
	advise.WhyEndlessShared: "connections share a cache, and the library waits for its tables without a limit; with cache=private each has its own",
	advise.WhyOther:         "not an error of a lock, so no way of sharing the file ends it",
	advise.WhyUnknown:       "what held the lock is not known",
}

// shortLegend explains the columns on a terminal.
var shortLegend = glossary{
	{whatFailed, "successes per second of the operations that failed, with the change divided by without it."},
	{theRest, "the same of all others."},
	{"queued", "share of the clients' time in which they waited for a connection or the mutex."},
}

// writeLocksTable writes an explanation or, if it has more lines than opts allows, a shorter one.
// Of that rows are left out before causes, and tables only as a whole.
func writeLocksTable(w io.Writer, l *advise.Locks, o Options) error {
	lines := func(d document) int {
		var b strings.Builder
		_ = renderText(&b, d, o) // a builder takes everything
		return strings.Count(b.String(), "\n")
	}
	whole := locks(l, o)
	room := max(o.Lines, leastLines)
	if o.Lines == 0 || lines(whole) <= room {
		return renderText(w, whole, o)
	}
	room -= len(o.Hints.Rest) + notShownLines
	short, left := locksInShort(l, 1, false)
	if lines(append(short, shortLegend)) > room {
		var rest document
		for _, m := range l.Mixes {
			rest = append(rest, driverTables(m)...)
		}
		return renderPart(w, append(short, rest...), o)
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
		missing = append(missing, fmt.Sprintf("how %s with errors are mended", counted(int64(left), "more case")))
	}
	for _, m := range l.Mixes {
		for t := driverTables(m); len(t) > 0; t = t[2:] {
			if more := append(slices.Clone(short), t[:2]...); lines(append(more, shortLegend)) <= room {
				short = more
			} else {
				missing = append(missing, t[:2].names(0))
			}
		}
	}
	s := newScreen(o)
	s.labeled("not shown", strings.Join(append(missing, "what was measured where"), "; "), notShownLines, true)
	s.rest(o.Hints.Rest, false)
	if err := renderText(w, append(short, shortLegend), o); err != nil {
		return err
	}
	_, err := io.WriteString(w, s.out.String())
	return err
}

// locksInShort is the explanation for a terminal: why operations failed, and how some cells with
// errors are mended, those of today first. left is how many cells there was no room for. minor
// asks for what else is told in a list.
func locksInShort(l *advise.Locks, rows int, minor bool) (d document, left int) {
	d = document{heading{1, LocksAnswer(l)}}
	for _, m := range l.Mixes {
		if len(l.Mixes) > 1 {
			d = append(d, heading{2, m.String()})
		}
		why := causesShort(m)
		if minor {
			why = append(why, waits(m)...)
			why.note(item{label: "failed", text: failedBy(m)})
			why.note(item{label: "as fast", text: someChoices(tiedChoices(m))})
		}
		if why == nil && len(l.Mixes) > 1 {
			why = list{{label: "failed", text: "nothing"}}
		}
		if why != nil {
			d = append(d, why)
		}
		var bad []*advise.LockCell
		for _, c := range m.Cells {
			if c.Trouble() {
				bad = append(bad, c)
			}
		}
		slices.SortStableFunc(bad, func(a, b *advise.LockCell) int { return oddness(a) - oddness(b) })
		if n := min(rows, len(bad)); n > 0 {
			d = append(d, space{}, remediesOf(bad[:n]))
			left += len(bad) - n
		}
	}
	return d, left
}

// oddness orders cells by how likely somebody is to use their choice: that of today first, and
// those that wait for no lock last.
func oddness(c *advise.LockCell) int {
	switch {
	case c.Today:
		return 0
	case c.Choice.BusyTimeout != "0":
		return 1
	}
	return 2
}

// causesShort lists why operations failed, in a sentence each.
func causesShort(m *advise.LockedMix) (l list) {
	type key struct {
		why  advise.LockWhy
		name string
	}
	type sum struct {
		count int64
		today bool
	}
	var all groups[key, sum]
	for _, c := range m.Cells {
		for _, cause := range c.Causes {
			all.add(key{cause.Why, cause.Name}, sum{cause.Count, c.Today})
		}
	}
	for _, k := range all.keys {
		it := item{label: k.name, alarm: true}
		n, today := int64(0), ""
		for _, s := range all.of[k] {
			n += s.count
			if s.today {
				today = ", also as today"
			}
		}
		many := fmt.Sprintf("%s in %s", Thousands(n), counted(int64(len(all.of[k])), "case"))
		if k.why.Endless() {
			it.label, many = "endless wait", counted(int64(len(all.of[k])), "case")
		}
		it.text = fmt.Sprintf("%s%s: %s", many, today, whyShort[k.why])
		l = append(l, it)
	}
	return l
}

// someChoices lists the first choices, and says how many more there are.
func someChoices(list []advise.LockChoice) string {
	const most = 3
	if more := len(list) - most; more > 1 {
		return fmt.Sprintf("%s; %d more", choicesShort(list[:most]), more)
	}
	return choicesShort(list)
}
