package report

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/sqlite3perf/sqlite3perf/internal/chart"
	"github.com/sqlite3perf/sqlite3perf/internal/conditions"
	"github.com/sqlite3perf/sqlite3perf/internal/distinct"
	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/profile"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// Pictures returns the pictures of a run in the order of its page. With [Options.Only] they show
// only the chosen cells, and empty pictures are left out.
func Pictures(a *stats.Analysis, o Options) []document.Picture {
	if p := profile.ProfileOf(a.Run, o.Hints); p != nil {
		list := profile.ProfilePage(p).Pictures()
		for i := range list {
			list[i].Kind, list[i].Source = document.KindProfile, conditions.PictureSource(a.Run)
		}
		return list
	}
	o.alone = true
	return pageOf(a, o).Pictures()
}

// scope draws pictures of a run. It says which cells the pictures show, how these cells look, and which
// addresses the marks (bars, points) in the pictures link to.
type scope struct {
	a    *stats.Analysis
	only func(*result.Case, string) bool
	link func(int, string) string
	looks
	harmful conditions.Harmful // in pictures of the whole run, the names of these drivers are marked with [HarmMark]
}

func ScopeOf(a *stats.Analysis, o Options) scope {
	s := scope{a, o.Only, o.Link, looksOf(a), conditions.HarmfulDefects(a)}
	if s.only == nil {
		s.only = func(*result.Case, string) bool { return true }
	}
	if s.link == nil {
		s.link = func(id int, _ string) string { return "#" + conditions.CaseID(id) }
	}
	return s
}

// of returns the given cells, without the cells that pictures do not show.
func (s scope) of(t *stats.Table, cells []*stats.Cell) (list []*stats.Cell) {
	for _, c := range cells {
		if s.only(c.Case, t.Phase) {
			list = append(list, c)
		}
	}
	return list
}

// shownDrivers returns the drivers that pictures show. The result "whole" is false if pictures show
// only some cells of a driver.
func (s scope) shownDrivers() (shown map[string]bool, whole bool) {
	shown, hidden := map[string]bool{}, map[string]bool{}
	for _, t := range s.a.Tables() {
		for _, c := range t.Cells {
			if s.only(c.Case, t.Phase) {
				shown[c.Case.Driver] = true
			} else {
				hidden[c.Case.Driver] = true
			}
		}
	}
	for d := range shown {
		if hidden[d] {
			return shown, false
		}
	}
	return shown, true
}

// PNGScale is the width of a PNG in pixels, divided by the width for which its picture is drawn.
const PNGScale = 2

// PictureFormats has the formats in which a single picture can be written. The option is the width of
// the picture in pixels; 0 means the picture's default width.
var PictureFormats = document.FormatsOf[document.Picture, int]{What: "picture", List: []document.Format[document.Picture, int]{
	{Name: "svg", To: func(w io.Writer, p document.Picture, width int) error { return chart.WriteSVG(w, p.File(width)) }},
	{Name: "png", To: func(w io.Writer, p document.Picture, width int) error {
		return chart.WritePNG(w, p.File(width), PNGScale)
	}},
}}

// PictureNamed returns the picture with the given name, and the names of the run's other pictures. The
// name "" means the first picture, which is an overview. If there is no such picture, the error
// suggests the nearest name, or lists all names.
func PictureNamed(a *stats.Analysis, name string, o Options) (p document.Picture, others []string, err error) {
	all := Pictures(a, o)
	if len(all) == 0 {
		return p, nil, errors.New("the run has no pictures, because it has no figures")
	}
	names := document.Map(all, func(p document.Picture) string { return p.Name })
	at := slices.Index(names, cmp.Or(name, names[0]))
	if at < 0 {
		return p, nil, fmt.Errorf("unknown picture: %s", cmp.Or(driver.DidYouMean(name, names), "the run has\n  "+strings.Join(names, "\n  ")))
	}
	return all[at], slices.Delete(names, at, at+1), nil
}

// tablePicture returns the name of a table's picture. The name needs no quotes in a shell.
func tablePicture(n stats.TableName) string { return document.Slug(n.String()) }

