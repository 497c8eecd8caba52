package report

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/sqlite3perf/sqlite3perf/internal/conditions"
	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// Study has the results of a run that measured a published study: the study's tables with measured
// figures, and its claims.
type Study struct {
	Name        string       `json:"name"`
	AsPublished bool         `json:"as_published"`
	Published   string       `json:"published"`
	Notes       []string     `json:"notes"` // notes on the figures in all tables, such as their limits
	Tables      []StudyTable `json:"tables"`
	Claims      []Claim      `json:"claims"`
}

// StudyTable is a table in the form in which the study published it.
type StudyTable struct {
	Title   string        `json:"title"`
	Labels  []string      `json:"labels"` // titles of the columns that name a row
	Columns []StudyColumn `json:"columns"`
	Rows    []StudyRow    `json:"rows"`

	// Corrected lists faults of the study that this run's workload corrects. If the study's field
	// AsPublished is true, it lists the faults that this run repeats.
	Corrected []string `json:"corrected"`
	Notes     []string `json:"notes"`              // notes on the figures in this table, such as what was not reproduced
	Warnings  []string `json:"warnings,omitempty"` // reasons to doubt some of the figures
}

// StudyColumn is a column of figures.
type StudyColumn struct {
	Title     string `json:"title"`
	Unit      string `json:"unit,omitempty"`
	Published bool   `json:"published"` // true: the study published the figures; false: this run measured them
	Statistic string `json:"statistic,omitempty"`
}

// StudyRow is a row of a table. It has a label for each of the table's labels and a
// figure for each column.
type StudyRow struct {
	Labels  []string      `json:"labels"`
	Figures []StudyFigure `json:"figures"`
}

// StudyFigure is one figure of a table, or the reason why there is no figure.
type StudyFigure struct {
	Value    *float64        `json:"value,omitempty"`
	Interval *stats.Interval `json:"interval,omitempty"`
	N        int             `json:"n,omitempty"`    // number of samples
	Text     string          `json:"text,omitempty"` // text to show instead of Value; the reason if Value is missing
	Case     int             `json:"case,omitempty"` // id of the measured case in run.cases
	Phase    string          `json:"phase,omitempty"`
}

// Verdict says whether a claim holds in a run.
type Verdict string

// The verdicts.
const (
	Holds        Verdict = "holds"
	DoesNotHold  Verdict = "does not hold"
	CannotBeTold Verdict = "cannot be told"
)

// Words returns the verdict in the words of reports for people.
func (v Verdict) Words() string {
	if v == CannotBeTold {
		return "not known yet"
	}
	return string(v)
}

// Claim is a claim of a study, with the verdict of this run.
type Claim struct {
	Claim   string  `json:"claim"`
	Verdict Verdict `json:"verdict"`

	// AnyOf says that the claim holds if any of its comparisons holds. If AnyOf is false, all of them must
	// hold.
	AnyOf       bool         `json:"any_of,omitempty"`
	Comparisons []Comparison `json:"comparisons"`
}

// Comparison is a figure that a claim requires to be in a range.
type Comparison struct {
	What    string   `json:"what"`
	Unit    string   `json:"unit,omitempty"` // "" for a ratio
	AtLeast *float64 `json:"at_least,omitempty"`
	AtMost  *float64 `json:"at_most,omitempty"`

	// Summary is the median of the figure over the rounds, with its interval. A count is summed
	// over all trials and has no interval. Summary is nil if nothing was measured.
	*stats.Summary

	// Test says whether the two sides of a ratio differ significantly. Its p-value is corrected for the
	// number of comparisons in the study's claims.
	Test    *stats.Test `json:"test,omitempty"`
	Verdict Verdict     `json:"verdict"`
	Why     string      `json:"why,omitempty"` // why the comparison cannot be decided
}

// These are reasons why a comparison that has an interval cannot be decided.
const (
	NotToldApart = "there is no clear difference"
	AcrossBound  = "the interval reaches across the bound"
)

