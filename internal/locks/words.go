package locks

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/sqlite3perf/sqlite3perf/internal/conditions"
	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// Formats are those of an explanation of locks.
var Formats = document.FormatsOf[*Locks, document.Options]{What: "explanation", List: []document.Format[*Locks, document.Options]{
	{Name: "table", To: func(w io.Writer, l *Locks, o document.Options) error {
		return document.RenderPart(w, locks(l, o), onScreen(l), o)
	}},
	{Name: "markdown", To: func(w io.Writer, l *Locks, o document.Options) error {
		return document.RenderMarkdown(w, locks(l, o).Explained())
	}},
	{Name: "html", To: func(w io.Writer, l *Locks, o document.Options) error {
		return document.RenderHTML(w, locksPage(l, o), "Locks", o)
	}},
	{Name: "json", To: writeLocksJSON},
}}

// measuredLabel begins the list of where the figures are from.
const measuredLabel = "measured"

// LocksAnswer says in a sentence or two whether locks made operations fail, and what ends
// that.
func LocksAnswer(l *Locks) string {
	var words []string
	for _, m := range l.Mixes {
		words = append(words, mixAnswer(m, len(l.Mixes) > 1))
	}
	if words == nil {
		return "Neither a mix nor a replay was measured: nothing can be said of locks."
	}
	return strings.Join(words, " ")
}

func mixAnswer(m *LockedMix, several bool) string {
	begin := ""
	if several {
		begin = m.String() + ": "
	}
	measured, failing, endless := 0, 0, 0
	for _, c := range m.Cells {
		switch {
		case c.Endless:
			measured++
			endless++
		case c.Rate.N > 0 && c.Locked > 0:
			measured++
			failing++
		case c.Rate.N > 0:
			measured++
		}
	}
	var troubles []string
	if failing > 0 {
		troubles = append(troubles, fmt.Sprintf("operations failed in %d", failing))
	}
	if endless > 0 {
		troubles = append(troubles, fmt.Sprintf("waited without end in %d", endless))
	}
	s := ""
	switch {
	case measured == 0:
		s = "no way of locking has figures."
	case troubles == nil:
		s = fmt.Sprintf("in %s no lock made an operation fail.", document.Counted(int64(measured), "case")) + unlocked(m)
	default:
		if failing == 0 {
			s = "operations "
		}
		s += fmt.Sprintf("%s of %s.", document.And(troubles), document.Counted(int64(measured), "case")) + asToday(m) + ended(m)
	}
	if begin == "" {
		s = document.Upper(s)
	}
	return begin + s
}

// asToday says whether locks make operations fail with the workload's own settings, where
// they do with some.
func asToday(m *LockedMix) string {
	if m.Today == nil {
		return ""
	}
	var bad, good []string
	for _, d := range m.Drivers() {
		switch c := m.Cell(d, *m.Today); {
		case c == nil:
		case c.Trouble():
			bad = append(bad, d)
		case c.Clean():
			good = append(good, d)
		}
	}
	own := "As today (" + choiceShort(*m.Today) + ")"
	switch {
	case bad != nil && good != nil:
		return fmt.Sprintf(" %s they did with %s, and not with %s.", own, firstOf(bad), firstOf(good))
	case bad != nil:
		return fmt.Sprintf(" %s they did.", own)
	case good != nil:
		return fmt.Sprintf(" %s they did not.", own)
	}
	return ""
}

