package gate

import (
	"cmp"
	"encoding/xml"
	"fmt"
	"io"
	"strings"

	"github.com/sqlite3perf/sqlite3perf/internal/compare"
	"github.com/sqlite3perf/sqlite3perf/internal/conditions"
	"github.com/sqlite3perf/sqlite3perf/internal/directory"
	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
)

// GateVersion is the version of the JSON form of a gate. Adding fields does not change the version.
const GateVersion = 1

// JSONGate is the JSON form of a gate.
type JSONGate struct {
	Version       int            `json:"version"`
	Answer        string         `json:"answer"`
	Decision      stats.Decision `json:"decision"` // the decision "Not excluded" is worded "Not known yet" in Answer
	Passed        bool           `json:"passed"`   // true if the decision is "Passed"
	Complete      bool           `json:"complete"` // true if every cell could be judged and the measurement was not interrupted
	Baseline      string         `json:"baseline"`
	Candidate     string         `json:"candidate"`
	MaxRegression float64        `json:"max_regression"`
	Interleaved   bool           `json:"interleaved"`
	Runs          []int64        `json:"runs"`
	Trials        int            `json:"trials"`          // number of trials in Runs
	Repeated      int            `json:"repeated_trials"` // number of Trials that were measured again because other processes had taken time
	Differences   []string       `json:"differences,omitempty"`
	Apart         string         `json:"apart,omitempty"` // why the driver of a stored baseline was not measured again
	Cells         []JSONGateCell `json:"cells"`
	Unknown       []stats.Metric `json:"unknown_metrics,omitempty"` // requested metrics for which no cell has figures
	Alone         []string       `json:"alone,omitempty"`

	Expected []conditions.JSONExpectation `json:"expectations,omitempty"`  // what the workloads expect of the candidate, and whether the first of Runs meets it
	Defects  []compare.Explanation        `json:"known_defects,omitempty"` // known defects that may explain regressions
}

// JSONGateCell is a cell of a gate.
type JSONGateCell struct {
	stats.TableName
	Metric stats.Metric   `json:"metric"`
	State  stats.State    `json:"state"`
	Why    string         `json:"why,omitempty"`
	Ratio  *stats.Summary `json:"ratio,omitempty"` // ratio of the candidate to the baseline
	P      *float64       `json:"p_adjusted,omitempty"`
	Again  *stats.Summary `json:"again,omitempty"`             // ratio of the second measurement
	Beside bool           `json:"again_interleaved,omitempty"` // the second measurement had both sides in the same rounds

	Failures      *compare.JSONFailures `json:"failures,omitempty"`       // failed operations; the baseline is first
	FailuresAgain *compare.JSONFailures `json:"failures_again,omitempty"` // failed operations of the second measurement

	TooShort bool `json:"too_short,omitempty"` // the phase is too short to judge the drivers
}

// JSONOf returns the JSON form of a gate.
func JSONOf(g Gated) JSONGate {
	out := JSONGate{Version: GateVersion, Answer: g.Answer(), Passed: g.Decision() == stats.Passed, Complete: g.Complete(), Decision: g.Decision(),
		Baseline: g.Baseline, Candidate: g.Candidate, MaxRegression: g.Max, Interleaved: g.Base == nil, Runs: []int64{},
		Differences: g.Differences, Apart: g.Apart, Cells: []JSONGateCell{}, Unknown: g.Unknown, Alone: g.Alone,
		Expected: conditions.ExpectationsOf(g.Expected), Defects: g.explained(g.Cells...)}
	for _, a := range g.Runs {
		out.Runs = append(out.Runs, a.Run.ID)
	}
	robbed := conditions.CountRepeated(conditions.Runs(g.Runs)...)
	out.Repeated, out.Trials = robbed.Again, robbed.Trials
	for _, c := range g.Cells {
		cell := JSONGateCell{TableName: c.TableName, Metric: c.Metric, State: c.State, Why: cause(c), Failures: compare.FailuresOf(c.Compared), TooShort: c.TooShort()}
		if c.Measured() {
			cell.Ratio, cell.P = &c.Ratio, &c.P
		}
		if c.Again != nil {
			cell.FailuresAgain = compare.FailuresOf(c.Again)
			if c.Again.Ratio.N > 0 {
				cell.Again, cell.Beside = &c.Again.Ratio, c.Beside
			}
		}
		out.Cells = append(out.Cells, cell)
	}
	return out
}

// summary describes in one line the result of a cell, and names known defects that may explain it.
func (g Gated) summary(c *stats.Gated) string {
	words := summary(c)
	for _, x := range g.explained(c) {
		words += "; " + document.Line(x.Brief())
	}
	return words
}

func summary(c *stats.Gated) string {
	if c.State == stats.GateUnconfirmed && (c.FailuresTold() || c.Moot != "") {
		return document.Line(remark(c, 0, 0))
	}
	if !c.Measured() {
		return document.Line(cause(c))
	}
	words := fmt.Sprintf("%s, p %s, n %d", compare.RatioOf(c.Compared), document.Probability(c.P), c.Ratio.N)
	if c.Again != nil {
		words += fmt.Sprintf("; measured again%s: %s", beside(c), compare.RatioOf(c.Again))
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
		Type    string `xml:"type,attr,omitempty"` // empty for skipped tests
		Text    string `xml:",chardata"`
	}
)

