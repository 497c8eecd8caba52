// Package compare says how two sides of a comparison differ: two drivers, settings, parameters
// or stored runs.
package compare

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"golang.org/x/perf/benchunit"

	"github.com/sqlite3perf/sqlite3perf/internal/conditions"
	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
)

// Compared is a comparison with the run or the two runs that it was made from.
type Compared struct {
	*stats.Comparison
	First, Second *stats.Analysis // the same if both sides are of one run
}

// Formats are those of a comparison.
var Formats = document.FormatsOf[Compared, document.Options]{What: "comparison", List: []document.Format[Compared, document.Options]{
	{Name: "table", To: func(w io.Writer, c Compared, o document.Options) error {
		return document.RenderText(w, Comparison(c, o.Hints), o)
	}},
	{Name: "markdown", To: func(w io.Writer, c Compared, o document.Options) error {
		return document.RenderMarkdown(w, Comparison(c, o.Hints))
	}},
	{Name: "html", To: func(w io.Writer, c Compared, o document.Options) error {
		return document.RenderHTML(w, ComparisonPage(c, o.Hints), "Comparison", o)
	}},
	{Name: "json", To: WriteComparisonJSON},
}}

// Answer says in a sentence or two what the comparison found.
func Answer(c *stats.Comparison) string {
	if len(c.Cells) == 0 {
		return fmt.Sprintf("Nothing to compare: %s and %s have no cell in common.", c.First, c.Second)
	}
	var parts []string
	for _, v := range []stats.Verdict{stats.Slower, stats.Faster, stats.Same, stats.Unclear} {
		for _, typical := range []bool{true, false} { // a difference counts among those that are not
			var cells []*stats.Compared
			for _, x := range c.Cells {
				if x.Verdict == v && !x.FailuresOpen() && (x.Typical && v != stats.Same) == typical {
					cells = append(cells, x)
				}
			}
			if cells != nil {
				parts = append(parts, found(c, v, typical, cells))
			}
		}
	}
	if open := failuresOpen(c); open != "" {
		parts = append(parts, open)
	}
	sentences := missing(c)
	if n := c.Count(stats.Differing); n > 0 {
		sentences = append(sentences, fmt.Sprintf("The answers differ in %s.", ofCells(n, c)))
	}
	sentences = append(sentences, failuresTold(c)...)
	if parts != nil {
		parts[0] = c.Second + " " + parts[0]
		sentences = append(sentences, strings.Join(parts, "; ")+".")
	}
	differing, _ := conditions.SideRisks(c)
	for _, r := range differing {
		sentences = append(sentences, fmt.Sprintf("With %s, %s.", r.Settings, r.Text))
	}
	return strings.Join(sentences, " ") + conditions.CountTooShort(c.Cells)
}

// FailedShare writes a share of which small differences matter.
func FailedShare(v float64) string { return fmt.Sprintf("%.3g%%", 100*v) }

// failuresTold says in how many cells more operations of a side failed, or fewer.
func failuresTold(c *stats.Comparison) (sentences []string) {
	for _, v := range []stats.Verdict{stats.FailsMore, stats.FailsLess} {
		var shares string
		for _, x := range c.Cells {
			if x.Verdict == v {
				shares = fmt.Sprintf(" (%s against %s)", FailedShare(x.Failing.Second), FailedShare(x.Failing.First))
			}
		}
		n, words := c.Count(v), "More"
		if v == stats.FailsLess {
			words = "Fewer"
		}
		if n > 1 {
			shares = ""
		}
		if n > 0 {
			sentences = append(sentences, fmt.Sprintf("%s operations of %s failed than of %s in %s%s.", words, c.Second, c.First, ofCells(n, c), shares))
		}
	}
	return sentences
}

