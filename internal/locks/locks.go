// Package locks explains errors of locks: which operations fail under which settings, and which
// change ends the errors at which price.
package locks

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"

	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/latency"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// Locks explains how operations of mixes and replays got in each other's way, and what ends
// that.
type Locks struct {
	Analysis *stats.Analysis
	Mixes    []*LockedMix
}

// LockedMix is a mix or a replay of a workload, done in several ways in a number of
// processes. How many these are is part of what is measured, and no choice: an application has
// the processes that it has. It is paced if operations are due at fixed times, as in a replay at
// the recorded ones.
//
// Best is nil if with every choice a lock made an operation fail or wait forever on some driver.
// Choices are compared by the geometric mean over the drivers: of the rate or, if the mix is
// paced, of the 99th percentile. Today is nil if it was not measured, or if there are several.
// Gain and Calmer are nil if that is the same choice, or if a lock made operations fail with
// Today.
type LockedMix struct {
	stats.TableName
	Processes   int            `json:"processes"`         // that share the clients
	Paced       bool           `json:"paced,omitempty"`   // the rate is given: choices are compared by latency
	Best        *LockChoice    `json:"best,omitempty"`    // clean on all drivers, and the fastest of these
	Equal       []LockChoice   `json:"equal,omitempty"`   // as clean, and as fast as far as can be told
	Nearest     *LockChoice    `json:"nearest,omitempty"` // of best and equal, what changes least of today's
	Calm        *LockChoice    `json:"calm,omitempty"`    // as clean, with the lowest 99.9th percentile
	EquallyCalm []LockChoice   `json:"as_calm,omitempty"`
	Today       *LockChoice    `json:"today,omitempty"`  // of the workload's own settings
	Gain        *stats.Summary `json:"gain,omitempty"`   // of the speed of best to that of today
	Calmer      *stats.Summary `json:"calmer,omitempty"` // of the percentile of today to that of calm
	Cells       []*LockCell    `json:"-"`                // in the order of the run
}

// LockChoice is what decides how operations wait for each other. What is "" or 0 nobody
// has chosen.
type LockChoice struct {
	Cache       string `json:"cache,omitempty"`
	JournalMode string `json:"journal_mode,omitempty"`
	TxLock      string `json:"txlock,omitempty"`
	BusyTimeout string `json:"busy_timeout,omitempty"` // in ms
	Connections int    `json:"connections"`            // of the pool
	Readers     int    `json:"readers,omitempty"`      // connections of a second pool
	Mutex       bool   `json:"mutex,omitempty"`        // of the application, around what writes
}

// LockCell is a mix or a replay done by a driver with one choice.
type LockCell struct {
	*stats.Cell
	Driver string
	Choice LockChoice
	Today  bool // it is that of the workload's own settings

	Rate       stats.Summary // operations per second that succeeded; N is 0 without figures
	Operations int64         // of all trials
	Failed     int64
	Errors     []protocol.ErrorCount // of all trials, by extended code

	// Locked is how many of those that failed did so because of a lock, or because their
	// context ended. Others fail in a replay only, such as those of a constraint.
	Locked int64

	FailedBy  []FailedOperation // failed operations, the most frequent first
	Recorded  int64             // failed in the recording too; these are not in FailedBy
	Skipped   int64             // events of a replay that were not run, because a lock had stopped their transaction
	Different int64             // events of a replay that did not end as recorded

	P50, P99, P999, Longest int64 // latency of all operations of all trials, in ns

	// Waits has how long clients waited, for each thing of which the worker tells, in the
	// order of protocol.WaitsFor. What SQLite waits for within a call is not among them.
	Waits []LockWait

	// InVain is the time of clients that was spent in operations that failed, as a share
	// of all their time.
	InVain float64

	Fairness float64 // Jain's index of what clients did, the median of the trials; 0: not known
	WALBytes int64   // the greatest size of the write-ahead log
	Restarts float64 // how often it was begun again after a checkpoint, on average over the trials

	Causes  []LockCause
	Endless bool // the operations waited without an end in sight

	Remedies []LockRemedy // the nearest choices that end it, the fastest first

	succeeded map[string][]stats.Point // operations of each kind that succeeded per second, by round
	paced     bool

	// How fast it is, by round, and the median: the rate or, if it is paced, the inverse of
	// the greatest 99th percentile.
	speeds []stats.Point
	speed  float64

	calms []stats.Point // the inverse of the 99.9th percentile of the latency, by round
}

