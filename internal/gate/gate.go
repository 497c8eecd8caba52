// Package gate says whether a candidate passes: whether a regression beyond what is allowed was
// found, or could not be excluded.
package gate

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/xml"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/sqlite3perf/sqlite3perf/internal/chart"
	"github.com/sqlite3perf/sqlite3perf/internal/compare"
	"github.com/sqlite3perf/sqlite3perf/internal/conditions"
	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
)

// Gated is a gate with what is known of its measurements.
type Gated struct {
	*stats.Gate
	Runs        []*stats.Analysis // the first measurement, and the second if there was one
	Base        *stats.Analysis   // the stored baseline; nil if it was measured in the same rounds as the candidate
	Differences []string          // between baseline and candidate, beyond what is judged; they were allowed
	Apart       string            // why a stored baseline's driver was not measured beside the candidate when it was in doubt; "" if it was
	Why         string            // why nothing was measured, or not all; "" if all was, or somebody interrupted it
	Where       string            // file that annotations refer to, for services that need one
}

// Formats are those of a gate: for people, as JSON, as JUnit's XML, as annotations of GitHub
// Actions or of Azure Pipelines, or as a code quality report of GitLab.
var Formats = document.FormatsOf[Gated, document.Options]{What: "gate", List: []document.Format[Gated, document.Options]{
	{Name: "table", To: func(w io.Writer, g Gated, o document.Options) error {
		return document.RenderText(w, Gate(g, o.Hints), o)
	}},
	{Name: "markdown", To: func(w io.Writer, g Gated, o document.Options) error {
		return document.RenderMarkdown(w, Gate(g, o.Hints))
	}},
	{Name: "html", To: func(w io.Writer, g Gated, o document.Options) error {
		return document.RenderHTML(w, gatePage(g, o.Hints), "Gate", o)
	}},
	{Name: "json", To: WriteGateJSON},
	{Name: "junit", To: writeJUnit},
	{Name: "github", To: writeGitHub},
	{Name: "azure", To: writeAzure},
	{Name: "gitlab", To: writeGitLab},
}}

// Answer says in a sentence whether the candidate passes. It begins with the decision.
func (g Gated) Answer() string {
	decision := g.Decision()
	sides := fmt.Sprintf("%s: %s against %s: ", decision, g.Candidate, g.Baseline)
	short := conditions.CountTooShort(comparedCells(g.Gate))
	switch {
	case len(g.Cells) == 0 && g.Why != "":
		return fmt.Sprintf("%s: %s.", decision, g.Why)
	case len(g.Cells) == 0 && !g.Interrupted:
		return fmt.Sprintf("%s: nothing of %s against %s could be compared.", decision, g.Candidate, g.Baseline)
	case decision == stats.Passed:
		words := fmt.Sprintf("more than %s is excluded in %s", document.Share(g.Max), document.Counted(int64(len(g.Cells)), "cell"))
		if measured := g.lasting(); len(measured) > 0 {
			words += " (" + compare.Ratios(measured, len(g.Cells)) + ")"
		}
		words += ", of typical trials"
		if n := g.Count(stats.GateUnconfirmed); n > 0 {
			words += fmt.Sprintf("; what seemed to be a regression in %s is not confirmed", document.Counted(int64(n), "cell"))
		}
		return sides + words + "." + short
	}
	var found []string
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
	return sides + strings.Join(found, "; ") + "." + short
}

// lasting returns what the cells that have a ratio are judged by, without those whose first
// ratio says nothing of the candidate.
func (g Gated) lasting() (list []*stats.Compared) {
	for _, c := range g.Cells {
		switch {
		case c.Again != nil && c.Beside && c.Stored && c.Again.Measured():
			list = append(list, c.Again)
		case c.Measured() && c.Moot == "":
			list = append(list, c.Compared)
		}
	}
	return list
}

// of returns what the cells in a state are judged by.
func (g Gated) of(s stats.State) (list []*stats.Compared) {
	for _, c := range g.Cells {
		if c.State == s {
			list = append(list, c.Compared)
		}
	}
	return list
}

