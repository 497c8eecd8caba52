// Package advise says which driver to take, with all facts that matter for the choice. Package
// recommend decides. This package adds facts that a run doesn't contain, such as the cost of builds,
// and writes the output formats.
package advise

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/sqlite3perf/sqlite3perf/internal/conditions"
	"github.com/sqlite3perf/sqlite3perf/internal/diff"
	"github.com/sqlite3perf/sqlite3perf/internal/distinct"
	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/recommend"
	"github.com/sqlite3perf/sqlite3perf/internal/report"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
)

// AdviceVersion is the version of the JSON form of advice. Adding fields does not change the
// version.
const AdviceVersion = 1

// Advised is a recommendation with all facts on which it is based.
type Advised struct {
	*recommend.Recommendation
	Of      *stats.Analysis // analysis of the run
	Answers *diff.Diffed    // comparison of the candidates' answers; nil if they were not compared
	NotIn   []string        // missing facts, each with the flag that collects it or the reason why it is missing
}

// Formats are the output formats of advice.
var Formats = document.Question[Advised]{Name: "advice", Document: advice, Title: "Advice", Page: advicePage, Fits: true,
	JSON: func(a Advised) any {
		return JSONAdvice{AdviceVersion, a.Answer(), a.Of.Run.ID, a.Recommendation, a.Facts, a.Answers}
	}}.Formats()

// JSONAdvice is the JSON form of a recommendation. Answer is the recommendation as text, in
// a sentence or two.
type JSONAdvice struct {
	Version int    `json:"version"`
	Answer  string `json:"answer"`
	Run     int64  `json:"run"`
	*recommend.Recommendation
	Facts   *recommend.Facts `json:"facts"`
	Answers *diff.Diffed     `json:"answers,omitempty"` // the candidates' answers to the same statements, compared
}

func advice(a Advised, _ document.Options) document.Document {
	d := document.Document{document.Heading{Level: 1, Text: a.Answer()}}
	said := report.AnswersOf(a.Of, report.Options{})
	said.Recommended = a.Recommendation // unlike the recommendation of the report, a.Recommendation also considers the builds
	l := append(a.Alternatives(), document.Item{Label: "how sure", Text: report.HowSure(a.Of, &said, report.Options{})})
	d = append(d, append(l, a.otherWork()...))
	d = append(d, document.Heading{Level: 2, Text: measuredTitle}, measuredFacts(a))
	if tail := tailNote(a); tail != "" {
		d = append(d, document.Paragraph{Text: tail, Quiet: true})
	}
	_, unset := conditions.UnsetInRun(a.Of)
	others := options(a)
	others.Note(conditions.KindOf(conditions.CaveatUnset).Item(unset))
	if others != nil {
		d = append(d, document.Heading{Level: 2, Text: "When to take another one"}, others)
	}
	if g := memoryFacts(a.Facts); len(g.Rows) > 0 {
		d = append(d, document.Paragraph{Text: "Peak memory, by setting:"}, g)
	}
	d = append(d, adviceDefects(a.Facts)...)
	if a.Answers != nil {
		d = append(d, document.Heading{Level: 2, Text: "Whether the candidates answer alike"}, answersAlike(a.Answers))
	}
	d = append(d, document.Heading{Level: 2, Text: "What else a choice costs"}, candidatesOf(a.Facts), builds(a.Facts))
	if l := failedBuilds(a.Facts); l != nil {
		d = append(d, l)
	}
	if l := limits(a.Facts); l != nil {
		d = append(d, document.Heading{Level: 2, Text: "What the libraries cannot do, or do differently"}, l)
	}
	d = append(d, document.Heading{Level: 2, Text: "Where the figures are from"}, adviceOrigin(a.Of))
	notIn := slices.Clone(a.NotIn)
	if a.Answers != nil {
		for _, name := range a.Answers.Skipped {
			notIn = append(notIn, fmt.Sprintf("how the candidates answer %s, since a phase of this kind is not asked statement by statement", document.Line(name)))
		}
	}
	if notIn != nil {
		d = append(d, document.Paragraph{Text: "Not looked at: " + strings.Join(notIn, "; ") + ".", Quiet: true})
	}
	return d
}

// advicePage describes the advice for a page, with pictures of the times by which speed is judged.
func advicePage(a Advised, o document.Options) document.Document {
	d := advice(a, o)
	at := slices.IndexFunc(d, func(b document.Block) bool { h, ok := b.(document.Heading); return ok && h.Text == measuredTitle })
	at += 2 // the pictures are inserted after the heading and the table
	if p, ok := d[at].(document.Paragraph); ok && p.Quiet {
		at++ // a note below the table also comes before the pictures
	}
	return document.WithSource(slices.Insert(d, at, document.Blocks(a.pictures())...), conditions.PictureSource(a.Of.Run))
}