// failuresOpen says in how many cells the operations that failed leave no verdict.
func failuresOpen(c *stats.Comparison) string {
	var cells []*stats.Compared
	for _, x := range c.Cells {
		if x.FailuresOpen() {
			cells = append(cells, x)
		}
	}
	if cells == nil {
		return ""
	}
	where, shares := " in "+ofCells(len(cells), c), ""
	if len(c.Cells) == 1 {
		where = ""
	}
	if f := cells[0].Failing; len(cells) == 1 {
		shares = fmt.Sprintf("%s against %s; ", FailedShare(f.Second), FailedShare(f.First))
	}
	return fmt.Sprintf("cannot be told from %s yet%s, because more of its operations may fail, or fewer (%s%s)", c.First, where, shares, Settling(cells))
}

// missing says in how many cells a side has no figure, by side and status.
func missing(c *stats.Comparison) (sentences []string) {
	for i, side := range []string{c.First, c.Second} {
		var statuses []result.Status
		counts := map[result.Status]int{}
		seen := map[stats.TableName]bool{}
		for _, x := range c.Cells {
			name := atFault(x, []*stats.Cell{x.First, x.Second}[i])
			if seen[name] {
				continue
			}
			seen[name] = true
			if s := []*stats.Cell{x.First, x.Second}[i].Status; x.Verdict == stats.Bad && s != result.OK {
				if counts[s] == 0 {
					statuses = append(statuses, s)
				}
				counts[s]++
			}
		}
		for _, s := range statuses {
			sentences = append(sentences, fmt.Sprintf("%s is %s in %s.", side, document.States[s], ofCells(counts[s], c)))
		}
	}
	return sentences
}

// atFault names the phase because of which a side of a cell has no figures: another one of its
// trial may be wrong.
func atFault(x *stats.Compared, side *stats.Cell) stats.TableName {
	name := x.TableName
	if side.Status != result.OK && side.Reason != nil && side.Reason.Phase != "" {
		name.Phase = side.Reason.Phase
	}
	return name
}

// ofCells counts some of a comparison's cells.
func ofCells(n int, c *stats.Comparison) string {
	if len(c.Cells) == 1 {
		return "the one cell"
	}
	return fmt.Sprintf("%d of %d cells", n, len(c.Cells))
}

// found says that cells have a verdict, and what their ratios are. typical says that their
// typical trials take the same time, so that only the means can differ.
func found(c *stats.Comparison, v stats.Verdict, typical bool, cells []*stats.Compared) string {
	where := " in " + ofCells(len(cells), c)
	if len(c.Cells) == 1 {
		where = ""
	}
	how := Ratios(cells, len(c.Cells))
	if typical {
		how += "; " + means(cells)
	}
	switch v {
	case stats.Slower:
		return fmt.Sprintf("is slower than %s%s (%s)", c.First, where, how)
	case stats.Faster:
		return fmt.Sprintf("is faster than %s%s (%s)", c.First, where, how)
	case stats.Same:
		return fmt.Sprintf("takes the same time as %s%s (%s, within ±%s)", c.First, where, how, document.Share(c.Margin))
	}
	if typical {
		return fmt.Sprintf("typically takes the same time as %s%s, but slow trials can still make a difference (%s; %s)", c.First, where, how, Settling(cells))
	}
	return fmt.Sprintf("cannot be told from %s yet%s (%s; %s)", c.First, where, how, Settling(cells))
}

// means says between which ratios the means of some cells are.
func means(cells []*stats.Compared) string {
	words := "the mean"
	for i, x := range cells {
		if i == 3 {
			return fmt.Sprintf("%s and %d more", words, len(cells)-i)
		}
		if i > 0 {
			words += ","
		}
		words += " " + document.Times(x.Means.Median) + " " + document.Interval(x.Means.Interval)
	}
	return words
}

// Settling says how many more rounds it would take until some cells are settled.
func Settling(cells []*stats.Compared) string {
	what := "it"
	if len(cells) > 1 {
		what = "all of them"
	}
	rounds := 0
	for _, x := range cells {
		rounds = max(rounds, x.Rounds)
	}
	if rounds >= stats.MaxRounds {
		return fmt.Sprintf("it would take more than %s more rounds to settle %s", document.Thousands(stats.MaxRounds), what)
	}
	return fmt.Sprintf("an estimated %s, %s, would settle %s", document.Counted(int64(rounds), "more round"), document.Elapsed(TimeToSettle(cells)), what)
}

