package report

import (
	"fmt"
	"slices"

	"golang.org/x/perf/benchunit"

	"github.com/sqlite3perf/sqlite3perf/result"
	"github.com/sqlite3perf/sqlite3perf/stats"
	"github.com/sqlite3perf/sqlite3perf/worker/latency"
)

// median is the median over a cell's samples of any figure.
func median(c *stats.Cell, f func(stats.Sample) float64) float64 {
	values := make([]float64, len(c.Samples))
	for i, s := range c.Samples {
		values[i] = f(s)
	}
	return stats.Summarize(values).Median
}

func perOperation(f func(stats.Sample) int64) func(stats.Sample) float64 {
	return func(s stats.Sample) float64 { return float64(f(s)) / float64(max(s.Operations, 1)) }
}

// work is what a sample's rate counts: rows where the phase is about rows, else
// operations.
func work(s *result.Sample) (n int64, unit string) {
	n, unit = s.Rows, "rows/s"
	if s.Rows <= 0 || len(s.Latency) > 0 || s.Metric == "time/op" || s.Metric == "latency" {
		n, unit = s.Operations, "op/s"
	}
	if s.Load != nil {
		unit = "req/s"
	}
	return n, unit
}

// cellRate is a cell's rate: the work divided by its median time.
func cellRate(c *stats.Cell) (perSecond float64, unit string) {
	_, unit = work(c.Samples[0].Sample)
	var each []float64 // seconds per row or operation
	for _, s := range c.Samples {
		if n, _ := work(s.Sample); n > 0 {
			each = append(each, float64(s.WallNS)/1e9/float64(n))
		}
	}
	return stats.Summarize(each).Inverse().Median, unit
}

// rate is a sample's own rate.
func rate(s *result.Sample) (perSecond float64, unit string) {
	n, unit := work(s)
	if s.WallNS <= 0 {
		return 0, unit
	}
	return float64(n) / (float64(s.WallNS) / 1e9), unit
}

