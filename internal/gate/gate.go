// Package gate says whether a candidate passes. A candidate does not pass if it gives wrong
// answers, if more of its operations fail, if a regression larger than allowed was found, or if a
// cell could not be judged. If the gate is strict, a candidate also does not pass as long as such a
// regression is possible.
package gate

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/sqlite3perf/sqlite3perf/internal/compare"
	"github.com/sqlite3perf/sqlite3perf/internal/conditions"
	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
)

// Gated is the result of a gate, with its measurements.
type Gated struct {
	*stats.Gate
	Asked
	Runs        []*stats.Analysis // analysis of the first measurement, and of the second if there was one
	Base        *stats.Analysis   // analysis of the stored baseline; nil if the baseline was measured in the same rounds as the candidate
	Differences []string          // differences between baseline and candidate that the user allowed, in addition to the difference that the gate compares
	Apart       string            // why a doubtful candidate was not measured together with the driver of a stored baseline; "" otherwise
	Why         string            // why some cells were not measured; "" if all cells were measured, or if the gate was interrupted
	Where       string            // file to which annotations refer, for CI services that need a file name

	told string // the stored answer; set only if the store lacks runs of this gate, because then the cells are unknown
}

// Asked says what the user asked a gate to judge.
type Asked struct {
	Sides   [2]string      `json:"sides"` // baseline and candidate, as the user named them
	Metrics []stats.Metric `json:"metrics"`
	Exact   bool           `json:"exact,omitempty"`  // the number of rounds was fixed, so p-values need no correction for repeated looks at the results
	Report  bool           `json:"report,omitempty"` // the stored baseline is a JSON report, not a run of the store
}

// Compare compares the two sides once for each judged metric. The parameter "a" is a measurement of
// both sides, or of the candidate alone if the baseline is stored.
func (g *Gated) Compare(a *stats.Analysis) (list []*stats.Comparison) {
	for _, m := range g.Metrics {
		if a.Run.Compares != nil {
			list = append(list, stats.CompareRunBy(a, m))
		} else {
			how := stats.Across{Metric: m, Names: g.Sides, Margin: g.Max, Looks: !g.Exact, Changed: true}
			list = append(list, how.Compare(g.Base, a))
		}
	}
	return list
}

// Formats are the output formats of a gate: for people, JSON, JUnit's XML, annotations of GitHub
// Actions or Azure Pipelines, and GitLab's code quality report.
var Formats = document.Question[Gated]{Name: "gate", Document: Gate, Title: "Gate", Page: gatePage, Fits: true, JSON: func(g Gated) any { return JSONOf(g) }}.Formats(
	document.Format[Gated, document.Options]{Name: "junit", To: writeJUnit},
	document.Format[Gated, document.Options]{Name: "github", To: writeGitHub},
	document.Format[Gated, document.Options]{Name: "azure", To: writeAzure},
	document.Format[Gated, document.Options]{Name: "gitlab", To: writeGitLab})

// Answer says in a sentence whether the candidate passes. It begins with the decision.
func (g Gated) Answer() string {
	if g.told != "" {
		return g.told
	}
	decision := g.Decision()
	decided := DecisionWords(decision)
	sides := fmt.Sprintf("%s: %s against %s: ", decided, g.Candidate, g.Baseline)
	further := conditions.CountTooShort(comparedCells(g.Gate))
	if expected := conditions.ExpectedAnswer(g.Expected); expected != "" {
		further = " " + expected + further
	}
	switch {
	case len(g.Cells) == 0 && g.Why != "":
		return fmt.Sprintf("%s: %s.", decided, g.Why)
	case len(g.Cells) == 0 && !g.Interrupted:
		return fmt.Sprintf("%s: nothing of %s against %s could be compared.%s", decided, g.Candidate, g.Baseline, further)
	}
	found := g.found(decision)
	if found == nil { // no cell is worse, but an expectation may be unmet
		found = []string{g.within()}
	}
	return sides + strings.Join(found, "; ") + "." + further
}