// TimeToSettle returns how long it takes until all of some cells are settled. Cells of the
// same cases are measured in the same trials, others one after the other.
func TimeToSettle(cells []*stats.Compared) (sum time.Duration) {
	longest := map[[2]int]time.Duration{} // by the cases of both sides
	for _, x := range cells {
		cases := [2]int{x.First.Case.ID, x.Second.Case.ID}
		if x.Time > longest[cases] {
			sum += x.Time - longest[cases]
			longest[cases] = x.Time
		}
	}
	return sum
}

// Ratios says between which ratios some cells of a table are, and how sure that is. Of one
// cell it has the interval, and its name if the table has others.
func Ratios(cells []*stats.Compared, of int) string {
	first := cells[0]
	least, most, low, high := first.Ratio.Median, first.Ratio.Median, math.Inf(1), 0.0
	metric, sure := " the "+string(first.Metric), true
	for _, x := range cells {
		least, most = min(least, x.Ratio.Median), max(most, x.Ratio.Median)
		if x.Metric != first.Metric {
			metric = ""
		}
		if i := x.Ratio.Interval; i != nil {
			low, high = min(low, i.Low), max(high, i.High)
		} else {
			sure = false
		}
	}
	words := document.Times(least)
	if document.Times(most) != words {
		words += " to " + document.Times(most)
	}
	words += metric + ", "
	switch {
	case !sure:
		words += "too few rounds for an interval"
	case len(cells) == 1:
		words += document.Share(1-stats.Doubt) + " interval " + document.Interval(first.Ratio.Interval)
	default:
		words += document.Share(1-stats.Doubt) + " intervals within " + document.Interval(&stats.Interval{Low: low, High: high})
	}
	if len(cells) == 1 && of > 1 {
		words = first.String() + ": " + words
	}
	return words
}

// MoreRounds formats an estimate of further rounds with the time that they take.
func MoreRounds(n int, took time.Duration) string {
	if n >= stats.MaxRounds {
		return "more than " + document.Thousands(stats.MaxRounds) + " rounds"
	}
	return fmt.Sprintf("%s, %s", document.Counted(int64(n), "round"), document.Elapsed(took))
}

// beware says what to know before the cells of a comparison: what they amount to, how sure
// it is, and what may mislead.
func beware(c *stats.Comparison) (l document.List) {
	if n := c.Averaged(); c.Mean != nil && c.Mean.N > 0 && n > 1 {
		text := fmt.Sprintf("%s takes %s the time of %s %s: geometric mean of %s",
			c.Second, document.Times(c.Mean.Median), c.First, document.Interval(c.Mean.Interval), document.Counted(int64(n), "cell"))
		if short := c.Measured() - n; short > 0 {
			text += fmt.Sprintf("; left out, because too short to judge a driver by: %d", short)
		}
		l = append(l, document.Item{Label: "over all", Text: text})
	}
	l = append(l, sure(c)...)
	_, shared := conditions.SideRisks(c)
	for _, r := range shared {
		if r.CanLose == conditions.LoseDatabase {
			l = append(l, r.Item())
		}
	}
	return append(l, doubtful(c)...)
}

// Comparison describes a comparison in words.
func Comparison(c Compared, h document.Hints) document.Document {
	d := document.Document{document.Heading{Level: 1, Text: Answer(c.Comparison)}}
	l := append(conditions.Resume(c.First, h), beware(c.Comparison)...)
	from := conditions.Origin([2]string{c.Comparison.First, c.Comparison.Second}, c.Cells, c.First, c.Second)
	if also := alsoDiffers(c); also != "" {
		from = slices.Insert(from, 1, document.Item{Label: "also differ", Text: also}) // after the sides
	}
	l = append(l, from...)
	l.Note(More(h))
	d = append(d, l)
	if bad := without(c.Comparison); bad != nil {
		d = append(d, bad)
	}
	g := comparedGrid(c.Comparison)
	if len(g.Rows) > 0 {
		d = append(d, g)
	}
	if short := conditions.ComparedTooShort(c.Cells, h); short != nil {
		d = append(d, short)
	}
	if len(c.Alone) > 0 {
		d = append(d, document.List{{Label: "left out", Text: "only one side has " + document.SomeOf(c.Alone, MostNamed)}})
	}
	if len(g.Rows) == 0 {
		return d
	}
	return append(d, document.Space{}, comparedNote(c), document.Methodology(OfSides))
}

