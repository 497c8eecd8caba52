package gate

import (
	"fmt"
	"slices"

	"github.com/sqlite3perf/sqlite3perf/internal/chart"
	"github.com/sqlite3perf/sqlite3perf/internal/compare"
	"github.com/sqlite3perf/sqlite3perf/internal/conditions"
	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
)

func gateGrid(g *stats.Gate) document.Grid {
	byComparison := map[*stats.Compared]*stats.Gated{}
	var cells []*stats.Compared
	for _, c := range g.Cells {
		if byComparison[c.Compared] = c; c.Measured() {
			cells = append(cells, c.Compared)
		}
	}
	state := document.Words("state", func(x *stats.Compared) string { return conditions.Marked(stateWords(byComparison[x].State), x) })
	var p func(*stats.Compared) string // formats the p-value of a cell; nil if the table has no such column
	if showsP(g) {
		p = func(x *stats.Compared) string { return shownP(byComparison[x]) }
	}
	return document.GridOf(cells, compare.RatioColumns(state, p, g.Baseline, g.Candidate)...)
}

func showsP(g *stats.Gate) bool {
	return slices.ContainsFunc(g.Cells, func(c *stats.Gated) bool { return c.Measured() && shownP(c) != "" })
}

// shownP formats the p-value of a cell. It returns "" for a cell that passed, which is judged by its interval
// only.
func shownP(c *stats.Gated) string {
	if c.State == stats.GatePassed {
		return ""
	}
	return document.Probability(c.P)
}

func gatePage(g Gated, o document.Options) document.Document {
	h := o.Hints
	d := document.Document{document.Heading{Level: 1, Text: g.Answer()}, gateBeware(g, h)}
	var rows []chart.Bar
	var shut []*stats.Compared
	kinds := document.Map(compare.GateKinds, stateWords)
	for _, c := range g.Cells {
		if !c.Measured() {
			rows = append(rows, chart.Bar{Name: compare.CellName(c.Compared), Reason: fmt.Sprintf("%s: %s", stateWords(c.State), cause(c))})
			continue
		}
		if c.State == stats.GateRegression {
			shut = append(shut, c.Compared)
		}
		rows = append(rows, compare.RatioRow(c.Compared, shownP(c), slices.Index(kinds, stateWords(c.State)), stateWords(c.State)))
	}
	orders := compare.OrderPictures(shut, g.Baseline, g.Candidate, g.Base == nil, rows)
	if len(rows) > 0 {
		p := compare.Forest(rows, chart.Forest{
			Axis: chart.Axis{Label: "what the candidate takes, × the baseline, less is better"},
			Low:  1, High: 1 + g.Max, Band: "allowed: up to " + document.Share(g.Max) + " more",
			Less: g.Candidate + " takes less", More: g.Candidate + " takes more", Kinds: kinds,
		}, 1-stats.Doubt)
		p.Title = fmt.Sprintf("what %s takes, × that of %s", g.Candidate, g.Baseline)
		if table := gateGrid(g.Gate); len(table.Rows) > 0 {
			p.Behind = document.Document{table, gateNote(g)}
		}
		d = append(d, document.Heading{Level: 2, Text: "All cells: " + p.Title}, p)
	}
	d = append(d, conditions.Expectations(g.Expected)...)
	if short := conditions.ComparedTooShort(comparedCells(g.Gate), h); short != nil {
		d = append(d, short)
	}
	d = append(d, compare.SidesDiffer(comparedCells(g.Gate), g.Baseline, g.Candidate)...)
	d = append(d, orders...)
	d = append(d, document.Heading{Level: 2, Text: "How it was measured"}, gateOrigin(g, h), document.Methodology(compare.OfSides))
	return document.WithSource(d, conditions.PictureSource(g.measured()...))
}
