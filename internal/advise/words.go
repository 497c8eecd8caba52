package advise

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/sqlite3perf/sqlite3perf/internal/conditions"
	"github.com/sqlite3perf/sqlite3perf/internal/defects"
	"github.com/sqlite3perf/sqlite3perf/internal/diff"
	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/report"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
)

// AdviceVersion is the version of the JSON form of advice. Adding fields does not change the
// version.
const AdviceVersion = 1

// Advised is a recommendation with the facts behind it.
type Advised struct {
	*Advice
	Facts   *Facts
	Of      *stats.Analysis // analysis of the run
	Answers *diff.Diffed    // nil: answers were not compared
	NotIn   []string        // missing facts, each with the flag that collects it or the reason why it is missing
}

// Formats are the output formats of advice.
var Formats = document.Question[Advised]{Name: "advice", Document: advice, Title: "Advice", Page: advicePage, Fits: true,
	JSON: func(a Advised) any {
		return JSONAdvice{AdviceVersion, a.Answer(), a.Of.Run.ID, a.Advice, a.Facts, a.Answers}
	}}.Formats()

// JSONAdvice is the JSON form of a recommendation. Answer is the recommendation as text, in
// a sentence or two.
type JSONAdvice struct {
	Version int    `json:"version"`
	Answer  string `json:"answer"`
	Run     int64  `json:"run"`
	*Advice
	Facts   *Facts       `json:"facts"`
	Answers *diff.Diffed `json:"answers,omitempty"` // the candidates' answers to the same statements, compared
}

// Answer says in a sentence or two which driver to take.
func (a Advised) Answer() string {
	switch a.Verdict {
	case None:
		return "None of the candidates can be taken: none gave the right answers in every cell."
	case Undecided:
		return a.undecided()
	case Conditional:
		return fmt.Sprintf("Take %s, but only if you can do without what its known defects need (%s): each candidate has such defects.",
			a.Take, needsOf(a.candidate(a.Take).Falsifying()))
	}
	text := "Take " + a.Take
	if n := len(a.Facts.Candidates); n == 1 {
		return fmt.Sprintf("There is nothing to choose: %s is the only candidate.", a.Take)
	}
	if why := a.reasons(); why != nil {
		text += ": " + why[0]
	}
	if left := a.leftOut(); left != nil {
		how := "is as fast, but is left out: it"
		if r := left.Ratio; r.Interval != nil && r.Interval.High < 1 {
			how = fmt.Sprintf("takes %s its time, but", document.Times(r.Median))
		}
		text += fmt.Sprintf(". %s %s %s", left.Name, how, whyNotTaken(*left)) // the page lists other candidates
	}
	return text + "."
}

// leftOut returns the fastest candidate that is not slower than the recommended one but was
// rejected for a status or a defect. It returns nil if there is none.
func (a Advised) leftOut() (fastest *Rejection) {
	for i := range a.Rejected {
		if r := &a.Rejected[i]; r.AsFast && (fastest == nil || r.Ratio.Median < fastest.Ratio.Median) {
			fastest = r
		}
	}
	return fastest
}

func (a Advised) undecided() string {
	rounds, would := a.roundsAre()+" too few to say ", "; "+a.further()+" would do"
	why := ""
	switch {
	case a.Hidden == 0 && !a.Untold:
		why = fmt.Sprintf("they are equally fast, as far as %s matters, and each is better in something. What you need most decides", document.Percent(Matters))
	case a.Facts.TooShort:
		why = "no cell that all of them have figures of is long enough to judge by"
	case a.Facts.Open(a.Among) != nil:
		why = rounds + "whether more operations of one fail" + would
	case a.Untold && a.Further == 0:
		why = "there are no rounds in which all of them have figures"
	case a.Untold:
		why = rounds + "how their times differ" + would
	default:
		why = fmt.Sprintf("one of them may take up to %s the time of another; %swhich%s", document.Times(1+a.Hidden), rounds, would)
	}
	return fmt.Sprintf("The measurements do not decide between %s: %s.", document.And(a.Among), why)
}

