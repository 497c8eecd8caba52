package locks

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/sqlite3perf/sqlite3perf/internal/distinct"
	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// whyWords explain a lock error, in two parts. A small terminal shows only the first part.
var whyWords = map[LockWhy][2]string{
	WhyNoWait: {"another connection held the lock, and busy_timeout=0 means not to wait"},
	WhySnapshot: {"it read, another committed, then it tried to write. BEGIN IMMEDIATE prevents this",
		"What it read is out of date, so SQLite fails it at once, and no busy_timeout helps"},
	WhyUpgrade: {"it read, then tried to write while another was writing. BEGIN IMMEDIATE prevents this",
		"Each would wait for the other, or what it read would be out of date, so SQLite fails it at once, whatever the busy_timeout"},
	WhyTimeout: {"the lock was not free within busy_timeout: SQLite does not queue, but a mutex or a pool with one writer does",
		"SQLite tries again from time to time, in no order, so one may wait much longer than others"},
	WhySharedCache: {"connections share a cache: SQLite returns SQLITE_LOCKED at once, and no busy_timeout waits for it; with cache=private each has its own"},
	WhyCanceled: {"the operation's timeout in the workload had passed",
		"Its context was canceled, and it ended then or, with a library that ignores the context while it waits for a lock, when the lock was free or busy_timeout had passed"},
	WhyEndless: {"deadlock: each operation held a connection and waited for a second one, but the pool had none left. Make the pool larger",
		"No timeout of SQLite ends that. The pool must be larger than all connections that can be held at once, or no operation may take a second one"},
	WhyEndlessShared: {"connections share a cache, and the library waits for its tables without a limit; with cache=private each has its own",
		"SQLite returns SQLITE_LOCKED for such a table. No busy_timeout waits for it, and some libraries then wait until the other connection has ended its transaction"},
	WhyOther: {"not an error of a lock, so no way of locking ends it",
		"The statement found other rows than when it was recorded, for example because a lock stopped another transaction, or the recording has no values"},
	WhyUnknown: {"what held the lock is not known"},
}

// timeoutBetween explains [WhyTimeout] if several processes use the database.
var timeoutBetween = [2]string{"the lock was not free within busy_timeout: processes don't queue, so raise busy_timeout, or hold the lock for less time",
	whyWords[WhyTimeout][1]}

// causes lists the reasons why operations failed and, for each reason, the drivers and settings with
// which it occurred.
func causes(m *LockedMix) (l document.List) {
	for _, c := range m.sameCauses() {
		n := ""
		if !c.why.Endless() {
			n = fmt.Sprintf(", %s in all, after %s on average", document.Thousands(c.count), document.Nanoseconds(c.tookNS/max(c.count, 1)))
		}
		words := c.words[0]
		if c.words[1] != "" {
			words += ". " + c.words[1]
		}
		l = append(l, document.Item{Label: c.label, Alarm: true, Text: fmt.Sprintf("%s%s: %s", inCommon(c.cells), n, words)})
	}
	if l != nil && m.Processes > 1 {
		l = append(l, document.Item{Label: "processes", Text: fmt.Sprintf("each of the %d has its own pools: a pool of one, or with one writer, orders only the clients of its own process, "+
			"and so does a mutex. Between processes there are only SQLite's locks: use BEGIN IMMEDIATE for writes, and a busy_timeout", m.Processes)})
	}
	return l
}

// causesShort lists the reasons why operations failed, with one sentence for each.
func causesShort(m *LockedMix) (l document.List) {
	for _, c := range m.sameCauses() {
		many := document.Counted(int64(len(c.cells)), "case")
		if !c.why.Endless() {
			many = document.Thousands(c.count) + " in " + many
		}
		if slices.ContainsFunc(c.cells, func(c *LockCell) bool { return c.Today }) {
			many += ", also with your settings"
		}
		l = append(l, document.Item{Label: c.label, Alarm: true, Text: many + ": " + c.words[0]})
	}
	return l
}

// sameCause is a reason why operations of a mix failed, with all cells in which they failed for this reason.
type sameCause struct {
	why           LockWhy
	label         string
	words         [2]string
	cells         []*LockCell
	count, tookNS int64
}

