package report

import (
	"cmp"
	"fmt"
	"slices"

	"golang.org/x/perf/benchunit"

	"github.com/sqlite3perf/sqlite3perf/internal/conditions"
	"github.com/sqlite3perf/sqlite3perf/internal/distinct"
	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
	"github.com/sqlite3perf/sqlite3perf/worker/latency"
)

// summary summarizes a figure over the samples of a cell.
func summary(c *stats.Cell, f func(stats.Sample) float64) stats.Summary {
	return stats.Summarize(document.Map(c.Samples, f))
}

func median(c *stats.Cell, f func(stats.Sample) float64) float64 { return summary(c, f).Median }

func perOperation(f func(stats.Sample) int64) func(stats.Sample) float64 {
	return func(s stats.Sample) float64 { return float64(f(s)) / float64(max(s.Operations, 1)) }
}

// work returns how much work a sample has: the number of rows if the phase counts rows, and
// otherwise the number of operations. The sample's rate is that number divided by its time.
func work(s *result.Sample) (n int64, unit string) {
	n, unit = s.Rows, "rows/s"
	if s.Rows <= 0 || len(s.Latency) > 0 || s.Metric == result.MetricTimePerOp || s.Metric == result.MetricLatency {
		n, unit = s.Operations, "op/s"
	}
	if s.Load != nil {
		unit = "req/s"
	}
	return n, unit
}

// cellRate returns a cell's rate per second, with its interval. The rate is the number of rows or
// operations divided by the median time.
func cellRate(c *stats.Cell) stats.Summary {
	var each []float64 // seconds per row or operation
	for _, s := range c.Samples {
		if n, _ := work(s.Sample); n > 0 {
			each = append(each, float64(s.WallNS)/1e9/float64(n))
		}
	}
	return stats.Summarize(each).Inverse()
}

// Rate returns the rate of one sample, with its unit: "rows/s", "op/s" or "req/s".
func Rate(s *result.Sample) (perSecond float64, unit string) {
	n, unit := work(s)
	if s.WallNS <= 0 {
		return 0, unit
	}
	return float64(n) / (float64(s.WallNS) / 1e9), unit
}

// cellGrid is a grid with a row for each cell.
type cellGrid struct {
	document.Grid
	cells []*stats.Cell
	own   []bool // own[i] is true if the lead of cells[i] could be due to sqlite3perf's own overhead; nil if leads are not checked, as in the summary

	harmful conditions.Harmful // rows of these drivers are marked with [HarmMark]
	inRun   conditions.Harmful // rows of these drivers are never shown as leaders: they have a defect that can do harm in some workload of the run
}

func (g *cellGrid) words(f func(*stats.Cell) string) []string {
	return document.Map(g.cells, func(c *stats.Cell) string { return f(c) })
}

func (g *cellGrid) each(c document.Column, f func(*stats.Cell) string) { g.Add(c, g.words(f)) }

// scale adds a column with the median of f in each cell, all in one unit. It adds no column if all
// medians are zero, because zero means that the figure is not known.
func (g *cellGrid) scale(title string, class benchunit.Class, base string, drop int, f func(stats.Sample) float64) {
	values := document.Map(g.cells, func(c *stats.Cell) float64 { return median(c, f) })
	if slices.Max(values) <= 0 {
		return
	}
	words, unit := document.Scaled(values, class, base)
	for i, v := range values {
		if v <= 0 {
			words[i] = document.Absent
		}
	}
	g.Add(document.Column{Title: title + " " + unit, Right: true, Drop: drop}, words)
}

// perOperation adds a column with the median of f in each cell, where f returns a figure
// per operation, or -1 if it is not known. It adds no column if no median is known.
func (g *cellGrid) perOperation(title string, drop int, f func(stats.Sample) float64) {
	g.AddKnown(document.Column{Title: title, Right: true, Drop: drop}, g.words(func(c *stats.Cell) string {
		if n := median(c, f); n >= 0 {
			return document.Each(3, n)
		}
		return document.Absent
	}))
}

// figures returns a grid with a row for each of the given cells of a table.
func figures(a *stats.Analysis, t *stats.Table, cells []*stats.Cell) document.Grid {
	g := &cellGrid{cells: cells, harmful: conditions.HarmfulIn(a, t), inRun: conditions.HarmfulDefects(a)}
	g.own = ownLeads(t)
	g.addStandings()
	g.addRisks(t.Phase)
	g.addMedians(t)
	g.addRates()
	if t.Base >= 0 && len(cells) > 1 {
		to := "fastest"
		if cells[t.Base].As == "" {
			to = conditions.Label(cells[t.Base].Case)
		}
		g.addRatios(to, t.Pairs, t.Base)
	}
	g.each(document.Column{Title: "n", Right: true}, func(c *stats.Cell) string { return fmt.Sprint(c.Summary.N) })
	g.addCosts()
	g.addLibraries()
	return g.Grid
}

