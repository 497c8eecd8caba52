package locks

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/sqlite3perf/sqlite3perf/internal/distinct"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/latency"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// LockCell is a mix or a replay that one driver ran with one choice of settings.
type LockCell struct {
	*stats.Cell `json:"-"`

	Driver     string                `json:"driver"`
	Choice     LockChoice            `json:"choice"`
	Today      bool                  `json:"today,omitempty"` // true if Choice is the workload's own settings
	Status     result.Status         `json:"status" jsonschema:"enum=not measured"`
	Endless    bool                  `json:"endless,omitempty"`
	Rate       stats.Summary         `json:"rate,omitzero"` // successful operations per second
	Operations int64                 `json:"operations,omitempty"`
	Failed     int64                 `json:"failed,omitempty"`
	Locked     int64                 `json:"locked,omitempty"` // number of failed operations whose error is a lock error or a canceled context
	Errors     []protocol.ErrorCount `json:"errors,omitempty"` // errors of all trials, with one entry for each of SQLite's extended error codes
	Causes     []LockCause           `json:"causes,omitempty"`
	FailedBy   []FailedOperation     `json:"failed_by,omitempty"` // failed operations by kind, the most frequent first
	Skipped    int64                 `json:"skipped,omitempty"`   // replayed events that were skipped because a lock had stopped their transaction
	Different  int64                 `json:"different,omitempty"` // replayed events that did not end as recorded
	P50        int64                 `json:"p50_ns,omitempty"`    // percentiles of the latency of all operations of all trials, in ns
	P99        int64                 `json:"p99_ns,omitempty"`
	P999       int64                 `json:"p99_9_ns,omitempty"`
	Longest    int64                 `json:"longest_ns,omitempty"`
	Waits      []LockWait            `json:"waits,omitempty"`    // waits of the clients, apart from waits inside SQLite's calls; absent if the worker does not report waits
	InVain     float64               `json:"in_vain,omitempty"`  // fraction of the clients' time that failed operations took
	Fairness   float64               `json:"fairness,omitempty"` // Jain's index of fairness over the clients' numbers of operations: 1 if these are equal; median of the trials
	WALBytes   int64                 `json:"wal_bytes,omitempty"`
	Restarts   float64               `json:"wal_restarts,omitempty"` // restarts of the WAL, average of the trials
	Remedies   []LockRemedy          `json:"remedies,omitempty"`     // changes of settings that end the errors; only those that change the fewest settings, the fastest first

	recorded  int64                    // number of operations of a replay that failed with a recorded lock error; FailedBy does not count them
	succeeded map[string][]stats.Point // successful operations per second, by kind and round
	paced     bool
	speeds    []stats.Point // speed by round: Rate or, if the field "paced" is true, the inverse of the greatest 99th percentile of an operation's latency
	speed     float64       // median of the field "speeds"
	calms     []stats.Point // by round, the inverse of the 99.9th percentile of the latency
}

// LockWait says how long the clients of a cell waited for one thing, added up over all trials.
type LockWait struct {
	For     string  `json:"for"` // what clients waited for, such as [protocol.WaitConnection]
	Count   int64   `json:"count"`
	Share   float64 `json:"share"`            // fraction of the clients' time
	PerOpNS int64   `json:"per_operation_ns"` // mean wait of all operations, including those that did not wait
	total   int64   // total wait in ns
}

// FailedOperation counts the failures of one operation of a mix, or of one kind of statement of a
// replay.
type FailedOperation struct {
	Operation string `json:"operation"`
	Failed    int64  `json:"failed"`
}

// Trouble reports whether operations of the cell failed because of locks or waited forever.
func (c *LockCell) Trouble() bool { return c.Locked > 0 || c.Endless }

// Clean reports whether the cell has figures and nothing failed because of a lock.
func (c *LockCell) Clean() bool { return c.Rate.N > 0 && c.Locked == 0 }

func lockCell(c *stats.Cell, phase string) *LockCell {
	l := &LockCell{Cell: c, Status: c.Status, Driver: c.Case.Driver, Choice: choiceOf(c.Case.SettingsIn(phase)), Today: c.Case.Today, succeeded: map[string][]stats.Point{}}
	// Only CodeEndless proves that the workload's own operations waited for each other. A trial
	// that reached its time limit without this code may have hung anywhere.
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
	var latencies []latency.Summary
	for _, s := range c.Samples {
		rate, vain := l.add(s)
		rates = append(rates, rate)
		inVain += vain
		restarts = append(restarts, float64(s.WALRestarts))
		if len(s.Clients) > 1 {
			fairness = append(fairness, stats.Fairness(s.Clients))
		}
		for _, x := range s.Latency {
			spent += float64(x.MeanNS) * float64(x.Count)
		}
		latencies = append(latencies, s.Latency...)
	}
	slices.SortStableFunc(l.FailedBy, func(a, b FailedOperation) int {
		return cmp.Or(cmp.Compare(b.Failed, a.Failed), cmp.Compare(a.Operation, b.Operation))
	})
	if len(rates) > 0 {
		l.Rate = stats.Summarize(rates)
	}
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
	order := protocol.WaitsFor()
	slices.SortStableFunc(l.Waits, func(a, b LockWait) int {
		return cmp.Compare(slices.Index(order, a.For), slices.Index(order, b.For))
	})
	t := latencyOf(latencies)
	l.P50, l.P99, l.P999, l.Longest = t.P50NS, t.P99NS, t.P999NS, t.MaxNS
	for _, e := range l.Errors {
		l.Causes = append(l.Causes, LockCause{l.why(e), e.Code, e.Name, e.Count, e.WaitNS / max(e.Count, 1)})
	}
	return l
}