func (m *LockedMix) sameCauses() (list []sameCause) {
	for _, c := range m.Cells {
		for _, cause := range c.Causes {
			added := sameCause{why: cause.Why, label: cause.Name, words: whyWords[cause.Why]}
			if cause.Why.Endless() {
				added.label = "endless wait"
			}
			if cause.Why == WhyTimeout && m.Processes > 1 {
				added.words = timeoutBetween
			}
			x := distinct.Find(&list, added, func(x sameCause) bool { return x.why == added.why && x.label == added.label })
			x.cells = append(x.cells, c)
			x.count += cause.Count
			x.tookNS += cause.MeanNS * cause.Count
		}
	}
	return list
}

// waitWords name what clients wait for.
var waitWords = map[string]struct{ short, long string }{
	protocol.WaitConnection: {"pool", "for a connection of the pool"},
	protocol.WaitMutex:      {"mutex", "for the application's mutex"},
	protocol.WaitRetry:      {"retry", "before they tried again what had failed"},
}

// leastWaited is the fraction of the clients' time that a wait must exceed to be listed.
const leastWaited = 0.01

// waits names, for each kind of wait, the cell whose clients waited longest. It also names the
// drivers whose workers do not report waits.
func waits(m *LockedMix) document.List {
	var l document.List
	for _, what := range protocol.WaitsFor() {
		var most *LockCell
		var longest LockWait
		for _, c := range m.Cells {
			for _, w := range c.Waits {
				if w.For == what && w.Share > max(longest.Share, leastWaited) {
					most, longest = c, w
				}
			}
		}
		if most != nil {
			l = append(l, document.Item{Label: "waited", Text: fmt.Sprintf("%s of the clients' time, %s per operation, %s: %s, which is the most",
				document.Percent(longest.Share), document.Nanoseconds(longest.PerOpNS), waitWords[what].long, inCommon([]*LockCell{most}))})
		}
	}
	var silent []string
	for _, c := range m.Cells {
		if c.Rate.N > 0 && c.Waits == nil {
			silent = distinct.Append(silent, c.Driver)
		}
	}
	if silent != nil {
		l = append(l, document.Item{Label: "waited", Text: "not known of " + firstOf(silent) + ": the worker does not tell"})
	}
	return l
}

// waitShort returns how long the clients of a cell waited, as a percentage of the clients' time. If they
// waited for several things, it returns the percentage and the name of each thing. It returns a dash if the
// waits are unknown.
func waitShort(c *LockCell) string {
	var words []string
	share := 0.0
	for _, w := range c.Waits {
		if w.Count > 0 {
			words = append(words, document.Percent(w.Share)+" "+waitWords[w.For].short)
			share = w.Share
		}
	}
	switch {
	case c.Waits == nil:
		return document.Absent
	case len(words) < 2:
		return document.Percent(share)
	}
	return strings.Join(words, ", ")
}

// failedBy lists the operations that failed, added up over all cells. For operations that also failed in
// the recording, it gives only their number, because workers do not report their kinds.
func failedBy(m *LockedMix) string {
	by := map[string]int64{}
	recorded := int64(0)
	for _, c := range m.Cells {
		recorded += c.recorded
		for _, f := range c.FailedBy {
			by[f.Operation] += f.Failed
		}
	}
	names := slices.SortedFunc(maps.Keys(by), func(a, b string) int { return cmp.Or(cmp.Compare(by[b], by[a]), strings.Compare(a, b)) })
	for i, n := range names {
		names[i] = fmt.Sprintf("%s × %s", document.Thousands(by[n]), document.Line(n))
	}
	words := firstOf(names)
	if recorded > 0 {
		words = strings.TrimPrefix(fmt.Sprintf("%s; %s that had failed in the recording too", words, document.Thousands(recorded)), "; ")
	}
	return words
}

func skipped(m *LockedMix) string {
	n := int64(0)
	for _, c := range m.Cells {
		n += c.Skipped
	}
	if n == 0 {
		return ""
	}
	return document.Counted(n, "event") + " of a replay, because a lock had stopped their transaction"
}