// asFast is what a comparison with figures of an earlier run takes for granted.
const asFast = "as far as the machine was as fast as when the baseline was measured"

// drifts reports whether the answer takes for granted that the machine has not changed.
func (g Gated) drifts() bool {
	found := false
	for _, c := range g.Cells {
		if c.State == stats.GateRegression {
			found = true
			if c.Stored && !c.Beside {
				return true
			}
		}
	}
	return g.Base != nil && !found
}

// confirmed says how the regressions were measured.
func (g Gated) confirmed() string {
	switch {
	case g.drifts():
		return "measured twice, " + asFast
	case g.Base != nil:
		return "measured again beside the driver of the baseline"
	}
	return "measured twice"
}

// decisive returns what the regressions are judged by: if the baseline is stored, the second
// measurement, if both sides were in its rounds.
func (g Gated) decisive() (list []*stats.Compared) {
	for _, c := range g.Cells {
		switch {
		case c.State != stats.GateRegression:
		case c.Stored && c.Beside:
			list = append(list, c.Again)
		default:
			list = append(list, c.Compared)
		}
	}
	return list
}

// gateBeware says what to know before the table of a gate: what may mislead, and what became
// of cells.
func gateBeware(g Gated, h document.Hints) (l document.List) {
	for _, x := range g.Differences {
		l = append(l, document.Item{Label: "beware", Text: "baseline and candidate differ in more than what is judged: " + x, Alarm: true})
	}
	if g.Base != nil {
		l = append(l, document.Item{Label: "beware", Text: "the baseline was measured at another time: what else changed on the machine is part of each ratio", Alarm: true})
	}
	if g.Apart != "" {
		l = append(l, document.Item{Label: "beware", Text: "the second measurement was compared with the stored one, too, because the driver of the baseline could not be measured beside the candidate: " + g.Apart, Alarm: true})
	}
	for _, c := range g.Cells {
		if words := remark(c, g.Max, g.Tests()); words != "" {
			l = append(l, document.Item{Label: string(c.State), Text: c.String() + ": " + words, Alarm: c.State != stats.GatePassed})
		}
	}
	if g.Decision() == stats.NotExcluded && h.Pass != "" {
		l = append(l, document.Item{Label: "to pass", Text: h.Pass})
	}
	if len(g.Alone) > 0 {
		l = append(l, document.Item{Label: "left out", Text: "only one side has " + document.SomeOf(g.Alone, compare.MostNamed)})
	}
	return l
}

// Gate describes a gate in words.
func Gate(g Gated, h document.Hints) document.Document {
	d := document.Document{document.Heading{Level: 1, Text: g.Answer()}, gateBeware(g, h)}
	table := gateGrid(g.Gate)
	if len(table.Rows) > 0 {
		d = append(d, table)
	}
	if short := conditions.ComparedTooShort(comparedCells(g.Gate), h); short != nil {
		d = append(d, short)
	}
	d = append(d, gateOrigin(g, h))
	if len(g.Cells) == 0 {
		return d
	}
	return append(d, document.Space{}, gateNote(g), document.Methodology(compare.OfSides))
}

// gateNote says what a regression is, and how ratios are to be read.
func gateNote(g Gated) document.Paragraph {
	chance := document.Share(stats.Doubt) + " for all cells together"
	if g.drifts() {
		chance += ", " + asFast
	}
	words := fmt.Sprintf("A regression takes more than %s more than the baseline, not by chance (at most %s), and again in a second measurement. "+
		"passed: the whole interval is below that. p is that of no more than %s, corrected for all cells and looks.", document.Share(g.Max), chance, document.Share(g.Max))
	if slices.ContainsFunc(g.Cells, func(c *stats.Gated) bool { return c.Measured() }) {
		words = compare.RatioNote("the figure of the candidate", "that of the baseline", g.Base == nil) + " " + words
	}
	return document.Paragraph{Text: words, Quiet: true}
}