// LockWait is how long the clients of a cell waited for one thing, in all trials.
type LockWait struct {
	For     string  `json:"for"` // such as [protocol.WaitConnection]
	Count   int64   `json:"count"`
	Share   float64 `json:"share"`            // of all the clients' time
	PerOpNS int64   `json:"per_operation_ns"` // the mean, also over operations that did not wait
	total   int64   // in ns
}

// FailedOperation is how often an operation of a mix, or a kind of statement of a replay,
// failed.
type FailedOperation struct {
	Operation string `json:"operation"`
	Failed    int64  `json:"failed"`
}

// String names the mix.
func (m *LockedMix) String() string {
	if m.Processes > 1 {
		return fmt.Sprintf("%s in %d processes", m.TableName.String(), m.Processes)
	}
	return m.TableName.String()
}

// Choices returns how many choices have figures with which no lock made an operation fail or
// wait forever.
func (m *LockedMix) Choices() int {
	seen := map[LockChoice]bool{}
	for _, c := range m.Cells {
		if c.Clean() {
			seen[c.Choice] = true
		}
	}
	return len(seen)
}

// Trouble reports whether operations failed because of locks, or waited forever.
func (c *LockCell) Trouble() bool { return c.Locked > 0 || c.Endless }

// Clean reports whether the cell has figures and nothing failed because of a lock.
func (c *LockCell) Clean() bool { return c.Rate.N > 0 && c.Locked == 0 }

// LockCause is why operations of a cell failed with an error.
type LockCause struct {
	Why   LockWhy `json:"why"`
	Code  int     `json:"code,omitempty" jsonschema:"minimum=-1"` // SQLite's extended result code
	Name  string  `json:"name,omitempty"`                         // of the code
	Count int64   `json:"count,omitempty"`

	// MeanNS is how long an operation took until it failed, on average.
	MeanNS int64 `json:"mean_ns,omitempty"`
}

// LockWhy explains an error of a lock.
type LockWhy string

// The explanations.
const (
	// A lock was held, and nothing waits for it, because busy_timeout is 0.
	WhyNoWait LockWhy = "no-wait"

	// A transaction that has read wanted to write, but another one had committed since.
	WhySnapshot LockWhy = "snapshot"

	// A transaction that has read wanted to write while another one was writing. SQLite
	// does not wait then: with a rollback journal each would wait for the other, and with a
	// WAL the snapshot would be old. Drivers that report primary codes only have the old
	// snapshots among these.
	WhyUpgrade LockWhy = "upgrade"

	// The lock was waited for as long as busy_timeout says.
	WhyTimeout LockWhy = "timeout"

	// Connections that share a cache lock tables, for which no busy_timeout waits.
	WhySharedCache LockWhy = "shared-cache"

	// The operation still failed, or waited, when its timeout had passed.
	WhyCanceled LockWhy = "canceled"

	// The operations under way waited for each other.
	WhyEndless LockWhy = "endless"

	// The same where connections share a cache.
	WhyEndlessShared LockWhy = "endless-shared-cache"

	// It is not the error of a lock, which only a replay goes on after.
	WhyOther LockWhy = "other"

	// None of these is known to explain it.
	WhyUnknown LockWhy = "unknown"
)

// Endless reports whether operations waited without an end.
func (w LockWhy) Endless() bool { return w == WhyEndless || w == WhyEndlessShared }

// LockRemedy is a change of a choice with which nothing failed because of a lock.
type LockRemedy struct {
	Changes []LockChange `json:"changes"`

	// Price is how many operations succeed per second with the change, divided by how many
	// do without it, round by round: only those of the kinds that failed without it. What
	// fails at once leaves its time to the other kinds, so the rates of all operations are
	// of different work. It is nil if nothing can be compared, or if the rate is given.
	Price *stats.Summary `json:"price,omitempty"`

	// Others is the same of the other kinds of operations. It is nil if there are none.
	Others *stats.Summary `json:"others,omitempty"`

	Cell *LockCell `json:"-"`
}