// ended says with which choices no lock made an operation fail, where it did with others. Of
// those that are as fast, it names the one that changes least of what the workload has today.
func ended(m *LockedMix) string {
	if m.Best == nil {
		return " No choice that was measured ends it on all drivers."
	}
	named := *cmp.Or(m.Nearest, m.Best)
	best := " None did with " + choiceWords(named)
	fastest, another, others := "the fastest such choice", "is as fast", "are as fast"
	if m.Paced {
		fastest, another, others = "of such choices the one with the shortest latency", "has as short a latency", "have as short a latency"
	}
	such := ""
	if named != *m.Best {
		such = fmt.Sprintf(": %s (%s)", choiceShort(*m.Best), ratesOf(m, *m.Best))
		if len(m.Equal) > 1 {
			such = ", such as " + strings.TrimPrefix(such, ": ")
		}
	}
	rates := ratesOf(m, named)
	if m.Nearest != nil {
		changes := m.Today.Changes(named)
		rates += "; " + document.Counted(int64(len(changes)), "change") + " from today" + prefixed(": ", changesWords(changes))
	}
	switch n := len(m.Equal); n {
	case 0:
		return fmt.Sprintf("%s, %s (%s).", best, fastest, rates)
	case 1:
		return fmt.Sprintf("%s (%s), nor with another choice that %s, as far as can be told%s.", best, rates, another, such)
	default:
		return fmt.Sprintf("%s (%s), nor with %d other choices that %s, as far as can be told%s.", best, rates, n, others, such)
	}
}

// tiedChoices lists the choices that are as fast as the one that the answer names.
func tiedChoices(m *LockedMix) []LockChoice {
	if m.Nearest == nil || *m.Nearest == *m.Best {
		return m.Equal
	}
	return append([]LockChoice{*m.Best}, slices.DeleteFunc(slices.Clone(m.Equal), func(c LockChoice) bool { return c == *m.Nearest })...)
}

// unlocked says which choice is the fastest, and with which operations wait least, where no
// lock makes any fail.
func unlocked(m *LockedMix) string {
	if m.Best == nil || m.Calm == nil || m.Choices() < 2 {
		return ""
	}
	return " " + fastest(m) + " " + calmest(m)
}

// fastest says in a sentence which choice is the fastest, or which are.
func fastest(m *LockedMix) string {
	best, than := choiceShort(*m.Best), thanToday(m, *m.Best, m.Equal, m.Gain, "in these trials that is %s as fast as today", ratesOf)
	all := "All %d choices are as fast, as far as can be told; %s was measured with the highest rate (%s)."
	one, some := "The fastest is", "The fastest are"
	if m.Paced {
		all = "All %d choices have as short a latency, as far as can be told; %s was measured with the shortest (%s)."
		one, some = "The shortest latency has", "The shortest latencies have"
		than = thanToday(m, *m.Best, m.Equal, m.Gain, "in these trials it is %s as long today", ratesOf)
	}
	switch n := len(m.Equal); {
	case n+1 == m.Choices():
		return fmt.Sprintf(all, n+1, best, ratesOf(m, *m.Best))
	case n > 0:
		return fmt.Sprintf("%s, as far as can be told, %s (%s) and %s%s.", some, best, ratesOf(m, *m.Best), document.Counted(int64(n), "other choice"), than)
	}
	return fmt.Sprintf("%s %s (%s)%s.", one, best, ratesOf(m, *m.Best), than)
}

// calmest says in a sentence with which choice operations wait least, or with which.
func calmest(m *LockedMix) string {
	s := fmt.Sprintf("Operations wait least with %s (%s)", choiceShort(*m.Calm), tailsOf(m, *m.Calm))
	if m.Best != nil && *m.Calm == *m.Best {
		s = fmt.Sprintf("Operations also wait least with it (%s)", tailsOf(m, *m.Calm))
	}
	switch n := len(m.EquallyCalm); {
	case n+1 == m.Choices():
		return fmt.Sprintf("It is not told with which choice operations wait least; the lowest p99.9 was measured with %s (%s).", choiceShort(*m.Calm), tailsOf(m, *m.Calm))
	case n > 0:
		s += fmt.Sprintf(" and with %s, as far as can be told", document.Counted(int64(n), "other choice"))
	}
	return s + thanToday(m, *m.Calm, m.EquallyCalm, m.Calmer, "in these trials the percentile is %s as high today", tailsOf) + "."
}

// thanToday compares the best choice in a respect with that of today.
func thanToday(m *LockedMix, best LockChoice, equal []LockChoice, gain *stats.Summary, words string, figures func(*LockedMix, LockChoice) string) string {
	switch {
	case m.Today == nil:
		return ""
	case best == *m.Today:
		return ", which is as today"
	case slices.Contains(equal, *m.Today):
		return "; as today (" + choiceShort(*m.Today) + ") is one of them"
	case gain == nil:
		return ""
	}
	return fmt.Sprintf("; "+words+" (%s: %s)", priceWords(gain), choiceShort(*m.Today), figures(m, *m.Today))
}