// gateOrigin says what the figures of a gate were measured from.
func gateOrigin(g Gated, h document.Hints) document.Details {
	var l document.List
	if len(g.Runs) > 0 {
		l = conditions.Origin([2]string{g.Baseline, g.Candidate}, comparedCells(g.Gate), cmp.Or(g.Base, g.Runs[0]), g.Runs[0], g.Runs[1:]...)
	}
	title, warnings := "How it was measured", 0
	for _, it := range l {
		if it.Alarm {
			warnings++
		}
	}
	if warnings > 0 {
		title += ", with " + document.Counted(int64(warnings), "warning")
	}
	l.Note(compare.More(h))
	return document.Details{Title: title, Body: document.Document{l}}
}

// comparedCells returns what the gate's cells are judged by.
func comparedCells(g *stats.Gate) (list []*stats.Compared) {
	for _, c := range g.Cells {
		list = append(list, c.Compared)
	}
	return list
}

// cause says why a cell is not judged by a ratio. It returns "" if it is.
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

// remark says what a table has no room for. It returns "" if there is nothing to say.
func remark(c *stats.Gated, most float64, cells int) string {
	switch c.State {
	case stats.GateUnconfirmed:
		if c.Moot != "" && c.Measured() {
			return fmt.Sprintf("%s at first, but %s", document.Times(c.Ratio.Median), c.Moot)
		}
		if c.Moot != "" {
			return c.Why + " at first, but " + c.Moot
		}
		if c.FailuresTold() {
			return c.Why + " at first, but not when it was measured again"
		}
		if c.Again == nil {
			return fmt.Sprintf("%s at first; it could not be measured again", document.Times(c.Ratio.Median))
		}
		return fmt.Sprintf("%s at first, %s %s when it was measured again%s", document.Times(c.Ratio.Median), document.Times(c.Again.Ratio.Median), document.Interval(c.Again.Ratio.Interval), beside(c))
	case stats.GatePossible:
		if c.Why != "" {
			return c.Why
		}
		if i := c.Ratio.Interval; i != nil && i.Low > 1+most {
			return fmt.Sprintf("seems worse: all of the interval %s is beyond %s, but p %s, corrected for %s, is not below %g: more rounds may tell",
				document.Interval(i), document.Share(most), document.Probability(c.P), document.Counted(int64(cells), "comparison"), stats.Doubt)
		}
		return fmt.Sprintf("no regression was found, but one of more than %s is not excluded: %s", document.Share(most), document.Interval(c.Ratio.Interval))
	}
	return cause(c)
}

// beside says with what a cell was compared when it was measured again, if the baseline is
// stored.
func beside(c *stats.Gated) string {
	switch {
	case c.Stored && c.Beside:
		return " beside the driver of the baseline"
	case c.Stored && c.State == stats.GateRegression:
		return ", " + asFast
	}
	return ""
}

// gateGrid is the table of the cells that have a ratio.
func gateGrid(g *stats.Gate) document.Grid {
	var cells []*stats.Compared
	var p []float64
	var states []string
	for _, c := range g.Cells {
		if c.Measured() {
			cells, p, states = append(cells, c.Compared), append(p, c.P), append(states, conditions.Marked(string(c.State), c.Compared))
		}
	}
	return compare.RatioGrid(cells, p, document.Column{Title: "state"}, states, g.Baseline, g.Candidate)
}

// GateVersion is the version of the JSON form of a gate. Fields may be added without
// changing it.
const GateVersion = 1

// JSONGate is the JSON form of a gate.
type JSONGate struct {
	Version       int            `json:"version"`
	Answer        string         `json:"answer"`
	Decision      stats.Decision `json:"decision"` // the first words of the answer
	Passed        bool           `json:"passed"`   // the decision is "Passed"
	Complete      bool           `json:"complete"` // every cell could be judged
	Baseline      string         `json:"baseline"`
	Candidate     string         `json:"candidate"`
	MaxRegression float64        `json:"max_regression"`
	Interleaved   bool           `json:"interleaved"`
	Runs          []int64        `json:"runs"`
	Trials        int            `json:"trials"`          // of these runs
	Repeated      int            `json:"repeated_trials"` // of Trials, robbed of time and measured again
	Differences   []string       `json:"differences,omitempty"`
	Apart         string         `json:"apart,omitempty"` // why a stored baseline's driver was not measured again
	Cells         []JSONGateCell `json:"cells"`
	Unknown       []stats.Metric `json:"unknown_metrics,omitempty"` // of which no cell has figures
	Alone         []string       `json:"alone,omitempty"`
}