// comparedNote says how the ratios of a comparison are to be read.
func comparedNote(c Compared) document.Paragraph {
	failures := ""
	if slices.ContainsFunc(c.Cells, func(x *stats.Compared) bool { return x.Failing != nil }) {
		failures = " The difference of the shares that failed is within as many points."
	}
	words := RatioNote("the time of "+c.Comparison.Second, "that of "+c.Comparison.First, c.Interleaved) +
		fmt.Sprintf(" same: the whole interval is within ±%s, and so is that of the ratio of means, after at least %d rounds.%s p is corrected for %s", document.Share(c.Margin), stats.TailRounds, failures, correctedFor(c.Comparison))
	if c.Pairs > 1 {
		words += fmt.Sprintf(" of each of the %d pairs of drivers that the run has", c.Pairs)
	}
	if by := c.First.Run.Compares; c.Interleaved && (by != nil && by.Looks || c.First.Confidence > stats.Confidence) {
		words += "; p and interval are also corrected for how often it was decided whether to go on"
	}
	return document.Paragraph{Text: words + ".", Quiet: true}
}

// OfSides is the section of the methodology about comparisons and gates.
const OfSides = "Comparisons of two sides"

// RatioNote says what a table's ratios of over to under are.
func RatioNote(over, under string, interleaved bool) string {
	of := "within rounds"
	if !interleaved {
		of = "over all pairs of samples"
	}
	return fmt.Sprintf("Ratio: %s divided by %s, formed %s (Hodges-Lehmann estimate, not the quotient of the medians shown), with its interval of at least %s.",
		over, under, of, document.Share(1-stats.Doubt))
}

// More names the commands that show more.
func More(h document.Hints) document.Item {
	return document.Item{Label: "more", Text: strings.Join(h.More, "; ")}
}

// doubtful lists the settings that nobody set and that differ between the sides, and those
// that were asked for and change nothing, with the workloads.
func doubtful(c *stats.Comparison) (l document.List) {
	var where conditions.Groups[document.Item, string]
	for _, x := range c.Cells {
		for _, it := range conditions.Deciding([]*stats.Outcome{x.First.Outcome, x.Second.Outcome}) {
			if !slices.Contains(where.Of[it], x.Workload) {
				where.Add(it, x.Workload)
			}
		}
	}
	var idle conditions.Groups[string, string]
	for _, x := range c.Cells {
		for _, w := range x.Second.Warnings {
			if w.Code == result.WarningIdle && !slices.Contains(idle.Of[w.Message], x.Workload) {
				idle.Add(w.Message, x.Workload)
			}
		}
	}
	for _, words := range idle.Keys {
		l = append(l, document.Item{Label: "beware", Text: document.SomeOf(idle.Of[words], MostNamed) + ": " + words, Alarm: true})
	}
	for _, it := range where.Keys {
		l = append(l, document.Item{Label: "beware", Text: fmt.Sprintf("nobody set %s, and the drivers' defaults differ: %s, in %s; this may be the whole difference", it.Label, it.Text, document.SomeOf(where.Of[it], MostNamed)), Alarm: true})
	}
	return l
}

// sure says how far the verdicts can be trusted.
func sure(c *stats.Comparison) document.List {
	var l document.List
	if c.Count(stats.Slower)+c.Count(stats.Faster) > 0 {
		words := fmt.Sprintf("if the sides were equal, the probability of any \"slower\" or \"faster\" here would be at most %g%%", 100*stats.Doubt)
		if !c.Interleaved {
			words += ", as far as the machine was the same in both runs"
		}
		l = append(l, document.Item{Label: "how sure", Text: words})
	}
	if !c.Interleaved && len(c.Cells) > 0 {
		l = append(l, document.Item{Label: "beware", Text: "the sides were measured at different times: what else changed on the machine is part of each ratio", Alarm: true})
	}
	return l
}

