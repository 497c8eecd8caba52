package bisect

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/sqlite3perf/sqlite3perf/internal/chart"
	"github.com/sqlite3perf/sqlite3perf/internal/compare"
	"github.com/sqlite3perf/sqlite3perf/internal/conditions"
	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
)

// Bisection is the result of a search for the release that changed a cell. It also has the driver,
// and other differences between the two releases around the change.
type Bisection struct {
	*Finding
	Driver string
	Also   []Difference // other differences between the last good release and the first bad one
}

// Difference is a difference between two releases, apart from differences of times.
type Difference struct {
	What   string `json:"what"` // what differs, such as "SQLite"
	Before string `json:"before,omitempty"`
	After  string `json:"after,omitempty"`
}

// Formats are the output formats of a bisection.
var Formats = document.Question[Bisection]{Name: "bisection", Document: bisection, Title: "Bisection", Fits: true, Page: bisectionPage, JSON: jsonOf}.Formats()

// Answer says in a sentence or two which release changed which cell, and how.
func (b Bisection) Answer() string {
	c := b.Change
	switch {
	case c == nil:
		return b.none()
	case b.Bad == "":
		return fmt.Sprintf("%s changed, but the search was not finished.", c)
	case b.Pair == nil:
		return fmt.Sprintf("%s changed between %s %s and %s; the two were not compared.", c, b.Driver, b.Good, b.Bad)
	}
	who := fmt.Sprintf("%s %s is the first release in which", b.Driver, b.Bad)
	if len(b.Between) > 0 {
		who = fmt.Sprintf("One of %s %s is the first release in which", b.Driver, strings.Join(append(slices.Clone(b.Between), b.Bad), ", "))
	}
	if b.Pair.Judgment != Changed {
		return fmt.Sprintf("%s changed up to %s %s, but %s and %s don't differ clearly (%s): several releases may each have a part in it.",
			c, b.Driver, b.Bad, b.Good, b.Bad, ratioOf(b.Pair.Cell))
	}
	switch x := b.Pair.Cell; {
	case c.Fixed:
		return fmt.Sprintf("%s %s is no longer %s, as it was in %s.", who, c, document.States[c.Status], b.Good)
	case c.Verdict == stats.Bad:
		return fmt.Sprintf("%s %s is %s.", who, c, document.States[c.Status])
	case c.Verdict == stats.Differing:
		return fmt.Sprintf("%s %s differs from %s: %s.", who, c, b.Good, x.Why)
	case x.Failing != nil && c.failing():
		words := "more"
		if c.Verdict == stats.FailsLess {
			words = "fewer"
		}
		return fmt.Sprintf("%s %s operations of %s failed than in %s: %s against %s.", who, words, c, b.Good, stats.FailedShare(x.Failing.Second), stats.FailedShare(x.Failing.First))
	default:
		return fmt.Sprintf("%s %s %s.", who, c, against(x, b.Good))
	}
}

// The function "against" says by how much a cell of one release differs from the same cell of the
// other release. The parameter "other" is the name of the other release.
func against(x *stats.Compared, other string) string {
	if x.Metric == stats.Time {
		return "is " + document.SlowerThan(x.Ratio, "in "+other)
	}
	return fmt.Sprintf("has %s than in %s", compare.RatioOf(x), other)
}

// followed returns the title of the metric that the search followed.
func (b Bisection) followed() string {
	if by := b.Metric.Cost(); by != nil {
		return by.Title
	}
	return string(stats.Time)
}

// The method "why" returns the error that left one side of the change without figures. It returns ""
// if both sides have figures.
func (b Bisection) why() string {
	if b.Change == nil || b.Change.Verdict != stats.Bad || b.Pair == nil || b.Pair.Cell == nil {
		return ""
	}
	release, side := b.Bad, b.Pair.Cell.Second
	if b.Change.Fixed {
		release, side = b.Good, b.Pair.Cell.First
	}
	if side.Reason == nil {
		return ""
	}
	return release + ": " + conditions.Reason(side.Outcome)
}