// JSONGateCell is a cell of a gate.
type JSONGateCell struct {
	stats.TableName
	Metric stats.Metric   `json:"metric"`
	State  stats.State    `json:"state"`
	Why    string         `json:"why,omitempty"`
	Ratio  *stats.Summary `json:"ratio,omitempty"` // of the candidate to the baseline
	P      *float64       `json:"p_adjusted,omitempty"`
	Again  *stats.Summary `json:"again,omitempty"`             // the ratio of the second measurement
	Beside bool           `json:"again_interleaved,omitempty"` // it has both sides in the same rounds

	Failures      *compare.JSONFailures `json:"failures,omitempty"`       // first: the baseline
	FailuresAgain *compare.JSONFailures `json:"failures_again,omitempty"` // of the second measurement

	TooShort bool `json:"too_short,omitempty"` // the phase is too short to judge the drivers by
}

func WriteGateJSON(w io.Writer, g Gated, _ document.Options) error {
	out := JSONGate{Version: GateVersion, Answer: g.Answer(), Passed: g.Decision() == stats.Passed, Complete: g.Complete(), Decision: g.Decision(),
		Baseline: g.Baseline, Candidate: g.Candidate, MaxRegression: g.Max, Interleaved: g.Base == nil, Runs: []int64{},
		Differences: g.Differences, Apart: g.Apart, Cells: []JSONGateCell{}, Unknown: g.Unknown, Alone: g.Alone}
	for _, a := range g.Runs {
		out.Runs = append(out.Runs, a.Run.ID)
	}
	robbed := conditions.CountRepeated(conditions.Runs(g.Runs)...)
	out.Repeated, out.Trials = robbed.Again, robbed.Trials
	for _, c := range g.Cells {
		cell := JSONGateCell{TableName: c.TableName, Metric: c.Metric, State: c.State, Why: cause(c), TooShort: c.TooShort()}
		if c.Measured() {
			cell.Ratio, cell.P = &c.Ratio, &c.P
		}
		if c.Again != nil && c.Again.Ratio.N > 0 {
			cell.Again, cell.Beside = &c.Again.Ratio, c.Beside
		}
		cell.Failures = compare.FailuresOf(c.Compared)
		if c.Again != nil {
			cell.FailuresAgain = compare.FailuresOf(c.Again)
		}
		out.Cells = append(out.Cells, cell)
	}
	return document.Encode(w, out)
}

// summary says in one line what became of a cell.
func summary(c *stats.Gated) string {
	if c.State == stats.GateUnconfirmed && (c.FailuresTold() || c.Moot != "") {
		return document.Line(remark(c, 0, 0))
	}
	if !c.Measured() {
		return document.Line(cause(c))
	}
	words := fmt.Sprintf("%s the %s of the baseline %s, p %s, n %d", document.Times(c.Ratio.Median), c.Metric, document.Interval(c.Ratio.Interval), document.Probability(c.P), c.Ratio.N)
	if c.Again != nil {
		words += fmt.Sprintf("; measured again%s: %s %s", beside(c), document.Times(c.Again.Ratio.Median), document.Interval(c.Again.Ratio.Interval))
	}
	return document.Line(conditions.Marked(words, c.Compared))
}

