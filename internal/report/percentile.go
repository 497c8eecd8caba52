package report

import (
	"slices"

	"github.com/sqlite3perf/sqlite3perf/internal/stats"
	"github.com/sqlite3perf/sqlite3perf/worker/latency"
)

// slowest returns the operation of a sample that has the greatest 99th percentile. It returns nil if
// the sample has no latencies.
func slowest(s *stats.Sample) (worst *latency.Summary) {
	for i := range s.Latency {
		if l := &s.Latency[i]; worst == nil || l.P99NS > worst.P99NS {
			worst = l
		}
	}
	return worst
}

// slowestP99 returns the greatest 99th percentile, in seconds, among a sample's operations.
func slowestP99(s stats.Sample) float64 {
	if l := slowest(&s); l != nil {
		return float64(l.P99NS) / 1e9
	}
	return 0
}

// KindOfP99 says which operations [slowestP99] is about in some cells: the only operation, or the
// slowest one, with its name if it is the same in almost all samples. It returns "" if the cells have
// no latencies.
func KindOfP99(cells []*stats.Cell) string {
	count, samples := map[string]int{}, 0
	var kinds []string
	for _, c := range cells {
		for i := range c.Samples {
			l := slowest(&c.Samples[i])
			if l == nil {
				continue
			}
			samples++
			count[l.Operation]++
			for _, each := range c.Samples[i].Latency {
				if !slices.Contains(kinds, each.Operation) {
					kinds = append(kinds, each.Operation)
				}
			}
		}
	}
	switch {
	case len(kinds) == 0:
		return ""
	case len(kinds) == 1:
		return kinds[0]
	}
	for _, k := range kinds {
		if count[k]*10 >= samples*9 {
			return "the slowest kind (" + k + ")"
		}
	}
	return "the slowest kind"
}
