package lab

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/latency"
	"github.com/sqlite3perf/sqlite3perf/worker/plan"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// Fault is a difference between a worker's answer and the answers that the plan allows. Its message names the
// phase and the JSON key, and the value that was expected.
type Fault struct {
	Code    string // code for the trial's reason, such as [protocol.CodeRows]
	Key     string // key in the sample's JSON, such as "latency[0].count"
	Message string
}

// Seen holds package lab's own observations of a phase. A field that is zero is not known.
type Seen struct {
	// Possible is the longest time that the phase can have taken. It is the time from the request to the
	// worker's answer for this phase, minus the time that the trial waited for its turn, minus the times that
	// the worker reported for earlier phases.
	Possible time.Duration

	Between time.Duration // time from the worker's answer of type "phase" to its answer of type "sample"
	Cores   int           // number of CPU cores that the worker may use
}

const (
	// most is the greatest count or size that is accepted from a worker. Statistics use float64,
	// which represents every integer up to most.
	most = 1 << 53

	// No SQLite on one core is faster than these times. fastestRow is the time to step to a row (about thirty
	// instructions). fastestExec is the time to insert a row or execute a statement (about two hundred
	// instructions).
	fastestRow  = 10 * time.Nanosecond
	fastestExec = 50 * time.Nanosecond

	// The worker and package lab measure the same time, but read the clock at slightly different moments. So
	// their results may differ by clockSlack plus the fraction clockShare of the time.
	clockSlack = 100 * time.Microsecond
	clockShare = 0.01

	// Package lab compares a worker's time with the time that it observed itself. It doubts the worker's time if
	// this time exceeds the observed time by more than doubtAfter plus the fraction doubtShare of the observed
	// time.
	doubtAfter = 100 * time.Millisecond
	doubtShare = 0.05

	// unlikely limits the difference between an operation's number of executions and the number that its weight
	// predicts, in standard deviations.
	unlikely = 8
)

// Metric returns the metric by which a phase is judged; see [result.Sample].
func Metric(p *plan.Phase) string {
	switch {
	case p.Mix != nil && p.Mix.Rate > 0, p.HTTP != nil && p.HTTP.Rate > 0, p.Replay != nil && p.Replay.Speed > 0:
		return result.MetricLatency
	case p.Mix != nil, p.HTTP != nil, p.Replay != nil:
		return result.MetricTimePerOp
	}
	return result.MetricTime
}

// messages returns the messages of the faults, one per line.
func messages(faults []Fault) string {
	var list []string
	for _, f := range faults {
		list = append(list, f.Message)
	}
	return strings.Join(list, "\n")
}

// check collects the faults of one answer of a worker.
type check struct {
	of     string // beginning of each message, such as the name of the phase
	faults []Fault
}

func (c *check) fault(code, key, format string, args ...any) {
	c.faults = append(c.faults, Fault{code, key, fmt.Sprintf("%s: %s %s", c.of, key, fmt.Sprintf(format, args...))})
}

func (c *check) protocol(key, format string, args ...any) {
	c.fault(protocol.CodeProtocol, key, format, args...)
}

// natural adds a fault if v cannot be a count or a measured value.
func (c *check) natural(key string, v int64) {
	if v < 0 || v > most {
		c.protocol(key, "is %d: want a number from 0 to 2^53", v)
	}
}

// part adds a fault if v is below 0 or greater than the parameter "all". v is the size of a part, and "all" is
// the size of the whole set. The parameter "words" describes the whole set in the message.
func (c *check) part(key string, v, all int64, words string) {
	if v < 0 || v > max(all, 0) {
		c.protocol(key, "is %d: want at most %d, %s", v, all, words)
	}
}

// within(d, slack, share) returns d + slack + share*d.
func within(d, slack time.Duration, share float64) time.Duration {
	return d + slack + time.Duration(share*float64(d))
}

func isChecksum(s string) bool {
	return len(s) == 64 && strings.Trim(s, "0123456789abcdef") == ""
}

// short returns the beginning of a checksum for messages. Comparisons use the full checksum. Two different
// checksums have the same beginning with a probability of 1 in 2^48.
func short(checksum string) string { return checksum[:12] + "…" }

// named returns a copy of the list in which each error also has SQLite's name for its code.
func named(list []protocol.ErrorCount) []protocol.ErrorCount {
	list = slices.Clone(list)
	for i := range list {
		list[i].Name = driver.CodeName(list[i].Code)
	}
	return list
}

// histogram decodes a histogram of latencies. If that fails, it adds a fault and returns
// nil.
func (c *check) histogram(key, text string) *latency.Histogram {
	h, err := latency.Decode(text)
	if err != nil {
		c.protocol(key, "cannot be read: %v: want an HdrHistogram in its V2 compressed encoding", err)
		return nil
	}
	return h
}

// summarize recomputes a summary of latencies from its histogram. The parameter "want" says how many latencies
// the histogram must hold. If it holds another number, summarize adds a fault. The parameter "why" explains, for
// the message, why this number is wanted. summarize returns the histogram, or nil if it can't be decoded.
func (c *check) summarize(key string, s *latency.Summary, want int64, why string) *latency.Histogram {
	h := c.histogram(key+".histogram", s.Histogram)
	if h == nil {
		return nil
	}
	given := *s
	*s = h.Summary(given.Operation)
	if s.Count != want {
		c.protocol(key+".histogram", "holds %d latencies: want %d, %s", s.Count, want, why)
	}
	s.Failed, s.EndedEarly, s.Histogram = given.Failed, given.EndedEarly, given.Histogram
	return h
}
