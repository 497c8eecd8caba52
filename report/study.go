package report

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/sqlite3perf/sqlite3perf/stats"
	"github.com/sqlite3perf/sqlite3perf/study"
)

// studyDocument is the report of a run that measured a study again: in the
// study's own tables, with its claims.
func studyDocument(a *stats.Analysis, r *study.Report) document {
	d := header(a)
	title, corrected := "Study "+r.Name+", corrected", "corrected"
	if r.AsPublished {
		title, corrected = "Study "+r.Name+", AS PUBLISHED, faults included", "fault"
	}
	d = append(d, heading{2, title}, paragraph{text: "published: " + r.Published})
	for _, n := range r.Notes {
		d = append(d, paragraph{text: n})
	}
	for i := range r.Tables {
		d = append(d, studyTable(&r.Tables[i])...)
		var below list
		if c := r.Tables[i].Corrected; len(c) > 0 {
			below = append(below, item{label: corrected, text: strings.Join(c, "; "), alarm: r.AsPublished})
		}
		if n := r.Tables[i].Notes; len(n) > 0 {
			below = append(below, item{label: "note", text: strings.Join(n, "; ")})
		}
		for _, w := range r.Tables[i].Warnings {
			below = append(below, item{label: "warning", text: w, alarm: true})
		}
		if len(below) > 0 {
			d = append(d, below)
		}
	}
	d = append(d, claims(r)...)
	if n := unbegun(a); n > 0 {
		d = append(d, space{}, list{{label: string(stats.NotMeasured), text: fmt.Sprintf("%s: the run ended before their first trial", counted(int64(n), "case")), alarm: true}})
	}
	for _, g := range a.Groups {
		// The first two stand below the tables.
		if t := troubles(g, "ceiling", "late", stats.NoTrial); len(t) > 0 {
			title := g.Workload
			if v := g.Variant(); v != "" {
				title += " · " + v
			}
			d = append(d, heading{3, title}, t[len(t)-1])
		}
	}
	d = append(d, drivers(a)...)
	return append(d, space{}, paragraph{fmt.Sprintf("Published figures are the study's own, of its machine and its versions. Measured ones are medians over n trials, each in a "+
		"fresh process on a fresh database; ± is the farther end of the %s confidence interval%s. A claim's figure is the Hodges-Lehmann estimate of the rounds' "+
		"ratios; p is of the signed-rank test of these ratios, adjusted by Benjamini-Hochberg over all claims.", percent(a.Confidence), ofRatios(a.Confidence)), true})
}

// unbegun counts the cases that the run has not come to.
func unbegun(a *stats.Analysis) (n int) {
	for _, g := range a.Groups {
		for _, o := range g.Outcomes {
			if o.Reason != nil && o.Reason.Code == stats.NoTrial {
				n++
			}
		}
	}
	return n
}

// studyTable is a table with its heading.
func studyTable(t *study.Table) document {
	g := grid{rows: make([][]string, len(t.Rows)), leaders: make([]bool, len(t.Rows))}
	unit := t.Columns[0].Unit // that of all columns stands in the heading
	for _, c := range t.Columns {
		if c.Unit != unit {
			unit = ""
		}
	}
	for i, l := range t.Labels {
		g.columns = append(g.columns, column{title: l})
		for j := range t.Rows {
			g.rows[j] = append(g.rows[j], t.Rows[j].Labels[i])
		}
	}
	for i, c := range t.Columns {
		figures := make([]study.Figure, len(t.Rows))
		for j := range t.Rows {
			figures[j] = t.Rows[j].Figures[i]
		}
		title := c.Title
		if unit == "" {
			title = strings.TrimSpace(title + " " + c.Unit)
		}
		g.columns = append(g.columns, column{title: title, right: true})
		for j, w := range studyFigures(figures, c) {
			g.rows[j] = append(g.rows[j], w)
		}
	}
	title := t.Title
	if unit != "" {
		title += ", " + unit
	}
	return document{heading{3, title}, g}
}

// studyFigures formats a column.
func studyFigures(figures []study.Figure, c study.Column) []string {
	words, spreads := make([]string, len(figures)), make([]string, len(figures))
	for i, f := range figures {
		switch {
		case f.Value != nil:
			words[i] = significant(*f.Value)
		case f.Text == "":
			words[i] = absent
		}
		words[i] = strings.TrimSpace(words[i] + " " + f.Text)
		if f.Value != nil && !c.Published && c.Statistic == "median" && (f.Interval != nil || f.N < stats.MinSamples) {
			spreads[i] = spread(stats.Summary{N: f.N, Median: *f.Value, Interval: f.Interval})
		}
	}
	return besides(words, spreads)
}

// significant formats a figure with four significant digits, whole numbers from
// 1000 on with all of theirs.
func significant(v float64) string {
	switch a := math.Abs(v); {
	case a >= 999.95 || v == math.Trunc(v):
		return thousands(int64(math.Round(v)))
	default:
		return strconv.FormatFloat(v, 'f', min(3-int(math.Floor(math.Log10(a))), 9), 64)
	}
}

// claims lists the claims with their verdicts, and below them what they rest on.
func claims(r *study.Report) document {
	if len(r.Claims) == 0 {
		return nil
	}
	g := grid{columns: []column{{title: "#", right: true}, {title: "verdict"}, {title: "here"}, {title: "95% interval"}, {title: "claimed"}, {title: "p", right: true}, {title: "compared"}}}
	var l, missing list
	for i, c := range r.Claims {
		number := fmt.Sprint(i + 1)
		how := ""
		if c.AnyOf {
			how = " (one of the comparisons is enough)"
		}
		l = append(l, item{label: string(c.Verdict), text: number + ". " + c.Claim + how, alarm: c.Verdict == study.DoesNotHold})
		for j := range c.Comparisons {
			x := &c.Comparisons[j]
			here, interval, p := absent, absent, absent
			if x.Summary != nil {
				here = claimFigure(x.Median, x.Unit)
				if x.Interval != nil {
					interval = claimBound(x.Interval.Low, x.Unit) + " to " + claimBound(x.Interval.High, x.Unit)
				}
			}
			if x.Test != nil {
				p = probability(x.Test.Adjusted)
			}
			hidden := x.Why != "" && x.Why != study.NotToldApart && x.Why != study.AcrossBound
			if x.Summary == nil || hidden && (x.Unit != "" || x.Interval != nil) {
				missing = append(missing, item{label: "claim " + number, text: x.What + ": " + x.Why})
			}
			g.rows = append(g.rows, []string{number, string(x.Verdict), here, interval, x.Wanted(), p, x.What})
			g.leaders = append(g.leaders, x.Verdict == study.Holds)
		}
	}
	d := document{heading{2, "Claims"}, l, space{}, g}
	if len(missing) > 0 {
		d = append(d, missing)
	}
	return d
}

func claimFigure(v float64, unit string) string {
	if unit == "" {
		return times(v)
	}
	return human(v) + " " + unit
}

// claimBound is an end of an interval, whose unit stands beside the figure.
func claimBound(v float64, unit string) string {
	if unit == "" {
		return times(v)
	}
	return human(v)
}