// ratesOf lists how fast each driver is with a choice.
func ratesOf(m *LockedMix, choice LockChoice) string {
	return figuresWith(m, choice, func(c *LockCell) string {
		if m.Paced {
			return "p99 " + document.Nanoseconds(c.P99)
		}
		return document.Human(c.Rate.Median) + "/s"
	})
}

// tailsOf lists how long operations of each driver take with a choice, and how fair that is.
func tailsOf(m *LockedMix, choice LockChoice) string {
	return figuresWith(m, choice, func(c *LockCell) string {
		if c.Fairness == 0 {
			return "p99.9 " + document.Nanoseconds(c.P999)
		}
		return fmt.Sprintf("p99.9 %s with fairness %.2f", document.Nanoseconds(c.P999), c.Fairness)
	})
}

// figuresWith lists a figure of each driver with a choice.
func figuresWith(m *LockedMix, choice LockChoice, of func(*LockCell) string) string {
	var words []string
	for _, d := range m.Drivers() {
		if c := m.Cell(d, choice); c != nil && c.Clean() {
			words = append(words, d+" "+of(c))
		}
	}
	return firstOf(words)
}

// choiceWords names a choice.
func choiceWords(c LockChoice) string {
	var words []string
	if c.Cache != "" {
		words = append(words, "cache="+c.Cache)
	}
	if c.JournalMode != "" {
		words = append(words, "journal_mode="+c.JournalMode)
	}
	if c.TxLock != "" {
		words = append(words, "txlock="+c.TxLock)
	}
	if c.BusyTimeout != "" {
		words = append(words, "busy_timeout="+c.BusyTimeout)
	}
	return strings.Join(append(words, "and "+c.Pool()), " ")
}

// whyWords explain an error of a lock.
var whyWords = map[LockWhy]string{
	WhyNoWait: "another connection held the lock, and with busy_timeout=0 nothing waits for it",
	WhySnapshot: "a deferred transaction read, and then wanted to write after another one had committed. What it has read is out of date, so SQLite fails it at once, " +
		"and no busy_timeout helps. A transaction that begins as immediate waits before it reads",
	WhyUpgrade: "a deferred transaction read, and then wanted to write while another one was writing. Waiting would not help, " +
		"since each would wait for the other, or what was read would be out of date. So SQLite fails it at once, whatever the busy_timeout. " +
		"A transaction that begins as immediate waits before it reads",
	WhyTimeout: "the operation waited for the lock as long as busy_timeout says. SQLite tries again from time to time, and not in the order of arrival, " +
		"so one may wait much longer than others; with a mutex, or a pool with one writer, nobody in the same process waits in SQLite",
	WhySharedCache: "connections share one cache and lock its tables: SQLite returns SQLITE_LOCKED at once, and no busy_timeout waits for it; with cache=private each has its own",
	WhyCanceled: "the operation's timeout in the workload had passed: its context was canceled, and it ended then or, with a library that does not heed " +
		"the context while it waits for a lock, when the lock was free or busy_timeout had passed",
	WhyEndless: "every operation under way waited for what another one held, and no timeout of SQLite's ends that. The workload's operations say what: " +
		"one that takes a second connection while it holds one waits for the pool's last; make the pool larger than all that can be held at once, or take no second one",
	WhyEndlessShared: "every operation under way waited. Connections share one cache and lock its tables: SQLite returns SQLITE_LOCKED for that, for which no busy_timeout waits, " +
		"and some libraries then wait without a limit until the other connection has ended its transaction; with cache=private each has its own",
	WhyOther: "not an error of a lock, so no way of sharing the file ends it: the statement found other rows than when it was recorded, such as those " +
		"of a transaction that a lock has stopped, or the recording has no values",
	WhyUnknown: "what held the lock is not known",
}