// explained lists the known defects that may explain the change of times or counts.
func (b Bisection) explained() []compare.Explanation {
	if b.Change == nil || b.Pair == nil || b.Pair.Cell == nil || b.Pair.Analysis == nil {
		return nil
	}
	worse := map[stats.Verdict]int{stats.Slower: 1, stats.Faster: -1}[b.Change.Verdict]
	return compare.Explained(b.Pair.Analysis, b.Pair.Analysis, []*stats.Compared{b.Pair.Cell}, map[*stats.Compared]int{b.Pair.Cell: worse})
}

func (b Bisection) none() string {
	first, last := b.Releases[0], b.Releases[len(b.Releases)-1]
	worse := "slower, faster, wrong or failed"
	switch by := b.Metric.Cost(); {
	case by != nil && b.UntilFixed:
		worse = "better in its " + by.Title + ", or fixed"
	case by != nil:
		worse = "different in its " + by.Title + ", wrong or failed"
	case b.UntilFixed:
		worse = "faster or fixed"
	}
	if b.Certain() {
		return fmt.Sprintf("None of the measured releases of %s from %s to %s made a cell %s. (A difference of up to %s counts as none.)", b.Driver, first, last, worse, document.Share(b.Margin))
	}
	for _, s := range slices.Backward(b.Steps) {
		if s.Judgment == Unclear {
			return fmt.Sprintf("It is not known yet whether a release of %s from %s to %s made a cell %s: %s of %s needs %s.",
				b.Driver, first, last, worse, s.Cell, s.Second, compare.Settling([]*stats.Compared{s.Cell}))
		}
	}
	return fmt.Sprintf("Up to %s no release of %s made a cell %s; those after it were not measured.", b.Good, b.Driver, worse)
}

// ratioOf formats the ratio of a cell with its interval. If the verdict is about failed operations, it
// formats the shares of both sides instead. It returns "" if the cell has neither a ratio nor shares.
func ratioOf(x *stats.Compared) string {
	switch {
	case x != nil && x.FailuresTold():
		return fmt.Sprintf("%s failed, before %s", stats.FailedShare(x.Failing.Second), stats.FailedShare(x.Failing.First))
	case x == nil || !x.Measured():
		return ""
	}
	return document.Times(x.Ratio.Median) + " " + document.Interval(x.Ratio.Interval)
}

// StepWords describes the result of a step.
func StepWords(s *Step) string {
	switch {
	case s.Judgment == PassedOver:
		return fmt.Sprintf("%s is skipped: %s", s.Second, document.Line(s.Why))
	case s.Cell == nil:
		return s.Second + " is unchanged"
	case !s.Cell.Measured():
		return fmt.Sprintf("%s: %s: %s", s.Second, judged(s), s.Cell)
	case s.Judgment == Unclear && s.Cell.FailuresOpen():
		return fmt.Sprintf("%s: %s: %s: %s", s.Second, judged(s), s.Cell, s.Cell.Why)
	}
	return fmt.Sprintf("%s: %s: %s %s", s.Second, judged(s), s.Cell, against(s.Cell, s.First))
}

func judged(s *Step) string {
	switch s.Judgment {
	case Unclear:
		return compare.Word(stats.Unclear)
	case PassedOver:
		return "skipped"
	}
	return string(s.Judgment)
}

