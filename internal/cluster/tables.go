package cluster

import (
	"fmt"
	"slices"

	"github.com/sqlite3perf/sqlite3perf/internal/distinct"
	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

func (c *Clusters) loads() (list []protocol.ClusterLoad) {
	for _, t := range c.done() {
		for _, l := range t.Result.Loads {
			list = distinct.Append(list, l.ClusterLoad)
		}
	}
	return list
}

func (t *ClusterTrial) index(load protocol.ClusterLoad) int {
	return slices.IndexFunc(t.Result.Loads, func(l protocol.LoadResult) bool { return l.ClusterLoad == load })
}

func priceTable(c *Clusters) document.Document {
	g := document.Grid{Columns: []document.Column{
		{Title: "clients"}, {Title: "batch"}, {Title: "database"}, {Title: "writes/s", Right: true, Drop: 3}, {Title: "rows/s", Right: true}, {Title: "of local", Right: true},
		{Title: "acked p50", Right: true}, {Title: "p99", Right: true, Drop: 1}, {Title: "visible p50", Right: true}, {Title: "p99", Right: true, Drop: 2},
		{Title: "CPU/row", Right: true}, {Title: "nodes' share", Right: true, Drop: 4},
	}}
	failed := ""
	for _, load := range c.loads() {
		var local []float64
		for _, t := range c.done() {
			i := t.index(load)
			if i < 0 {
				continue
			}
			l, rate := &t.Result.Loads[i], t.rate(i)
			nodes, of, cpu := document.Absent, document.Absent, document.Absent
			if t.Nodes == 0 {
				local = t.rates(i)
			} else if l.CPUNS > 0 {
				nodes = document.Percent(float64(l.MemberCPUNS) / float64(l.CPUNS))
			}
			if len(local) > 0 {
				of = ofLocal(t.rates(i), local, t.Nodes == 0)
			}
			if l.CPUNS > 0 {
				cpu = document.Nanoseconds(int64(float64(l.CPUNS) / (float64(l.Acknowledged.Count) * float64(l.Batch))))
			}
			g.Rows = append(g.Rows, []string{document.Thousands(int64(load.Clients)), document.Thousands(int64(load.Batch)), t.Name(), document.Human(rate.Median / float64(l.Batch)), withInterval(document.Human(rate.Median), rate), of,
				document.Nanoseconds(l.Acknowledged.P50NS), document.Nanoseconds(l.Acknowledged.P99NS), document.Nanoseconds(l.Visible.P50NS), document.Nanoseconds(l.Visible.P99NS), cpu, nodes})
			if l.Failed > 0 {
				failed += fmt.Sprintf(" %s, %s: %s failed, the first with: %s.", t.Name(), loadWords(load), document.Counted(l.Failed, "write"), document.Line(l.Error))
			}
		}
	}
	if g.Rows == nil {
		return nil
	}
	return document.Document{document.Heading{Level: 2, Text: "What it costs"}, g,
		document.Paragraph{Text: "Clients write as fast as they can, each INSERT in its own transaction; batch: its rows. acked: until a write was acknowledged; visible: until a read with level none found it on every node. CPU is that of the clients and of all nodes. " + roundsWords(c.rounds()) + failed, Quiet: true}}
}

func withInterval(figure string, s stats.Summary) string {
	if s.Interval == nil {
		return figure
	}
	return figure + " " + document.Ends(s)
}

// ofLocal formats the ratio of two rates: the rows per second of a database, divided by the rows per
// second of the local driver. The ratio is computed for each round, and its median is shown. If the
// parameter "itself" is true, the database is the local driver.
func ofLocal(rates, local []float64, itself bool) string {
	var ratios []float64
	for i := range min(len(rates), len(local)) {
		if rates[i] > 0 && local[i] > 0 {
			ratios = append(ratios, rates[i]/local[i])
		}
	}
	if ratios == nil {
		return document.Absent
	}
	s := stats.SummarizeRatios(ratios)
	if itself {
		return document.Times(1)
	}
	return withInterval(document.Times(s.Median), s)
}

func roundsWords(n int) string {
	switch {
	case n == 1:
		return "Each line is one trial, so it is unknown how much it would differ the next time."
	case n < stats.MinSamples:
		return fmt.Sprintf("Rates are medians of %d rounds, which are too few for an interval (%d).", n, stats.MinSamples)
	}
	return fmt.Sprintf("Rates are medians of %d rounds, with 95%% intervals, which are too narrow if the machine drifts meanwhile. Ratios are formed within rounds. Latencies are from all rounds.", n)
}

func costTable(c *Clusters) document.Document {
	bytes := func(n int64) string {
		if n == 0 {
			return document.Absent
		}
		return document.Bytes(n)
	}
	done := c.done()
	if len(done) == 0 {
		return nil
	}
	g := document.GridOf(done,
		document.Words("database", (*ClusterTrial).Name),
		document.Figures("rows written", 0, func(t *ClusterTrial) string { return document.Thousands(t.Result.Rows) }),
		document.Figures("disk", 0, func(t *ClusterTrial) string { return document.Bytes(t.Result.DiskBytes) }),
		document.Figures("disk per row", 0, func(t *ClusterTrial) string {
			if t.Result.Rows == 0 {
				return document.Absent
			}
			return document.Bytes(t.Result.DiskBytes / t.Result.Rows)
		}),
		document.Figures("memory", 0, func(t *ClusterTrial) string { return bytes(t.Result.PeakRSSBytes) }))
	return document.Document{document.Heading{Level: 2, Text: "Disk and memory"}, g,
		document.Paragraph{Text: "Disk: used by all nodes in the end, including logs and snapshots. Memory: the sum of the peaks of all nodes' processes; for a local driver, the peak of the process with the clients.", Quiet: true}}
}

func harmTables(t *ClusterTrial) document.Document {
	h := t.Result.Harmed
	harms := document.Grid{Columns: []document.Column{{Title: "harm"}, {Title: "times", Right: true}, {Title: "longest without a write", Right: true}, {Title: "median", Right: true}}}
	for _, kind := range []struct{ kind, words string }{{protocol.HarmKill, "leader killed and restarted"}, {protocol.HarmCut, "leader isolated and healed"}} {
		if of := slices.DeleteFunc(slices.Clone(h.Harms), func(one protocol.Harm) bool { return one.Kind != kind.kind }); len(of) > 0 {
			longest, median := silent(of)
			harms.Rows = append(harms.Rows, []string{kind.words, document.Thousands(int64(len(of))), document.Nanoseconds(longest), document.Nanoseconds(median)})
		}
	}
	writes := document.Grid{Columns: []document.Column{{Title: "writes"}, {Title: "number", Right: true}}}
	add := func(what string, n int64) { writes.Rows = append(writes.Rows, []string{what, document.Thousands(n)}) }
	add("acknowledged", h.Acknowledged)
	add("failed, of which some may have taken effect", h.Failed)
	add("found in the end, with level strong", h.Found)
	add("acknowledged, but lost", h.Lost)
	for _, m := range h.Missing {
		add(fmt.Sprintf("acknowledged, but not in the copy of node %s", document.Line(m.Member)), m.Lost)
	}
	reads := document.Grid{Columns: []document.Column{{Title: "level"}, {Title: "reads", Right: true}, {Title: "failed", Right: true}, {Title: "stale", Right: true}, {Title: "of the answered", Right: true}}}
	for _, r := range h.Reads {
		share := document.Absent
		if n := r.Reads - r.Failed; n > 0 {
			share = document.Percent(float64(r.Stale) / float64(n))
		}
		reads.Rows = append(reads.Rows, []string{r.Level, document.Thousands(r.Reads), document.Thousands(r.Failed), document.Thousands(r.Stale), share})
	}
	d := document.Document{document.Heading{Level: 2, Text: "Harm: " + t.Name()}, harms, document.Space{}, writes}
	if len(reads.Rows) > 0 {
		d = append(d, document.Space{}, reads, document.Paragraph{Text: "A read is stale if it misses a write that was acknowledged before the read began. Reads go to each node in turn, including isolated ones.", Quiet: true})
	}
	if len(h.LostIDs) > 0 {
		d = append(d, document.Paragraph{Text: "The first rows that are lost have the IDs " + document.Join(h.LostIDs, ", ", document.Thousands) + "."})
	}
	return d
}