// correctedFor says for what the p-values of a comparison are corrected.
func correctedFor(c *stats.Comparison) string {
	tested, failing := 0, 0
	for _, x := range c.Cells {
		if x.Measured() || x.FailuresTold() {
			tested++
		}
		if x.Failing != nil {
			failing++
		}
	}
	words := document.Counted(int64(tested), "cell")
	if failing > 0 {
		words += fmt.Sprintf(" and the failed operations of %d", failing)
	}
	return words
}

// without lists the cells that have no ratio, with the reason, and those with a ratio in which
// operations failed.
func without(c *stats.Comparison) document.List {
	var l document.List
	type fault struct {
		side string
		cell stats.TableName
	}
	seen := map[fault]bool{}
	for _, x := range c.Cells {
		switch x.Verdict {
		case stats.Bad:
			for _, side := range []struct {
				name string
				cell *stats.Cell
			}{{c.First, x.First}, {c.Second, x.Second}} {
				f := fault{side.name, atFault(x, side.cell)}
				if side.cell.Status != result.OK && !seen[f] {
					seen[f] = true
					l = append(l, document.Item{Label: string(side.cell.Status), Text: fmt.Sprintf("%s: %s: %s", f.cell, side.name, strings.TrimPrefix(NoFigure(side.cell), f.cell.Phase+": ")), Alarm: true})
				}
			}
		case stats.Differing:
			l = append(l, document.Item{Label: "differ", Text: fmt.Sprintf("%s: %s", x.TableName, x.Why), Alarm: true})
		case stats.FailsMore, stats.FailsLess:
			l = append(l, document.Item{Label: "failures", Text: fmt.Sprintf("%s: %s; times of other work are not compared", x.TableName, x.Why), Alarm: true})
		}
	}
	for _, x := range c.Cells {
		switch {
		case x.Failing == nil || !x.Measured():
		case x.Why != "":
			l = append(l, document.Item{Label: "failures", Text: fmt.Sprintf("%s: %s", x.TableName, x.Why), Alarm: true})
		default:
			l = append(l, document.Item{Label: "failures", Text: fmt.Sprintf("%s: %s of the operations failed with %s, %s with %s: the shares are not told apart, so the times are compared",
				x.TableName, FailedShare(x.Failing.Second), c.Second, FailedShare(x.Failing.First), c.First)})
		}
	}
	if more := len(l) - conditions.MostWithout; more > 0 {
		l = append(l[:conditions.MostWithout], document.Item{Label: "and", Text: document.Thousands(int64(more)) + " more, all in JSON", Alarm: true})
	}
	return l
}

// NoFigure says why a cell has no figure.
func NoFigure(c *stats.Cell) string {
	if c.Outcome.Status == result.OK {
		return "no trial has a sample"
	}
	return conditions.Reason(c.Outcome)
}

// comparedGrid is the table of the cells that have a ratio.
func comparedGrid(c *stats.Comparison) document.Grid {
	var cells []*stats.Compared
	var p []float64
	var verdicts, more []string
	var leaders []bool
	for _, x := range c.Cells {
		if !x.Measured() {
			continue
		}
		settle := ""
		if x.Rounds > 0 {
			settle = MoreRounds(x.Rounds, x.Time)
		}
		p = append(p, x.Adjusted)
		cells, verdicts, more = append(cells, x), append(verdicts, conditions.Marked(Word(x.Verdict), x)), append(more, settle)
		leaders = append(leaders, x.Verdict == stats.Faster)
	}
	g := RatioGrid(cells, p, document.Column{Title: "verdict"}, verdicts, c.First, c.Second)
	g.Leaders = leaders
	if slices.ContainsFunc(more, func(s string) bool { return s != "" }) {
		g.Add(document.Column{Title: "to settle"}, more)
	}
	return g
}