// addStandings adds columns with each cell's rank, its driver, and the cells tied with it.
func (g *cellGrid) addStandings() {
	for _, c := range g.cells {
		g.Leaders = append(g.Leaders, c.Rank > 0 && !c.Beaten && g.inRun[c.Case.Driver] == nil)
	}
	g.each(document.Column{Title: "#"}, func(c *stats.Cell) string { return cmp.Or(rankOf(c.Rank), document.Absent) })
	rank := func(i int) int { return g.cells[i].Rank }
	tied := g.words(func(c *stats.Cell) string { return cmp.Or(ranksTied(rank, c.Tied), document.Absent) })
	names := g.words(func(c *stats.Cell) string { return conditions.Name(c.Outcome) })
	for i := range names {
		if i < len(g.own) && g.own[i] {
			names[i] += ownCost
		}
		names[i] += harmMark(g.harmful[g.cells[i].Case.Driver] != nil)
	}
	g.Add(document.Column{Title: rowsAre(g.cells)}, names)
	g.AddKnown(document.Column{Title: "tied with"}, tied)
}

func rankOf(rank int) string {
	if rank == 0 {
		return ""
	}
	return fmt.Sprint(rank)
}

// ranksTied lists the ranks of the rows in the list "tied". If one of the rows is the floor (plain C), its
// name is listed, because it has no rank. It returns "" if this list is empty.
func ranksTied(rank func(row int) int, tied []int) string {
	var ranks []int
	var words []string
	floor := false
	for _, j := range tied {
		if n := rank(j); n > 0 {
			ranks = append(ranks, n)
		} else {
			floor = true
		}
	}
	if slices.Sort(ranks); ranks != nil {
		words = append(words, document.JoinInts(ranks))
	}
	if floor {
		words = append(words, "plain C")
	}
	return document.And(words)
}

// tiedWith returns "tied with" and the ranks that [ranksTied] lists, to be shown at the end of a
// bar.
func tiedWith(rank func(row int) int, tied []int) string {
	if words := ranksTied(rank, tied); words != "" {
		return "tied with " + words
	}
	return ""
}

// rowsAre says what distinguishes the rows of a table.
func rowsAre(cells []*stats.Cell) string {
	for _, c := range cells {
		switch {
		case c.As == "":
			return "driver"
		case c.Case.Driver != cells[0].Case.Driver:
			return "driver and settings"
		}
	}
	return "settings"
}

// addMedians adds a column with the medians, by which the table is ordered.
func (g *cellGrid) addMedians(t *stats.Table) {
	title := "median "
	medians := document.Map(g.cells, func(c *stats.Cell) float64 { return c.Summary.Median })
	words, unit := document.Scaled(medians, benchunit.Decimal, conditions.TimeUnit(t, g.cells[0]))
	if g.cells[0].Samples[0].Metric == result.MetricLatency && !t.PerOp {
		title = "p99 of " + shortKind(g.cells) + " "
		words, unit = document.LatencyWords(medians)
	}
	spreads := g.words(func(c *stats.Cell) string { return document.Ends(c.Summary) })
	g.Add(document.Column{Title: title + unit, Whole: true}, document.WithSpreads(words, spreads))
}

func (g *cellGrid) addRates() {
	_, unit := work(g.cells[0].Samples[0].Sample)
	if someFailed(g.cells) {
		g.each(document.Column{Title: "ok", Right: true}, func(c *stats.Cell) string { return document.PercentOK(c.Failures()) })
		unit += " (all)" // the rate includes failed operations, as the median does
	}
	g.each(document.Column{Title: unit, Right: true, Drop: 2}, func(c *stats.Cell) string { return document.Human(cellRate(c).Median) })
	if rowsAre(g.cells) != "driver" && g.cells[0].Samples[0].Metric == result.MetricTimePerOp {
		g.scale("p99 of "+shortKind(g.cells), benchunit.Decimal, "s", 1, slowestP99)
	}
	if ceiling(g.cells) > 0 {
		g.each(document.Column{Title: "of ceiling", Right: true, Drop: 5}, func(c *stats.Cell) string { return document.Percent(median(c, ofCeiling)) })
	}
}