// figures is the grid of a table's cells that have figures.
func figures(t *stats.Table, cells []*stats.Cell) grid {
	g := grid{rows: make([][]string, len(cells)), leaders: make([]bool, len(cells))}
	add := func(c column, words []string) {
		g.columns = append(g.columns, c)
		for i, w := range words {
			g.rows[i] = append(g.rows[i], w)
		}
	}
	each := func(f func(int, *stats.Cell) string) []string {
		words := make([]string, len(cells))
		for i, c := range cells {
			words[i] = f(i, c)
		}
		return words
	}
	numbers := func(f func(stats.Sample) float64) []float64 {
		list := make([]float64, len(cells))
		for i, c := range cells {
			list[i] = median(c, f)
		}
		return list
	}
	// scale makes a column of one unit; a figure of zero is not known.
	scale := func(title string, class benchunit.Class, base string, drop int, f func(stats.Sample) float64) {
		values := numbers(f)
		if !slices.ContainsFunc(values, func(v float64) bool { return v > 0 }) {
			return
		}
		words, unit := scaled(values, class, base)
		for i, v := range values {
			if v <= 0 {
				words[i] = absent
			}
		}
		add(column{title + " " + unit, true, drop}, words)
	}

	for i, c := range cells {
		g.leaders[i] = leads(c.Standing)
	}
	add(column{title: "#"}, each(func(_ int, c *stats.Cell) string { return rank(c.Standing) }))
	add(column{title: "driver"}, each(func(_ int, c *stats.Cell) string { return name(c.Outcome) }))
	standings := make([]stats.Standing, len(cells))
	for i, c := range cells {
		standings[i] = c.Standing
	}
	if tied := ties(standings); slices.ContainsFunc(tied, func(s string) bool { return s != absent }) {
		add(column{title: tiedTitle}, tied)
	}

	title, base := "median ", "s"
	switch cells[0].Samples[0].Metric {
	case "time/op":
		base = "s/op"
	case "latency":
		title = "p99 "
	}
	medians := make([]float64, len(cells))
	for i, c := range cells {
		medians[i] = c.Summary.Median
	}
	words, unit := scaled(medians, benchunit.Decimal, base)
	spreads := each(func(_ int, c *stats.Cell) string { return spread(c.Summary) })
	add(column{title: title + unit}, besides(words, spreads))

	_, rateUnit := work(cells[0].Samples[0].Sample)
	if someFailed(cells) {
		add(column{title: "ok", right: true}, each(func(_ int, c *stats.Cell) string {
			return PercentOK(c.Failures())
		}))
		rateUnit += " (all)" // as the median does, it counts those that failed
	}
	add(column{title: rateUnit, right: true, drop: 2}, each(func(_ int, c *stats.Cell) string {
		perSecond, _ := cellRate(c)
		return human(perSecond)
	}))

	if ceiling(cells) > 0 {
		add(column{title: "of ceiling", right: true, drop: 5}, each(func(_ int, c *stats.Cell) string {
			return percent(median(c, func(s stats.Sample) float64 {
				if s.Load == nil || s.Load.Ceiling <= 0 {
					return 0
				}
				perSecond, _ := rate(s.Sample)
				return perSecond / s.Load.Ceiling
			}))
		}))
	}

	if t.Base >= 0 && len(cells) > 1 {
		title := "× fastest"
		if t.IsFloor {
			title = "× " + label(t.Cells[t.Base].Case)
		}
		ratios := each(func(_ int, c *stats.Cell) string {
			if c.Ratio == nil || c.Ratio.N == 0 {
				return absent
			}
			return times(c.Ratio.Median)
		})
		spreads := each(func(i int, c *stats.Cell) string {
			if i == t.Base || c.Ratio == nil || c.Ratio.N == 0 {
				return ""
			}
			return spread(*c.Ratio)
		})
		add(column{title: title}, besides(ratios, spreads))
		add(column{title: "p", right: true, drop: 1}, each(func(i int, _ *stats.Cell) string { return against(t.Pairs, i, t.Base) }))
	}
	add(column{title: "n", right: true}, each(func(_ int, c *stats.Cell) string { return fmt.Sprint(c.Summary.N) }))

	scale("checkpoint", benchunit.Decimal, "s", 4, func(s stats.Sample) float64 { return float64(s.CheckpointNS) / 1e9 })
	add(column{title: "CPU", right: true, drop: 8}, each(func(_ int, c *stats.Cell) string {
		share := median(c, func(s stats.Sample) float64 { return float64(s.UserNS+s.SystemNS) / float64(max(s.WallNS, 1)) })
		if share <= 0 {
			return absent
		}
		return fmt.Sprintf("%.0f%%", 100*share)
	}))
	if allocs := numbers(perOperation(func(s stats.Sample) int64 { return s.Allocs })); slices.Max(allocs) > 0 {
		add(column{title: "allocs/op", right: true, drop: 10}, each(func(i int, _ *stats.Cell) string {
			if allocs[i] <= 0 {
				return absent
			}
			return human(allocs[i])
		}))
	}
	scale("alloc", benchunit.Binary, "B/op", 11, perOperation(func(s stats.Sample) int64 { return s.AllocBytes }))
	scale("RSS", benchunit.Binary, "B", 9, func(s stats.Sample) float64 { return float64(s.PeakRSSBytes) })
	add(column{title: "SQLite", drop: 3}, each(func(_ int, c *stats.Cell) string { return sqliteVersion(c.Outcome) }))
	add(column{title: "kind", drop: 6}, each(func(_ int, c *stats.Cell) string { return string(c.Case.Info.Kind) }))
	add(column{title: "interface", drop: 7}, each(func(_ int, c *stats.Cell) string { return string(c.Case.Info.Interface) }))
	return g
}

// ceiling is what the load generator reaches of a server that does nothing, in
// requests per second, the median of what it was beside each sample; 0: the cells
// are of no server.
func ceiling(cells []*stats.Cell) float64 {
	var list []float64
	for _, c := range cells {
		for _, s := range c.Samples {
			if s.Load != nil && s.Load.Ceiling > 0 {
				list = append(list, s.Load.Ceiling)
			}
		}
	}
	if len(list) == 0 {
		return 0
	}
	return stats.Summarize(list).Median
}

