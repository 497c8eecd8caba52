package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/sqlite3perf/sqlite3perf/internal/chart"
	"github.com/sqlite3perf/sqlite3perf/internal/conditions"
	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
)

// This file has the pictures of runs that vary settings or parameters: throughput over a numeric
// factor, and maps of several factors.

type variedCell struct {
	cell   *stats.Cell
	values []stats.Variation // values of the workload's factors, in the order of the factors
}

func variedCells(a *stats.Analysis, workload, phase string) (list []variedCell) {
	for g, t := range a.Tables() {
		if g.Workload == workload && t.Phase == phase {
			for _, c := range t.Measured() {
				list = append(list, variedCell{c, g.Varied})
			}
		}
	}
	return list
}

const maxSeries = 10

// scalingPictures returns pictures of throughput and of the latency's tail over each numeric factor
// with at least three values. Each combination of the other factors' values gets its own line or,
// if there are too many lines, its own picture.
func (s scope) scalingPictures(f *stats.Factorial, phase string) (list []document.PictureBlock) {
	cells := slices.DeleteFunc(variedCells(s.a, f.Workload, phase), func(c variedCell) bool { return !s.only(c.cell.Case, phase) })
	if len(cells) == 0 {
		return nil
	}
	harm := marker{harmful: s.harmful}
	for i, factor := range f.Factors {
		if factor.Follows || !numeric(factor) {
			continue
		}
		var series conditions.Groups[string, variedCell] // cells by driver and the other factors' values
		var others conditions.Groups[string, string]     // names of series by the other factors' values
		for _, c := range cells {
			other := otherValues(f, c.values, i)
			line := harm.name(conditions.Name(c.cell.Outcome), c.cell.Case.Driver)
			if len(f.Drivers) == 1 {
				line, harm.used = "", false
			}
			key := strings.TrimSpace(line + " " + other)
			if series.Of[key] == nil {
				others.Add(other, key)
			}
			series.Add(key, c)
		}
		parts := conditions.Groups[string, string]{Keys: []string{""}, Of: map[string][]string{"": series.Keys}}
		if len(series.Keys) > maxSeries {
			parts = others
		}
		for _, part := range parts.Keys {
			var lines [][]variedCell
			names := parts.Of[part]
			for _, key := range names {
				lines = append(lines, series.Of[key])
			}
			if p, ok := s.scalingPicture(f, phase, i, part, names, lines); ok {
				p.Picture = harm.explain(p.Picture)
				list = append(list, p)
			}
		}
	}
	return list
}

func numeric(f stats.Factor) bool {
	for _, v := range f.Values {
		if n, err := strconv.ParseFloat(v.Value, 64); err != nil || v.Unset || n <= 0 || math.IsInf(n, 0) {
			return false
		}
	}
	return len(f.Values) >= 3
}

// otherValues lists the values of all independent factors except the factor with the index "but".
func otherValues(f *stats.Factorial, values []stats.Variation, but int) string {
	var words []string
	for i, v := range values {
		if i != but && !f.Factors[i].Follows {
			words = append(words, v.String())
		}
	}
	return strings.Join(words, " ")
}

// concurrency lists the parameters and settings that say how many clients or threads work at once.
// The universal scalability law, a formula for throughput under concurrency, applies to them.
var concurrency = []string{"clients", "connections", "goroutines", "pool", "pool_size", "readers", "threads", "workers", "writers"}