// causes lists why operations failed, with the cells of each reason.
func causes(m *LockedMix) document.List {
	type key struct {
		why  LockWhy
		name string
	}
	var whose conditions.Groups[key, *LockCell]
	counts, took := map[key]int64{}, map[key]int64{}
	for _, c := range m.Cells {
		for _, cause := range c.Causes {
			k := key{cause.Why, cause.Name}
			whose.Add(k, c)
			counts[k] += cause.Count
			took[k] += cause.MeanNS * cause.Count
		}
	}
	var l document.List
	for _, k := range whose.Keys {
		label := k.name
		n := ""
		if k.why.Endless() {
			label = "endless wait"
		} else {
			n = fmt.Sprintf(", %s in all, after %s on average", document.Thousands(counts[k]), document.Nanoseconds(took[k]/max(counts[k], 1)))
		}
		words := whyWords[k.why]
		if k.why == WhyTimeout && m.Processes > 1 {
			words = timeoutBetween
		}
		l = append(l, document.Item{Label: label, Alarm: true, Text: fmt.Sprintf("%s%s: %s", inCommon(whose.Of[k]), n, words)})
	}
	if l != nil && m.Processes > 1 {
		l = append(l, document.Item{Label: "processes", Text: fmt.Sprintf("each of the %d has pools of its own: a pool of one, or with one writer, orders only the clients of its own process, "+
			"and so would a mutex. Between processes there are only SQLite's locks: begin as immediate what writes, with a busy_timeout", m.Processes)})
	}
	return l
}

// timeoutBetween explains [advise.WhyTimeout] among several processes.
const timeoutBetween = "the operation waited for the lock as long as busy_timeout says. SQLite tries again from time to time, and not in the order of arrival, " +
	"so one may wait much longer than others; between processes nothing else orders them, so give the busy_timeout more room, or hold the lock for less time"

// waitWords say what clients wait for.
var waitWords = map[string]struct{ short, long string }{
	protocol.WaitConnection: {"pool", "for a connection of the pool"},
	protocol.WaitMutex:      {"mutex", "for the application's mutex"},
	protocol.WaitRetry:      {"retry", "before they tried again what had failed"},
}

// leastWaited is the share of the clients' time from which on a wait is told in words.
const leastWaited = 0.01

// waits says who waited longest for each thing, and of which drivers nothing is known.
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
		if c.Rate.N > 0 && c.Waits == nil && !slices.Contains(silent, c.Driver) {
			silent = append(silent, c.Driver)
		}
	}
	if silent != nil {
		l = append(l, document.Item{Label: "waited", Text: "not known of " + firstOf(silent) + ": the worker does not tell"})
	}
	return l
}

// waitShort says in a few words how long the clients of a cell waited: for what, if that was
// for several things.
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