// someFailed reports whether any operation of the cells failed.
func someFailed(cells []*stats.Cell) bool {
	return slices.ContainsFunc(cells, func(c *stats.Cell) bool {
		failed, _ := c.Failures()
		return failed > 0
	})
}

func latencyTitle(cells []*stats.Cell) string {
	from := "each operation from its start (closed loop: an operation waits for the one before)"
	if cells[0].Samples[0].Metric == "latency" {
		from = "each operation from its intended start (open loop: a fixed rate)"
	}
	return "latency of " + from + "; percentiles: median over trials, max: of all trials"
}

// latencies is the grid of the latency of each operation of a mix.
func latencies(cells []*stats.Cell) grid {
	type row struct {
		cell                 *stats.Cell
		operation            string
		count, failed, early int64
		figures              []float64 // in seconds
	}
	type figure struct {
		title string
		of    func(*latency.Summary) int64
	}
	figureList := []figure{
		{"p50", func(l *latency.Summary) int64 { return l.P50NS }},
		{"p99", func(l *latency.Summary) int64 { return l.P99NS }},
		{"max", func(l *latency.Summary) int64 { return l.MaxNS }},
	}
	if cells[0].Samples[0].Load != nil { // the only thing in its table, so there is room
		figureList = slices.Insert(figureList, 2,
			figure{"p99.9", func(l *latency.Summary) int64 { return l.P999NS }},
			figure{"p99.99", func(l *latency.Summary) int64 { return l.P9999NS }})
	}
	var rows []row
	var operations []string
	for _, c := range cells {
		for _, s := range c.Samples {
			for _, l := range s.Latency {
				if !slices.Contains(operations, l.Operation) {
					operations = append(operations, l.Operation)
				}
			}
		}
	}
	for _, op := range operations {
		for _, c := range cells {
			r := row{cell: c, operation: op}
			values := make([][]float64, len(figureList))
			for _, s := range c.Samples {
				for _, l := range s.Latency {
					if l.Operation == op {
						r.count += l.Count
						r.failed += l.Failed
						r.early += l.EndedEarly
						for i, f := range figureList {
							values[i] = append(values[i], float64(f.of(&l))/1e9)
						}
					}
				}
			}
			if len(values[0]) == 0 {
				continue
			}
			for i, v := range values {
				if figureList[i].title == "max" {
					r.figures = append(r.figures, slices.Max(v))
				} else {
					r.figures = append(r.figures, stats.Summarize(v).Median)
				}
			}
			rows = append(rows, r)
		}
	}
	failed := slices.ContainsFunc(rows, func(r row) bool { return r.failed > 0 })
	early := slices.ContainsFunc(rows, func(r row) bool { return r.early > 0 })
	g := grid{columns: []column{{title: "operation"}, {title: "driver"}, {title: "count", right: true, drop: 1}}}
	if failed {
		g.columns = append(g.columns, column{title: "ok", right: true})
	}
	if early {
		g.columns = append(g.columns, column{title: "ended early", right: true})
	}
	columns := make([][]float64, len(figureList))
	for _, r := range rows {
		words := []string{r.operation, name(r.cell.Outcome), thousands(r.count)}
		if failed {
			words = append(words, fmt.Sprintf("%s (%s)", thousands(r.count-r.failed), PercentOK(r.failed, r.count)))
		}
		if early {
			words = append(words, thousands(r.early))
		}
		g.rows = append(g.rows, words)
		for i, v := range r.figures {
			columns[i] = append(columns[i], v)
		}
	}
	for i, f := range figureList {
		words, unit := scaled(columns[i], benchunit.Decimal, "s")
		if unit == "ns" { // less than which no latency is told apart
			for j, v := range columns[i] {
				words[j] = fmt.Sprintf("%.0f", 1e9*v)
			}
		}
		g.columns = append(g.columns, column{title: f.title + " " + unit, right: true})
		for j, w := range words {
			g.rows[j] = append(g.rows[j], w)
		}
	}
	return g
}