// LockChange is one thing that a remedy changes.
type LockChange struct {
	What string `json:"what"` // such as txlock, or "pool"
	From string `json:"from"`
	To   string `json:"to"`
}

// atOnce is the share of the busy timeout below which an error has not waited for it.
const atOnce = 0.1

// ExplainLocks explains the mixes and replays of a run. Cells of other phases are left out.
func ExplainLocks(a *stats.Analysis) *Locks {
	l := &Locks{Analysis: a}
	byKey := map[string]*LockedMix{}
	for _, g := range a.Groups {
		for _, t := range g.Tables {
			if !mixed(a, g.Workload, t.Phase) {
				continue
			}
			for _, c := range t.Cells {
				name := stats.TableName{Workload: c.Case.Workload, Phase: t.Phase}
				processes := c.Case.Settings.Processes()
				key := fmt.Sprintf("%q %q %q %v %d", name.Workload, c.Case.WorkloadSHA256, name.Phase, c.Case.Parameters, processes)
				m := byKey[key]
				if m == nil {
					m = &LockedMix{TableName: name, Processes: processes}
					byKey[key] = m
					l.Mixes = append(l.Mixes, m)
				}
				cell := lockCell(c, t.Phase)
				m.Paced = m.Paced || cell.paced
				m.Cells = append(m.Cells, cell)
			}
		}
	}
	rated := make([]rated, len(l.Mixes))
	var families [][][]stats.Point
	for i, m := range l.Mixes {
		slices.SortStableFunc(m.Cells, func(a, b *LockCell) int { return cmp.Compare(a.Case.ID, b.Case.ID) })
		for _, c := range m.Cells {
			if c.Trouble() {
				c.Remedies = m.remedies(c)
			}
		}
		rated[i] = m.rate()
		families = append(families, rated[i].speeds, rated[i].calms)
	}
	pairs := a.CompareFamilies(families...)
	for i, m := range l.Mixes {
		m.setBest(rated[i], pairs[2*i], pairs[2*i+1])
	}
	return l
}

// Complete reports whether every cell has figures, or waited without an end.
func (l *Locks) Complete() bool {
	for _, m := range l.Mixes {
		if slices.ContainsFunc(m.Cells, func(c *LockCell) bool { return c.Rate.N == 0 && !c.Endless }) {
			return false
		}
	}
	return len(l.Mixes) > 0
}

// mixed reports whether a phase of a workload is a mix or a replay, as far as any trial
// shows it.
func mixed(a *stats.Analysis, workload, phase string) bool {
	for _, g := range a.Groups {
		if g.Workload != workload {
			continue
		}
		for _, o := range g.Outcomes {
			for _, t := range o.Trials {
				if t.Reason != nil && t.Reason.Code == protocol.CodeEndless && t.Reason.Phase == phase {
					return true
				}
				if slices.ContainsFunc(t.Samples, func(s result.Sample) bool {
					return s.Phase == phase && s.Load == nil && s.Metric != result.MetricTime && len(s.Latency) > 0
				}) {
					return true
				}
			}
		}
	}
	return false
}

