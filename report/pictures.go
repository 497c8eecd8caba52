package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/perf/benchunit"

	"github.com/sqlite3perf/sqlite3perf/chart"
	"github.com/sqlite3perf/sqlite3perf/result"
	"github.com/sqlite3perf/sqlite3perf/stats"
)

// Picture is a chart of a run.
type Picture struct {
	Name  string // by which it can be asked for: no other picture of the run has it
	Title string
	Note  string // how to read it; "" if that is plain

	draw func(width int, title string) chart.Chart
}

// Chart returns the picture with its title, so many pixels wide. 0 means [chart.Page].
func (p Picture) Chart(width int) chart.Chart { return p.draw(width, p.Title) }

// Pictures returns the pictures of a run: those of its page, in the same order.
func Pictures(a *stats.Analysis, o Options) []Picture { return pageOf(a, o).pictures() }

func (d document) pictures() (list []Picture) {
	for _, b := range d {
		switch b := b.(type) {
		case picture:
			list = append(list, b.Picture)
		case details:
			list = append(list, b.body.pictures()...)
		}
	}
	return list
}

// tablePicture returns the name of the picture of a table. It can be typed into a shell.
func tablePicture(n stats.TableName) string { return slug(n.String()) }

// pictureID returns by what a page refers to a picture.
func pictureID(name string) string { return "picture-" + name }

// tableBars ranks the rows of a table: their times with intervals, and the floor as a line.
// Rows without figures say why.
func tableBars(n stats.TableName, t *stats.Table) picture {
	measured := t.Measured()
	title := n.String() + ": " + subject(measured)
	axis := chart.Axis{Label: "time, less is better", Format: secondsOf(perOperationWord(t, measured))}
	if measured[0].Samples[0].Metric == result.MetricLatency {
		axis.Label = "99th percentile of the latency, less is better"
	}
	var rows []chart.Bar
	for _, c := range t.Cells {
		if c.Status == stats.NotMeasured && len(c.Trials) == 0 {
			continue // the run ended before its first trial
		}
		b := chart.Bar{Name: name(c.Outcome), Rank: rankOf(c.Standing), Link: caseLink(c.Case)}
		if c.Status != result.OK {
			b.Reason = string(c.Status)
			if c.Reason != nil {
				b.Reason += ": " + c.Reason.Message
			}
			rows = append(rows, b)
			continue
		}
		b.Value, b.Low, b.High = ofSummary(c.Summary)
		b.Text = axis.Format(c.Summary.Median) + " " + ends(c.Summary)
		b.Reason = c.Unranked
		b.Tip = tips(counted(int64(c.Summary.N), "sample"), ratioTip(c, t), tiedTip(c.Standing, t.Cells))
		rows = append(rows, b)
	}
	var lines []chart.Mark
	if t.IsFloor && len(measured) > 1 {
		floor := measured[t.Base]
		lines = []chart.Mark{{Value: floor.Summary.Median, Label: "floor: " + label(floor.Case)}}
	}
	return picture{Picture: Picture{Name: tablePicture(n), Title: title,
		draw: func(width int, title string) chart.Chart {
			return &chart.Bars{Title: title, Width: width, Axis: axis, Rows: rows, Lines: lines}
		}}}
}

// overallBars ranks the drivers over all tables of a run.
func overallBars(a *stats.Analysis, to string) picture {
	o := a.Overall
	axis := chart.Axis{Label: "time, × " + to + ", less is better", Format: times}
	var rows []chart.Bar
	names := map[int]string{}
	for _, g := range a.Groups {
		for _, x := range g.Outcomes {
			names[x.Case.ID] = name(x)
		}
	}
	for _, d := range o.Drivers {
		b := chart.Bar{Name: names[d.Case.ID], Rank: rankOf(d.Standing)}
		if d.Ratio.N == 0 {
			b.Reason = "no round has figures in all tables"
		} else {
			b.Value, b.Low, b.High = ofSummary(d.Ratio)
			b.Text = times(d.Ratio.Median)
			if d.Case.Driver != o.Base {
				b.Text += " " + ends(d.Ratio)
			}
			b.Tip = counted(int64(d.Ratio.N), "round")
		}
		rows = append(rows, b)
	}
	var lines []chart.Mark
	if o.IsFloor {
		lines = []chart.Mark{{Value: 1, Label: "floor: " + to}}
	}
	return picture{Picture: Picture{Name: "summary", Title: fmt.Sprintf("Time over %s, × %s", counted(int64(len(o.Tables)), "table"), to),
		Note: fmt.Sprintf("Geometric mean of each driver's ratios to %s over %s, with %s intervals. Bars that share no sign of a difference are ties: = after a rank.",
			to, counted(int64(len(o.Tables)), "table"), percent(a.Confidence)),
		draw: func(width int, title string) chart.Chart {
			return &chart.Bars{Title: title, Width: width, Axis: axis, Rows: rows, Lines: lines}
		}}}
}

// rankOf formats a rank, with a = if another row is tied with it.
func rankOf(s stats.Standing) string {
	switch {
	case s.Rank == 0:
		return ""
	case len(s.Tied) > 0:
		return fmt.Sprintf("%d=", s.Rank)
	}
	return fmt.Sprint(s.Rank)
}

// tiedTip says what a row is tied with. It returns "" if that is nothing.
func tiedTip(s stats.Standing, cells []*stats.Cell) string {
	var names []string
	for _, j := range s.Tied {
		names = append(names, name(cells[j].Outcome))
	}
	if names == nil {
		return ""
	}
	return "tied with " + someOf(names, 4)
}

// ratioTip formats the ratio of a cell to the base of its table. It returns "" if the cell
// is the base, or has no ratio.
func ratioTip(c *stats.Cell, t *stats.Table) string {
	if t.Base < 0 || c == t.Cells[t.Base] || c.Ratio == nil || c.Ratio.N == 0 {
		return ""
	}
	return fmt.Sprintf("%s the time of %s %s", times(c.Ratio.Median), name(t.Cells[t.Base].Outcome), interval(c.Ratio.Interval))
}

// tips joins the lines of a tip that are not empty.
func tips(lines ...string) string {
	return strings.Join(slices.DeleteFunc(lines, func(s string) bool { return s == "" }), "\n")
}

// ofSummary returns a summary as charts take it. Without an interval both ends are 0.
func ofSummary(s stats.Summary) (value, low, high float64) {
	if s.Interval == nil {
		return s.Median, 0, 0
	}
	return s.Median, s.Interval.Low, s.Interval.High
}

// perOperationWord returns what follows the unit of a table's times.
func perOperationWord(t *stats.Table, measured []*stats.Cell) string {
	if t.PerOp || measured[0].Samples[0].Metric == result.MetricTimePerOp {
		return "/op"
	}
	return ""
}

// secondsOf returns a function that formats seconds, with a word after the unit.
func secondsOf(word string) func(float64) string {
	return func(v float64) string {
		words, unit := scaled([]float64{v}, benchunit.Decimal, "s")
		return words[0] + " " + unit + word
	}
}

// slug makes a name of a text: small letters, digits and hyphens.
func slug(text string) string {
	var b strings.Builder
	for _, c := range strings.ToLower(text) {
		switch {
		case 'a' <= c && c <= 'z', '0' <= c && c <= '9':
			b.WriteRune(c)
		case b.Len() > 0 && !strings.HasSuffix(b.String(), "-"):
			b.WriteByte('-')
		}
		if b.Len() >= maxSlug {
			break
		}
	}
	return cmp.Or(strings.Trim(b.String(), "-"), "part")
}

// maxSlug is the most characters of a name that is made of a text.
const maxSlug = 100
