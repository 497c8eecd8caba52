package locks

import (
	"fmt"
	"slices"

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

// onScreen is the explanation for a terminal that has no room for all of it: why operations
// failed, and how some cells with errors are mended. Tables are left out first, then rows.
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
			d = append(d, document.Section{Rank: 2, Forms: []document.Form{{Body: t[:2:2]}, {Missing: t[:2].Names(0)}}})
		}
	}
	return append(d, shortLegend, document.Section{Forms: []document.Form{{Missing: "what was measured where"}}})
}

// inShort says why operations failed, and how some cells with errors are mended, those of today
// first. minor asks for what else is told in a list.
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
	f.Body = d
	if left > 0 {
		f.Missing = fmt.Sprintf("how %s with errors are mended", document.Counted(int64(left), "more case"))
	}
	return f
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