// pictures returns pictures of the times by which speed is judged. If there is a summary over
// several tables, the pictures are the bars of the summary and a map with the ratio of each driver
// in each table. Otherwise they are bars for the table in which speed is judged. The page does not
// contain the samples, so pictures have no links to them.
func (a Advised) pictures() (list []document.PictureBlock) {
	s := report.ScopeOf(a.Of, report.Options{Link: func(int, string) string { return "" }})
	add := func(p document.PictureBlock, ok bool) {
		if ok {
			p.Headed = false
			list = append(list, p)
		}
	}
	if len(a.Of.Overall.Drivers) > 1 {
		add(s.OverallBars())
		add(s.HeatMap())
		return list
	}
	for g, t := range a.Of.Tables() {
		if slices.Contains(a.Facts.Cells, g.Named(t)) && len(t.Measured()) > 1 {
			add(s.TableBars(g.Named(t), t), true)
		}
	}
	return list
}

// measuredTitle is the heading of the section with the measured figures. On a page, this section also
// has the pictures.
const measuredTitle = "What was measured"

func adviceOrigin(a *stats.Analysis) document.List {
	of := a.Run
	l := document.List{{Label: "measured", Text: conditions.MeasuredIn(a, "workloads "+strings.Join(workloadsOf(of), ", ")), Alarm: of.Stopped == result.StoppedInterrupted || of.Stopped == ""}}
	l.Note(document.Item{Label: "repeated", Text: conditions.CountRepeated(of).String()})
	_, text := report.Settled(a)
	l.Note(document.Item{Label: conditions.KindOf(conditions.CaveatUnsettled).Name, Text: text})
	l = append(l, conditions.MachineItems(of.Machine)...)
	for _, g := range a.Groups {
		for _, it := range conditions.GroupWarnings(g) {
			l = distinct.Append(l, it)
		}
	}
	return append(l, conditions.RunWarnings(a)...)
}

// otherWork warns if events of a replay did not end as recorded, because then the measured work
// differs from the recorded work.
func (a Advised) otherWork() (l document.List) {
	type most struct {
		driver         string
		different, all int64
	}
	var worst conditions.Groups[string, most]
	for g, t := range a.Of.Tables() {
		for _, c := range t.Cells {
			sum := most{driver: c.Case.Driver}
			for _, s := range c.Samples {
				sum.different += s.Different + s.Skipped
				sum.all += s.Operations + s.Skipped
			}
			if sum.different > 0 && slices.ContainsFunc(a.Facts.Candidates, func(k recommend.Candidate) bool { return k.Name == sum.driver }) {
				worst.Add(g.Named(t).String(), sum)
			}
		}
	}
	for _, name := range worst.Keys {
		w := slices.MaxFunc(worst.Of[name], func(x, y most) int {
			return cmp.Compare(float64(x.different)/float64(x.all), float64(y.different)/float64(y.all))
		})
		l = append(l, document.Item{Label: "beware", Alarm: true, Text: fmt.Sprintf("%s: %s of the events did not end as recorded with %s, so the times are of other work than the application's; a warning below says what may help",
			name, document.Percent(float64(w.different)/float64(w.all)), w.driver)})
	}
	return l
}

func workloadsOf(run *result.Run) (names []string) {
	for i := range run.Cases {
		names = distinct.Append(names, document.Line(run.Cases[i].Workload))
	}
	return names
}

// options says under which conditions to take a candidate other than the recommended one. It also
// lists the reasons for the recommendation that the answer does not mention.
func options(a Advised) (l document.List) {
	var needs conditions.Groups[string, string] // candidates, by the condition under which to take them
	var harmless, cells []string
	for _, o := range a.Overturn {
		switch {
		case o.Change == recommend.ChangeDefect:
			harmless = append(harmless, o.For)
		case o.Change == recommend.ChangeStatus:
			needs.Add("a version that works in every cell is measured", o.For)
		case o.Change == recommend.ChangeCell:
			cells = append(cells, fmt.Sprintf("%s (%s)", o.For, o.Cell))
		case o.Change == recommend.ChangeNeed && o.Advantage != recommend.WithoutC && o.Advantage != recommend.DatabaseSQL: // a.Needs lists these two advantages, so they are left out here
			needs.Add(recommend.NeedWords(o), o.For)
		}
	}
	option := func(text string) { l = append(l, document.Item{Label: "option", Text: text}) }
	if harmless != nil {
		option(fmt.Sprintf("%s, if your program never does what its known defects need (listed below)", document.Or(harmless)))
	}
	for _, need := range needs.Keys {
		option(fmt.Sprintf("%s, if %s", document.Or(needs.Of[need]), need))
	}
	if cells != nil {
		option("if only one cell matters to you, the fastest in it: " + document.SomeOf(cells, 3))
	}
	if a.Verdict == recommend.Undecided {
		for _, name := range a.Among {
			var words []string
			for _, r := range a.Because {
				if r.Of == name {
					words = append(words, recommend.ReasonWords(r))
				}
			}
			if words != nil {
				l = append(l, document.Item{Label: name, Text: strings.Join(words, "; ")})
			}
		}
		return l
	}
	for i, r := range a.Because {
		if i > 0 { // the answer already gives the first reason
			l = append(l, document.Item{Label: "also", Text: a.Take + ": " + recommend.ReasonWords(r)})
		}
	}
	return l
}