// ofCeiling returns a sample's rate divided by the highest rate that the load generator reaches.
func ofCeiling(s stats.Sample) float64 {
	if s.Load == nil || s.Load.Ceiling <= 0 {
		return 0
	}
	perSecond, _ := Rate(s.Sample)
	return perSecond / s.Load.Ceiling
}

// addRatios adds columns with each cell's ratio to the base (the row with the index "base"), and
// the p-value of its comparison with the base.
func (g *cellGrid) addRatios(to string, pairs []stats.Pair, base int) {
	var ratios, spreads, p []string
	for i, c := range g.cells {
		r, s := document.Absent, ""
		if c.Ratio != nil && c.Ratio.N > 0 && (c.Ratio.N >= stats.MinSamples || i == base) {
			r = document.Times(c.Ratio.Median)
			if i != base {
				s = document.Ends(*c.Ratio)
			}
		}
		ratios, spreads, p = append(ratios, r), append(spreads, s), append(p, against(pairs, i, base))
	}
	g.Add(document.Column{Title: "× " + to, Whole: true}, document.WithSpreads(ratios, spreads))
	g.Add(document.Column{Title: "p", Right: true, Drop: 1}, p)
}

// against returns the p-value of the comparison of row i with the row whose index is "base".
func against(pairs []stats.Pair, i, base int) string {
	for _, p := range pairs {
		if p.First == min(i, base) && p.Second == max(i, base) {
			return document.Probability(p.Adjusted)
		}
	}
	return ""
}

func (g *cellGrid) addLibraries() {
	g.each(document.Column{Title: "SQLite", Drop: 3}, func(c *stats.Cell) string { return conditions.SQLiteVersion(c.Outcome) })
	g.each(document.Column{Title: "kind", Drop: 6}, func(c *stats.Cell) string { return string(c.Case.Info.Kind) })
	g.each(document.Column{Title: "interface", Drop: 7}, func(c *stats.Cell) string { return string(c.Case.Info.Interface) })
}

func (g *cellGrid) addCosts() {
	g.scale("checkpoint", benchunit.Decimal, "s", 4, func(s stats.Sample) float64 { return float64(s.CheckpointNS) / 1e9 })
	g.each(document.Column{Title: "CPU", Right: true, Drop: 8}, func(c *stats.Cell) string {
		share := median(c, func(s stats.Sample) float64 { return float64(s.UserNS+s.SystemNS) / float64(max(s.WallNS, 1)) })
		if share <= 0 {
			return document.Absent
		}
		return fmt.Sprintf("%.0f%%", 100*share)
	})
	for i, m := range result.Metrics {
		drop := 20 - i // on a narrow screen, the column of the first metric is left out first
		if m.Asked {
			drop = 2
		}
		value := func(s stats.Sample) float64 {
			v, _ := m.Value(s.Sample)
			return v
		}
		switch {
		case m.Column == "":
		case m.PerOperation && !m.Binary:
			g.perOperation(m.Column, drop, func(s stats.Sample) float64 {
				if _, known := m.Value(s.Sample); !known {
					return -1
				}
				return value(s)
			})
		case m.Binary:
			g.scale(m.Column, benchunit.Binary, m.Unit, drop, value)
		default:
			g.scale(m.Column, benchunit.Decimal, m.Unit, drop, value)
		}
	}
}

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

func someFailed(cells []*stats.Cell) bool {
	return slices.ContainsFunc(cells, func(c *stats.Cell) bool {
		failed, _ := c.Failures()
		return failed > 0
	})
}

func latencyTitle(cells []*stats.Cell) string {
	return "latency of " + latencyFrom(cells) + "; percentiles: median over trials, max: of all trials"
}

// latencyFrom says at which moment the latency of an operation begins.
func latencyFrom(cells []*stats.Cell) string {
	if cells[0].Samples[0].Metric == result.MetricLatency {
		return "each operation from its intended start (open loop: a fixed rate)"
	}
	return "each operation from its start (closed loop: an operation waits for the one before)"
}

// latencyFigure is a figure that is shown for a latency: a percentile, or the maximum, which is
// percentile 100.
type latencyFigure struct {
	percent float64
	of      func(*latency.Summary) int64
}

var latencyFigures = []latencyFigure{
	{50, func(l *latency.Summary) int64 { return l.P50NS }},
	{90, func(l *latency.Summary) int64 { return l.P90NS }},
	{99, func(l *latency.Summary) int64 { return l.P99NS }},
	{99.9, func(l *latency.Summary) int64 { return l.P999NS }},
	{99.99, func(l *latency.Summary) int64 { return l.P9999NS }},
	{100, func(l *latency.Summary) int64 { return l.MaxNS }},
}