// RatioGrid is a table of cells with their ratios, after a column that says what is made
// of each and how probable that is by chance.
func RatioGrid(list []*stats.Compared, by []float64, judged document.Column, judgments []string, firstSide, secondSide string) document.Grid {
	var cells, first, second, ratios, intervals, p, n []string
	for i, x := range list {
		a, b := medians(x)
		cells, first, second = append(cells, CellName(x)), append(first, a), append(second, b)
		ratios, intervals = append(ratios, document.Times(x.Ratio.Median)), append(intervals, document.Interval(x.Ratio.Interval))
		p, n = append(p, document.Probability(by[i])), append(n, fmt.Sprint(x.Ratio.N))
	}
	var g document.Grid
	g.Add(judged, judgments)
	g.Add(document.Column{Title: "cell"}, cells)
	g.Add(document.Column{Title: firstSide, Right: true, Drop: 2}, first)
	g.Add(document.Column{Title: secondSide, Right: true, Drop: 1}, second)
	g.Add(document.Column{Title: "ratio", Whole: true}, document.WithSpreads(ratios, intervals))
	g.Add(document.Column{Title: "p", Right: true, Drop: 3}, p)
	g.Add(document.Column{Title: "n", Right: true, Drop: 4}, n)
	return g
}

// CellName names a cell, with its metric if that is not time.
func CellName(x *stats.Compared) string {
	if x.Metric == stats.Time {
		return x.String()
	}
	return x.String() + " (" + string(x.Metric) + ")"
}

// medians formats the medians of both sides in one unit.
func medians(x *stats.Compared) (first, second string) {
	a, b := x.Medians()
	const digits = 4 // a difference of two percent is what it is about
	words := figuresOf(x, digits, a, b)
	return words[0], words[1]
}

// figuresOf formats values of a cell's metric in one unit.
func figuresOf(x *stats.Compared, digits int, values ...float64) (list []string) {
	class, unit := benchunit.Decimal, "s"
	switch cost := x.Metric.Cost(); {
	case cost != nil && cost.Binary:
		class, unit = benchunit.Binary, cost.Unit
	case cost != nil:
		for _, v := range values {
			list = append(list, document.Each(digits, v)+"/op")
		}
		return list
	case x.PerOp || x.First.Samples[0].Metric == result.MetricTimePerOp:
		unit = "s/op"
	}
	words, unit := document.ScaledTo(digits, values, class, unit)
	for _, w := range words {
		list = append(list, w+" "+unit)
	}
	return list
}

func Word(v stats.Verdict) string {
	if v == stats.Unclear {
		return "cannot tell yet"
	}
	return string(v)
}

// ComparisonVersion is the version of the JSON form of a comparison. Fields may be added
// without changing it.
const ComparisonVersion = 1

// JSONSides is the JSON form of a comparison.
type JSONSides struct {
	Version     int            `json:"version"`
	Answer      string         `json:"answer"`
	First       string         `json:"first"`
	Second      string         `json:"second"`
	Margin      float64        `json:"margin"`
	Doubt       float64        `json:"doubt"`           // the greatest probability of any false "slower" or "faster"
	Interleaved bool           `json:"interleaved"`     // both sides in the same rounds of one run
	Alternated  bool           `json:"alternated"`      // the phases of their trials alternated
	Pairs       int            `json:"pairs"`           // of drivers, of whose cells p-values are corrected for all
	Runs        []int64        `json:"runs"`            // one, or those of first and second
	Trials      int            `json:"trials"`          // of these runs
	Repeated    int            `json:"repeated_trials"` // of Trials, robbed of time and measured again
	Mean        *stats.Summary `json:"mean,omitempty"`
	Cells       []JSONSideCell `json:"cells"`
	Alone       []string       `json:"alone,omitempty"` // cells that only one side has
	Differences []string       `json:"machine_differences,omitempty"`
}