func bisection(b Bisection, _ document.Options) document.Document {
	d := document.Document{document.Heading{Level: 1, Text: b.Answer()}}
	var l document.List
	if why := b.why(); why != "" {
		l.Note(document.Item{Label: string(b.Change.Status), Text: why, Alarm: true})
	}
	if b.Change != nil && b.Pair != nil {
		if b.Also == nil {
			l.Note(document.Item{Label: "also changed", Text: "nothing else that is known: SQLite, its compile options and other modules are the same"})
		}
		for _, a := range b.Also {
			l.Note(document.Item{Label: a.What, Text: a.words()})
		}
	}
	l = append(l, compare.Explanations(b.explained())...)
	l.Note(document.Item{Label: "not judged", Text: strings.Join(b.Between, ", "), Alarm: true})
	l.Note(document.Item{Label: "searched", Text: fmt.Sprintf("%d releases of %s, %s to %s, in %s",
		len(b.Releases), b.Driver, b.Releases[0], b.Releases[len(b.Releases)-1], document.Counted(int64(len(b.Steps)), "step"))})
	d = append(d, l)
	l = nil
	var seen []result.Warning
	rounds := 0
	for _, s := range b.Steps {
		if s.Analysis == nil {
			continue
		}
		if seen == nil {
			l = append(l, conditions.MachineItems(s.Analysis.Run.Machine)...)
		}
		seen, rounds = append(seen, s.Analysis.Warnings...), rounds+s.Analysis.Run.Rounds
	}
	d = append(d, stepGrid(b.Steps))
	if l = append(l, conditions.MachineWarnings(seen, rounds)...); l != nil {
		d = append(d, document.Optional(1, conditions.HowMeasured(l), l))
	}
	return append(d, document.Optional(2, "what the columns mean", document.Space{}, document.Paragraph{Text: fmt.Sprintf("Both sides of a step were measured in the same rounds. ratio: %s of the release divided by that of the one it is compared with. Intervals have a confidence of at least %g%%.", b.followed(), 100*(1-stats.Doubt)), Quiet: true}))
}

func (d Difference) words() string {
	switch {
	case d.Before == "":
		return "added: " + d.After
	case d.After == "":
		return "removed: " + d.Before
	}
	return d.Before + " → " + d.After
}

func stepGrid(steps []*Step) document.Grid {
	run := func(of func(*result.Run) string) func(*Step) string {
		return func(s *Step) string {
			if s.Analysis == nil {
				return ""
			}
			return of(s.Analysis.Run)
		}
	}
	return document.GridOf(steps,
		document.Figures("step", 3, func(s *Step) string { return fmt.Sprint(slices.Index(steps, s) + 1) }),
		document.Words("release", func(s *Step) string { return s.Second }),
		document.ColumnOf[*Step]{Column: document.Column{Title: "compared with", Drop: 1}, Cell: func(s *Step) string { return s.First }},
		document.Words("verdict", judged),
		document.Words("cell", func(s *Step) string {
			switch {
			case s.Judgment == PassedOver:
				return s.Why
			case s.Cell == nil:
				return ""
			}
			return s.Cell.String()
		}),
		document.Words("ratio", func(s *Step) string { return ratioOf(s.Cell) }),
		document.Figures("rounds", 2, run(func(r *result.Run) string { return fmt.Sprint(r.Rounds) })),
		document.Figures("run", 0, run(func(r *result.Run) string { return fmt.Sprint(r.ID) })))
}

// BisectionVersion is the version of the JSON form of a bisection. Adding fields does not change
// the version.
const BisectionVersion = 1

// JSONBisection is the JSON form of a bisection.
type JSONBisection struct {
	Version  int            `json:"version"`
	Answer   string         `json:"answer"`
	Certain  bool           `json:"certain"` // the answer names exactly one release, or proves that no release changed anything
	Driver   string         `json:"driver"`
	Releases []string       `json:"releases"` // oldest first
	Margin   float64        `json:"margin"`
	Metric   stats.Metric   `json:"metric,omitempty"` // the metric that the search followed; absent if it followed the time
	Change   *JSONChange    `json:"change,omitempty"` // absent if no change was seen
	Good     string         `json:"good"`             // the last release seen without the change
	Bad      string         `json:"bad,omitempty"`    // the first release seen with the change
	Between  []string       `json:"between,omitempty"`
	Ratio    *stats.Summary `json:"ratio,omitempty"` // time of Bad divided by the time of Good; if Metric is set, the ratio of the values of that metric
	Also     []Difference   `json:"also_changed,omitempty"`
	Steps    []JSONStep     `json:"steps"`

	Defects []compare.Explanation `json:"known_defects,omitempty"` // known defects that may explain the change
}

// JSONChange is the change that a bisection followed.
type JSONChange struct {
	*Change
	Why string `json:"why,omitempty"` // why one release has no figures, if the verdict is "bad"
}