// The method "within" says that no cell is worse than allowed, and gives the figures of the worst cell.
func (g Gated) within() string {
	which, worse := fmt.Sprintf("none of %d cells is", len(g.Cells)), "slower"
	if len(g.Cells) == 1 {
		which = g.Cells[0].String() + " is not"
	}
	if slices.ContainsFunc(g.Cells, func(c *stats.Gated) bool { return c.Metric != stats.Time }) {
		worse = "worse"
	}
	words := fmt.Sprintf("%s more than %s %s in typical trials", which, document.Share(g.Max), worse)
	if measured := g.lasting(); len(measured) > 0 {
		worst := slices.MaxFunc(measured, func(a, b *stats.Compared) int { return cmp.Compare(a.ShownRatio().Median, b.ShownRatio().Median) })
		if words += ": "; len(g.Cells) > 1 {
			words += "the worst is " + worst.String() + ", "
		}
		words += compare.RatioAt(worst, 1-stats.Doubt)
	}
	if n := g.Count(stats.GateUnconfirmed); n > 0 {
		words += fmt.Sprintf("; a second measurement did not confirm what seemed to be a regression in %s", document.Counted(int64(n), "cell"))
	}
	return words
}

// found says what keeps the candidate from passing, apart from unmet expectations.
func (g Gated) found(decision stats.Decision) (found []string) {
	if decision == stats.Passed {
		return nil
	}
	for _, s := range []struct {
		state         stats.State
		before, after string
	}{
		{stats.GateWrong, "wrong in ", ""},
		{stats.GateFailing, "more operations failed in ", ", measured twice"},
		{stats.GateRegression, "worse by more than " + document.Share(g.Max) + " in ", ", " + g.confirmed()},
		{stats.GateUnusable, "no figure in ", ""},
		{stats.GateTooFew, "too few rounds in ", ""},
		{stats.GateUnconfirmed, "a regression of more than " + document.Share(g.Max) + " seen once and not confirmed in ", ""},
		{stats.GatePossible, "a regression of more than " + document.Share(g.Max) + " is possible in ", ""},
	} {
		cells := g.of(s.state)
		if cells == nil || decision == stats.Failed && s.state == stats.GateUnconfirmed {
			continue
		}
		which := ""
		switch {
		case s.state == stats.GateRegression:
			which = " (" + compare.Ratios(g.decisive(), len(g.Cells)) + ")"
		case s.state == stats.GatePossible && decision == stats.NotExcluded:
			which = " (" + compare.Ratios(cells, len(g.Cells)) + "; " + compare.Settling(cells) + ")"
		case len(cells) == 1 && len(g.Cells)+g.Following > 1:
			which = " (" + compare.CellName(cells[0]) + ")"
		}
		found = append(found, s.before+document.Counted(int64(len(cells)), "cell")+which+s.after)
	}
	if found != nil {
		found[len(found)-1] += ", of " + document.Counted(int64(len(g.Cells)+g.Following), "cell")
	}
	for _, m := range g.Unknown {
		found = append(found, "there are no figures of "+string(m))
	}
	switch {
	case g.Why != "":
		found = append(found, g.Why)
	case g.Interrupted:
		found = append(found, "interrupted before it was decided")
	}
	return found
}

// DecisionWords returns the words for a decision.
func DecisionWords(d stats.Decision) string {
	if d == stats.NotExcluded {
		return "Not known yet"
	}
	return string(d)
}

// stateWords returns the words for the state of a cell.
func stateWords(s stats.State) string {
	if s == stats.GatePossible {
		return "not known yet"
	}
	return string(s)
}

// lasting returns, for each cell with a ratio, the comparison that counts in the end. It is the second
// comparison if the baseline's driver was measured again together with the candidate. Otherwise it is
// the first.
func (g Gated) lasting() []*stats.Compared {
	return g.judged(func(c *stats.Gated) *stats.Compared {
		switch {
		case c.Again != nil && c.Beside && c.Stored && c.Again.Measured():
			return c.Again
		case c.Measured() && c.Moot == "":
			return c.Compared
		}
		return nil
	})
}

func (g Gated) of(s stats.State) []*stats.Compared {
	return g.judged(func(c *stats.Gated) *stats.Compared {
		if c.State == s {
			return c.Compared
		}
		return nil
	})
}

// decisive returns, for each cell with a regression, the comparison that shows the regression. It is
// the second comparison if the baseline is stored and the second measurement had both sides in the same
// rounds. Otherwise it is the first.
func (g Gated) decisive() []*stats.Compared {
	return g.judged(func(c *stats.Gated) *stats.Compared {
		switch {
		case c.State != stats.GateRegression:
			return nil
		case c.Stored && c.Beside:
			return c.Again
		}
		return c.Compared
	})
}