func (a Advised) roundsAre() string {
	if a.Facts.Rounds == 1 {
		return "1 round is"
	}
	return document.Counted(int64(a.Facts.Rounds), "round") + " are"
}

func (a Advised) further() string {
	if a.Further >= stats.MaxRounds {
		return "more than " + document.Thousands(stats.MaxRounds) + " more rounds"
	}
	return document.Counted(int64(a.Further), "more round")
}

func (a Advised) reasons() (list []string) {
	as := "" // words that name the candidate that is equally fast
	if len(a.Because) > 0 && a.Because[0].Advantage != Faster && a.Because[0].Over != "" {
		as = "as fast as " + a.Because[0].Over + ", and "
	}
	for i, r := range a.Because {
		text := reasonWords(r)
		if r.Advantage == Faster && a.leftOut() != nil {
			text = strings.Replace(text, "the fastest; the next, ", "the fastest of those that can be taken; the next of these, ", 1)
		}
		if i == 0 {
			text = as + text
		}
		list = append(list, text)
	}
	return list
}

// advantageWords has, for each advantage, the reason to recommend a candidate and the need that
// favors another candidate. Names in braces are replaced by figures.
var advantageWords = map[Advantage]struct{ reason, need string }{
	Faster:      {"it is the fastest; the next, {over}, takes {ratio}", ""},
	Only:        {"no other candidate is right in every cell, fails no more often, and is free of known defects that can lose, damage or falsify data here", ""},
	ShorterTail: {"its slowest operations are faster: the 99th percentile of {over} is {tail}", "the slowest operations matter more than the total time"},
	LessMemory:  {"it needs {own} at its peak, and {over} {others}", "memory is scarce ({own} instead of {others})"},
	Smaller:     {"its binary has {own}, and that of {over} {others}", "the size of the binary counts ({own} instead of {others})"},
	WithoutC:    {"it is built without a C compiler, and {over} is not", "you have to build without a C compiler"},
	DatabaseSQL: {"it is used through database/sql, and {over} is not", "you need database/sql"},
	FewerRisks:  {"no known defect of its versions matters here, and {defects} of {over} may", "you must avoid every known defect, even one that cannot falsify data"},
}

func reasonWords(r Reason) string {
	list := []string{"{over}", r.Over, "{own}", document.Megabytes(r.Own), "{others}", document.Megabytes(r.Others), "{defects}", document.Counted(r.Others, "defect")}
	if r.Ratio != nil {
		figure, interval := document.Times(r.Ratio.Median), document.Interval(r.Ratio.Interval)
		list = append(list, "{ratio}", figure+" its time "+interval, "{tail}", figure+" its own "+interval)
	}
	return strings.NewReplacer(list...).Replace(advantageWords[r.Advantage].reason)
}

// whyNotTaken says why a candidate is not recommended. The words follow its name and "but".
func whyNotTaken(r Rejection) string {
	switch r.Cause {
	case CauseStatus:
		words := map[result.Status]string{result.Wrong: "is wrong", result.Refused: "was refused", result.Failed: "failed", result.Unavailable: "has no worker"}
		return strings.TrimSuffix(cmp.Or(words[r.Status], "was not measured")+": "+r.Message, ": ")
	case CauseDefect:
		return "has " + defectIDs(r.Defects) + ", which can lose, damage or falsify data"
	case CauseErrors:
		return fmt.Sprintf("had more operations fail: %s", document.Thousands(r.Failed))
	case CauseSlower:
		return "is slower"
	}
	return "is nowhere clearly better"
}

func defectIDs(list []defects.Defect) string {
	return document.SomeOf(document.Map(list, func(d defects.Defect) string { return d.ID + " (" + d.Title + ")" }), 2)
}

func needsOf(list []defects.Defect) string {
	return document.SomeOf(document.Map(list, func(d defects.Defect) string { return d.ID + ": " + conditions.DefectNeeds(d.Needs) }), 2)
}