// TableBars draws the rows of a table as bars in order of rank, with a line for the floor (plain C). A row
// without figures shows the reason instead of a bar. A case is left out if the run ended before the case had a
// trial.
func (s scope) TableBars(n stats.TableName, t *stats.Table) document.PictureBlock {
	measured, looks, own, harm := s.of(t, t.Measured()), s.ofCells(t.Cells), ownLeads(t), s.marker(t)
	title := n.String() + ": " + subject(measured)
	format := timeFormat(t, measured)
	axis := chart.Axis{Label: "time, less is better", Format: format, Tick: document.Ticks(format)}
	if measured[0].Samples[0].Metric == result.MetricLatency {
		axis.Label = "p99 of " + KindOfP99(measured) + ", less is better"
	}
	var rows []chart.Bar
	var marks []string
	rank := func(i int) int { return t.Cells[i].Rank }
	for i, c := range t.Cells {
		if c.Status == stats.NotMeasured && len(c.Trials) == 0 || !s.only(c.Case, t.Phase) {
			continue // the run ended before the first trial of the case, or pictures do not show the case
		}
		b := chart.Bar{Name: barName(c.Outcome, t.IsFloor && i == t.Base), Look: looks[i], Rank: rankOf(c.Rank), Tied: tiedWith(rank, c.Tied), Link: s.link(c.Case.ID, t.Phase)}
		if c.Status != result.OK {
			b.Reason = string(c.Status)
			if c.Reason != nil {
				b.Reason += ": " + c.Reason.Message
			}
			rows = append(rows, b)
			continue
		}
		b.Value, b.Low, b.High = document.OfSummary(c.Summary)
		b.Text = format(c.Summary.Median) + " " + document.Ends(c.Summary)
		b.Reason = c.Unranked
		b.Tip = document.JoinKnown("\n", document.Counted(int64(c.Summary.N), "sample"), ratioTip(c, t))
		if own[i] {
			b.Name += ownCost
			marks = []string{ownCost + " marks a lead that sqlite3perf's own overhead may explain."}
			b.Tip = document.JoinKnown("\n", b.Tip, ownCost+" sqlite3perf's own overhead may explain the lead")
		}
		b.Name = harm.name(b.Name, c.Case.Driver)
		rows = append(rows, b)
	}
	var lines []chart.Mark
	var notes []string
	if t.IsFloor && len(t.Measured()) > 1 {
		floor := t.Cells[t.Base]
		lines = []chart.Mark{{Value: floor.Summary.Median, Label: "plain C: " + conditions.Label(floor.Case)}}
		notes = append(notes, floorMeans(conditions.Label(floor.Case)))
	}
	notes = append(notes, marks...)
	p := document.Picture{Name: tablePicture(n), Title: title, Note: strings.Join(notes, " "), Marks: marks, Kind: document.KindRanking, Of: n,
		Plot: &chart.Bars{Axis: axis, Rows: rows, Lines: lines}}
	return document.PictureBlock{Picture: harm.explain(p), Headed: true}
}