// add adds a sample to the cell. It returns the number of successful operations per second, and the
// nanoseconds that clients spent in failed operations.
func (c *LockCell) add(s stats.Sample) (rate, inVain float64) {
	// A replay does not count an operation as failed if it ends with the recorded error. Here such
	// operations count as failed if the error is a lock error.
	errors, failed := slices.Clone(s.Errors), s.Failed
	for _, e := range s.Results {
		if ofLock(e.Code) {
			errors, failed, c.recorded = append(errors, e), failed+e.Count, c.recorded+e.Count
		}
	}
	seconds := float64(max(s.WallNS, 1)) / 1e9
	rate = float64(s.Operations-failed) / seconds
	speed := rate
	if s.Metric == result.MetricLatency {
		c.paced, speed = true, 1/max(s.Value(), 1e-9)
	}
	c.speeds = append(c.speeds, stats.Point{Round: s.Round, Value: speed})
	if tail := latencyOf(s.Latency).P999NS; tail > 0 {
		c.calms = append(c.calms, stats.Point{Round: s.Round, Value: 1 / float64(tail)})
	}
	c.Operations += s.Operations
	c.Failed += failed
	c.Skipped += s.Skipped
	c.Different += s.Different
	c.WALBytes = max(c.WALBytes, s.WALBytes)
	for _, e := range errors {
		sum := distinct.Find(&c.Errors, protocol.ErrorCount{Code: e.Code, Name: e.Name}, func(x protocol.ErrorCount) bool { return x.Code == e.Code })
		sum.Count += e.Count
		sum.WaitNS += e.WaitNS
		inVain += float64(e.WaitNS)
		if ofLock(e.Code) || e.Code == driver.CodeCanceled {
			c.Locked += e.Count
		}
	}
	for _, w := range s.Waits {
		sum := distinct.Find(&c.Waits, LockWait{For: w.For}, func(x LockWait) bool { return x.For == w.For })
		sum.Count += w.Count
		sum.total += w.WaitNS
	}
	for _, x := range s.Latency {
		if x.Failed > 0 {
			distinct.Find(&c.FailedBy, FailedOperation{Operation: x.Operation}, func(f FailedOperation) bool { return f.Operation == x.Operation }).Failed += x.Failed
		}
		c.succeeded[x.Operation] = append(c.succeeded[x.Operation], stats.Point{Round: s.Round, Value: float64(x.Count-x.Failed) / seconds})
	}
	return rate, inVain
}

// latencyOf merges distributions of latency. If one of them cannot be read, it returns the greatest
// value of each percentile instead.
func latencyOf(list []latency.Summary) (most latency.Summary) {
	all, complete := latency.New(), true
	for _, x := range list {
		most.MaxNS = max(most.MaxNS, x.MaxNS)
		most.P50NS, most.P99NS, most.P999NS = max(most.P50NS, x.P50NS), max(most.P99NS, x.P99NS), max(most.P999NS, x.P999NS)
		h, err := latency.Decode(x.Histogram)
		if err != nil {
			complete = false
			continue
		}
		all.Merge(h)
	}
	if complete && all.Count() > 0 {
		s := all.Summary("")
		most.P50NS, most.P99NS, most.P999NS = s.P50NS, s.P99NS, s.P999NS
	}
	return most
}

// LockCause is one reason why operations of a cell failed.
type LockCause struct {
	Why   LockWhy `json:"why"`
	Code  int     `json:"code,omitempty" jsonschema:"minimum=-1"` // SQLite's extended result code
	Name  string  `json:"name,omitempty"`                         // name of Code
	Count int64   `json:"count,omitempty"`

	// MeanNS is how long failed operations took on average.
	MeanNS int64 `json:"mean_ns,omitempty"`
}

// LockWhy is the reason for a lock error.
type LockWhy string

// The reasons for lock errors.
const (
	WhyNoWait        LockWhy = "no-wait"              // another connection held the lock, and busy_timeout is 0
	WhySnapshot      LockWhy = "snapshot"             // a transaction read and then wanted to write, but another transaction had committed in between
	WhyUpgrade       LockWhy = "upgrade"              // a transaction read and then wanted to write while another transaction was writing; also WhySnapshot, if the library reports only primary error codes
	WhyTimeout       LockWhy = "timeout"              // the lock was not free within busy_timeout
	WhySharedCache   LockWhy = "shared-cache"         // connections that share a cache lock tables, and busy_timeout does not wait for such locks
	WhyCanceled      LockWhy = "canceled"             // the operation's timeout passed
	WhyEndless       LockWhy = "endless"              // all running operations waited for each other
	WhyEndlessShared LockWhy = "endless-shared-cache" // all running operations waited for each other, on connections that share a cache
	WhyOther         LockWhy = "other"                // the error is not a lock error; this occurs in replays
	WhyUnknown       LockWhy = "unknown"
)

// Endless reports whether the reason is that operations waited without end.
func (w LockWhy) Endless() bool { return w == WhyEndless || w == WhyEndlessShared }

// atOnce is a fraction of busy_timeout. An operation that failed in less than this fraction of the timeout
// did not wait for the lock.
const atOnce = 0.1

const codeBusySnapshot = driver.CodeBusy | 2<<8

func ofLock(code int) bool { return code&0xff == driver.CodeBusy || code&0xff == driver.CodeLocked }

func (c *LockCell) why(e protocol.ErrorCount) LockWhy {
	in := c.InForce(c.Case.Settings)
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