func (a Advised) candidate(name string) *Candidate { return &a.Facts.Candidates[a.Facts.index(name)] }

func advice(a Advised, _ document.Options) document.Document {
	d := document.Document{document.Heading{Level: 1, Text: a.Answer()}}
	l := append(a.otherWork(), a.unset()...)
	switch a.Verdict {
	case Undecided:
		for _, name := range a.Among {
			var words []string
			for _, r := range a.Because {
				if r.Of == name {
					words = append(words, reasonWords(r))
				}
			}
			if words == nil {
				words = []string{"nothing in which it is clearly better"}
			}
			l = append(l, document.Item{Label: name, Text: strings.Join(words, "; ")})
		}
	default:
		for i, r := range a.reasons() {
			if i > 0 || a.Verdict == Conditional { // the answer already has the first reason
				l = append(l, document.Item{Label: "because", Text: r})
			}
		}
		for _, text := range overturns(a) {
			l = append(l, document.Item{Label: "unless", Text: text})
		}
	}
	for _, r := range a.Rejected {
		l = append(l, document.Item{Label: "not " + r.Name, Text: rejectionWords(r), Alarm: r.Cause == CauseStatus || r.Cause == CauseDefect})
	}
	if a.Verdict == Undecided {
		for _, w := range wouldDecide(a) {
			l = append(l, document.Item{Label: "would decide", Text: w})
		}
	}
	d = append(d, l)
	d = append(d, document.Heading{Level: 2, Text: measuredTitle}, measuredFacts(a))
	if tail := tailNote(a.Facts); tail != "" {
		d = append(d, document.Paragraph{Text: tail, Quiet: true})
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

// advicePage is the advice as a page, with pictures of the times by which speed is judged.
func advicePage(a Advised, o document.Options) document.Document {
	d := advice(a, o)
	at := slices.IndexFunc(d, func(b document.Block) bool { h, ok := b.(document.Heading); return ok && h.Text == measuredTitle })
	at += 2 // pictures follow the table
	if p, ok := d[at].(document.Paragraph); ok && p.Quiet {
		at++ // and the note below the table
	}
	return slices.Insert(d, at, document.Blocks(a.pictures())...)
}

// pictures returns pictures of the times by which speed is judged: over all tables and in each one
// or, if there is only one table, in that table. The page does not contain the samples, so pictures
// have no links to them.
func (a Advised) pictures() (list []document.PictureBlock) {
	s := report.ScopeOf(report.Options{Link: func(int, string) string { return "" }})
	looks := report.LooksOf(a.Of)
	add := func(p document.PictureBlock, ok bool) {
		if ok {
			p.Headed = false
			list = append(list, p)
		}
	}
	o := a.Of.Overall
	if base := slices.IndexFunc(o.Drivers, func(d stats.OverallDriver) bool { return d.Case.Driver == o.Base }); len(o.Drivers) > 1 && base >= 0 {
		add(s.OverallBars(a.Of, conditions.Label(o.Drivers[base].Case), looks))
		add(s.HeatMap(a.Of))
		return list
	}
	report.EachGroupTable(a.Of, func(n stats.TableName, t *stats.Table) {
		if slices.Contains(a.Facts.Cells, n) && len(t.Measured()) > 1 {
			add(s.TableBars(n, t, looks), true)
		}
	})
	return list
}

// measuredTitle is the heading of the page's section that has the pictures.
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
			if !slices.Contains(l, it) {
				l = append(l, it)
			}
		}
	}
	return append(l, conditions.RunWarnings(a)...)
}

func (a Advised) unset() (l document.List) {
	if _, text := conditions.UnsetInRun(a.Of); text != "" {
		l = append(l, conditions.KindOf(conditions.CaveatUnset).Item(text))
	}
	return l
}