// The elements of JUnit's XML, as CI services read them.
type (
	testSuite struct {
		XMLName  xml.Name   `xml:"testsuite"`
		Name     string     `xml:"name,attr"`
		Tests    int        `xml:"tests,attr"`
		Failures int        `xml:"failures,attr"`
		Errors   int        `xml:"errors,attr"`
		Skipped  int        `xml:"skipped,attr"`
		Cases    []testCase `xml:"testcase"`
	}
	testCase struct {
		Class   string   `xml:"classname,attr"`
		Name    string   `xml:"name,attr"`
		Skipped *problem `xml:"skipped"`
		Failure *problem `xml:"failure"`
		Error   *problem `xml:"error"`
		Output  string   `xml:"system-out,omitempty"`
	}
	problem struct {
		Message string `xml:"message,attr"`
		Type    string `xml:"type,attr,omitempty"` // not of skipped
		Text    string `xml:",chardata"`
	}
)

func writeJUnit(w io.Writer, g Gated, _ document.Options) error {
	suite := testSuite{Name: document.Line("sqlite3perf gate: " + g.Candidate + " against " + g.Baseline), Tests: len(g.Cells)}
	for _, c := range g.Cells {
		t := testCase{Class: document.Line(c.Workload), Name: document.Line(strings.TrimSpace(c.Variant + " " + c.Phase + " " + string(c.Metric))), Output: summary(c)}
		p := &problem{Message: summary(c), Type: string(c.State)}
		switch {
		case c.State.Shuts():
			t.Failure = p
			suite.Failures++
		case g.Doubts(c):
			t.Error = p
			suite.Errors++
		case c.Hides(), c.State == stats.GateUnconfirmed:
			// What passed is shown by name only, or not at all.
			t.Skipped = &problem{Message: string(c.State) + ": " + summary(c)}
			suite.Skipped++
		}
		suite.Cases = append(suite.Cases, t)
	}
	for _, m := range g.Unknown {
		suite.Tests, suite.Errors = suite.Tests+1, suite.Errors+1
		suite.Cases = append(suite.Cases, testCase{Class: "gate", Name: string(m), Error: &problem{Message: "there are no figures of " + string(m), Type: string(stats.GateUnusable)}})
	}
	whole := "" // what is wrong with the gate as a whole; an empty suite is green
	switch {
	case g.Interrupted:
		whole = "measured to the end"
	case len(g.Cells) == 0:
		whole = "anything measured"
	}
	if whole != "" {
		suite.Tests++
		suite.Errors++
		suite.Cases = append(suite.Cases, testCase{Class: "gate", Name: whole, Error: &problem{Message: document.Line(g.Answer()), Type: string(stats.GateUnusable)}})
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	e := xml.NewEncoder(w)
	e.Indent("", "  ")
	if err := e.Encode(suite); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

// annotation is what a CI service shows beside a change.
type annotation struct {
	level string       // "error", "warning" or "notice"
	cell  *stats.Gated // nil: of the gate as a whole
	text  string
}

// annotations lists what is worth showing: an error for what shuts the gate, a warning for
// what leaves it in doubt.
func annotations(g Gated) []annotation {
	level := "notice"
	switch {
	case !g.Passes():
		level = "error"
	case g.Decision() != stats.Passed:
		level = "warning"
	}
	list := []annotation{{level: level, text: document.Line(g.Answer())}}
	for _, c := range g.Cells {
		switch {
		case c.State.Shuts(), g.Doubts(c):
			level = "error"
		case c.Hides(), c.State == stats.GateUnconfirmed:
			level = "warning"
		default:
			continue
		}
		list = append(list, annotation{level, c, document.Line(fmt.Sprintf("%s: %s: %s", compare.CellName(c.Compared), c.State, summary(c)))})
	}
	return list
}

// writeGitHub writes workflow commands of GitHub Actions. In these %, CR and LF are
// escaped; a line of ours has no CR or LF.
func writeGitHub(w io.Writer, g Gated, _ document.Options) error {
	return writeAnnotations(w, g, func(a annotation) string {
		return fmt.Sprintf("::%s title=sqlite3perf::%s", a.level, strings.ReplaceAll(a.text, "%", "%25"))
	})
}

// writeAzure writes logging commands of Azure Pipelines, which have no notices.
func writeAzure(w io.Writer, g Gated, _ document.Options) error {
	return writeAnnotations(w, g, func(a annotation) string {
		if a.level == "notice" {
			return a.text
		}
		return fmt.Sprintf("##vso[task.logissue type=%s]%s", a.level, strings.ReplaceAll(a.text, "%", "%AZP25"))
	})
}

// writeAnnotations writes each annotation of a gate as a line.
func writeAnnotations(w io.Writer, g Gated, line func(annotation) string) error {
	for _, a := range annotations(g) {
		if _, err := fmt.Fprintln(w, line(a)); err != nil {
			return err
		}
	}
	return nil
}

// gitLabIssue is an entry of a code quality report of GitLab, which is that of Code
// Climate.
type gitLabIssue struct {
	Description string `json:"description"`
	CheckName   string `json:"check_name"`
	Fingerprint string `json:"fingerprint"`
	Severity    string `json:"severity"`
	Location    struct {
		Path  string `json:"path"`
		Lines struct {
			Begin int `json:"begin"`
		} `json:"lines"`
	} `json:"location"`
}

// fingerprint identifies a finding from run to run.
func fingerprint(words ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(words, "\x00")))
	return hex.EncodeToString(sum[:16])
}

