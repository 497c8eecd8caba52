// Package compare describes how the two sides of a comparison differ. A side is a driver, settings,
// parameters or a stored run.
package compare

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/sqlite3perf/sqlite3perf/internal/conditions"
	"github.com/sqlite3perf/sqlite3perf/internal/distinct"
	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
)

// Compared is a comparison with the run or the two runs that its samples come from.
type Compared struct {
	*stats.Comparison
	First, Second *stats.Analysis // analyses of the sides' runs; both are the same pointer if one run has both sides
}

// Formats are the output formats of a comparison.
var Formats = document.Question[Compared]{Name: "comparison", Document: Comparison, Title: "Comparison", Page: ComparisonPage, Fits: true,
	JSON: func(c Compared) any { return JSONOf(c) }}.Formats()

func beware(of Compared) (l document.List) {
	c := of.Comparison
	if n, mean := c.Averaged(), cmp.Or(c.MeanInRun, c.Mean); mean != nil && mean.N > 0 && n > 1 {
		text := fmt.Sprintf("%s is %s: geometric mean of %s", c.Second, document.SlowerThan(*mean, c.First), document.Counted(int64(n), "cell"))
		if short := c.Measured() - n; short > 0 {
			text += fmt.Sprintf(", without %d that are too short to judge a driver by", short)
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
	l = append(l, Explanations(of.explained())...)
	return append(l, Doubtful(c.Cells)...)
}

// headline returns the answer as a heading. If the speed of the machine changed between the runs, the
// heading says so first, because the answer then says little about the drivers.
func headline(c Compared) document.Heading {
	words := Answer(c.Comparison)
	if l := MachineChanged(c); l != nil {
		words = l[0].Text + ". " + words
	}
	return document.Heading{Level: 1, Text: words}
}

// Comparison describes a comparison as a document: the answer, the verdict on each cell, how certain
// the verdicts are, and how the sides were measured.
func Comparison(c Compared, o document.Options) document.Document {
	d := document.Document{headline(c)}
	g := comparedGrid(c.Comparison)
	if len(g.Rows) > 0 {
		d = append(d, g)
	}
	if bad := without(c.Comparison); bad != nil {
		d = append(d, bad)
	}
	d = append(d, toDo(c, o.Hints))
	if l := beware(c); l != nil {
		d = append(d, document.Section{Rank: 1, Forms: []document.Form{{Body: document.Document{l}}, {Body: document.Document{l.Brief()}}, {Missing: "how sure that is"}}})
	}
	if forms := countedSection(c.Comparison); forms != nil {
		d = append(d, document.Section{Rank: 1, Forms: forms})
	}
	if left := leftOut(c, o); left != nil {
		missing := "phases that are too short"
		if n := len(distinct.Append[string](nil, c.Alone...)); n > 0 {
			missing = "why " + document.Counted(int64(n), "cell") + " " + map[bool]string{true: "is", false: "are"}[n == 1] + " left out"
			if len(left) > 1 {
				missing += ", and phases that are too short"
			}
		}
		d = append(d, document.Optional(2, missing, left...))
	}
	from := conditions.Origin([2]string{c.Comparison.First, c.Comparison.Second}, c.Cells, c.First, c.Second)
	if also := alsoDiffers(c); also != "" {
		from = slices.Insert(from, 1, document.Item{Label: "also differ", Text: also}) // inserted after the first item, which names the sides
	}
	from.Note(More(o.Hints))
	forms := []document.Form{{Body: document.Document{from}}}
	if warnings := from.Alarms(); len(warnings) > 0 {
		forms = append(forms, document.Form{Body: document.Document{warnings.Brief()}, Missing: "how it was measured"})
	}
	d = append(d, document.Section{Rank: 3, Forms: append(forms, document.Form{Missing: conditions.HowMeasured(from)})})
	if len(g.Rows) > 0 {
		d = append(d, document.Optional(4, "what the columns mean", document.Space{}, comparedNote(c), document.Methodology(OfSides)))
	}
	return d
}

// toDo names the commands that measure further rounds.
func toDo(c Compared, h document.Hints) document.List {
	l := conditions.Resume(c.First, h)
	open := cellsThat(c.Comparison, func(x *stats.Compared) bool { return x.Rounds > 0 && x.Rounds < stats.MaxRounds })
	if l == nil && open != nil && h.Further != "" {
		l = append(l, document.Item{Label: "to be sure", Text: Settling(open) + ": " + h.Further})
	}
	return l
}

func leftOut(c Compared, o document.Options) (d document.Document) {
	if short := conditions.ComparedTooShort(c.Cells, o.Hints); short != nil {
		d = append(d, short)
	}
	if words := LeftOut(c.Alone, c.Unlike); words != "" {
		d = append(d, document.List{{Label: "left out", Text: words}})
	}
	return d
}

// LeftOut says why cells are not compared. Either only one side has the cell, or both sides have
// its workload, but with different text, scale, settings or parameters. LeftOut returns "" if all
// cells are compared.
func LeftOut(alone []string, unlike []stats.Unlike) string {
	var workloads conditions.Groups[string, string] // names of workloads, by the differences between the sides
	cells, other := map[string]int{}, map[string]bool{}
	for _, u := range unlike {
		workloads.Add(u.What, u.Workload)
		cells[u.What] += len(u.Cells)
		for _, name := range u.Cells {
			other[name] = true
		}
	}
	words := document.Map(workloads.Keys, func(what string) string {
		return fmt.Sprintf("the %s of %s differ%s between the sides (%s)", what, document.AndOthers(workloads.Of[what]),
			map[bool]string{false: "s"}[strings.HasSuffix(what, "s")], document.Counted(int64(cells[what]), "cell"))
	})
	if alone = slices.DeleteFunc(slices.Clone(alone), func(name string) bool { return other[name] }); len(alone) > 0 {
		words = append(words, "only one side has "+document.SomeOf(alone, MostNamed))
	}
	return strings.Join(words, "; ")
}

func comparedNote(c Compared) document.Paragraph {
	failures := ""
	if slices.ContainsFunc(c.Cells, func(x *stats.Compared) bool { return x.Failing != nil }) {
		failures = " The difference of the shares that failed is within as many points."
	}
	family := correctedFor(c.Comparison)
	if c.Pairs > 1 {
		family += fmt.Sprintf(" of each of the %d pairs of drivers that the run has", c.Pairs)
	}
	interval := "the whole interval"
	told := fmt.Sprintf("slower, faster: p is below %g. probably: p is below %g. p is corrected for %s.", stats.Doubt, stats.Alpha, family)
	if inRun(c.Comparison) {
		interval += " of " + document.Share(1-stats.Doubt)
		told = fmt.Sprintf("Interval and p are those of the run's report, which corrects p, but not the interval, for all comparisons of the table and the run. probably: p is below %g. slower, faster: a p that is corrected for %s is also below %g.",
			stats.Alpha, family, stats.Doubt)
	}
	words := RatioNote("the time of "+c.Comparison.Second, "that of "+c.Comparison.First, c.Interleaved, confidence(c.Comparison)) + " " + told +
		fmt.Sprintf(" no difference: %s is within ±%s, and so is that of the ratio of means, after at least %d rounds.%s", interval, document.Share(c.Margin), stats.TailRounds, failures)
	if by := c.First.Run.Compares; c.Interleaved && (by != nil && by.Looks || c.First.Confidence > stats.Confidence) {
		words += " p and interval are also corrected for how often it was decided whether to go on."
	}
	return document.Paragraph{Text: words, Quiet: true}
}

// inRun reports whether the sides are two drivers of one run. If they are, the comparison shows the
// ratios and intervals of that run's report.
func inRun(c *stats.Comparison) bool {
	return slices.ContainsFunc(c.Cells, func(x *stats.Compared) bool { return x.InRun != nil })
}

// confidence returns the confidence level of the intervals that a comparison shows, such as 0.95.
func confidence(c *stats.Comparison) float64 {
	if inRun(c) {
		return stats.Confidence
	}
	return 1 - stats.Doubt
}

// OfSides is the title of the section of docs/methodology.md about comparisons and gates.
const OfSides = "Comparisons of two sides"

// RatioNote returns the sentence that explains the ratios of a table. A ratio is one figure divided by
// another figure. The parameter "over" describes the first of these figures, and "under" the second.
// The parameter "interleaved" is true if both were measured in the same rounds. The parameter
// "confidence" is the confidence of the intervals.
func RatioNote(over, under string, interleaved bool, confidence float64) string {
	of := "over all pairs of samples"
	if interleaved {
		of = "within rounds"
	}
	return fmt.Sprintf("Ratio: %s divided by %s, formed %s (Hodges-Lehmann estimate, not the quotient of the medians shown), with its interval of at least %s.",
		over, under, of, document.Share(confidence))
}

// More returns a list item with the commands that show more details.
func More(h document.Hints) document.Item {
	return document.Item{Label: "more", Text: strings.Join(h.More, "; ")}
}

// Doubtful lists settings that make a comparison doubtful, with their workloads. These are settings
// that have no effect, settings that differ between the sides although nobody set them, and caches that
// were not cold although they should have been.
func Doubtful(cells []*stats.Compared) (l document.List) {
	var idle conditions.Groups[string, string]         // names of workloads, by the text of a warning
	var unset conditions.Groups[document.Item, string] // names of workloads, by a setting and its values
	for _, x := range cells {
		for _, it := range conditions.Deciding([]*stats.Outcome{x.First.Outcome, x.Second.Outcome}) {
			conditions.AddOnce(&unset, it, x.Workload)
		}
		for _, w := range x.Second.Warnings {
			if w.Code == result.WarningIdle {
				conditions.AddOnce(&idle, w.Message, x.Workload)
			}
		}
	}
	for _, words := range idle.Keys {
		l = append(l, conditions.KindOf(result.WarningIdle).Item(document.SomeOf(idle.Of[words], MostNamed)+": "+words))
	}
	for _, it := range unset.Keys {
		warning := conditions.UnsetItem(unset.Of[it], it.Label, it.Text)
		warning.Text += ". This may explain the whole difference"
		l = append(l, warning)
	}
	l = append(l, notCold(cells, func(x *stats.Compared) *stats.Cell { return x.First })...)
	return append(l, notCold(cells, func(x *stats.Compared) *stats.Cell { return x.Second })...)
}

// notCold lists the cells in which a side's database was partly in the page cache when the measurement
// began, although the cache had been dropped before.
func notCold(cells []*stats.Compared, side func(*stats.Compared) *stats.Cell) document.List {
	var list []result.Warning
	names := map[int]string{}
	for _, x := range cells {
		o := side(x).Outcome
		names[o.Case.ID] = x.Workload + " " + conditions.Name(o)
		for _, w := range o.Warnings {
			if w.Code == result.WarningCached && w.Phase == x.Phase {
				list = append(list, w)
			}
		}
	}
	return conditions.Warnings(list, names)
}

// HowSure says how likely the verdicts "slower" and "faster" would be if both sides were equally
// fast, so that these verdicts would be wrong. It returns "" if the comparison calls no cell slower
// or faster, not even probably.
func HowSure(c *stats.Comparison) string {
	clear, probable := called(c)
	var words string
	switch {
	case clear && probable:
		words = fmt.Sprintf("any \"slower\" or \"faster\" here would be at most %s, of any \"probably\" at most %s", document.Share(stats.Doubt), document.Share(stats.Alpha))
	case clear:
		words = fmt.Sprintf("any \"slower\" or \"faster\" here would be at most %s", document.Share(stats.Doubt))
	case probable:
		words = fmt.Sprintf("any \"probably slower\" or \"probably faster\" here would be at most %s", document.Share(stats.Alpha))
	default:
		return ""
	}
	words = "If the sides were equally fast, the chance of " + words
	if !c.Interleaved {
		words += ", as far as the machine was the same in both runs"
	}
	return words
}

// called reports whether a comparison calls any cell slower or faster (clear), and whether it calls
// any cell probably slower or probably faster (probable).
func called(c *stats.Comparison) (clear, probable bool) {
	for _, x := range c.Cells {
		switch kindOf(x) {
		case slower, faster, slowerMean, fasterMean:
			clear = true
		case likelySlower, likelyFaster:
			probable = true
		}
	}
	return clear, probable
}

func howSure(c *stats.Comparison) (l document.List) {
	short := fmt.Sprintf("chance of a wrong \"slower\" or \"faster\": at most %s", document.Share(stats.Doubt))
	switch clear, probable := called(c); {
	case clear && probable:
		short += fmt.Sprintf(", \"probably\": %s", document.Share(stats.Alpha))
	case probable:
		short = fmt.Sprintf("chance of a wrong \"probably slower\" or \"probably faster\": at most %s", document.Share(stats.Alpha))
	}
	l.Note(document.Item{Label: "how sure", Text: HowSure(c), Short: [2]string{short}})
	if !c.Interleaved && len(c.Cells) > 0 {
		l = append(l, conditions.WarningOf(conditions.CaveatTimes))
	}
	return l
}

// MachineChanged returns a warning if the speed of the machine seems to have changed between the
// two runs of a comparison. Otherwise, or if nothing is known about the speed, it returns nil.
func MachineChanged(c Compared) document.List {
	reference := floorOf(c.First)
	ratio, ok := c.Drift(reference)
	if !ok {
		return nil
	}
	who := "every driver is about"
	if slices.ContainsFunc(c.Cells, func(x *stats.Compared) bool { return x.First.Case.Driver == reference }) {
		who = reference + ", plain C for comparison, is"
	}
	slower := document.SlowerBy(stats.Summary{Median: ratio}) + " in " + c.Comparison.Second
	return document.List{conditions.WarningOf(conditions.CaveatSpeed, who+" "+document.Than(slower, "in "+c.Comparison.First))}
}

// floorOf returns the name of the run's floor, which is the plain C driver with which all others are
// compared. It returns "" if the run has none.
func floorOf(a *stats.Analysis) string {
	for _, t := range a.Tables() {
		if t.IsFloor {
			return t.Cells[t.Base].Case.Driver
		}
	}
	return ""
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

// The function "without" lists cells with the reasons why their times are doubtful. First come the
// cells that have no ratio. Then come the cells that have a ratio although some operations failed. The
// list is shortened by [conditions.Limited].
func without(c *stats.Comparison) document.List {
	var l document.List
	note := func(label string, of fmt.Stringer, words string, alarm bool) {
		// one phase can be the reason for several cells, so its line is added only once
		l = distinct.Append(l, document.Item{Label: label, Text: of.String() + ": " + words, Alarm: alarm})
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
			note("failures", x.TableName, fmt.Sprintf("%s of the operations failed with %s, %s with %s: no clear difference, so the times are compared",
				stats.FailedShare(x.Failing.Second), c.Second, stats.FailedShare(x.Failing.First), c.First), false)
		}
	}
	return conditions.Limited(l)
}

// NoFigure says why a cell has no figures.
func NoFigure(c *stats.Cell) string {
	if c.Outcome.Status == result.OK {
		return "no trial has a sample"
	}
	return conditions.Reason(c.Outcome)
}

// MostNamed is the greatest number of cells or drivers that a sentence names.
const MostNamed = 6