// otherWork warns of replays in which events did not end as recorded, because then the measured
// work differs from the recorded work.
func (a Advised) otherWork() (l document.List) {
	type most struct {
		driver         string
		different, all int64
	}
	var worst conditions.Groups[string, most]
	report.EachGroupTable(a.Of, func(n stats.TableName, t *stats.Table) {
		for _, c := range t.Cells {
			sum := most{driver: c.Case.Driver}
			for _, s := range c.Samples {
				sum.different += s.Different + s.Skipped
				sum.all += s.Operations + s.Skipped
			}
			if sum.different > 0 && slices.ContainsFunc(a.Facts.Candidates, func(k Candidate) bool { return k.Name == sum.driver }) {
				worst.Add(n.String(), sum)
			}
		}
	})
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
		if name := document.Line(run.Cases[i].Workload); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

func rejectionWords(r Rejection) string {
	if r.Cause == CauseSlower {
		return takes(r.Ratio)
	}
	words := "it " + whyNotTaken(r)
	if r.Ratio != nil {
		words += "; " + takes(r.Ratio)
	}
	return words
}

func takes(r *stats.Summary) string { return "it takes " + timesThe("time", r) }

func timesThe(what string, r *stats.Summary) string {
	return document.Times(r.Median) + " the " + what + " " + document.Interval(r.Interval)
}

// overturns says what would favor other candidates, with one text for each candidate.
func overturns(a Advised) (list []string) {
	var needs conditions.Groups[string, Overturn]
	var mended []string
	for _, o := range a.Overturn {
		switch o.Change {
		case ChangeNeed:
			needs.Add(o.For, o)
		case ChangeStatus:
			mended = append(mended, o.For)
		default:
			list = append(list, overturnWords(a, o))
		}
	}
	for _, name := range needs.Keys {
		var words []string
		for _, o := range needs.Of[name] {
			words = append(words, needWords(o))
		}
		last := needs.Of[name][len(words)-1]
		words[len(words)-1] = overturnWords(a, last)
		list = append(list, strings.Join(words, ", or "))
	}
	if mended != nil {
		list = append(list, "fixed versions of "+document.AndOthers(mended)+" are measured")
	}
	return list
}

func overturnWords(a Advised, o Overturn) string {
	at := ""
	if o.Ratio != nil && o.Change != ChangeCell {
		at = ", at " + timesThe("time", o.Ratio)
	}
	switch o.Change {
	case ChangeDefect:
		then := "take " + o.For + at
		if o.Among != nil {
			then = "the facts do not decide between " + document.And(o.Among)
			if o.Ratio != nil {
				then += "; " + o.For + " takes " + timesThe("time", o.Ratio)
			}
		}
		return fmt.Sprintf("you can exclude what the defects of %s need (%s), or take a version without them: then %s", o.For, needsOf(a.candidate(o.For).Falsifying()), then)
	case ChangeNeed:
		return needWords(o) + ": then take " + o.For + at
	case ChangeCell:
		return fmt.Sprintf("%s matters most: there %s is the fastest, and the next takes %s its time %s", o.Cell, o.For, document.Times(o.Ratio.Median), document.Interval(o.Ratio.Interval))
	}
	rounds := "more rounds"
	if a.Further > 0 && a.Further < stats.MaxRounds {
		rounds = fmt.Sprintf("more rounds (%d in all)", a.Facts.Rounds+a.Further)
	}
	return rounds + ", a larger scale or a quieter machine tell them apart, or show that they are equally fast"
}

func needWords(o Overturn) string {
	return strings.NewReplacer("{own}", document.Megabytes(o.Own), "{others}", document.Megabytes(o.Others)).Replace(advantageWords[o.Advantage].need)
}

func wouldDecide(a Advised) (words []string) {
	if slices.ContainsFunc(a.Overturn, func(o Overturn) bool { return o.Change == ChangeRounds }) {
		words = append(words, overturnWords(a, Overturn{Change: ChangeRounds}))
	}
	if a.Because != nil {
		words = append(words, "which of these advantages your program needs most")
	}
	return words
}