// latencyRow is the latency of one operation of a cell, over all of its trials.
type latencyRow struct {
	cell                 *stats.Cell
	operation            string
	count, failed, early int64
	figures              []float64 // figures of the latency, in seconds
	sure                 []string  // the interval of each figure, as text
}

// latencyRowOf returns the latencies of one operation of a cell, over all its samples. ok is false
// if the cell has no operation with that name.
func latencyRowOf(c *stats.Cell, operation string, figures []latencyFigure) (r latencyRow, ok bool) {
	r = latencyRow{cell: c, operation: operation}
	values := make([][]float64, len(figures))
	for _, s := range c.Samples {
		for _, l := range s.Latency {
			if l.Operation != operation {
				continue
			}
			r.count += l.Count
			r.failed += l.Failed
			r.early += l.EndedEarly
			for i, f := range figures {
				values[i] = append(values[i], float64(f.of(&l))/1e9)
			}
		}
	}
	if len(values[0]) == 0 {
		return r, false
	}
	for i, v := range values {
		if figures[i].percent == 100 {
			r.figures = append(r.figures, slices.Max(v))
			r.sure = append(r.sure, "of "+document.Counted(int64(len(v)), "sample"))
		} else {
			s := stats.Summarize(v)
			r.figures = append(r.figures, s.Median)
			words := document.Counted(int64(s.N), "sample")
			if i := s.Interval; i != nil {
				words = fmt.Sprintf("interval %s to %s\n%s", document.SecondsOf("")(i.Low), document.SecondsOf("")(i.High), words)
			}
			r.sure = append(r.sure, words)
		}
	}
	return r, true
}

// latencyRows returns a row for each operation and cell, ordered by operation.
func latencyRows(cells []*stats.Cell, figures []latencyFigure) []latencyRow {
	var operations []string
	for _, c := range cells {
		for _, s := range c.Samples {
			for _, l := range s.Latency {
				operations = distinct.Append(operations, l.Operation)
			}
		}
	}
	var rows []latencyRow
	for _, op := range operations {
		for _, c := range cells {
			if r, ok := latencyRowOf(c, op, figures); ok {
				rows = append(rows, r)
			}
		}
	}
	return rows
}

func latencies(cells []*stats.Cell) document.Grid {
	shown := []float64{50, 99, 100}
	if cells[0].Samples[0].Load != nil { // an http phase has one operation, so there is room for more columns
		shown = []float64{50, 99, 99.9, 99.99, 100}
	}
	figures := slices.DeleteFunc(slices.Clone(latencyFigures), func(f latencyFigure) bool { return !slices.Contains(shown, f.percent) })
	rows := latencyRows(cells, figures)
	failed := slices.ContainsFunc(rows, func(r latencyRow) bool { return r.failed > 0 })
	early := slices.ContainsFunc(rows, func(r latencyRow) bool { return r.early > 0 })
	columns := []document.ColumnOf[latencyRow]{
		document.Words("operation", func(r latencyRow) string { return r.operation }),
		document.Words(rowsAre(cells), func(r latencyRow) string { return conditions.Name(r.cell.Outcome) }),
		document.Figures("count", 1, func(r latencyRow) string { return document.Thousands(r.count) }),
	}
	if failed {
		columns = append(columns, document.Figures("ok", 0, func(r latencyRow) string {
			return fmt.Sprintf("%s (%s)", document.Thousands(r.count-r.failed), document.PercentOK(r.failed, r.count))
		}))
	}
	if early {
		columns = append(columns, document.Figures("ended early", 0, func(r latencyRow) string { return document.Thousands(r.early) }))
	}
	g := document.GridOf(rows, columns...)
	for i, f := range figures {
		words, unit := document.LatencyWords(document.Map(rows, func(r latencyRow) float64 { return r.figures[i] }))
		title := fmt.Sprintf("p%g", f.percent)
		if f.percent == 100 {
			title = "max"
		}
		g.Add(document.Column{Title: title + " " + unit, Right: true}, words)
	}
	return g
}

// addRisks adds a column with the data that each row's settings can lose, unless all rows can lose
// the same.
func (g *cellGrid) addRisks(phase string) {
	words := g.words(func(c *stats.Cell) string { return conditions.CanLose(c.Outcome, phase) })
	if slices.ContainsFunc(words, func(w string) bool { return w != words[0] }) {
		g.Add(document.Column{Title: "can lose"}, words)
	}
}