func (s scope) scalingPicture(f *stats.Factorial, phase string, factor int, part string, names []string, lines [][]variedCell) (p document.PictureBlock, ok bool) {
	_, unit := work(lines[0][0].cell.Samples[0].Sample)
	perSecond := func(v float64) string { return document.Human(v) + " " + unit }
	top, tail := make([]chart.Series, len(lines)), make([]chart.Series, len(lines))
	varied := f.Factors[factor].Name
	fits := slices.Contains(concurrency, varied)
	var notes []string
	failed, tails := false, false
	looks := s.ofLines(lines)
	var all []*stats.Cell
	for i, line := range lines {
		slices.SortStableFunc(line, func(x, y variedCell) int { return cmp.Compare(valueOf(x, factor), valueOf(y, factor)) })
		top[i].Name, tail[i].Name, top[i].Look = names[i], names[i], looks[i]
		for _, c := range line {
			all = append(all, c.cell)
			x, rate, link := valueOf(c, factor), cellRate(c.cell), s.link(c.cell.Case.ID, phase)
			at := chart.Point{X: x, Link: link, Tip: document.JoinKnown("\n", document.Counted(int64(rate.N), "sample"), failures(c.cell))}
			at.Y, at.Low, at.High = document.OfSummary(rate)
			top[i].Points = append(top[i].Points, at)
			if p99 := summary(c.cell, slowestP99); p99.Median > 0 {
				tails = true
				at := chart.Point{X: x, Link: link, Tip: document.Counted(int64(p99.N), "sample")}
				at.Y, at.Low, at.High = document.OfSummary(p99)
				tail[i].Points = append(tail[i].Points, at)
			}
			failed = failed || failures(c.cell) != ""
		}
		if fits {
			if note := fitLaw(&top[i], line, factor, perSecond); note != "" {
				notes = append(notes, note)
			}
		}
	}
	if !slices.ContainsFunc(top, func(s chart.Series) bool { return len(s.Points) >= 3 }) {
		return document.PictureBlock{}, false
	}
	title := fmt.Sprintf("%s %s: throughput over %s", f.Workload, phase, varied)
	if part != "" {
		title += ", " + part
	}
	kind := KindOfP99(all)
	note := "Throughput is the work divided by the median time, with its interval."
	if tails {
		note += " Below is the 99th percentile of the latency of " + kind + "."
	}
	if failed {
		note += " Operations that failed are included."
	}
	if notes != nil {
		note += " Dashed is the universal scalability law (Gunther 2007), which says when more at once is slower: " + strings.Join(notes, "; ") + "."
	}
	plot := &chart.Lines{Series: top, X: chart.Axis{Label: varied, Format: document.Human},
		Y: chart.Axis{Label: unit + ", more is better", Format: perSecond, Tick: document.Ticks(perSecond)}}
	if tails {
		y := chart.Axis{Label: "p99 of " + kind + ", less is better", Format: document.SecondsOf(""), Tick: document.Ticks(document.SecondsOf(""))}
		plot.Tail = &chart.Tail{Y: y, Series: tail}
	}
	return document.PictureBlock{Picture: document.Picture{Name: document.Slug(f.Workload + " " + phase + " by " + varied + " " + part),
		Title: title, Note: note, Kind: document.KindScaling, Of: stats.TableName{Workload: f.Workload, Phase: phase}, Plot: plot}}, true
}

// ofLines returns the looks (colors and marks) of the lines in a scaling picture. In a run of one
// driver each line mixes variants, so its look depends on the line's position only.
func (l looks) ofLines(lines [][]variedCell) []chart.Look {
	if len(l.drivers) == 1 {
		return make([]chart.Look, len(lines))
	}
	cells := document.Map(lines, func(line []variedCell) *stats.Cell { return line[0].cell })
	return l.ofCells(cells)
}

func valueOf(c variedCell, factor int) float64 {
	v, _ := strconv.ParseFloat(c.values[factor].Value, 64)
	return v
}

func failures(c *stats.Cell) string {
	failed, operations := c.Failures()
	if failed == 0 {
		return ""
	}
	return document.PercentOK(failed, operations) + " ok"
}

// mostOff limits the difference between measured throughput and the fitted universal scalability
// law (a formula for throughput under concurrency), as a share of the measured value. If the
// difference is larger, the throughput does not follow the law, and no peak is named.
const mostOff = 0.25