// failedBy lists the operations that failed, with how often in all cells. Causes also count what
// a lock made fail that had failed when it was recorded: of that no worker tells the operations.
func failedBy(m *LockedMix) string {
	by := map[string]int64{}
	recorded := int64(0)
	for _, c := range m.Cells {
		recorded += c.Recorded
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

// skipped counts the events of a replay that were not run. It returns "" if there are none.
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

// choicesShort lists choices in the fewest words.
func choicesShort(list []LockChoice) string {
	var words []string
	for _, c := range list {
		words = append(words, choiceShort(c))
	}
	return strings.Join(words, "; ")
}

// inCommon says in which cells something happened, as far as they have it in common.
func inCommon(cells []*LockCell) string {
	var drivers []string
	factors := []func(LockChoice) string{
		func(c LockChoice) string { return prefixed("cache=", c.Cache) },
		func(c LockChoice) string { return c.JournalMode },
		func(c LockChoice) string { return c.TxLock },
		func(c LockChoice) string { return prefixed("busy_timeout=", c.BusyTimeout) },
		LockChoice.Pool,
	}
	var words []string
	for _, of := range factors {
		var values []string
		for _, c := range cells {
			if v := of(c.Choice); v != "" && !slices.Contains(values, v) {
				values = append(values, v)
			}
		}
		if len(values) > 0 {
			words = append(words, strings.Join(values, " or "))
		}
	}
	for _, c := range cells {
		if !slices.Contains(drivers, c.Driver) {
			drivers = append(drivers, c.Driver)
		}
	}
	return firstOf(drivers) + " with " + strings.Join(words, "; ")
}

// mostListed is how many drivers a sentence names.
const mostListed = 4

// firstOf joins the first words, and says how many more there are.
func firstOf(words []string) string {
	return document.FirstOf(words, mostListed, ", ")
}

func prefixed(prefix, s string) string {
	if s == "" {
		return ""
	}
	return prefix + s
}

// mostRemedies is how many remedies of a cell are shown, of which the fastest come first.
const mostRemedies = 2

// remedies lists, for each cell with errors, the choices that end them with the fewest
// changes, with the price.
func remedies(m *LockedMix) document.Grid { return remediesOf(m.Cells) }

func remediesOf(cells []*LockCell) document.Grid {
	var driver, from, errs, change, price, others, before, after []string
	for _, c := range cells {
		for i, r := range c.Remedies[:min(len(c.Remedies), mostRemedies)] {
			d, f, e := "", "", ""
			if i == 0 {
				d, f, e = c.Driver, choiceShort(c.Choice)+markToday(c), troubleShort(c)
			}
			driver, from, errs = append(driver, d), append(from, f), append(errs, e)
			change = append(change, changesWords(r.Changes))
			price, others = append(price, priceWords(r.Price)), append(others, priceWords(r.Others))
			b := document.Absent
			if c.Rate.N > 0 {
				b = document.Nanoseconds(c.P999)
			}
			before, after = append(before, b), append(after, document.Nanoseconds(r.Cell.P999))
		}
		if c.Trouble() && len(c.Remedies) == 0 {
			driver, from, errs = append(driver, c.Driver), append(from, choiceShort(c.Choice)+markToday(c)), append(errs, troubleShort(c))
			change, price, others = append(change, "none that was measured"), append(price, document.Absent), append(others, document.Absent)
			before, after = append(before, document.Absent), append(after, document.Absent)
		}
	}
	var g document.Grid
	g.Add(document.Column{Title: "driver"}, driver)
	g.Add(document.Column{Title: "with"}, from)
	g.Add(document.Column{Title: "failed", Drop: 3}, errs)
	g.Add(document.Column{Title: "ends with"}, change)
	g.Add(document.Column{Title: whatFailed, Whole: true}, price)
	if slices.ContainsFunc(others, func(o string) bool { return o != document.Absent }) {
		g.Add(document.Column{Title: theRest, Whole: true}, others)
	}
	g.Add(document.Column{Title: "p99.9 before", Right: true, Drop: 2}, before)
	g.Add(document.Column{Title: "after", Right: true, Drop: 1}, after)
	return g
}

// The columns of what a remedy costs.
const (
	whatFailed = "what failed"
	theRest    = "the rest"
)

// priceWords formats a ratio of rates, which may be unknown.
func priceWords(s *stats.Summary) string {
	switch {
	case s == nil:
		return document.Absent
	case s.Interval == nil:
		return document.Times(s.Median)
	}
	return document.Times(s.Median) + " " + document.Interval(s.Interval)
}

// choiceShort names a choice in the fewest words.
func choiceShort(c LockChoice) string {
	var words []string
	for _, w := range []string{prefixed("cache=", c.Cache), c.JournalMode, c.TxLock, c.BusyTimeout, c.Pool()} {
		if w != "" {
			words = append(words, w)
		}
	}
	return strings.Join(words, " ")
}

// changesWords says what to change.
func changesWords(changes []LockChange) string {
	var words []string
	for _, c := range changes {
		if c.What == "pool" {
			words = append(words, c.To)
		} else {
			words = append(words, c.What+"="+c.To)
		}
	}
	return strings.Join(words, ", ")
}

// troubleShort says which errors a cell had.
func troubleShort(c *LockCell) string {
	if c.Endless {
		return "endless wait"
	}
	var words []string
	for _, e := range c.Errors {
		words = append(words, fmt.Sprintf("%s × %s", document.Thousands(e.Count), strings.TrimPrefix(e.Name, "SQLITE_")))
	}
	return strings.Join(words, ", ")
}

// markToday marks the workload's own settings.
func markToday(c *LockCell) string {
	if c.Today {
		return " (as today)"
	}
	return ""
}

// lockGrid is the table of a driver: every choice with what it did.
func lockGrid(cells []*LockCell) document.Grid {
	var cache, journal, lock, timeout, pool, rates, spreads, p999, longest, waited, ok, errs, vain, fair, wal, restarts, skipped, different []string
	replayed, cached := false, false
	for _, c := range cells {
		cache, cached = append(cache, c.Choice.Cache), cached || c.Choice.Cache != ""
		journal, lock, timeout, pool = append(journal, c.Choice.JournalMode), append(lock, c.Choice.TxLock), append(timeout, c.Choice.BusyTimeout), append(pool, c.Choice.Pool()+markToday(c))
		rate, spr, p, most, share, v, f, w, n := document.Absent, "", document.Absent, document.Absent, document.Absent, document.Absent, document.Absent, document.Absent, document.Absent
		if c.Rate.N > 0 {
			rate, spr = document.Human(c.Rate.Median), document.Spread(c.Rate)
			p, most = document.Nanoseconds(c.P999), document.Nanoseconds(c.Longest)
			share = document.PercentOK(c.Failed, c.Operations)
			v = document.Percent(c.InVain)
			if c.Fairness > 0 {
				f = fmt.Sprintf("%.2f", c.Fairness)
			}
			if c.Choice.JournalMode == "wal" {
				w, n = document.Human(float64(c.WALBytes))+"B", document.Each(2, c.Restarts)
			}
		}
		e := troubleShort(c)
		if c.Rate.N == 0 && !c.Endless {
			e = string(c.Status)
		}
		rates, spreads, p999, longest = append(rates, rate), append(spreads, spr), append(p999, p), append(longest, most)
		waited = append(waited, waitShort(c))
		ok, errs, vain, fair, wal, restarts = append(ok, share), append(errs, e), append(vain, v), append(fair, f), append(wal, w), append(restarts, n)
		skipped, different = append(skipped, document.Thousands(c.Skipped)), append(different, document.Thousands(c.Different))
		replayed = replayed || c.Skipped+c.Different > 0
	}
	var g document.Grid
	if cached {
		g.Add(document.Column{Title: "cache"}, cache)
	}
	g.Add(document.Column{Title: "journal"}, journal)
	g.Add(document.Column{Title: "txlock"}, lock)
	g.Add(document.Column{Title: "timeout", Right: true}, timeout)
	g.Add(document.Column{Title: "connections"}, pool)
	g.Add(document.Column{Title: "ok/s", Whole: true}, document.WithSpreads(rates, spreads))
	g.Add(document.Column{Title: "p99.9", Right: true}, p999)
	g.Add(document.Column{Title: "longest", Right: true, Drop: 1}, longest)
	g.Add(document.Column{Title: "queued", Right: true, Drop: 2}, waited)
	g.Add(document.Column{Title: "ok", Right: true, Drop: 3}, ok)
	g.Add(document.Column{Title: "errors"}, errs)
	g.Add(document.Column{Title: "in vain", Right: true, Drop: 5}, vain)
	g.Add(document.Column{Title: "fair", Right: true, Drop: 4}, fair)
	g.Add(document.Column{Title: "WAL", Right: true, Drop: 6}, wal)
	g.Add(document.Column{Title: "restarts", Right: true, Drop: 7}, restarts)
	if replayed {
		g.Add(document.Column{Title: "not run", Right: true, Drop: 8}, skipped)
		g.Add(document.Column{Title: "not as recorded", Right: true, Drop: 9}, different)
	}
	return g
}

// driverTables has a heading and a table for each driver.
func driverTables(m *LockedMix) (d document.Document) {
	for _, driver := range m.Drivers() {
		var cells []*LockCell
		for _, c := range m.Cells {
			if c.Driver == driver {
				cells = append(cells, c)
			}
		}
		d = append(d, document.Heading{Level: 3, Text: m.String() + ", " + driver}, lockGrid(cells))
	}
	return d
}

// locks is the explanation for people.
func locks(l *Locks, o document.Options) document.Document {
	d := document.Document{document.Heading{Level: 1, Text: LocksAnswer(l)}}
	for _, m := range l.Mixes {
		if len(l.Mixes) > 1 {
			d = append(d, document.Heading{Level: 2, Text: m.String()})
		}
		why := append(causes(m), waits(m)...)
		why.Note(document.Item{Label: "failed", Text: failedBy(m)})
		why.Note(document.Item{Label: "not run", Text: skipped(m)})
		label := "as fast"
		if m.Paced {
			label = "as good"
		}
		why.Note(document.Item{Label: label, Text: choicesShort(tiedChoices(m))})
		if slices.ContainsFunc(m.Cells, (*LockCell).Trouble) && m.Calm != nil {
			why.Note(document.Item{Label: "waits least", Text: choiceShort(*m.Calm) + " (" + tailsOf(m, *m.Calm) + ")" + thanToday(m, *m.Calm, m.EquallyCalm, m.Calmer, "in these trials the percentile is %s as high today", tailsOf)})
		}
		why.Note(document.Item{Label: "waits as little", Text: choicesShort(m.EquallyCalm)})
		if why != nil {
			d = append(d, why)
		}
		if slices.ContainsFunc(m.Cells, (*LockCell).Trouble) {
			d = append(d, document.Space{}, remedies(m))
		}
		d = append(d, driverTables(m)...)
	}
	var rest document.List
	for _, g := range l.Analysis.Groups {
		for _, b := range conditions.Troubles(g, protocol.CodeEndless, result.WarningSkipped, result.WarningDifferent, result.WarningUnlocked) {
			if t, ok := b.(document.List); ok {
				for _, it := range t {
					if it.Label != string(result.OK) && !slices.Contains(rest, it) {
						rest = append(rest, it)
					}
				}
			}
		}
	}
	measured := document.List{{Label: measuredLabel, Text: fmt.Sprintf("run %d, %s", l.Analysis.Run.ID, document.Counted(int64(l.Analysis.Run.Rounds), "round"))}}
	d = append(d, document.Space{}, append(append(measured, conditions.MachineItems(l.Analysis.Run.Machine)...), append(rest, conditions.RunWarnings(l.Analysis)...)...))
	if len(o.Hints.More) > 0 {
		var more document.List
		for _, h := range o.Hints.More {
			more = append(more, document.Item{Label: "more", Text: h})
		}
		d = append(d, more)
	}
	legend := slices.Clone(lockLegend)
	if !slices.ContainsFunc(l.Mixes, func(m *LockedMix) bool { return m.Today != nil }) {
		legend = slices.DeleteFunc(legend, func(e document.Explained) bool { return e.Column == "connections" })
	}
	return append(d, document.Space{}, legend)
}

// lockLegend explains the columns of the tables.
var lockLegend = document.Glossary{
	{Column: "ok/s", Text: "operations per second that did not fail, the median of the rounds; its interval is too narrow if the machine drifts during the run. What fails at once leaves its time to the rest, so a row with errors is not compared with one without."},
	{Column: "connections", Text: "as today are the workload's own settings."},
	{Column: "p99.9", Text: "latency of all operations, however they ended."},
	{Column: "longest", Text: "the longest latency."},
	{Column: "queued", Text: "time of clients that waited for a connection of the pool, for the mutex or before another attempt, as a share of all their time. " +
		"What SQLite waits for within a call, such as another connection's lock, no library tells: it is only in the latencies."},
	{Column: "in vain", Text: "time of clients in operations that failed."},
	{Column: "fair", Text: "Jain's index of what each client did, 1 if all did the same."},
	{Column: "WAL", Text: "its greatest size."},
	{Column: "restarts", Text: "how often the WAL was begun again after a checkpoint had copied all of it."},
	{Column: "not run", Text: "events of a replay whose transaction a lock had stopped."},
	{Column: "not as recorded", Text: "events that ended with another number of rows, another ID or another error than in the recording; reads by a key find nothing if it has no values."},
	{Column: whatFailed, Text: "how many operations succeed per second with the change, divided by how many do without it, round by round, with the 95 % interval: only the kinds of operations that failed without it."},
	{Column: theRest, Text: "the same of all other kinds, which get less time where the first take theirs."},
}

// LocksVersion is the version of the JSON form of an explanation of locks. Fields may be
// added without changing it.
const LocksVersion = 1

// JSONLocks is the JSON form of an explanation of locks.
type JSONLocks struct {
	Version int           `json:"version"`
	Answer  string        `json:"answer"`
	Run     int64         `json:"run"` // in which it was measured
	Mixes   []JSONLockMix `json:"mixes"`
}

// JSONLockMix is a mix or a replay that was done in several ways.
type JSONLockMix struct {
	*LockedMix
	Cells []JSONLockCell `json:"cells"`
}

// JSONLockCell is a mix or a replay done by a driver with one choice.
type JSONLockCell struct {
	Driver      string                `json:"driver"`
	Choice      LockChoice            `json:"choice"`
	Today       bool                  `json:"today,omitempty"` // the workload's own settings
	Status      result.Status         `json:"status" jsonschema:"enum=not measured"`
	Endless     bool                  `json:"endless,omitempty"`
	Rate        *stats.Summary        `json:"rate,omitempty"` // operations per second that did not fail
	Operations  int64                 `json:"operations,omitempty"`
	Failed      int64                 `json:"failed,omitempty"`
	Locked      int64                 `json:"locked,omitempty"` // of those that failed, because of a lock or a context that ended
	Errors      []protocol.ErrorCount `json:"errors,omitempty"`
	Causes      []LockCause           `json:"causes,omitempty"`
	FailedBy    []FailedOperation     `json:"failed_by,omitempty"`
	Skipped     int64                 `json:"skipped,omitempty"`   // events of a replay whose transaction a lock had stopped
	Different   int64                 `json:"different,omitempty"` // events of a replay that did not end as recorded
	P50NS       int64                 `json:"p50_ns,omitempty"`
	P99NS       int64                 `json:"p99_ns,omitempty"`
	P999NS      int64                 `json:"p99_9_ns,omitempty"`
	LongestNS   int64                 `json:"longest_ns,omitempty"`
	Waits       []LockWait            `json:"waits,omitempty"`   // absent: the worker does not tell
	InVain      float64               `json:"in_vain,omitempty"` // share of the clients' time in operations that failed
	Fairness    float64               `json:"fairness,omitempty"`
	WALBytes    int64                 `json:"wal_bytes,omitempty"`
	WALRestarts float64               `json:"wal_restarts,omitempty"` // on average over the trials
	Remedies    []JSONLockRemedy      `json:"remedies,omitempty"`
}

// JSONLockRemedy is a change with which nothing failed because of a lock.
type JSONLockRemedy struct {
	LockRemedy
	Choice LockChoice `json:"choice"` // with the change
	P999NS int64      `json:"p99_9_ns"`
}

func writeLocksJSON(w io.Writer, l *Locks, _ document.Options) error {
	out := JSONLocks{Version: LocksVersion, Answer: LocksAnswer(l), Run: l.Analysis.Run.ID, Mixes: []JSONLockMix{}}
	for _, m := range l.Mixes {
		j := JSONLockMix{m, []JSONLockCell{}}
		for _, c := range m.Cells {
			cell := JSONLockCell{Driver: c.Driver, Choice: c.Choice, Today: c.Today, Status: c.Status, Endless: c.Endless,
				Operations: c.Operations, Failed: c.Failed, Errors: c.Errors, Causes: c.Causes,
				P50NS: c.P50, P99NS: c.P99, P999NS: c.P999, LongestNS: c.Longest, Waits: c.Waits, InVain: c.InVain, Fairness: c.Fairness,
				Locked: c.Locked, FailedBy: c.FailedBy, Skipped: c.Skipped, Different: c.Different,
				WALBytes: c.WALBytes, WALRestarts: c.Restarts}
			if c.Rate.N > 0 {
				cell.Rate = &c.Rate
			}
			for _, r := range c.Remedies {
				cell.Remedies = append(cell.Remedies, JSONLockRemedy{r, r.Cell.Choice, r.Cell.P999})
			}
			j.Cells = append(j.Cells, cell)
		}
		out.Mixes = append(out.Mixes, j)
	}
	return document.Encode(w, out)
}
