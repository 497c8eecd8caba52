package locks

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
)

// LockChoice has the settings that decide how operations wait for each other. A field is empty if
// the setting was not set.
type LockChoice struct {
	Cache       string `json:"cache,omitempty"`
	JournalMode string `json:"journal_mode,omitempty"`
	TxLock      string `json:"txlock,omitempty"`
	BusyTimeout string `json:"busy_timeout,omitempty"` // busy_timeout in ms
	Connections int    `json:"connections"`            // number of connections in the pool
	Readers     int    `json:"readers,omitempty"`      // number of connections in a second pool, only for reading
	Mutex       bool   `json:"mutex,omitempty"`        // the application holds a mutex while it writes
}

// LockRemedy is a change of settings after which no operation failed because of a lock.
type LockRemedy struct {
	Changes []LockChange `json:"changes"`

	// Price is the number of successful operations per second with the change, divided by the
	// number without it, in the same round. It counts only the kinds of operations that failed
	// without the change, because operations that fail at once leave their time to other kinds.
	// Price is nil if nothing can be compared, or if the rate of operations is fixed.
	Price *stats.Summary `json:"price,omitempty"`

	// Others is the same ratio as Price, but it counts only the kinds of operations that did not fail without
	// the change. It is nil if there are no such kinds.
	Others *stats.Summary `json:"others,omitempty"`

	Choice LockChoice `json:"choice"` // the settings after the change
	P999   int64      `json:"p99_9_ns"`

	speed float64
}

// LockChange is one setting that a remedy changes.
type LockChange struct {
	What string `json:"what"` // setting, such as txlock, or "pool"
	From string `json:"from"`
	To   string `json:"to"`
}

func choiceOf(s driver.Settings) LockChoice {
	return LockChoice{Cache: s["cache"], JournalMode: s["journal_mode"], TxLock: s["txlock"], BusyTimeout: s["busy_timeout"],
		Connections: s.PoolSize(), Readers: s.PoolReaders(), Mutex: s["write_mutex"] == "on"}
}

// changedPool is [LockChange.What] for a change of the connection pools or of the application's mutex. The
// pools and the mutex together count as one setting.
const changedPool = "pool"

func (c LockChoice) parts() [5][2]string {
	return [5][2]string{{"cache", c.Cache}, {"journal_mode", c.JournalMode}, {"txlock", c.TxLock}, {"busy_timeout", c.BusyTimeout}, {changedPool, c.Pool()}}
}

// Changes returns the settings in which c differs from the parameter "to".
func (c LockChoice) Changes(to LockChoice) (list []LockChange) {
	theirs := to.parts()
	for i, p := range c.parts() {
		if p != theirs[i] {
			list = append(list, LockChange{p[0], p[1], theirs[i][1]})
		}
	}
	return list
}

// Pool describes the pools of connections and the mutex.
func (c LockChoice) Pool() string {
	s := fmt.Sprintf("pool of %d", c.Connections)
	switch {
	case c.Readers > 0 && c.Connections > 1:
		s = fmt.Sprintf("%d writers + %d readers", c.Connections, c.Readers)
	case c.Readers > 0:
		s = fmt.Sprintf("%d writer + %d readers", c.Connections, c.Readers)
	case c.Connections == 1:
		s = "pool of one"
	}
	if c.Mutex {
		s += " + mutex"
	}
	return s
}

// remedies returns the changes that end the lock errors of cell c. It returns only those that
// change the fewest settings, the fastest first.
func (m *LockedMix) remedies(c *LockCell) (list []LockRemedy) {
	for _, other := range m.Cells {
		if other.Driver != c.Driver || !other.Clean() {
			continue
		}
		r := LockRemedy{Changes: c.Choice.Changes(other.Choice), Choice: other.Choice, P999: other.P999, speed: other.speed}
		if !m.Paced && len(c.FailedBy) > 0 { // FailedBy is empty if all failed operations had failed in the recording, too
			r.Price = ratio(other.rate(c.FailedBy, true), c.rate(c.FailedBy, true))
			r.Others = ratio(other.rate(c.FailedBy, false), c.rate(c.FailedBy, false))
		}
		list = append(list, r)
	}
	slices.SortStableFunc(list, func(a, b LockRemedy) int {
		return cmp.Or(cmp.Compare(len(a.Changes), len(b.Changes)), cmp.Compare(b.speed, a.speed))
	})
	more := slices.IndexFunc(list, func(r LockRemedy) bool { return len(r.Changes) > len(list[0].Changes) })
	if more >= 0 {
		list = list[:more]
	}
	return list
}

// ratio summarizes the ratios of a to b, with one ratio for each round that both a and b have. It
// returns nil if there is no such round.
func ratio(a, b []stats.Point) *stats.Summary {
	ratios, _ := stats.Ratios(a, b)
	if len(ratios) == 0 {
		return nil
	}
	s := stats.SummarizeRatios(stats.Values(ratios))
	return &s
}

