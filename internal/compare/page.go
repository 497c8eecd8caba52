package compare

import (
	"fmt"
	"slices"

	"github.com/sqlite3perf/sqlite3perf/internal/chart"
	"github.com/sqlite3perf/sqlite3perf/internal/conditions"
	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
)

// This file makes pages of comparisons, which are also parts of the pages of gates and bisections.

// ComparisonPage describes a comparison for a page: the answer and warnings, a picture of all
// cells, the differences between the sides, and samples.
func ComparisonPage(c Compared, o document.Options) document.Document {
	d := document.Document{headline(c), beware(c)}
	var rows []chart.Bar
	var told []*stats.Compared
	for _, x := range c.Cells {
		switch x.Verdict {
		case stats.Bad, stats.Differing, stats.FailsMore, stats.FailsLess:
			rows = append(rows, chart.Bar{Name: CellName(x), Reason: whyNot(x, c.Comparison)})
			continue
		case stats.Slower, stats.Faster:
			told = append(told, x)
		}
		rows = append(rows, RatioRow(x, document.Probability(x.ShownP()), slices.Index(verdictKinds, Word(x.Verdict)), Told(x)))
	}
	orders := OrderPictures(told, c.Comparison.First, c.Comparison.Second, c.Interleaved, rows)
	if len(rows) > 0 {
		ofTimes := fmt.Sprintf("time of %s, × that of %s", c.Comparison.Second, c.Comparison.First)
		d = append(d, document.Heading{Level: 2, Text: "All cells: " + ofTimes})
		if bad := without(c.Comparison); bad != nil {
			d = append(d, bad)
		}
		p := Forest(rows, chart.Forest{
			Axis: chart.Axis{Label: ofTimes},
			Low:  1 / (1 + c.Margin), High: 1 + c.Margin, Band: "within ±" + document.Share(c.Margin),
			Less: c.Comparison.Second + " is faster", More: c.Comparison.Second + " is slower", Kinds: verdictKinds,
		}, confidence(c.Comparison))
		p.Title = document.Upper(ofTimes)
		if g := comparedGrid(c.Comparison); len(g.Rows) > 0 {
			p.Note += " No difference: the whole interval" + map[bool]string{true: " of " + document.Share(1-stats.Doubt)}[inRun(c.Comparison)] + " is in the band, and so is that of the ratio of means."
			p.Behind = document.Document{g, comparedNote(c)}
		}
		d = append(d, p)
	}
	d = append(d, leftOut(c, o)...)
	d = append(d, SidesDiffer(c.Cells, c.Comparison.First, c.Comparison.Second)...)
	d = append(d, orders...)
	if a := c.First; a == c.Second && a.Run.Compares != nil {
		d = append(d, conditions.Drivers(a)...)
		d = append(d, conditions.AllCompileOptions(a))
		for _, g := range a.Groups {
			title := g.Workload
			if v := g.Variant(); v != "" {
				title += " · " + v
			}
			d = append(d, document.Heading{Level: 3, Text: title})
			d = append(d, conditions.CasesOf(g.Outcomes, g.Tables, false)) // without intervals, because they would have another confidence level than the other intervals of the page
		}
	}
	l := conditions.Origin([2]string{c.Comparison.First, c.Comparison.Second}, c.Cells, c.First, c.Second)
	l.Note(More(o.Hints))
	return document.WithConfidence(document.WithSource(append(d, document.Heading{Level: 2, Text: "How it was measured"}, l, document.Methodology(OfSides)), conditions.PictureSource(c.First.Run, c.Second.Run)), 1-stats.Doubt)
}

// verdictKinds are the verdicts that a picture of ratios shows in different colors.
var verdictKinds = []string{Word(stats.Faster), Word(stats.Slower), Word(stats.Same), Word(stats.Unclear)}

func whyNot(x *stats.Compared, c *stats.Comparison) string {
	switch {
	case x.Verdict == stats.Differing:
		return "differ: " + x.Why
	case x.FailuresTold():
		return x.Why
	case x.First.Status != result.OK:
		return fmt.Sprintf("%s: %s: %s", x.First.Status, c.First, NoFigure(x.First))
	}
	return fmt.Sprintf("%s: %s: %s", x.Second.Status, c.Second, NoFigure(x.Second))
}