// add adds a test case for an expectation.
func (s *testSuite) add(g Gated, x stats.Expected) {
	t := testCase{Class: document.Line(x.Case.Workload), Name: document.Line(strings.TrimSpace(x.Variant + " " + x.Phase + " expects " + x.String())), Output: document.Line(conditions.ExpectedWords(x))}
	p := &problem{Message: string(x.Met) + ": " + t.Output, Type: string(x.Met)}
	switch {
	case x.Met == stats.NotMet:
		t.Failure = p
		s.Failures++
	case g.DoubtsExpected(x):
		t.Error = p
		s.Errors++
	case x.Met == stats.Undecided:
		t.Skipped = &problem{Message: p.Message}
		s.Skipped++
	}
	s.Tests, s.Cases = s.Tests+1, append(s.Cases, t)
}

func writeJUnit(w io.Writer, g Gated, _ document.Options) error {
	suite := testSuite{Name: document.Line("sqlite3perf gate: " + g.Candidate + " against " + g.Baseline), Tests: len(g.Cells)}
	for _, c := range g.Cells {
		t := testCase{Class: document.Line(c.Workload), Name: document.Line(strings.TrimSpace(c.Variant + " " + c.Phase + " " + string(c.Metric))), Output: g.summary(c)}
		p := &problem{Message: g.summary(c), Type: string(c.State)}
		switch {
		case c.State.Shuts():
			t.Failure = p
			suite.Failures++
		case g.Doubts(c):
			t.Error = p
			suite.Errors++
		case c.Hides(), c.State == stats.GateUnconfirmed:
			// A passed test would hide this cell, because a CI service may show only the names of
			// passed tests.
			t.Skipped = &problem{Message: stateWords(c.State) + ": " + g.summary(c)}
			suite.Skipped++
		}
		suite.Cases = append(suite.Cases, t)
	}
	for _, x := range g.Expected {
		suite.add(g, x)
	}
	fail := func(name, message string) { // adds a test case that is not about a cell
		suite.Tests++
		suite.Errors++
		suite.Cases = append(suite.Cases, testCase{Class: "gate", Name: name, Error: &problem{Message: message, Type: string(stats.GateUnusable)}})
	}
	for _, m := range g.Unknown {
		fail(string(m), "there are no figures of "+string(m))
	}
	switch { // without these test cases, CI services would show an empty suite as passed
	case g.Interrupted:
		fail("measured to the end", document.Line(g.Answer()))
	case len(g.Cells) == 0:
		fail("anything measured", document.Line(g.Answer()))
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

// annotation is a message that a CI service shows with a code change.
type annotation struct {
	level string // "error", "warning" or "notice"
	about string // the cell or the expectation that the annotation is about; "" if it is about the gate itself
	text  string
}

// annotations returns the annotations of a gate. The first one has the gate's answer. Then there is an
// error for each expectation and cell that fails the gate or could not be judged, and a warning for
// each expectation and cell that leaves the decision in doubt.
func annotations(g Gated) []annotation {
	level := "notice"
	switch {
	case !g.Passes():
		level = "error"
	case g.Decision() != stats.Passed:
		level = "warning"
	}
	list := []annotation{{level: level, text: document.Line(g.Answer())}}
	for _, x := range g.Expected {
		switch {
		case x.Met == stats.NotMet, g.DoubtsExpected(x):
			level = "error"
		case x.Met == stats.Undecided:
			level = "warning"
		default:
			continue
		}
		about := fmt.Sprintf("%s %s", stats.TableName{Workload: x.Case.Workload, Variant: x.Variant, Phase: x.Phase}, x.Expectation)
		list = append(list, annotation{level, about, document.Line(fmt.Sprintf("%s: %s", x.Met, conditions.ExpectedWith(stats.Expectations{x}, x.Met)[0]))})
	}
	for _, c := range g.Cells {
		switch {
		case c.State.Shuts(), g.Doubts(c):
			level = "error"
		case c.Hides(), c.State == stats.GateUnconfirmed:
			level = "warning"
		default:
			continue
		}
		name := compare.CellName(c.Compared)
		list = append(list, annotation{level, name, document.Line(fmt.Sprintf("%s: %s: %s", name, stateWords(c.State), g.summary(c)))})
	}
	return list
}

// writeGitHub writes workflow commands of GitHub Actions, in which "%" must be escaped.
func writeGitHub(w io.Writer, g Gated, _ document.Options) error {
	return writeAnnotations(w, g, func(a annotation) string {
		return fmt.Sprintf("::%s title=sqlite3perf::%s", a.level, strings.ReplaceAll(a.text, "%", "%25"))
	})
}

// writeAzure writes logging commands of Azure Pipelines. Azure has no command for notices.
func writeAzure(w io.Writer, g Gated, _ document.Options) error {
	return writeAnnotations(w, g, func(a annotation) string {
		if a.level == "notice" {
			return a.text
		}
		return fmt.Sprintf("##vso[task.logissue type=%s]%s", a.level, strings.ReplaceAll(a.text, "%", "%AZP25"))
	})
}

func writeAnnotations(w io.Writer, g Gated, line func(annotation) string) error {
	for _, a := range annotations(g) {
		if _, err := fmt.Fprintln(w, line(a)); err != nil {
			return err
		}
	}
	return nil
}

// gitLabIssue is an entry of GitLab's code quality report, which has the format of Code Climate.
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
		issue.Fingerprint = directory.Sum([]byte(g.Candidate + "\x00" + cmp.Or(a.about, "gate")))[:32] // the same finding in another run gets the same fingerprint
		issue.Location.Path, issue.Location.Lines.Begin = g.Where, 1
		issues = append(issues, issue)
	}
	return document.Encode(w, issues)
}
