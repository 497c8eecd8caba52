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

// Fault is one way in which a worker's answer differs from what the plan allows.
// Its message names the phase and the key, and says what was wanted.
type Fault struct {
	Code    string // of the trial's reason, such as [protocol.CodeRows]
	Key     string // in the sample's JSON, such as "latency[0].count"
	Message string
}

// Seen is what the lab itself saw of a phase. A field that is zero is not known.
type Seen struct {
	// Possible is the longest time that the worker's clock can have run: the time
	// from the request to this answer, less the time that earlier phases claim.
	Possible time.Duration

	Between time.Duration // from the answer phase to the answer sample
	Cores   int           // CPU cores that the worker may use
}

const (
	// most is the greatest count or size that is believed. Statistics are computed
	// in doubles, which hold every integer up to it.
	most = 1 << 53

	// On one core every SQLite needs more than this to step to a row, and to insert
	// a row or execute a statement: about thirty instructions, and about two hundred.
	fastestRow  = 10 * time.Nanosecond
	fastestExec = 50 * time.Nanosecond

	// Clocks are read one after the other, so two of them may differ by this much
	// plus this share.
	clockSlack = 100 * time.Microsecond
	clockShare = 0.01

	// The lab doubts a time that exceeds what it saw by more than this much plus
	// this share.
	doubtAfter = 100 * time.Millisecond
	doubtShare = 0.05

	// unlikely is how many standard deviations the number of executions of an
	// operation may differ from what its weight predicts.
	unlikely = 8
)

// Metric returns the metric that a phase is judged by; see [result.Sample].
func Metric(p *plan.Phase) string {
	switch {
	case p.Mix != nil && p.Mix.Rate > 0, p.HTTP != nil && p.HTTP.Rate > 0, p.Replay != nil && p.Replay.Speed > 0:
		return result.MetricLatency
	case p.Mix != nil, p.HTTP != nil, p.Replay != nil:
		return result.MetricTimePerOp
	}
	return result.MetricTime
}

// messages returns the messages of faults, one per line.
func messages(faults []Fault) string {
	var list []string
	for _, f := range faults {
		list = append(list, f.Message)
	}
	return strings.Join(list, "\n")
}

// check collects the faults of one answer.
type check struct {
	of     string // what the messages begin with
	faults []Fault
}

func (c *check) fault(code, key, format string, args ...any) {
	c.faults = append(c.faults, Fault{code, key, fmt.Sprintf("%s: %s %s", c.of, key, fmt.Sprintf(format, args...))})
}

func (c *check) protocol(key, format string, args ...any) {
	c.fault(protocol.CodeProtocol, key, format, args...)
}

// natural finds a number that cannot be a count or a measured value.
func (c *check) natural(key string, v int64) {
	if v < 0 || v > most {
		c.protocol(key, "is %d: want a number from 0 to 2^53", v)
	}
}

// part finds a number of things that is more than there are.
func (c *check) part(key string, v, all int64, words string) {
	if v < 0 || v > max(all, 0) {
		c.protocol(key, "is %d: want at most %d, %s", v, all, words)
	}
}

// within returns d with some slack.
func within(d, slack time.Duration, share float64) time.Duration {
	return d + slack + time.Duration(share*float64(d))
}

func isChecksum(s string) bool {
	return len(s) == 64 && strings.Trim(s, "0123456789abcdef") == ""
}

// short returns enough of a checksum to tell it from another. The comparison uses
// whole checksums. The chance that two different ones look the same when cut off is
// 1 in 2^48.
func short(checksum string) string { return checksum[:12] + "…" }

// named returns the errors with SQLite's names for their codes.
func named(list []protocol.ErrorCount) []protocol.ErrorCount {
	list = slices.Clone(list)
	for i := range list {
		list[i].Name = driver.CodeName(list[i].Code)
	}
	return list
}

// histogram decodes a histogram of latencies. It returns nil if that cannot be read.
func (c *check) histogram(key, text string) *latency.Histogram {
	h, err := latency.Decode(text)
	if err != nil {
		c.protocol(key, "cannot be read: %v: want an HdrHistogram in its V2 compressed encoding", err)
		return nil
	}
	return h
}
