package explorer

import (
	"slices"
	"strings"

	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/report"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
)

type metric struct {
	Name   string `json:"name"`
	Title  string `json:"title"`
	More   bool   `json:"more_is_better,omitempty"`
	Better better `json:"better,omitempty"` // whether less or more is better; "" if neither

	// The function "of" returns the metric's figure for a sample, and its unit. The figure is 0 if it is
	// not known.
	of func(*result.Sample) (v float64, unit string)
}

type better string

const (
	less better = "less"
	more better = "more"
)

// judgedBy is the name of the metric by which drivers are ranked in a phase. Its figure is the time
// or, if the phase has a fixed rate of operations, the latency.
const judgedBy = "time"

// tailLatency is the 99th percentile of the latency of the slowest kind of operations.
const tailLatency = "p99"

// failedShare is the share of failed operations. It has no ratios, because it is mostly 0.
const failedShare = "failed"

var metrics = append(times, costs()...)

func costs() (list []metric) {
	for _, m := range result.Metrics {
		list = append(list, metric{m.Name, m.Title, false, less, func(s *result.Sample) (float64, string) {
			v, _ := m.Value(s)
			return v, m.Unit
		}})
	}
	return list
}

var times = []metric{
	{judgedBy, "time", false, less, func(s *result.Sample) (float64, string) { return s.Value(), s.Unit() }},
	{"rate", "rate", true, more, report.Rate},
	{tailLatency, "99th percentile of the latency", false, less, func(s *result.Sample) (float64, string) { return s.SlowestP99(), "s" }},
	{"cpu", "CPU share", false, "", func(s *result.Sample) (float64, string) {
		return float64(s.UserNS+s.SystemNS) / float64(max(s.WallNS, 1)), "cores"
	}},
	{failedShare, "failed operations", false, less, func(s *result.Sample) (float64, string) {
		return float64(s.Failed) / float64(max(s.Operations, 1)), "share"
	}},
}

// kindPrefix begins the names of metrics that are the 99th percentile of the latency of one kind of
// operations, such as "p99:write".
const kindPrefix = tailLatency + ":"

// tailOf returns the metric of the 99th percentile of the latency of one kind of operations.
func tailOf(kind string) metric {
	return metric{kindPrefix + kind, "99th percentile of the latency of " + kind, false, less, func(s *result.Sample) (float64, string) {
		for _, l := range s.Latency {
			if l.Operation == kind {
				return float64(l.P99NS) / 1e9, "s"
			}
		}
		return 0, "s"
	}}
}

// metricsOf returns the metrics that a run can show. If the run has several kinds of operations,
// the list includes the 99th percentile of each kind.
func metricsOf(a *stats.Analysis) []metric {
	var kinds []string
	for _, t := range a.Run.Trials {
		for i := range t.Samples {
			kinds = addKinds(kinds, &t.Samples[i])
		}
	}
	if len(kinds) < 2 {
		return metrics
	}
	at := slices.IndexFunc(metrics, func(m metric) bool { return m.Name == tailLatency })
	return slices.Insert(slices.Clone(metrics), at+1, document.Map(kinds, tailOf)...)
}

// addKinds adds the kinds of a sample's operations to a list, unless the list has them or is full.
func addKinds(kinds []string, s *result.Sample) []string {
	for _, l := range s.Latency {
		if len(kinds) < mostKinds && !slices.Contains(kinds, l.Operation) {
			kinds = append(kinds, l.Operation)
		}
	}
	return kinds
}

// mostKinds limits the kinds of operations among the metrics of a run.
const mostKinds = 20

func (q *query) metric() metric {
	if kind, ok := strings.CutPrefix(q.text("metric"), kindPrefix); ok && kind != "" {
		return tailOf(kind)
	}
	names := document.Map(metrics, func(m metric) string { return m.Name })
	i := slices.Index(names, q.word("metric", names...))
	return metrics[max(i, 0)] // if the name is unknown, the query now has an error, so the metric is not used
}
