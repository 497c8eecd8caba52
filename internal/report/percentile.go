package report

import (
	"github.com/sqlite3perf/sqlite3perf/internal/distinct"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
	"github.com/sqlite3perf/sqlite3perf/worker/latency"
)

// slowest returns the operation of a sample that has the greatest 99th percentile. It returns nil if
// the sample has no latencies.
func slowest(s *result.Sample) (worst *latency.Summary) {
	for i := range s.Latency {
		if l := &s.Latency[i]; worst == nil || l.P99NS > worst.P99NS {
			worst = l
		}
	}
	return worst
}

// SlowestP99 returns the greatest 99th percentile, in seconds, among a sample's operations.
func SlowestP99(s *result.Sample) float64 {
	if l := slowest(s); l != nil {
		return float64(l.P99NS) / 1e9
	}
	return 0
}

func slowestP99(s stats.Sample) float64 { return SlowestP99(s.Sample) }

// KindOfP99 names the kind of operations whose percentile [SlowestP99] returns for the samples of
// some cells. If there are several kinds, it returns "the slowest kind", with the name of the kind
// if the same kind is the slowest in almost all samples. It returns "" if the cells have no
// latencies.
func KindOfP99(cells []*stats.Cell) string {
	switch kind, only := slowestKind(cells); {
	case only:
		return kind
	case kind != "":
		return "the slowest kind (" + kind + ")"
	}
	return "the slowest kind"
}

// shortKind is [KindOfP99] for the title of a column.
func shortKind(cells []*stats.Cell) string {
	if kind, _ := slowestKind(cells); kind != "" {
		return kind
	}
	return "slowest"
}

// slowestKind returns the kind of operations that is the slowest in almost all samples of the given
// cells. It returns "" if there is none. The result "only" is true if the cells have at most one
// kind.
func slowestKind(cells []*stats.Cell) (kind string, only bool) {
	count, samples := map[string]int{}, 0
	var kinds []string
	for _, c := range cells {
		for i := range c.Samples {
			l := slowest(c.Samples[i].Sample)
			if l == nil {
				continue
			}
			samples++
			count[l.Operation]++
			for _, each := range c.Samples[i].Latency {
				kinds = distinct.Append(kinds, each.Operation)
			}
		}
	}
	for _, k := range kinds {
		if count[k]*10 >= samples*9 {
			kind = k
		}
	}
	return kind, len(kinds) < 2
}