func lockCell(c *stats.Cell, phase string) *LockCell {
	l := &LockCell{Cell: c, Driver: c.Case.Driver, Choice: choiceOf(c.Case.SettingsIn(phase)), Today: c.Case.Today, succeeded: map[string][]stats.Point{}}
	// Only the worker knows that the workload's own operations were under way. A trial that
	// reached its limit may have hung anywhere.
	if r := c.Reason; c.Outcome.Status == result.Failed && r != nil && r.Phase == phase && r.Code == protocol.CodeEndless {
		l.Endless = true
		why := WhyEndless
		if l.Choice.Cache == "shared" {
			why = WhyEndlessShared
		}
		l.Causes = []LockCause{{Why: why}}
	}
	if c.Status != result.OK {
		return l
	}
	var rates, fairness, restarts []float64
	var inVain, spent float64
	by := map[string]int64{}
	for _, s := range c.Samples {
		// What failed when it was recorded is a result of a replay. If a lock made it fail, it
		// is what is to be explained.
		errors, failed := slices.Clone(s.Errors), s.Failed
		for _, e := range s.Results {
			if ofLock(e.Code) {
				errors, failed, l.Recorded = append(errors, e), failed+e.Count, l.Recorded+e.Count
			}
		}
		seconds := float64(max(s.WallNS, 1)) / 1e9
		rate := float64(s.Operations-failed) / seconds
		rates = append(rates, rate)
		speed := rate
		if s.Metric == result.MetricLatency {
			l.paced, speed = true, 1/max(s.Value(), 1e-9)
		}
		l.speeds = append(l.speeds, stats.Point{Round: s.Round, Value: speed})
		if tail := latencyOf(s.Latency).P999NS; tail > 0 {
			l.calms = append(l.calms, stats.Point{Round: s.Round, Value: 1 / float64(tail)})
		}
		l.Operations += s.Operations
		l.Failed += failed
		l.Skipped += s.Skipped
		l.Different += s.Different
		l.WALBytes = max(l.WALBytes, s.WALBytes)
		restarts = append(restarts, float64(s.WALRestarts))
		if len(s.Clients) > 1 {
			fairness = append(fairness, stats.Fairness(s.Clients))
		}
		for _, e := range errors {
			l.count(e)
			inVain += float64(e.WaitNS)
			if ofLock(e.Code) || e.Code == driver.CodeCanceled {
				l.Locked += e.Count
			}
		}
		for _, w := range s.Waits {
			l.wait(w)
		}
		for _, x := range s.Latency {
			spent += float64(x.MeanNS) * float64(x.Count)
			by[x.Operation] += x.Failed
			l.succeeded[x.Operation] = append(l.succeeded[x.Operation], stats.Point{Round: s.Round, Value: float64(x.Count-x.Failed) / seconds})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(by)) {
		if by[name] > 0 {
			l.FailedBy = append(l.FailedBy, FailedOperation{name, by[name]})
		}
	}
	slices.SortStableFunc(l.FailedBy, func(a, b FailedOperation) int { return cmp.Compare(b.Failed, a.Failed) })
	l.Rate = stats.Summarize(rates)
	l.speed = stats.Summarize(stats.Values(l.speeds)).Median
	if len(fairness) > 0 {
		l.Fairness = stats.Summarize(fairness).Median
	}
	if len(restarts) > 0 {
		l.Restarts = stats.Mean(restarts)
	}
	if spent > 0 {
		l.InVain = min(inVain/spent, 1)
	}
	for i := range l.Waits {
		w := &l.Waits[i]
		if spent > 0 {
			w.Share = min(float64(w.total)/spent, 1)
		}
		w.PerOpNS = w.total / max(l.Operations, 1)
	}
	slices.SortStableFunc(l.Waits, func(a, b LockWait) int {
		return cmp.Compare(slices.Index(protocol.WaitsFor(), a.For), slices.Index(protocol.WaitsFor(), b.For))
	})
	l.latency()
	l.explain()
	return l
}

// ofLock reports whether an error of SQLite is one of a lock.
func ofLock(code int) bool { return code&0xff == driver.CodeBusy || code&0xff == driver.CodeLocked }

// choiceOf returns what settings choose.
func choiceOf(s driver.Settings) LockChoice {
	return LockChoice{Cache: s["cache"], JournalMode: s["journal_mode"], TxLock: s["txlock"], BusyTimeout: s["busy_timeout"],
		Connections: s.PoolSize(), Readers: s.PoolReaders(), Mutex: s["write_mutex"] == "on"}
}

// count adds errors of one code.
func (c *LockCell) count(e protocol.ErrorCount) {
	i := slices.IndexFunc(c.Errors, func(x protocol.ErrorCount) bool { return x.Code == e.Code })
	if i < 0 {
		i = len(c.Errors)
		c.Errors = append(c.Errors, protocol.ErrorCount{Code: e.Code, Name: e.Name})
	}
	c.Errors[i].Count += e.Count
	c.Errors[i].WaitNS += e.WaitNS
}

// wait adds the waits of a trial for one thing.
func (c *LockCell) wait(w protocol.Wait) {
	i := slices.IndexFunc(c.Waits, func(x LockWait) bool { return x.For == w.For })
	if i < 0 {
		i = len(c.Waits)
		c.Waits = append(c.Waits, LockWait{For: w.For})
	}
	c.Waits[i].Count += w.Count
	c.Waits[i].total += w.WaitNS
}

// latency adds up the distributions of all operations and trials.
func (c *LockCell) latency() {
	var all []latency.Summary
	for _, s := range c.Samples {
		all = append(all, s.Latency...)
	}
	s := latencyOf(all)
	c.P50, c.P99, c.P999, c.Longest = s.P50NS, s.P99NS, s.P999NS, s.MaxNS
}

// latencyOf adds up distributions. If one cannot be read, it takes the greatest value of each
// percentile instead.
func latencyOf(list []latency.Summary) (most latency.Summary) {
	all, whole := latency.New(), true
	for i := range list {
		x := &list[i]
		most.MaxNS = max(most.MaxNS, x.MaxNS)
		most.P50NS, most.P99NS, most.P999NS = max(most.P50NS, x.P50NS), max(most.P99NS, x.P99NS), max(most.P999NS, x.P999NS)
		h, err := latency.Decode(x.Histogram)
		if err != nil {
			whole = false
			continue
		}
		all.Merge(h)
	}
	if whole && all.Count() > 0 {
		s := all.Summary("")
		most.P50NS, most.P99NS, most.P999NS = s.P50NS, s.P99NS, s.P999NS
	}
	return most
}

// explain sets why operations failed.
func (c *LockCell) explain() {
	for _, e := range c.Errors {
		c.Causes = append(c.Causes, LockCause{c.why(e), e.Code, e.Name, e.Count, e.WaitNS / max(e.Count, 1)})
	}
}

// why explains the errors of one code.
func (c *LockCell) why(e protocol.ErrorCount) LockWhy {
	in := c.inForce()
	timeout, err := strconv.ParseInt(in["busy_timeout"], 10, 64)
	fast := float64(e.WaitNS) < atOnce*float64(timeout)*1e6*float64(max(e.Count, 1))
	deferred := cmp.Or(in["txlock"], "deferred") == "deferred"
	switch {
	case e.Code == driver.CodeCanceled:
		return WhyCanceled
	case e.Code&0xff == driver.CodeLocked:
		return WhySharedCache
	case e.Code == codeBusySnapshot:
		return WhySnapshot
	case e.Code&0xff != driver.CodeBusy:
		return WhyOther
	case err != nil:
		return WhyUnknown
	case timeout == 0:
		return WhyNoWait
	case !fast:
		return WhyTimeout
	case deferred:
		return WhyUpgrade
	}
	return WhyUnknown
}

const codeBusySnapshot = driver.CodeBusy | 2<<8

// inForce returns the settings that the first connection read back, and those asked for.
func (c *LockCell) inForce() driver.Settings {
	asked := c.Case.Settings
	if p := c.Proof(); p != nil && len(p.Connections) > 0 {
		return p.Connections[0].With(asked)
	}
	return asked
}

// remedies returns the choices that differ least from that of a cell and with which nothing
// failed on the same driver, the fastest first.
func (m *LockedMix) remedies(c *LockCell) []LockRemedy {
	var list []LockRemedy
	for _, other := range m.Cells {
		if other.Driver != c.Driver || !other.Clean() {
			continue
		}
		changes := c.Choice.Changes(other.Choice)
		if len(list) > 0 && len(changes) > len(list[0].Changes) {
			continue
		}
		if len(list) > 0 && len(changes) < len(list[0].Changes) {
			list = nil
		}
		r := LockRemedy{Changes: changes, Cell: other}
		if !m.Paced {
			r.Price, r.Others = c.price(other, true), c.price(other, false)
		}
		list = append(list, r)
	}
	slices.SortStableFunc(list, func(a, b LockRemedy) int { return cmp.Compare(b.Cell.speed, a.Cell.speed) })
	return list
}

// price returns the rate of another cell divided by that of the cell, of the kinds of
// operations that failed in the cell, or of all others. It is nil if there is none.
func (c *LockCell) price(other *LockCell, failed bool) *stats.Summary {
	if len(c.FailedBy) == 0 {
		return nil // no worker tells which kinds failed as they had been recorded
	}
	ratios, _ := stats.Ratios(other.rate(c.FailedBy, failed), c.rate(c.FailedBy, failed))
	if len(ratios) == 0 {
		return nil
	}
	s := stats.SummarizeRatios(stats.Values(ratios))
	return &s
}

// rate returns how many operations succeeded per second, by round, of some kinds or of all
// but these.
func (c *LockCell) rate(kinds []FailedOperation, these bool) []stats.Point {
	sum := map[int]float64{}
	for _, name := range slices.Sorted(maps.Keys(c.succeeded)) { // in one order, so that the sum is always the same
		points := c.succeeded[name]
		if slices.ContainsFunc(kinds, func(f FailedOperation) bool { return f.Operation == name }) == these {
			for _, p := range points {
				sum[p.Round] += p.Value
			}
		}
	}
	var list []stats.Point
	for _, round := range slices.Sorted(maps.Keys(sum)) {
		list = append(list, stats.Point{Round: round, Value: sum[round]})
	}
	return list
}

// changedPool is the name of the change of how connections are shared.
const changedPool = "pool"

// Changes returns what differs in another choice. The pools and the mutex are one thing:
// how connections are shared.
func (c LockChoice) Changes(to LockChoice) []LockChange {
	var list []LockChange
	for _, x := range []LockChange{
		{"cache", c.Cache, to.Cache}, {"journal_mode", c.JournalMode, to.JournalMode}, {"txlock", c.TxLock, to.TxLock}, {"busy_timeout", c.BusyTimeout, to.BusyTimeout}, {changedPool, c.Pool(), to.Pool()},
	} {
		if x.From != x.To {
			list = append(list, x)
		}
	}
	return list
}

// Pool says how connections are shared.
func (c LockChoice) Pool() string {
	s := fmt.Sprintf("pool of %d", c.Connections)
	if c.Connections == 1 {
		s = "pool of one"
	}
	if c.Readers > 0 {
		s = fmt.Sprintf("%d writer + %d readers", c.Connections, c.Readers)
		if c.Connections > 1 {
			s = fmt.Sprintf("%d writers + %d readers", c.Connections, c.Readers)
		}
	}
	if c.Mutex {
		s += " + mutex"
	}
	return s
}

// rated are the choices of a mix that are clean on all drivers that have figures with any choice,
// with the geometric means over the drivers by round.
type rated struct {
	order         []LockChoice
	byChoice      map[LockChoice]map[string]*LockCell
	speeds, calms [][]stats.Point
}

// rate finds the choices among which there can be a best one.
func (m *LockedMix) rate() (r rated) {
	drivers := map[string]bool{}
	r.byChoice = map[LockChoice]map[string]*LockCell{}
	several := false
	for _, c := range m.Cells {
		if c.Rate.N > 0 || c.Endless {
			drivers[c.Driver] = true
		}
		if c.Today {
			several = several || m.Today != nil && *m.Today != c.Choice
			m.Today = &c.Choice
		}
		if r.byChoice[c.Choice] == nil {
			r.byChoice[c.Choice] = map[string]*LockCell{}
			r.order = append(r.order, c.Choice)
		}
		if c.Clean() {
			r.byChoice[c.Choice][c.Driver] = c
		}
	}
	if several {
		m.Today = nil
	}
	r.order = slices.DeleteFunc(r.order, func(c LockChoice) bool { return len(r.byChoice[c]) < len(drivers) || len(drivers) == 0 })
	for _, choice := range r.order {
		r.speeds = append(r.speeds, meansOf(r.byChoice[choice], func(c *LockCell) []stats.Point { return c.speeds }))
		r.calms = append(r.calms, meansOf(r.byChoice[choice], func(c *LockCell) []stats.Point { return c.calms }))
	}
	return r
}

// setBest sets which choices are the fastest and the calmest, and which others are as good as
// far as can be told. The pairs are those of the speeds and of the calms.
func (m *LockedMix) setBest(r rated, bySpeed, byCalm []stats.Pair) {
	if len(r.order) == 0 {
		return
	}
	today := -1
	if m.Today != nil {
		today = slices.Index(r.order, *m.Today)
	}
	medians := make([]float64, len(r.order))
	for i, choice := range r.order {
		byDriver := map[string]float64{}
		for d, c := range r.byChoice[choice] {
			byDriver[d] = c.speed
		}
		medians[i] = geoMean(byDriver)
	}
	m.Best, m.Equal, m.Gain = foremost(r.order, medians, r.speeds, bySpeed, today)
	m.setNearest()
	for i := range r.calms {
		medians[i] = stats.Summarize(stats.Values(r.calms[i])).Median
	}
	m.Calm, m.EquallyCalm, m.Calmer = foremost(r.order, medians, r.calms, byCalm, today)
}

// setNearest sets Nearest. Of choices with as many changes, one that keeps the pool is nearer,
// since a data source name is enough for it, and then Best.
func (m *LockedMix) setNearest() {
	if m.Today == nil || m.Best == nil {
		return
	}
	far := func(c LockChoice) int {
		changes := m.Today.Changes(c)
		far := 2 * len(changes)
		if slices.ContainsFunc(changes, func(c LockChange) bool { return c.What == changedPool }) {
			far++
		}
		return far
	}
	nearest := slices.MinFunc(append([]LockChoice{*m.Best}, m.Equal...), func(a, b LockChoice) int { return cmp.Compare(far(a), far(b)) })
	m.Nearest = &nearest
}

// foremost returns which of the choices is the best, those that the pairs of their sets do not
// tell apart as worse, and how many times as good as that of today it is.
func foremost(order []LockChoice, medians []float64, sets [][]stats.Point, pairs []stats.Pair, today int) (first *LockChoice, equal []LockChoice, gain *stats.Summary) {
	best := slices.Index(medians, slices.Max(medians))
	if best < 0 || medians[best] == 0 { // not a number, or no figures
		return nil, nil, nil
	}
	for i, choice := range order {
		if test, ok := stats.Against(pairs, best, i); i != best && (!ok || !test.Significant() || test.Sign() < 0) {
			equal = append(equal, choice)
		}
	}
	if today >= 0 && today != best {
		if ratios, _ := stats.Ratios(sets[best], sets[today]); len(ratios) > 0 {
			s := stats.SummarizeRatios(stats.Values(ratios))
			gain = &s
		}
	}
	return &order[best], equal, gain
}

// meansOf returns the geometric mean of figures of cells, by round.
func meansOf(cells map[string]*LockCell, of func(*LockCell) []stats.Point) []stats.Point {
	byRound := map[int]map[string]float64{}
	for d, c := range cells {
		for _, p := range of(c) {
			if byRound[p.Round] == nil {
				byRound[p.Round] = map[string]float64{}
			}
			byRound[p.Round][d] = p.Value
		}
	}
	var list []stats.Point
	for _, round := range slices.Sorted(maps.Keys(byRound)) {
		if len(byRound[round]) == len(cells) {
			list = append(list, stats.Point{Round: round, Value: geoMean(byRound[round])})
		}
	}
	return list
}

func geoMean(byDriver map[string]float64) float64 {
	sum := 0.0
	for _, d := range slices.Sorted(maps.Keys(byDriver)) { // in one order, so that the sum is always the same
		sum += math.Log(byDriver[d])
	}
	return math.Exp(sum / float64(len(byDriver)))
}

// Cell returns the cell of a driver with a choice, or nil.
func (m *LockedMix) Cell(driver string, choice LockChoice) *LockCell {
	i := slices.IndexFunc(m.Cells, func(c *LockCell) bool { return c.Driver == driver && c.Choice == choice })
	if i < 0 {
		return nil
	}
	return m.Cells[i]
}

// Drivers returns the drivers of the mix, in the order of the run.
func (m *LockedMix) Drivers() []string {
	var list []string
	for _, c := range m.Cells {
		if !slices.Contains(list, c.Driver) {
			list = append(list, c.Driver)
		}
	}
	return list
}