// judged calls the function "by" for each cell, and returns the results that are not nil.
func (g Gated) judged(by func(*stats.Gated) *stats.Compared) (list []*stats.Compared) {
	for _, c := range g.Cells {
		if x := by(c); x != nil {
			list = append(list, x)
		}
	}
	return list
}

// asFast is the assumption under which figures can be compared with the figures of an earlier run.
const asFast = "if the machine was as fast as when the baseline was measured"

// drifts reports whether the answer is right only if the machine has not changed since the baseline
// was measured.
func (g Gated) drifts() bool {
	regression := false
	for _, c := range g.Cells {
		if c.State == stats.GateRegression {
			regression = true
			if c.Stored && !c.Beside {
				return true
			}
		}
	}
	return g.Base != nil && !regression
}

func (g Gated) confirmed() string {
	switch {
	case g.drifts():
		return "measured twice, " + asFast
	case g.Base != nil:
		return "measured again together with the baseline's driver"
	}
	return "measured twice"
}

// explained lists the known defects that may explain why cells are worse.
func (g Gated) explained(cells ...*stats.Gated) []compare.Explanation {
	if len(g.Runs) == 0 {
		return nil
	}
	worse := map[*stats.Compared]int{}
	for _, c := range cells {
		if c.State == stats.GateRegression || c.State == stats.GatePossible && c.Ratio.Interval != nil && c.Ratio.Interval.Low > 1 {
			worse[c.Compared] = 1
		}
	}
	return compare.Explained(cmp.Or(g.Base, g.Runs[0]), g.Runs[0], document.Map(cells, func(c *stats.Gated) *stats.Compared { return c.Compared }), worse)
}

func gateBeware(g Gated, h document.Hints) (l document.List) {
	beware := func(text string) { l = append(l, document.Item{Label: "beware", Text: text, Alarm: true}) }
	if g.told != "" {
		beware("the cells are not shown, because the store does not have all runs of this gate")
	}
	for _, x := range g.Differences {
		beware("baseline and candidate also differ in this: " + x)
	}
	if g.Base != nil {
		beware("the baseline was measured at another time, so ratios include whatever changed on the machine")
	}
	if g.Apart != "" {
		beware("the second measurement, too, was compared with the stored one, because the baseline's driver could not be measured together with the candidate: " + g.Apart)
	}
	for _, met := range []stats.Met{stats.NotMet, stats.Undecided} {
		for _, words := range conditions.ExpectedWith(g.Expected, met) {
			l = append(l, document.Item{Label: string(met), Text: words, Alarm: true})
		}
	}
	for _, c := range g.Cells {
		if words := remark(c, g.Max, g.Tests); words != "" {
			l = append(l, document.Item{Label: stateWords(c.State), Text: c.String() + ": " + words, Alarm: c.State != stats.GatePassed})
		}
	}
	l = append(l, compare.Explanations(g.explained(g.Cells...))...)
	l = append(l, compare.Doubtful(comparedCells(g.Gate))...)
	if g.Decision() == stats.NotExcluded {
		l.Note(document.Item{Label: "to pass", Text: h.Pass})
	}
	l.Note(document.Item{Label: "left out", Text: compare.LeftOut(g.Alone, g.Unlike)})
	return l
}

// Gate describes a gate as a document.
func Gate(g Gated, o document.Options) document.Document {
	d := document.Document{document.Heading{Level: 1, Text: g.Answer()}}
	table := gateGrid(g.Gate)
	if len(table.Rows) > 0 {
		d = append(d, table)
	}
	d = append(d, gateBeware(g, o.Hints))
	if expected := conditions.Expectations(g.Expected); expected != nil {
		d = append(d, document.Optional(1, "what the workloads expect", expected...))
	}
	if short := conditions.ComparedTooShort(comparedCells(g.Gate), o.Hints); short != nil {
		d = append(d, document.Optional(1, "phases that are too short", short))
	}
	if origin := gateOrigin(g, o.Hints); len(g.Runs) > 0 {
		title := conditions.HowMeasured(origin)
		d = append(d, document.Optional(2, title, document.Details{Title: document.Upper(title), Body: document.Document{origin}}))
	}
	if len(g.Cells) > 0 {
		d = append(d, document.Optional(3, "what the columns mean", document.Space{}, gateNote(g), document.Methodology(compare.OfSides)))
	}
	return d
}