// OverallBars draws a bar for each driver over all tables, in order of rank. ok is false if the
// scope shows no driver, or only some cells of a driver.
func (s scope) OverallBars() (p document.PictureBlock, ok bool) {
	shown, whole := s.shownDrivers()
	if !whole || len(shown) == 0 {
		return document.PictureBlock{}, false
	}
	o, to := s.a.Overall, baseLabel(s.a)
	axis := chart.Axis{Label: "time, × " + to + ", less is better", Format: document.Times, Tick: document.Ticks(document.Times)}
	var rows []chart.Bar
	outcomes := conditions.OutcomesByCase(s.a)
	rank := func(i int) int { return o.Drivers[i].Rank }
	cases := document.Map(o.Drivers, func(d stats.OverallDriver) *result.Case { return d.Case })
	looks, harm := s.ofCases(cases), marker{harmful: s.harmful}
	for i, d := range o.Drivers {
		if !shown[d.Case.Driver] {
			continue
		}
		b := chart.Bar{Name: barName(outcomes[d.Case.ID], o.IsFloor && d.Case.Driver == o.Base), Look: looks[i], Rank: rankOf(d.Rank), Tied: tiedWith(rank, d.Tied)}
		if d.Ratio.N == 0 {
			b.Reason = "no round has figures in all cells"
		} else {
			b.Value, b.Low, b.High = document.OfSummary(d.Ratio)
			b.Text = document.Times(d.Ratio.Median)
			if d.Case.Driver != o.Base {
				b.Text += " " + document.Ends(d.Ratio)
			}
			b.Tip = document.Counted(int64(d.Ratio.N), "round")
		}
		b.Name = harm.name(b.Name, d.Case.Driver)
		rows = append(rows, b)
	}
	var lines []chart.Mark
	note := fmt.Sprintf("Geometric mean of each driver's ratios to %s over %s, with %s intervals.",
		to, document.Counted(int64(len(o.Tables)), "cell"), document.Percent(stats.Confidence))
	if o.IsFloor {
		lines = []chart.Mark{{Value: 1, Label: "plain C: " + to}}
		note += " " + floorMeans(to)
	}
	title := fmt.Sprintf("Time over %s, × %s", document.Counted(int64(len(o.Tables)), "cell"), to)
	summary := document.Picture{Name: "summary", Title: title, Note: note, Kind: document.KindSummary, Plot: &chart.Bars{Axis: axis, Rows: rows, Lines: lines}}
	return document.PictureBlock{Picture: harm.explain(summary), Headed: true}, true
}

const maxHeatRows = 80

// HeatMap draws a map with the ratio of each driver in each table. ok is false if the map would
// have fewer than two rows or columns.
func (s scope) HeatMap() (p document.PictureBlock, ok bool) {
	h := &chart.Heat{Format: document.Times}
	columns := map[string]int{}
	shown, _ := s.shownDrivers()
	harm := marker{harmful: s.harmful}
	for _, d := range conditions.DriverOrder(s.a) {
		if !shown[d.Case.Driver] {
			continue
		}
		columns[d.Case.Driver] = len(h.Columns)
		h.Columns = append(h.Columns, harm.name(conditions.Name(d), d.Case.Driver))
	}
	floor := true
	more := 0
	for g, t := range s.a.Tables() {
		n := g.Named(t)
		if len(s.of(t, t.Measured())) == 0 || t.Base < 0 {
			continue
		}
		if len(h.Rows) == maxHeatRows {
			more++
			continue
		}
		floor = floor && t.IsFloor
		row := unmeasured(len(h.Columns))
		for _, c := range s.of(t, t.Cells) {
			x := s.heatCell(c, t.Phase, n.String())
			if x.Reason == "" && c.TooShort() {
				x.Reason = "too short to judge by"
			}
			row[columns[c.Case.Driver]] = x
		}
		h.Rows, h.Cells = append(h.Rows, n.String()), append(h.Cells, row)
	}
	if len(h.Rows) < 2 || len(h.Columns) < 2 {
		return document.PictureBlock{}, false
	}
	base := "the fastest"
	if floor {
		base = s.a.Floor
	}
	h.Below, h.Above = "faster than "+base, "slower than "+base
	note := "A ratio is a kind of median (the Hodges-Lehmann estimate) of the rounds' ratios. Hatched cells have no reliable figure."
	if more > 0 {
		note += fmt.Sprintf(" Another %s are only in the report's tables.", document.Counted(int64(more), "cell"))
	}
	ratios := document.Picture{Name: "phases", Kind: document.KindRatios, Title: "Time of each driver in each cell, × " + base, Note: note, Plot: h}
	return document.PictureBlock{Picture: harm.explain(ratios)}, true
}

func unmeasured(cells int) []chart.Cell {
	return slices.Repeat([]chart.Cell{{Reason: "not measured"}}, cells)
}

// heatCell returns a cell of the heat map: the ratio, or why there is no ratio.
func (s scope) heatCell(c *stats.Cell, phase, name string) chart.Cell {
	x := chart.Cell{Link: s.link(c.Case.ID, phase), Tip: name}
	switch {
	case c.Status != result.OK:
		x.Reason = string(c.Status)
	case c.Ratio == nil || c.Ratio.N == 0:
		x.Reason = "no ratio"
	default:
		x.Value, x.Reason = c.Ratio.Median, c.Unranked
		x.Tip = document.JoinKnown("\n", name, document.Interval(c.Ratio.Interval), document.Counted(int64(c.Ratio.N), "round"))
	}
	return x
}

