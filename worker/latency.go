package worker

import (
	lat "github.com/sqlite3perf/sqlite3perf/worker/latency"
	"github.com/sqlite3perf/sqlite3perf/worker/result"
)

// latency is the distribution of an operation's latency.
type latency struct{ h *lat.Histogram }

func newLatency() *latency                                 { return &latency{lat.New()} }
func (l *latency) record(ns int64)                         { l.h.Record(ns) }
func (l *latency) merge(other *latency)                    { l.h.Merge(other.h) }
func (l *latency) summary(operation string) result.Latency { return l.h.Summary(operation) }