func gateNote(g Gated) document.Paragraph {
	chance := document.Share(stats.Doubt) + " for all cells together"
	if g.drifts() {
		chance += ", " + asFast
	}
	words := fmt.Sprintf("regression: takes more than %[1]s more than the baseline, in both measurements. If no cell did, the probability of any regression here would be at most %[2]s. "+
		"passed: the whole interval is below %[1]s.", document.Share(g.Max), chance)
	if showsP(g.Gate) {
		words += fmt.Sprintf(" p: how probable such a result would be if the candidate took at most %s more, corrected for all cells and looks; cells that passed have none, because they are judged by their interval.", document.Share(g.Max))
	}
	if slices.ContainsFunc(g.Cells, func(c *stats.Gated) bool { return c.Measured() }) {
		words = compare.RatioNote("the figure of the candidate", "that of the baseline", g.Base == nil, 1-stats.Doubt) + " " + words
	}
	return document.Paragraph{Text: words, Quiet: true}
}

func gateOrigin(g Gated, h document.Hints) (l document.List) {
	if len(g.Runs) > 0 {
		l = conditions.Origin([2]string{g.Baseline, g.Candidate}, comparedCells(g.Gate), cmp.Or(g.Base, g.Runs[0]), g.Runs[0], g.Runs[1:]...)
	}
	l.Note(compare.More(h))
	return l
}

func comparedCells(g *stats.Gate) []*stats.Compared {
	return document.Map(g.Cells, func(c *stats.Gated) *stats.Compared { return c.Compared })
}

// cause says why a cell has no ratio, or what its failed operations show. For a cell with a ratio and
// without failed operations it returns "".
func cause(c *stats.Gated) string {
	switch {
	case c.Moot != "":
		return c.Moot
	case c.Verdict != stats.Bad:
		return c.Why
	}
	side, whose := c.Second, ""
	if c.State != stats.GateWrong && c.First.Status != result.OK {
		side, whose = c.First, "the baseline has no figure: "
	}
	return fmt.Sprintf("%s%s: %s", whose, side.Status, compare.NoFigure(side))
}

// remark explains the state of a cell, as far as the table does not. It returns "" if the table says
// everything. The parameter "most" is the allowed regression, as a fraction, and "cells" is the number of
// comparisons for which p-values are corrected.
func remark(c *stats.Gated, most float64, cells int) string {
	switch c.State {
	case stats.GateUnconfirmed:
		first, then := "", ""
		if c.Measured() {
			first = compare.RatioOf(c.Compared) + " at first"
		}
		if !c.Measured() || c.Moot == "" && c.FailuresTold() {
			first = c.Why + " at first"
		}
		switch {
		case c.Moot != "":
			then = ", but " + c.Moot
		case c.FailuresTold():
			then = ", but not when it was measured again"
		case c.Again == nil:
			then = "; it could not be measured again"
		default:
			then = fmt.Sprintf(", %s when it was measured again%s", compare.RatioOf(c.Again), beside(c))
		}
		return first + then
	case stats.GatePossible:
		if c.Why != "" {
			return c.Why
		}
		if i := c.Ratio.Interval; i != nil && i.Low > 1+most {
			return fmt.Sprintf("probably a regression: %s, but p is %s, corrected for %s, and must be below %g: %s",
				compare.RatioOf(c.Compared), document.Probability(c.P), document.Counted(int64(cells), "comparison"), stats.Doubt, compare.Settling([]*stats.Compared{c.Compared}))
		}
		return fmt.Sprintf("%s, so it may be more than %s worse: %s", compare.RatioOf(c.Compared), document.Share(most), compare.Settling([]*stats.Compared{c.Compared}))
	}
	return cause(c)
}

// The function "beside" returns words to add after "measured again". If the driver of a stored baseline
// was measured again too, the words say so. If it was not, they name the assumption under which a
// regression is confirmed. In all other cases, the words are "".
func beside(c *stats.Gated) string {
	switch {
	case c.Stored && c.Beside:
		return " together with the baseline's driver"
	case c.Stored && c.State == stats.GateRegression:
		return ", " + asFast
	}
	return ""
}

// measured returns the runs on which a gate is based. The first is the run of the stored baseline,
// if there is one. Then come the gate's own runs.
func (g Gated) measured() []*result.Run {
	if g.Base == nil {
		return conditions.Runs(g.Runs)
	}
	return append([]*result.Run{g.Base.Run}, conditions.Runs(g.Runs)...)
}
