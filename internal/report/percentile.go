package report

import (
	"github.com/sqlite3perf/sqlite3perf/internal/distinct"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
)

func slowestP99(s stats.Sample) float64 { return s.SlowestP99() }

// KindOfP99 names the kind of operations that [result.Sample.Slowest] returns for the samples of some
// cells. If there are several kinds, it returns "the slowest kind", with the name of the kind
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
			l := c.Samples[i].Slowest()
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