func writeGitLab(w io.Writer, g Gated, _ document.Options) error {
	issues := []gitLabIssue{}
	for _, a := range annotations(g) {
		if a.level == "notice" {
			continue
		}
		issue := gitLabIssue{Description: a.text, CheckName: "sqlite3perf gate", Severity: "minor"}
		if a.level == "error" {
			issue.Severity = "critical"
		}
		name := "gate"
		if a.cell != nil {
			name = compare.CellName(a.cell.Compared)
		}
		issue.Fingerprint = fingerprint(g.Candidate, name)
		issue.Location.Path, issue.Location.Lines.Begin = g.Where, 1
		issues = append(issues, issue)
	}
	return document.Encode(w, issues)
}

// gatePage describes a gate for a page.
func gatePage(g Gated, h document.Hints) document.Document {
	d := document.Document{document.Heading{Level: 1, Text: g.Answer()}, gateBeware(g, h)}
	var rows []chart.Ratio
	var shut []*stats.Compared
	for _, c := range g.Cells {
		if !c.Measured() {
			rows = append(rows, chart.Ratio{Name: compare.CellName(c.Compared), Reason: fmt.Sprintf("%s: %s", c.State, cause(c))})
			continue
		}
		if c.State == stats.GateRegression {
			shut = append(shut, c.Compared)
		}
		rows = append(rows, compare.RatioRow(c.Compared, c.P, slices.Index(compare.GateKinds, string(c.State)), string(c.State)))
	}
	orders := compare.OrderPictures(shut, g.Baseline, g.Candidate, g.Base == nil, rows)
	if len(rows) > 0 {
		p := compare.Forest(rows, chart.Forest{
			Axis: chart.Axis{Label: "what the candidate takes, × the baseline, less is better"},
			Low:  1, High: 1 + g.Max, Band: "allowed: up to " + document.Share(g.Max) + " more",
			Less: g.Candidate + " takes less", More: g.Candidate + " takes more", Kinds: compare.GateKinds,
		})
		p.Title = fmt.Sprintf("what %s takes, × that of %s", g.Candidate, g.Baseline)
		if table := gateGrid(g.Gate); len(table.Rows) > 0 {
			p.Behind = document.Document{table, gateNote(g)}
		}
		d = append(d, document.Heading{Level: 2, Text: "All cells: " + p.Title}, p)
	}
	if short := conditions.ComparedTooShort(comparedCells(g.Gate), h); short != nil {
		d = append(d, short)
	}
	d = append(d, compare.SidesDiffer(comparedCells(g.Gate), g.Baseline, g.Candidate)...)
	d = append(d, orders...)
	return append(append(append(d, document.Heading{Level: 2, Text: "How it was measured"}), gateOrigin(g, h).Body...), document.Methodology(compare.OfSides))
}