// Wanted returns the range that the claim requires, as text.
func (c *Comparison) Wanted() string {
	n := func(v float64) string {
		if c.Unit == "" {
			return strconv.FormatFloat(v, 'g', 3, 64) + "x"
		}
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	switch {
	case c.AtLeast != nil && c.AtMost != nil && *c.AtLeast == *c.AtMost:
		return n(*c.AtLeast)
	case c.AtLeast != nil && c.AtMost != nil:
		return n(*c.AtLeast) + " to " + n(*c.AtMost)
	case c.AtLeast != nil:
		return "at least " + n(*c.AtLeast)
	case c.AtMost != nil:
		return "at most " + n(*c.AtMost)
	}
	return ""
}

func studyTables(a *stats.Analysis, r *Study) (d document.Document) {
	d = studyTitle(r)
	for i := range r.Tables {
		d = append(d, studyTable(&r.Tables[i])...)
		d = append(d, studyNotes(r, &r.Tables[i]))
	}
	d = append(d, claims(r)...)
	return append(d, studyRest(a, r)...)
}

func studyTitle(r *Study) document.Document {
	title := "Study " + r.Name + ", corrected"
	if r.AsPublished {
		title = "Study " + r.Name + ", AS PUBLISHED, faults included"
	}
	d := document.Document{document.Heading{Level: 2, Text: title}, document.Paragraph{Text: "published: " + r.Published}}
	for _, n := range r.Notes {
		d = append(d, document.Paragraph{Text: n})
	}
	return d
}

func studyNotes(r *Study, t *StudyTable) (l document.List) {
	corrected := "corrected"
	if r.AsPublished {
		corrected = "fault"
	}
	l.Note(document.Item{Label: corrected, Text: strings.Join(t.Corrected, "; "), Alarm: r.AsPublished})
	l.Note(document.Item{Label: "note", Text: strings.Join(t.Notes, "; ")})
	for _, w := range t.Warnings {
		l = append(l, document.Item{Label: "warning", Text: w, Alarm: true})
	}
	return l
}

// studyRest returns the part of a report that follows a study's tables and claims: cases without
// figures, the drivers, and how to read the figures.
func studyRest(a *stats.Analysis, r *Study) (d document.Document) {
	if n := unbegun(a); n > 0 {
		d = append(d, document.Space{}, document.List{{Label: string(stats.NotMeasured), Text: fmt.Sprintf("%s: the run ended before their first trial", document.Counted(int64(n), "case")), Alarm: true}})
	}
	for _, g := range a.Groups {
		// Warnings with the first two codes are shown below the tables, and cases without a trial in the
		// list above. So they are not shown here.
		if t := conditions.Troubles(g, result.WarningCeiling, result.WarningLate, protocol.CodeNoTrial); len(t) > 0 {
			d = append(d, document.Heading{Level: 3, Text: groupTitle(g)}, t[len(t)-1])
		}
	}
	d = append(d, conditions.Drivers(a)...)
	words := "Published figures are the study's own, of its machine and its versions."
	if measuredAny(a) {
		words += fmt.Sprintf(" Measured ones are medians over n trials, each in a "+
			"fresh process on a fresh database; ± is the distance to the farther end of the %s confidence interval%s, which is too narrow if the machine drifts during the run.", document.Percent(stats.Confidence), ofLevel(a.Confidence))
		words += claimsJudgedBy(r)
	}
	return append(d, document.Space{}, document.Paragraph{Text: words, Quiet: true})
}

// claimsJudgedBy explains how the figures and p-values of claims were computed.
func claimsJudgedBy(r *Study) string {
	p := "p is of the signed-rank test of these ratios, adjusted by Benjamini-Hochberg over all claims."
	for _, c := range r.Claims {
		if slices.ContainsFunc(c.Comparisons, func(x Comparison) bool { return x.Test != nil && x.Test.FromT() }) {
			p = "p starts from a t test of these ratios, because the rounds are few, is adjusted by Benjamini-Hochberg over all claims, and is never less than that of the signed-rank test."
		}
	}
	return " A claim's figure is the middle of the rounds' ratios (the Hodges-Lehmann estimate, a kind of median), or the median if it isn't a ratio; " + p
}

func unbegun(a *stats.Analysis) (n int) {
	for _, o := range a.Outcomes() {
		if o.Reason != nil && o.Reason.Code == protocol.CodeNoTrial {
			n++
		}
	}
	return n
}

func studyTable(t *StudyTable) document.Document {
	var g document.Grid
	unit := t.Columns[0].Unit // the unit of all columns, which the heading then shows; "" if their units differ
	for _, c := range t.Columns {
		if c.Unit != unit {
			unit = ""
		}
	}
	for i, l := range t.Labels {
		g.Add(document.Column{Title: l}, document.Map(t.Rows, func(r StudyRow) string { return r.Labels[i] }))
	}
	for i, c := range t.Columns {
		figures := document.Map(t.Rows, func(r StudyRow) StudyFigure { return r.Figures[i] })
		title := c.Title
		if unit == "" {
			title = strings.TrimSpace(title + " " + c.Unit)
		}
		g.Add(document.Column{Title: title, Right: true}, studyFigures(figures, c))
	}
	title := t.Title
	if unit != "" {
		title += ", " + unit
	}
	return document.Document{document.Heading{Level: 3, Text: title}, g}
}

func studyFigures(figures []StudyFigure, c StudyColumn) []string {
	words, spreads := make([]string, len(figures)), make([]string, len(figures))
	for i, f := range figures {
		switch {
		case f.Value != nil:
			words[i] = significant(*f.Value)
		case f.Text == "":
			words[i] = document.Absent
		}
		words[i] = strings.TrimSpace(words[i] + " " + f.Text)
		if f.Value != nil && !c.Published && c.Statistic == "median" && (f.Interval != nil || f.N < stats.MinSamples) {
			spreads[i] = document.Spread(stats.Summary{N: f.N, Median: *f.Value, Interval: f.Interval})
		}
	}
	return document.WithSpreads(words, spreads)
}

// significant formats a figure with four significant digits. Whole numbers of 1000 or
// more have all their digits.
func significant(v float64) string {
	switch a := math.Abs(v); {
	case a >= 999.95 || v == math.Trunc(v):
		return document.Thousands(int64(math.Round(v)))
	default:
		return strconv.FormatFloat(v, 'f', min(3-int(math.Floor(math.Log10(a))), 9), 64)
	}
}

func claims(r *Study) document.Document {
	if len(r.Claims) == 0 {
		return nil
	}
	g := document.Grid{Columns: []document.Column{{Title: "#", Right: true}, {Title: "verdict"}, {Title: "here"}, {Title: document.Share(stats.Confidence) + " interval"}, {Title: "claimed"}, {Title: "p", Right: true}, {Title: "compared"}}}
	var l, missing document.List
	for i, c := range r.Claims {
		number := fmt.Sprint(i + 1)
		how := ""
		if c.AnyOf {
			how = " (one of the comparisons is enough)"
		}
		l = append(l, document.Item{Label: c.Verdict.Words(), Text: number + ". " + c.Claim + how, Alarm: c.Verdict == DoesNotHold})
		for j := range c.Comparisons {
			x := &c.Comparisons[j]
			here, interval, p := document.Absent, document.Absent, document.Absent
			if x.Summary != nil {
				here = strings.TrimSpace(claimBound(x.Median, x.Unit) + " " + x.Unit)
				if x.Interval != nil {
					interval = claimBound(x.Interval.Low, x.Unit) + " to " + claimBound(x.Interval.High, x.Unit)
				}
			}
			if x.Test != nil {
				p = document.Probability(x.Test.Adjusted)
			}
			hidden := x.Why != "" && x.Why != NotToldApart && x.Why != AcrossBound
			if x.Summary == nil || hidden && (x.Unit != "" || x.Interval != nil) {
				missing = append(missing, document.Item{Label: "claim " + number, Text: x.What + ": " + x.Why})
			}
			g.Rows = append(g.Rows, []string{number, x.Verdict.Words(), here, interval, x.Wanted(), p, x.What})
			g.Leaders = append(g.Leaders, x.Verdict == Holds)
		}
	}
	return document.Document{document.Heading{Level: 2, Text: "Claims"}, l, document.Space{}, g, missing}
}

// claimBound formats a figure of a claim without its unit.
func claimBound(v float64, unit string) string {
	if unit == "" {
		return document.Times(v)
	}
	return document.HumanTo(4, v) // four digits, because the figure is compared with a bound
}

// claimItems returns a line of the screen for each claim.
func claimItems(r *Study) (l document.List) {
	verdicts := map[Verdict]string{Holds: "holds", DoesNotHold: "not so", CannotBeTold: "not known"}
	for i, c := range r.Claims {
		var here []string
		for _, x := range c.Comparisons {
			if x.Summary != nil {
				here = append(here, strings.TrimSpace(claimBound(x.Median, x.Unit)+" "+x.Unit))
			}
		}
		t := fmt.Sprintf("%d. %s", i+1, c.Claim)
		if here != nil {
			t += ": here " + document.SomeOf(here, 2)
		}
		l = append(l, document.Item{Label: verdicts[c.Verdict], Text: t, Alarm: c.Verdict == DoesNotHold})
	}
	return l
}
