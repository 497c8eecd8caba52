// Package compare describes how the two sides of a comparison differ. A side is a driver, settings,
// parameters or a stored run.
package compare

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/sqlite3perf/sqlite3perf/internal/conditions"
	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
)

// Compared is a comparison with the one or two runs that its samples come from.
type Compared struct {
	*stats.Comparison
	First, Second *stats.Analysis // analyses of the sides' runs; the same if one run has both sides
}

// Formats are the output formats of a comparison.
var Formats = document.Question[Compared]{Name: "comparison", Document: Comparison, Title: "Comparison", Page: ComparisonPage, Fits: true, Short: onScreen,
	JSON: func(c Compared) any { return JSONOf(c) }}.Formats()

// Answer says in a sentence or two what the comparison found.
func Answer(c *stats.Comparison) string {
	if len(c.Cells) == 0 {
		return fmt.Sprintf("Nothing to compare: %s and %s have no cell in common.", c.First, c.Second)
	}
	var parts []string
	for _, v := range []stats.Verdict{stats.Slower, stats.Faster, stats.Same, stats.Unclear} {
		for _, typical := range []bool{true, false} { // cells whose typical trials take the same time are counted separately
			cells := cellsThat(c, func(x *stats.Compared) bool {
				return x.Verdict == v && !x.FailuresOpen() && (x.Typical && v != stats.Same) == typical
			})
			if cells != nil {
				parts = append(parts, verdictWords(c, v, typical, cells))
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
	sentences = append(sentences, failuresTold(c, stats.FailsMore, "More")...)
	sentences = append(sentences, failuresTold(c, stats.FailsLess, "Fewer")...)
	if parts != nil {
		sentences = append(sentences, c.Second+" "+strings.Join(parts, "; ")+".")
	}
	differing, _ := conditions.SideRisks(c)
	for _, r := range differing {
		sentences = append(sentences, fmt.Sprintf("With %s, %s.", r.Settings, r.Text))
	}
	return strings.Join(sentences, " ") + conditions.CountTooShort(c.Cells)
}

func cellsThat(c *stats.Comparison, has func(*stats.Compared) bool) (list []*stats.Compared) {
	for _, x := range c.Cells {
		if has(x) {
			list = append(list, x)
		}
	}
	return list
}

// FailedShare formats a share of failed operations with three digits, because small differences
// matter.
func FailedShare(v float64) string { return fmt.Sprintf("%.3g%%", 100*v) }

func failuresTold(c *stats.Comparison, v stats.Verdict, words string) []string {
	cells := cellsThat(c, func(x *stats.Compared) bool { return x.Verdict == v })
	if cells == nil {
		return nil
	}
	shares := ""
	if len(cells) == 1 {
		shares = " (" + failedShares(cells[0]) + ")"
	}
	return []string{fmt.Sprintf("%s operations of %s failed than of %s in %s%s.", words, c.Second, c.First, ofCells(len(cells), c), shares)}
}

func failedShares(x *stats.Compared) string {
	return FailedShare(x.Failing.Second) + " against " + FailedShare(x.Failing.First)
}

func failuresOpen(c *stats.Comparison) string {
	cells := cellsThat(c, (*stats.Compared).FailuresOpen)
	if cells == nil {
		return ""
	}
	shares := ""
	if len(cells) == 1 {
		shares = failedShares(cells[0]) + "; "
	}
	return fmt.Sprintf("cannot be told from %s yet%s, because more of its operations may fail, or fewer (%s%s)", c.First, inCells(len(cells), c), shares, Settling(cells))
}

func missing(c *stats.Comparison) (sentences []string) {
	for i, name := range []string{c.First, c.Second} {
		var phases conditions.Groups[result.Status, stats.TableName]
		for _, x := range c.Cells {
			side := []*stats.Cell{x.First, x.Second}[i]
			if phase := atFault(x, side); x.Verdict == stats.Bad && side.Status != result.OK && !slices.Contains(phases.Of[side.Status], phase) {
				phases.Add(side.Status, phase)
			}
		}
		for _, s := range phases.Keys {
			sentences = append(sentences, fmt.Sprintf("%s is %s in %s.", name, document.States[s], ofCells(len(phases.Of[s]), c)))
		}
	}
	return sentences
}

// atFault names the phase that leaves a side of a cell without figures. It may be another phase of
// the same trials.
func atFault(x *stats.Compared, side *stats.Cell) stats.TableName {
	name := x.TableName
	if side.Status != result.OK && side.Reason != nil && side.Reason.Phase != "" {
		name.Phase = side.Reason.Phase
	}
	return name
}

func ofCells(n int, c *stats.Comparison) string {
	if len(c.Cells) == 1 {
		return "the one cell"
	}
	return fmt.Sprintf("%d of %d cells", n, len(c.Cells))
}

// inCells returns words that follow a verdict: the number of cells, or "" if the comparison has
// only one.
func inCells(n int, c *stats.Comparison) string {
	if len(c.Cells) == 1 {
		return ""
	}
	return " in " + ofCells(n, c)
}

// verdictWords says that cells have the verdict v, with their ratios. If typical is set, typical
// trials take the same time on both sides, so only the means can differ.
func verdictWords(c *stats.Comparison, v stats.Verdict, typical bool, cells []*stats.Compared) string {
	verb, but, how := "cannot be told from "+c.First+" yet", "", Ratios(cells, len(c.Cells))
	if typical {
		how += "; " + means(cells)
	}
	switch {
	case v == stats.Slower || v == stats.Faster:
		verb = "is " + string(v) + " than " + c.First
	case v == stats.Same:
		verb, how = "takes the same time as "+c.First, how+", within ±"+document.Share(c.Margin)
	case typical:
		verb, but = "typically takes the same time as "+c.First, ", but slow trials can still make a difference"
	}
	if v == stats.Unclear {
		how += "; " + Settling(cells)
	}
	return verb + inCells(len(cells), c) + but + " (" + how + ")"
}

func means(cells []*stats.Compared) string {
	list := document.Map(cells, func(x *stats.Compared) string {
		return document.Times(x.Means.Median) + " " + document.Interval(x.Means.Interval)
	})
	return "the mean " + document.FirstOf(list, 3, ", ")
}

// Settling says how many more rounds are needed until all the given cells have a clear verdict.
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

// TimeToSettle returns how long further rounds take until all the given cells have a clear verdict.
// Cells of the same cases are measured in the same trials, so their time counts once.
func TimeToSettle(cells []*stats.Compared) (sum time.Duration) {
	longest := map[[2]int]time.Duration{} // by the IDs of both sides' cases
	for _, x := range cells {
		cases := [2]int{x.First.Case.ID, x.Second.Case.ID}
		if x.Time > longest[cases] {
			sum += x.Time - longest[cases]
			longest[cases] = x.Time
		}
	}
	return sum
}

// Ratios says between which ratios the given cells are, and how certain these are. of is the number
// of cells in the table. For a single cell, Ratios gives the interval, and also the name if the
// table has other cells.
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

// MoreRounds formats an estimate of n further rounds, which take the time took.
func MoreRounds(n int, took time.Duration) string {
	if n >= stats.MaxRounds {
		return "more than " + document.Thousands(stats.MaxRounds) + " rounds"
	}
	return fmt.Sprintf("%s, %s", document.Counted(int64(n), "round"), document.Elapsed(took))
}

func beware(c *stats.Comparison) (l document.List) {
	if n := c.Averaged(); c.Mean != nil && c.Mean.N > 0 && n > 1 {
		text := fmt.Sprintf("%s takes %s the time of %s %s: geometric mean of %s",
			c.Second, document.Times(c.Mean.Median), c.First, document.Interval(c.Mean.Interval), document.Counted(int64(n), "cell"))
		if short := c.Measured() - n; short > 0 {
			text += fmt.Sprintf("; left out, because too short to judge a driver by: %d", short)
		}
		l = append(l, document.Item{Label: "over all", Text: text})
	}
	l = append(l, howSure(c)...)
	_, shared := conditions.SideRisks(c)
	for _, r := range shared {
		if r.CanLose == conditions.LoseDatabase {
			l = append(l, r.Item())
		}
	}
	return append(l, doubtful(c)...)
}

// Comparison describes a comparison as a document.
func Comparison(c Compared, o document.Options) document.Document {
	l := slices.Concat(conditions.Resume(c.First, o.Hints), beware(c.Comparison), origin(c))
	l.Note(More(o.Hints))
	d := document.Document{document.Heading{Level: 1, Text: Answer(c.Comparison)}, l}
	if bad := without(c.Comparison); bad != nil {
		d = append(d, bad)
	}
	g := comparedGrid(c.Comparison)
	if len(g.Rows) > 0 {
		d = append(d, g)
	}
	d = append(d, leftOut(c, o)...)
	if len(g.Rows) == 0 {
		return d
	}
	return append(d, document.Space{}, comparedNote(c), document.Methodology(OfSides))
}

// origin says what was compared, and how it was measured.
func origin(c Compared) document.List {
	from := conditions.Origin([2]string{c.Comparison.First, c.Comparison.Second}, c.Cells, c.First, c.Second)
	if also := alsoDiffers(c); also != "" {
		from = slices.Insert(from, 1, document.Item{Label: "also differ", Text: also}) // after the item that names the sides
	}
	return from
}

func leftOut(c Compared, o document.Options) (d document.Document) {
	if short := conditions.ComparedTooShort(c.Cells, o.Hints); short != nil {
		d = append(d, short)
	}
	if len(c.Alone) > 0 {
		d = append(d, document.List{{Label: "left out", Text: "only one side has " + document.SomeOf(c.Alone, MostNamed)}})
	}
	return d
}

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

// OfSides is the title of the methodology's section about comparisons and gates.
const OfSides = "Comparisons of two sides"

// RatioNote explains the ratios of a table. A ratio is over divided by under.
func RatioNote(over, under string, interleaved bool) string {
	of := "over all pairs of samples"
	if interleaved {
		of = "within rounds"
	}
	return fmt.Sprintf("Ratio: %s divided by %s, formed %s (Hodges-Lehmann estimate, not the quotient of the medians shown), with its interval of at least %s.",
		over, under, of, document.Share(1-stats.Doubt))
}

// More lists the commands that show more.
func More(h document.Hints) document.Item {
	return document.Item{Label: "more", Text: strings.Join(h.More, "; ")}
}

// doubtful lists, with their workloads, the settings that nobody set although they differ between
// the sides, and the settings that have no effect.
func doubtful(c *stats.Comparison) (l document.List) {
	var idle conditions.Groups[string, string]         // names of workloads, by the text of a warning
	var unset conditions.Groups[document.Item, string] // names of workloads, by a setting and its values
	for _, x := range c.Cells {
		for _, it := range conditions.Deciding([]*stats.Outcome{x.First.Outcome, x.Second.Outcome}) {
			if !slices.Contains(unset.Of[it], x.Workload) {
				unset.Add(it, x.Workload)
			}
		}
		for _, w := range x.Second.Warnings {
			if w.Code == result.WarningIdle && !slices.Contains(idle.Of[w.Message], x.Workload) {
				idle.Add(w.Message, x.Workload)
			}
		}
	}
	for _, words := range idle.Keys {
		l = append(l, conditions.KindOf(result.WarningIdle).Item(document.SomeOf(idle.Of[words], MostNamed)+": "+words))
	}
	for _, it := range unset.Keys {
		warning := conditions.UnsetItem(unset.Of[it], it.Label, it.Text)
		warning.Text += ". This may be the whole difference"
		l = append(l, warning)
	}
	return l
}

// HowSure says how often a comparison calls equal sides different. It returns "" if it calls no
// cell slower or faster.
func HowSure(c *stats.Comparison) string {
	if c.Count(stats.Slower)+c.Count(stats.Faster) == 0 {
		return ""
	}
	words := fmt.Sprintf("If the sides were equally fast, the chance of any \"slower\" or \"faster\" here would be at most %s", document.Share(stats.Doubt))
	if !c.Interleaved {
		words += ", as far as the machine was the same in both runs"
	}
	return words
}

func howSure(c *stats.Comparison) (l document.List) {
	l.Note(document.Item{Label: "how sure", Text: HowSure(c)})
	if !c.Interleaved && len(c.Cells) > 0 {
		l = append(l, document.Item{Label: "beware", Text: "the sides were measured at different times: what else changed on the machine is part of each ratio", Alarm: true})
	}
	return l
}

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

// without lists the cells that have no ratio, with the reason, followed by cells that have a ratio
// although operations failed.
func without(c *stats.Comparison) document.List {
	var l document.List
	note := func(label string, of fmt.Stringer, words string, alarm bool) {
		it := document.Item{Label: label, Text: of.String() + ": " + words, Alarm: alarm}
		if !slices.Contains(l, it) { // one phase may be at fault for several cells
			l = append(l, it)
		}
	}
	for _, x := range c.Cells {
		switch x.Verdict {
		case stats.Bad:
			for i, side := range []*stats.Cell{x.First, x.Second} {
				if side.Status != result.OK {
					phase := atFault(x, side)
					note(string(side.Status), phase, []string{c.First, c.Second}[i]+": "+strings.TrimPrefix(NoFigure(side), phase.Phase+": "), true)
				}
			}
		case stats.Differing:
			note("differ", x.TableName, x.Why, true)
		case stats.FailsMore, stats.FailsLess:
			note("failures", x.TableName, x.Why+"; times of other work are not compared", true)
		}
	}
	for _, x := range c.Cells {
		switch {
		case x.Failing == nil || !x.Measured():
		case x.Why != "":
			note("failures", x.TableName, x.Why, true)
		default:
			note("failures", x.TableName, fmt.Sprintf("%s of the operations failed with %s, %s with %s: the shares are not told apart, so the times are compared",
				FailedShare(x.Failing.Second), c.Second, FailedShare(x.Failing.First), c.First), false)
		}
	}
	if more := len(l) - conditions.MostWithout; more > 0 {
		l = append(l[:conditions.MostWithout], document.Item{Label: "and", Text: document.Thousands(int64(more)) + " more, all in JSON", Alarm: true})
	}
	return l
}

// NoFigure says why a cell has no figures.
func NoFigure(c *stats.Cell) string {
	if c.Outcome.Status == result.OK {
		return "no trial has a sample"
	}
	return conditions.Reason(c.Outcome)
}

// MostNamed is how many cells or drivers a sentence names at most.
const MostNamed = 6