// RatioRow returns the row of a picture for a cell with a ratio. The parameter "p" is the cell's
// p-value, or "". The parameter "kind" is the index of the verdict in [chart.Forest.Kinds]. The
// parameter "judged" is the verdict in words.
func RatioRow(x *stats.Compared, p string, kind int, judged string) chart.Bar {
	m, ratio := medians(x), x.ShownRatio()
	r := chart.Bar{Name: CellName(x), Kind: kind, Text: document.Times(ratio.Median) + " " + document.Interval(ratio.Interval) + " " + conditions.Marked(judged, x)}
	r.Value, r.Low, r.High = document.OfSummary(ratio)
	settle := ""
	if x.Rounds > 0 {
		settle = "to be sure: " + MoreRounds(x.Rounds, x.Time)
	}
	if p != "" {
		p = "p " + p + ", "
	}
	r.Tip = document.JoinKnown("\n", m[0]+" and "+m[1], fmt.Sprintf("%sn %d", p, x.Ratio.N), settle)
	return r
}

// maxForestRows is the greatest number of rows in a picture of ratios.
const maxForestRows = 120

// Forest returns a picture with one row for each ratio, but at most maxForestRows rows. The
// parameter "f" has the axis, the band and the kinds of the picture. The parameter "confidence" is
// the confidence of the intervals.
func Forest(rows []chart.Bar, f chart.Forest, confidence float64) document.PictureBlock {
	f.Axis.Format, f.Axis.Tick = document.Times, document.Ticks(document.Times)
	f.Rows = rows[:min(len(rows), maxForestRows)]
	note := fmt.Sprintf("A mark is a ratio, and the line through it the interval of at least %s.", document.Share(confidence))
	if more := len(rows) - len(f.Rows); more > 0 {
		note += fmt.Sprintf(" %s more are only in the table.", document.Counted(int64(more), "cell"))
	}
	return document.PictureBlock{Headed: true, Picture: document.Picture{Name: "ratios", Note: note, Plot: &f}}
}

// maxOrders is the greatest number of cells of a page that have a picture of their samples.
const maxOrders = 6

// OrderPictures returns the section with pictures of samples. It has one picture for each of the given
// cells, but at most maxOrders pictures. It also changes the parameter "rows": the row of such a cell gets
// a link to the cell's picture.
func OrderPictures(cells []*stats.Compared, firstSide, secondSide string, interleaved bool, rows []chart.Bar) document.Document {
	if len(cells) == 0 {
		return nil
	}
	d := document.Document{document.Heading{Level: 2, Text: "Samples in the order measured"}}
	words := "Both sides were measured in the same rounds, so both show what changed on the machine."
	if !interleaved {
		words = "The sides were measured at different times, in different rounds."
	}
	d = append(d, document.Paragraph{Text: words + " A difference in all rounds isn't due to a few outliers.", Quiet: true})
	for i, x := range cells[:min(len(cells), maxOrders)] {
		name := fmt.Sprintf("order-%d", i+1)
		for j := range rows {
			if rows[j].Name == CellName(x) {
				rows[j].Link = "#" + document.PictureID(name)
			}
		}
		d = append(d, samplesPicture(x, name, firstSide, secondSide))
	}
	if more := len(cells) - maxOrders; more > 0 {
		d = append(d, document.Paragraph{Text: fmt.Sprintf("%s more. show prints the samples of each run.", document.Counted(int64(more), "cell")), Quiet: true})
	}
	return d
}

func samplesPicture(x *stats.Compared, name, firstSide, secondSide string) document.PictureBlock {
	format := func(v float64) string { return figuresOf(x, 3, v)[0] }
	var series []chart.Samples
	first, second := x.Points()
	for i, points := range [][]stats.Point{first, second} {
		s := chart.Samples{Name: []string{firstSide, secondSide}[i]}
		for _, p := range points {
			s.Points = append(s.Points, chart.Sample{X: float64(p.Round), Y: p.Value})
		}
		series = append(series, s)
	}
	return document.PictureBlock{Aside: true, Picture: document.Picture{Name: name, Title: CellName(x),
		Plot: &chart.Order{Series: series, Plain: len(first)+len(second) > MostTips/maxOrders, X: chart.Axis{Label: "round"},
			Y: chart.Axis{Label: string(x.Metric) + ", less is better", Format: format, Tick: document.Ticks(format)}}}}
}

// GateKinds are the states of cells that a picture of a gate's ratios shows in different colors.
var GateKinds = []stats.State{stats.GatePassed, stats.GateRegression, stats.GateUnconfirmed, stats.GatePossible, stats.GateTooFew, stats.GateWrong}

// MostTips is the greatest number of samples on a page with tooltips. If a run has more samples, none
// of them has a tooltip.
const MostTips = 600