// fitLaw fits the universal scalability law to a line, and adds the fitted curve and its peak to s.
// It returns a text that says where the peak is, or why no peak is named. It returns "" if there
// are too few points.
//
// Any noisy line has some peak. So fitLaw also fits each round by itself. It names and marks a peak
// only if the rounds show that throughput falls at the largest measured value of the factor, and if
// they agree on where the peak is.
func fitLaw(s *chart.Series, line []variedCell, factor int, perSecond func(float64) string) string {
	var medians []stats.Throughput
	rounds := map[int][]stats.Throughput{}
	for i, at := range s.Points {
		medians = append(medians, stats.Throughput{Clients: at.X, PerSecond: at.Y})
		for _, x := range line[i].cell.Samples {
			perSecond, _ := Rate(x.Sample)
			rounds[x.Round] = append(rounds[x.Round], stats.Throughput{Clients: valueOf(line[i], factor), PerSecond: perSecond})
		}
	}
	law, ok := stats.FitScaling(medians)
	if !ok {
		return ""
	}
	if law.Worst > mostOff {
		return fmt.Sprintf("%s does not follow it, the nearest fit is up to %s off", cmp.Or(s.Name, "this"), document.Percent(law.Worst))
	}
	first, last := s.Points[0].X, s.Points[len(s.Points)-1].X
	var peaks, falls []float64
	for _, points := range rounds {
		if len(points) == len(medians) {
			each, ok := stats.FitScaling(points)
			fall, too := stats.Falling(points, last)
			if ok && too {
				peaks, falls = append(peaks, each.Peak()), append(falls, fall)
			}
		}
	}
	const steps = 60
	for i := range steps + 1 {
		x := first * math.Pow(last/first, float64(i)/steps)
		s.Fit = append(s.Fit, chart.Point{X: x, Y: law.At(x)})
	}
	who := cmp.Or(s.Name, "this")
	off := fmt.Sprintf("contention %s, coherency %s, no point farther off than %s", document.Percent(law.Sigma), document.Percent(law.Kappa), document.Percent(law.Worst))
	peak, sure, falling := law.Peak(), stats.Summarize(peaks).Interval, stats.Summarize(falls).Interval
	switch {
	case sure == nil:
		return fmt.Sprintf("%s has too few rounds to tell a peak (%s)", who, off)
	case falling.Low <= 0 || sure.High >= last || peak < sure.Low || peak > sure.High:
		return fmt.Sprintf("%s has no clear peak up to %s (%s)", who, document.Human(last), off)
	case sure.High == 1:
		return fmt.Sprintf("%s gains nothing from more at once (%s)", who, off)
	}
	one := func(v float64) string { return document.Number(math.Round(v*10) / 10) }
	s.Peak = &chart.Point{X: peak, Y: law.At(peak), Tip: strings.TrimSpace("peak " + s.Name + " " + one(peak))}
	return fmt.Sprintf("%s peaks at %s (%s to %s) with %s (%s)", who, one(peak), one(sure.Low), one(sure.High), perSecond(law.At(peak)), off)
}

// settingsMap draws a table of several factors as a map. Each cell has the ratio of one row to the
// fastest row. ok is false if the map would have fewer than two rows or columns.
func (s scope) settingsMap(f *stats.Factorial, t *stats.Table) (p document.PictureBlock, ok bool) {
	column := -1
	for i, x := range f.Factors {
		if !x.Follows && (column < 0 || len(x.Values) >= len(f.Factors[column].Values)) {
			column = i
		}
	}
	if column < 0 {
		return document.PictureBlock{}, false
	}
	h := &chart.Heat{Format: document.Times, Below: "faster", Above: "slower than the fastest", Columns: document.Map(f.Factors[column].Values, stats.Variation.String)}
	varied := map[int][]stats.Variation{} // values of the factors, by id of the case
	for g, o := range s.a.OutcomesByGroup() {
		varied[o.Case.ID] = g.Varied
	}
	for _, c := range s.of(t, t.Cells) {
		values := varied[c.Case.ID]
		row := otherValues(f, values, column)
		if len(f.Drivers) > 1 {
			row = strings.TrimSpace(c.Case.Driver + " " + row)
		}
		i := slices.Index(h.Rows, row)
		if i < 0 {
			i = len(h.Rows)
			h.Rows, h.Cells = append(h.Rows, row), append(h.Cells, unmeasured(len(h.Columns)))
		}
		h.Cells[i][slices.Index(f.Factors[column].Values, values[column])] = s.heatCell(c, t.Phase, conditions.Name(c.Outcome))
	}
	if len(h.Rows) < 2 || len(h.Columns) < 2 {
		return document.PictureBlock{}, false
	}
	n := stats.TableName{Workload: f.Workload, Phase: t.Phase}
	return document.PictureBlock{Picture: document.Picture{Name: document.Slug(n.String() + " settings"),
		Title: n.String() + ": time, × the fastest", Kind: document.KindSettings, Of: n, Plot: h}}, true
}