// JSONStep is a step of a bisection.
type JSONStep struct {
	First    string                `json:"first"`
	Second   string                `json:"second"`
	Judgment Judgment              `json:"judgment"`
	Why      string                `json:"why,omitempty"`
	Run      int64                 `json:"run,omitempty"` // the run in which the step was measured
	Cell     *stats.TableName      `json:"cell,omitempty"`
	Ratio    *stats.Summary        `json:"ratio,omitempty"`
	Failures *compare.JSONFailures `json:"failures,omitempty"`
}

func jsonOf(b Bisection) any {
	out := JSONBisection{Version: BisectionVersion, Answer: b.Answer(), Certain: b.Certain(), Driver: b.Driver, Releases: b.Releases,
		Margin: b.Margin, Metric: b.Metric, Good: b.Good, Bad: b.Bad, Between: b.Between, Also: b.Also, Steps: []JSONStep{}, Defects: b.explained()}
	if c := b.Change; c != nil {
		out.Change = &JSONChange{c, b.why()}
	}
	for _, s := range b.Steps {
		j := JSONStep{First: s.First, Second: s.Second, Judgment: s.Judgment, Why: s.Why}
		if s.Analysis != nil {
			j.Run = s.Analysis.Run.ID
		}
		if s.Cell != nil {
			j.Cell = &s.Cell.TableName
			if s.Cell.Measured() {
				j.Ratio = &s.Cell.Ratio
			}
			j.Failures = compare.FailuresOf(s.Cell)
		}
		if s == b.Pair {
			out.Ratio = j.Ratio
		}
		out.Steps = append(out.Steps, j)
	}
	return out
}

func bisectionPage(b Bisection, o document.Options) document.Document {
	d := append(bisection(b, o), document.Methodology("Bisection"))
	p, ok := stepsPicture(b)
	if !ok {
		return d
	}
	i := slices.IndexFunc(d, func(x document.Block) bool { _, ok := x.(document.Grid); return ok })
	p.Behind = document.Document{d[i]}
	d[i] = p
	d = slices.Insert(d, i, document.Block(document.Heading{Level: 2, Text: "Releases"}))
	return document.WithSource(d, conditions.PictureSource(b.measured()...))
}

// measured returns the first and the last run of a bisection.
func (b Bisection) measured() (runs []*result.Run) {
	for _, s := range b.Steps {
		if s.Analysis != nil {
			runs = append(runs[:min(len(runs), 1)], s.Analysis.Run)
		}
	}
	return runs
}

// stepsPicture returns a picture of the ratio of each step, ordered by release. ok is false if no
// step has a ratio.
func stepsPicture(b Bisection) (p document.PictureBlock, ok bool) {
	kinds := []string{string(Unchanged), string(Changed), compare.Word(stats.Unclear)}
	var rows []chart.Bar
	for _, r := range b.Releases {
		for _, s := range b.Steps {
			if s.Second != r {
				continue
			}
			row := chart.Bar{Name: fmt.Sprintf("%s against %s", s.Second, s.First)}
			switch {
			case s.Cell != nil && s.Cell.Measured():
				row = compare.RatioRow(s.Cell, document.Probability(s.Cell.Adjusted), slices.Index(kinds, judged(s)), judged(s))
				row.Name = fmt.Sprintf("%s against %s", s.Second, s.First)
				row.Tip = document.JoinKnown("\n", compare.CellName(s.Cell), row.Tip)
				ok = true
			case s.Judgment == PassedOver:
				row.Reason = "skipped: " + s.Why
			case s.Cell != nil:
				row.Reason = judged(s) + ": " + cmp.Or(s.Cell.Why, s.Cell.String()+" has no ratio")
			default:
				row.Reason = "unchanged"
			}
			rows = append(rows, row)
		}
	}
	less, more := "faster", "slower"
	if b.Metric.Cost() != nil {
		less, more = "less", "more"
	}
	p = compare.Forest(rows, chart.Forest{
		Axis: chart.Axis{Label: b.followed() + " of the release, × the one it is compared with"},
		Low:  1 / (1 + b.Margin), High: 1 + b.Margin, Band: "no change: within ±" + document.Share(b.Margin),
		Less: less, More: more, Kinds: kinds,
	}, 1-stats.Doubt)
	p.Title = document.Upper(b.followed()) + " by release of " + b.Driver + ", × the release it is compared with"
	return p, ok
}