// JSONSideCell is a cell of a comparison.
type JSONSideCell struct {
	stats.TableName
	Verdict     stats.Verdict     `json:"verdict"`
	FirstCase   int               `json:"first_case"` // id, in its run
	SecondCase  int               `json:"second_case"`
	FirstState  result.Status     `json:"first_status" jsonschema:"enum=not measured"`
	SecondState result.Status     `json:"second_status" jsonschema:"enum=not measured"`
	FirstRisks  []conditions.Risk `json:"first_risks,omitempty"` // of the first side's settings
	SecondRisks []conditions.Risk `json:"second_risks,omitempty"`
	Why         string            `json:"why,omitempty"`
	Ratio       *stats.Summary    `json:"ratio,omitempty"` // of second to first
	Means       *stats.Summary    `json:"means,omitempty"` // the ratio of the means
	PerOp       bool              `json:"per_operation,omitempty"`
	TooShort    bool              `json:"too_short,omitempty"` // to judge the drivers by
	P           *float64          `json:"p,omitempty"`
	PAdjusted   *float64          `json:"p_adjusted,omitempty"`
	Failures    *JSONFailures     `json:"failures,omitempty"`
	Rounds      int               `json:"further_rounds,omitempty"` // estimated, until it is settled
}

// JSONFailures compares the shares of the operations that failed.
type JSONFailures struct {
	First     float64        `json:"first"` // of all its operations
	Second    float64        `json:"second"`
	Interval  stats.Interval `json:"difference_interval"` // of second less first
	PAdjusted float64        `json:"p_adjusted"`
}

// FailuresOf returns what a comparison says about failed operations. It is nil if none of
// either side failed.
func FailuresOf(x *stats.Compared) *JSONFailures {
	if x.Failing == nil {
		return nil
	}
	return &JSONFailures{x.Failing.First, x.Failing.Second, x.Failing.Difference(), x.Failing.Adjusted}
}

func WriteComparisonJSON(w io.Writer, c Compared, _ document.Options) error {
	out := JSONSides{Version: ComparisonVersion, Answer: Answer(c.Comparison), First: c.Comparison.First, Second: c.Comparison.Second,
		Margin: c.Margin, Doubt: stats.Doubt, Interleaved: c.Interleaved, Alternated: c.Interleaved && conditions.Alternated(c.First.Run), Pairs: c.Pairs, Runs: []int64{c.First.Run.ID}, Mean: c.Mean, Cells: []JSONSideCell{}, Alone: c.Alone}
	robbed := conditions.CountRepeated(c.First.Run)
	out.Repeated, out.Trials = robbed.Again, robbed.Trials
	if c.First != c.Second {
		out.Runs = append(out.Runs, c.Second.Run.ID)
		robbed := conditions.CountRepeated(c.First.Run, c.Second.Run)
		out.Repeated, out.Trials = robbed.Again, robbed.Trials
		out.Differences = conditions.MachinesDiffer(c.First.Run.Machine, c.Second.Run.Machine)
	}
	for _, x := range c.Cells {
		cell := JSONSideCell{TableName: x.TableName, Verdict: x.Verdict, FirstCase: x.First.Case.ID, SecondCase: x.Second.Case.ID,
			FirstState: x.First.Status, SecondState: x.Second.Status,
			FirstRisks: conditions.CellRisks(x.First.Outcome, x.Phase), SecondRisks: conditions.CellRisks(x.Second.Outcome, x.Phase),
			Why: x.Why, PerOp: x.PerOp, TooShort: x.TooShort(), Rounds: x.Rounds}
		switch x.Verdict {
		case stats.Bad:
			for _, side := range []*stats.Cell{x.First, x.Second} {
				if side.Status != result.OK {
					cell.Why = NoFigure(side)
				}
			}
		case stats.Differing, stats.FailsMore, stats.FailsLess:
		default:
			cell.Ratio, cell.P, cell.PAdjusted = &x.Ratio, &x.P, &x.Adjusted
			if x.Means.Median > 0 {
				cell.Means = &x.Means
			}
		}
		cell.Failures = FailuresOf(x)
		out.Cells = append(out.Cells, cell)
	}
	return document.Encode(w, out)
}

// MostNamed is how many cells or drivers a sentence names.
const MostNamed = 6