// rate returns the number of successful operations per second, by round. If the parameter "only" is true, it
// counts the given kinds of operations. Otherwise it counts all other kinds.
func (c *LockCell) rate(kinds []FailedOperation, only bool) (list []stats.Point) {
	sum := map[int]float64{}
	for _, name := range slices.Sorted(maps.Keys(c.succeeded)) { // sorted because the order decides how the sum is rounded
		if slices.ContainsFunc(kinds, func(f FailedOperation) bool { return f.Operation == name }) == only {
			for _, p := range c.succeeded[name] {
				sum[p.Round] += p.Value
			}
		}
	}
	for _, round := range slices.Sorted(maps.Keys(sum)) {
		list = append(list, stats.Point{Round: round, Value: sum[round]})
	}
	return list
}

// rating describes those choices of settings with which no driver had lock errors in a mix. The field
// "order" has these choices. Each other field has one element for each choice. An element of the field
// "cells" has the cells with the choice, sorted by driver. The elements of "speeds" and "calms" have,
// for each round, the geometric means of LockCell.speeds and LockCell.calms over the cells with the
// choice.
type rating struct {
	order         []LockChoice
	cells         [][]*LockCell
	speeds, calms [][]stats.Point
}

// rate finds the choices of settings with which no driver had lock errors. It also sets m.Today.
func (m *LockedMix) rate() (r rating) {
	drivers, today := map[string]bool{}, map[LockChoice]bool{}
	clean := map[LockChoice]map[string]*LockCell{}
	for _, c := range m.Cells {
		if c.Rate.N > 0 || c.Endless {
			drivers[c.Driver] = true
		}
		if c.Today {
			today[c.Choice] = true
			m.Today = &c.Choice
		}
		if clean[c.Choice] == nil {
			clean[c.Choice] = map[string]*LockCell{}
			r.order = append(r.order, c.Choice)
		}
		if c.Clean() {
			clean[c.Choice][c.Driver] = c
		}
	}
	if len(today) > 1 {
		m.Today = nil
	}
	r.order = slices.DeleteFunc(r.order, func(c LockChoice) bool { return len(clean[c]) < len(drivers) || len(drivers) == 0 })
	for _, choice := range r.order {
		cells := slices.SortedFunc(maps.Values(clean[choice]), func(a, b *LockCell) int { return cmp.Compare(a.Driver, b.Driver) })
		r.cells = append(r.cells, cells)
		r.speeds = append(r.speeds, stats.GeoMeans(document.Map(cells, func(c *LockCell) []stats.Point { return c.speeds })))
		r.calms = append(r.calms, stats.GeoMeans(document.Map(cells, func(c *LockCell) []stats.Point { return c.calms })))
	}
	return r
}

// setBest sets m.Best to the fastest choice and m.Calm to the choice with the lowest 99.9th
// percentile. It also sets the fields that depend on Best and Calm. The parameters "bySpeed" and
// "byCalm" compare each pair of choices in r.order.
func (m *LockedMix) setBest(r rating, bySpeed, byCalm []stats.Pair) {
	if len(r.order) == 0 {
		return
	}
	today := -1
	if m.Today != nil {
		today = slices.Index(r.order, *m.Today)
	}
	medians := document.Map(r.cells, func(cells []*LockCell) float64 {
		return stats.GeoMean(document.Map(cells, func(c *LockCell) float64 { return c.speed }))
	})
	m.Best, m.Equal, m.Gain = foremost(r.order, medians, r.speeds, bySpeed, today)
	m.setNearest()
	for i := range r.calms {
		medians[i] = stats.Summarize(stats.Values(r.calms[i])).Median
	}
	m.Calm, m.EquallyCalm, m.Calmer = foremost(r.order, medians, r.calms, byCalm, today)
}

// setNearest sets m.Nearest. If several choices have the fewest changes, it prefers one that keeps the pool,
// because then only the data source name changes. If several such choices keep the pool, it prefers m.Best.
func (m *LockedMix) setNearest() {
	if m.Today == nil || m.Best == nil {
		return
	}
	far := func(c LockChoice) int {
		far := 2 * len(m.Today.Changes(c))
		if c.Pool() != m.Today.Pool() {
			far++
		}
		return far
	}
	nearest := slices.MinFunc(append([]LockChoice{*m.Best}, m.Equal...), func(a, b LockChoice) int { return cmp.Compare(far(a), far(b)) })
	m.Nearest = &nearest
}

// foremost finds the best of several choices, which are in the parameter "order". The result
// "first" is the choice with the highest median. The result "equal" has the other choices that are
// not significantly worse. The result "gain" is the ratio of the first choice's figures to the
// figures of the workload's own settings. The parameter "today" is the index of these settings. The
// result "gain" is nil if "today" is -1 or the index of the first choice. All results are nil if
// there are no figures.
func foremost(order []LockChoice, medians []float64, sets [][]stats.Point, pairs []stats.Pair, today int) (first *LockChoice, equal []LockChoice, gain *stats.Summary) {
	best := slices.Index(medians, slices.Max(medians))
	if best < 0 || medians[best] == 0 { // the best median is NaN or 0, because there are no figures
		return nil, nil, nil
	}
	for i, choice := range order {
		if test, ok := stats.Against(pairs, best, i); i != best && (!ok || !test.Significant() || test.Sign() < 0) {
			equal = append(equal, choice)
		}
	}
	if today >= 0 && today != best {
		gain = ratio(sets[best], sets[today])
	}
	return &order[best], equal, gain
}