func (s scope) latencyPictures(n stats.TableName, cells []*stats.Cell) (list []document.PictureBlock) {
	var operations conditions.Groups[string, latencyRow]
	for _, r := range latencyRows(cells, latencyFigures) {
		operations.Add(r.operation, r)
	}
	axis := chart.Axis{Label: "latency, less is better", Format: document.SecondsOf(""), Tick: document.Ticks(document.SecondsOf(""))}
	for _, op := range operations.Keys {
		var series []chart.Distribution
		curve := false // whether a distribution has enough points for a curve
		shown := document.Map(operations.Of[op], func(r latencyRow) *stats.Cell { return r.cell })
		looks, harm := s.ofCells(shown), s.marker(&stats.Table{Cells: cells})
		for i, r := range operations.Of[op] {
			d := chart.Distribution{Name: harm.name(conditions.Name(r.cell.Outcome), r.cell.Case.Driver), Look: looks[i], Link: s.link(r.cell.Case.ID, n.Phase)}
			each := float64(r.count) / float64(max(len(r.cell.Samples), 1))
			for i, f := range latencyFigures {
				// If less than one operation is beyond the percentile, the percentile is just the
				// maximum.
				if f.percent == 100 || each*(100-f.percent)/100 >= 1 {
					d.Points = append(d.Points, chart.Percentile{Percentile: f.percent, Value: r.figures[i], Tip: r.sure[i]})
				}
			}
			series, curve = append(series, d), curve || len(d.Points) >= chart.CurvePoints
		}
		if !curve {
			continue
		}
		title := n.String() + ": latency"
		if len(operations.Keys) > 1 || op != n.Phase {
			title += " of " + op
		}
		list = append(list, document.PictureBlock{Picture: harm.explain(document.Picture{Name: document.Slug(n.String() + " latency " + op), Title: title, Kind: document.KindLatency, Of: n,
			Note: "Each percentile is the median over the trials; the right end is the maximum of all trials. A latency is of " + latencyFrom(cells) + ".",
			Plot: &chart.Percentiles{Axis: axis, Series: series}})})
	}
	return list
}

// barName returns the name of a bar. The name of the floor (plain C) has no version, because the floor
// is not a driver that readers can choose.
func barName(o *stats.Outcome, isFloor bool) string {
	if isFloor && o.As == "" {
		return conditions.Label(o.Case)
	}
	return conditions.Name(o)
}

func floorMeans(name string) string {
	return name + " is plain C: the same work with as little as possible between it and SQLite. It is not a choice, and so has no rank."
}

// ratioTip formats the ratio of a cell to the base (usually plain C), for a tooltip. It returns ""
// for the base itself and for a cell without a ratio.
func ratioTip(c *stats.Cell, t *stats.Table) string {
	if t.Base < 0 || c == t.Cells[t.Base] || c.Ratio == nil || c.Ratio.N == 0 {
		return ""
	}
	by := document.SlowerBy(*c.Ratio)
	return document.Than(by, conditions.Name(t.Cells[t.Base].Outcome)) + strings.TrimPrefix(document.Slower(*c.Ratio), by)
}

// timeFormat returns a function that formats the times of a table.
func timeFormat(t *stats.Table, measured []*stats.Cell) func(float64) string {
	return document.SecondsOf(strings.TrimPrefix(conditions.TimeUnit(t, measured[0]), "s"))
}

// orderPicture draws the samples of a table in the order in which they were measured. If the
// parameter "plain" is true, the picture has no tooltips.
func (s scope) orderPicture(n stats.TableName, t *stats.Table, plain bool) document.PictureBlock {
	measured := s.of(t, t.Measured())
	looks, harm := s.ofCells(measured), s.marker(t)
	format := timeFormat(t, measured)
	var series []chart.Samples
	for i, c := range measured {
		one := chart.Samples{Name: harm.name(conditions.Name(c.Outcome), c.Case.Driver), Look: looks[i]}
		for _, trial := range c.Trials {
			if v := conditions.SampleValue(trial, t); !math.IsNaN(v) {
				tip := fmt.Sprintf("round %d", trial.Round)
				if trial.Repeated {
					tip += ", disturbed: it doesn't count"
				}
				one.Points = append(one.Points, chart.Sample{X: float64(trial.Order), Y: v, Tip: tip, Link: s.link(c.Case.ID, t.Phase)})
			}
		}
		series = append(series, one)
	}
	behind := document.Document{document.Paragraph{Text: "Each driver's samples, round by round, are near the end of the page: \"" + samplesHeading + "\".", Quiet: true}}
	return document.PictureBlock{Aside: true, Behind: behind, Picture: harm.explain(document.Picture{Name: document.Slug(n.String() + " order"), Title: n.String() + ": samples in the order measured", Kind: document.KindSamples, Of: n,
		Note: "A machine that gets slower or faster, and neighbors that come and go, are seen here in all drivers at once.",
		Plot: &chart.Order{Series: series, Plain: plain, X: chart.Axis{Label: "trial of the run"},
			Y: chart.Axis{Label: "time, less is better", Format: format, Tick: document.Ticks(format)}}})}
}

func (s scope) errorPictures(n stats.TableName, t *stats.Table) (list []document.PictureBlock) {
	var parts []string
	type row struct {
		cell   *stats.Cell
		errors []protocol.ErrorCount
	}
	var rows []row
	for _, c := range s.of(t, t.Measured()) {
		r := row{c, conditions.Totals(c, func(s stats.Sample) []protocol.ErrorCount { return s.Errors })}
		rows = append(rows, r)
		for _, e := range r.errors {
			parts = distinct.Append(parts, e.Name)
		}
	}
	if parts == nil {
		return nil
	}
	slices.Sort(parts)
	looks, harm := s.ofCells(s.of(t, t.Measured())), s.marker(t)
	add := func(kind, title string, axis chart.Axis, of func(protocol.ErrorCount) float64, text func(*stats.Cell, float64) string) {
		var sums []chart.Sum
		for i, r := range rows {
			x := chart.Sum{Name: harm.name(conditions.Name(r.cell.Outcome), r.cell.Case.Driver), Look: looks[i], Values: make([]float64, len(parts)), Link: s.link(r.cell.Case.ID, t.Phase), Tip: errorTip(r.cell)}
			sum := 0.0
			for _, e := range r.errors {
				v := of(e)
				x.Values[slices.Index(parts, e.Name)] += v
				sum += v
			}
			x.Text = text(r.cell, sum)
			sums = append(sums, x)
		}
		list = append(list, document.PictureBlock{Picture: harm.explain(document.Picture{Name: document.Slug(n.String() + " " + kind), Title: n.String() + ": " + title, Kind: document.KindErrors, Of: n,
			Plot: &chart.Stacks{Axis: axis, Parts: parts, Rows: sums}})})
	}
	add("errors", "operations that failed, all trials together", chart.Axis{Label: "operations, fewer are better", Format: document.Human},
		func(e protocol.ErrorCount) float64 { return float64(e.Count) },
		func(c *stats.Cell, _ float64) string {
			failed, operations := c.Failures()
			return fmt.Sprintf("%s, %s ok", document.Thousands(failed), document.PercentOK(failed, operations))
		})
	add("waits", "time spent in operations that failed", chart.Axis{Label: "time, less is better", Format: document.SecondsOf(""), Tick: document.Ticks(document.SecondsOf(""))},
		func(e protocol.ErrorCount) float64 { return float64(e.WaitNS) / 1e9 },
		func(_ *stats.Cell, sum float64) string { return document.SecondsOf("")(sum) })
	return list
}

func errorTip(c *stats.Cell) string {
	var retries int64
	for _, s := range c.Samples {
		retries += s.Retries
	}
	if retries == 0 {
		return ""
	}
	return document.Counted(retries, "repeated attempt")
}
