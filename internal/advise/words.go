package advise

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"golang.org/x/mod/module"

	"github.com/sqlite3perf/sqlite3perf/internal/conditions"
	"github.com/sqlite3perf/sqlite3perf/internal/defects"
	"github.com/sqlite3perf/sqlite3perf/internal/diff"
	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/report"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
)

// AdviceVersion is the version of the JSON form of advice. Fields may be added without changing
// it.
const AdviceVersion = 1

// Advised is a recommendation with the facts that it rests on.
type Advised struct {
	*Advice
	Facts   *Facts
	Of      *stats.Analysis // of the run
	Answers *diff.Diffed    // nil: they were not compared
	NotIn   []string        // facts that are missing, each with the flag that collects it or the reason
}

// Formats are those of advice.
var Formats = document.FormatsOf[Advised, document.Options]{What: "advice", List: []document.Format[Advised, document.Options]{
	{Name: "table", To: func(w io.Writer, a Advised, o document.Options) error {
		return document.RenderPart(w, advice(a), nil, o)
	}},
	{Name: "markdown", To: func(w io.Writer, a Advised, _ document.Options) error { return document.RenderMarkdown(w, advice(a)) }},
	{Name: "html", To: func(w io.Writer, a Advised, o document.Options) error {
		return document.RenderHTML(w, advicePage(a), "Advice", o)
	}},
	{Name: "json", To: writeAdviceJSON},
}}

// JSONAdvice is the JSON form of a recommendation. Answer is the recommendation as text, in
// a sentence or two.
type JSONAdvice struct {
	Version int    `json:"version"`
	Answer  string `json:"answer"`
	Run     int64  `json:"run"`
	*Advice
	Facts   *Facts       `json:"facts"`
	Answers *diff.Diffed `json:"answers,omitempty"` // of the candidates to the same statements
}

func writeAdviceJSON(w io.Writer, a Advised, _ document.Options) error {
	return document.Encode(w, JSONAdvice{AdviceVersion, a.Answer(), a.Of.Run.ID, a.Advice, a.Facts, a.Answers})
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
		how := "is as fast, as far as can be told, but is left out: it"
		if r := left.Ratio; r.Interval != nil && r.Interval.High < 1 {
			how = fmt.Sprintf("takes %s its time, but", document.Times(r.Median))
		}
		text += fmt.Sprintf(". %s %s %s", left.Name, how, whyNotTaken(*left)) // others are listed
	}
	return text + "."
}

// leftOut returns the fastest candidate that is left out for another reason than its speed,
// although it is not slower than the one that is taken. It is nil if there is none.
func (a Advised) leftOut() (fastest *Rejection) {
	for i := range a.Rejected {
		if r := &a.Rejected[i]; r.AsFast && (fastest == nil || r.Ratio.Median < fastest.Ratio.Median) {
			fastest = r
		}
	}
	return fastest
}

// undecided says between which candidates the facts do not decide.
func (a Advised) undecided() string {
	among := document.And(a.Among)
	switch {
	case a.Hidden == 0 && !a.Untold:
		return fmt.Sprintf("The measurements do not decide between %s: they are equally fast, as far as %s matters, and each is better in something. What you need most decides.", among, document.Percent(Matters))
	case a.Facts.TooShort:
		return fmt.Sprintf("The measurements do not decide between %s: no cell that all of them have figures of is long enough to judge by.", among)
	case a.Facts.Open(a.Among) != nil:
		return fmt.Sprintf("The measurements do not decide between %s: %s too few to say whether more operations of one fail. %s would do.", among, a.roundsAre(), a.further())
	case a.Untold && a.Further == 0:
		return fmt.Sprintf("The measurements do not decide between %s: there are no rounds in which all of them have figures.", among)
	case a.Untold:
		return fmt.Sprintf("The measurements do not decide between %s: %s too few to say how their times differ. %s would do.", among, a.roundsAre(), a.further())
	case a.Further >= stats.MaxRounds:
		return fmt.Sprintf("The measurements do not decide between %s: one of them may take up to %s the time of another, which the noise hides. To tell them apart would take %s.", among, document.Times(1+a.Hidden), a.further())
	}
	return fmt.Sprintf("The measurements do not decide between %s: one of them may take up to %s the time of another. %s too few to tell; an estimated %s would do.", among, document.Times(1+a.Hidden), a.roundsAre(), a.further())
}

// roundsAre begins a sentence about the rounds of the run.
func (a Advised) roundsAre() string {
	if a.Facts.Rounds == 1 {
		return "1 round is"
	}
	return document.Counted(int64(a.Facts.Rounds), "round") + " are"
}

// further says how many more rounds would tell the candidates apart.
func (a Advised) further() string {
	if a.Further >= stats.MaxRounds {
		return "more than " + document.Thousands(stats.MaxRounds) + " more rounds"
	}
	return document.Counted(int64(a.Further), "more round")
}

// reasons says why the candidate is taken.
func (a Advised) reasons() (list []string) {
	as := "" // what it is as fast as
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

// reasonWords says in what a candidate is better.
func reasonWords(r Reason) string {
	switch r.Advantage {
	case Faster:
		return fmt.Sprintf("it is the fastest; the next, %s, takes %s its time %s", r.Over, document.Times(r.Ratio.Median), document.Interval(r.Ratio.Interval))
	case Only:
		return "no other candidate is right in every cell, fails no more often, and is free of known defects that can lose, damage or falsify data here"
	case ShorterTail:
		return fmt.Sprintf("its slowest operations are faster: the 99th percentile of %s is %s its own %s", r.Over, document.Times(r.Ratio.Median), document.Interval(r.Ratio.Interval))
	case LessMemory:
		return fmt.Sprintf("it needs %s at its peak, and %s %s", document.Megabytes(r.Own), r.Over, document.Megabytes(r.Others))
	case Smaller:
		return fmt.Sprintf("its binary has %s, and that of %s %s", document.Megabytes(r.Own), r.Over, document.Megabytes(r.Others))
	case WithoutC:
		return fmt.Sprintf("it is built without a C compiler, and %s is not", r.Over)
	case DatabaseSQL:
		return fmt.Sprintf("it is used through database/sql, and %s is not", r.Over)
	case FewerRisks:
		return fmt.Sprintf("no known defect of its versions matters here, and %s of %s may", document.Counted(r.Others, "defect"), r.Over)
	}
	return string(r.Advantage)
}

// whyNotTaken says why a candidate is not taken, after its name and "but".
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

// defectIDs names defects with their titles.
func defectIDs(list []defects.Defect) string {
	var words []string
	for _, d := range list {
		words = append(words, fmt.Sprintf("%s (%s)", d.ID, d.Title))
	}
	return document.SomeOf(words, 2)
}

// needsOf says what defects need.
func needsOf(list []defects.Defect) string {
	var words []string
	for _, d := range list {
		words = append(words, d.ID+": "+conditions.DefectNeeds(d.Needs))
	}
	return document.SomeOf(words, 2)
}

// candidate returns the candidate with a name.
func (a Advised) candidate(name string) *Candidate {
	i := slices.IndexFunc(a.Facts.Candidates, func(c Candidate) bool { return c.Name == name })
	return &a.Facts.Candidates[i]
}

// advice describes a recommendation: the answer, its evidence, what would overturn it, and then
// the facts.
func advice(a Advised) document.Document {
	d := document.Document{document.Heading{Level: 1, Text: a.Answer()}}
	var l document.List
	switch a.Verdict {
	case Undecided:
		l = append(append(l, a.otherWork()...), a.unset()...)
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
		l = append(append(l, a.otherWork()...), a.unset()...)
		for i, r := range a.reasons() {
			if i > 0 || a.Verdict == Conditional { // the answer has the first
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
	if g := memoryFacts(a.Facts); g.Rows != nil {
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

// advicePage is the advice as a page, for readers who have nothing else: with pictures of the
// times that it rests on.
func advicePage(a Advised) document.Document {
	d := advice(a)
	at := slices.IndexFunc(d, func(b document.Block) bool { h, ok := b.(document.Heading); return ok && h.Text == measuredTitle })
	at += 2 // after the table
	if p, ok := d[at].(document.Paragraph); ok && p.Quiet {
		at++ // and what is said of it
	}
	return slices.Insert(d, at, document.Blocks(a.pictures())...)
}

// pictures are those of the times that speed is judged by: over all tables and in each or, if
// there is one table, in that. The samples are not in the page, so nothing leads to them.
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

// measuredTitle is the heading of what was measured.
const measuredTitle = "What was measured"

// adviceOrigin says where the figures are from, for readers who have nothing but the advice.
func adviceOrigin(a *stats.Analysis) document.List {
	of := a.Run
	l := document.List{{Label: "measured", Text: conditions.MeasuredIn(a, "workloads "+strings.Join(workloadsOf(of), ", ")), Alarm: of.Stopped == result.StoppedInterrupted || of.Stopped == ""}}
	l.Note(document.Item{Label: "repeated", Text: conditions.CountRepeated(of).String()})
	_, text := report.Settled(a)
	l.Note(document.Item{Label: "settled", Text: text})
	l = append(l, conditions.MachineItems(of.Machine)...)
	for _, g := range a.Groups {
		for _, b := range conditions.Troubles(g) {
			of, _ := b.(document.List)
			for _, it := range of {
				if it.Label == "warning" && !slices.Contains(l, it) {
					l = append(l, it)
				}
			}
		}
	}
	return append(l, conditions.RunWarnings(a)...)
}

// unset says which settings the candidates had in their own ways, because nobody set them.
func (a Advised) unset() (l document.List) {
	if _, text := conditions.UnsetInRun(a.Of); text != "" {
		l = append(l, document.Item{Label: "beware", Alarm: true, Text: text + ", so each driver used its own default, which can decide this answer"})
	}
	return l
}

// otherWork says of each replay how much of it did not end as recorded, with the candidate with
// which that was the most: what was compared is then not what was recorded.
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

// workloadsOf lists the names of a run's workloads.
func workloadsOf(run *result.Run) (names []string) {
	for i := range run.Cases {
		if name := document.Line(run.Cases[i].Workload); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// rejectionWords says why a candidate is not taken.
func rejectionWords(r Rejection) string {
	text := whyNotTaken(r)
	if r.Cause == CauseSlower {
		return fmt.Sprintf("it takes %s the time %s", document.Times(r.Ratio.Median), document.Interval(r.Ratio.Interval))
	}
	text = "it " + text
	if r.Ratio != nil {
		text += fmt.Sprintf("; it takes %s the time %s", document.Times(r.Ratio.Median), document.Interval(r.Ratio.Interval))
	}
	return text
}

// overturns says what would speak for other candidates. What speaks for the same one is said
// together.
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
		is := "is"
		if len(mended) > 1 {
			is = "are"
		}
		list = append(list, fmt.Sprintf("%s %s fixed, and measured again", document.AndOthers(mended), is))
	}
	return list
}

// overturnWords says what would speak for another candidate.
func overturnWords(a Advised, o Overturn) string {
	at := ""
	if o.Ratio != nil && o.Change != ChangeCell {
		at = fmt.Sprintf(", at %s the time %s", document.Times(o.Ratio.Median), strings.TrimSpace(document.Interval(o.Ratio.Interval)))
	}
	switch o.Change {
	case ChangeDefect:
		then := "take " + o.For + at
		if o.Among != nil {
			then = "the facts do not decide between " + document.And(o.Among)
			if o.Ratio != nil {
				then += fmt.Sprintf("; %s takes %s the time %s", o.For, document.Times(o.Ratio.Median), strings.TrimSpace(document.Interval(o.Ratio.Interval)))
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

// needWords says which need speaks for another candidate.
func needWords(o Overturn) string {
	switch o.Advantage {
	case WithoutC:
		return "you have to build without a C compiler"
	case DatabaseSQL:
		return "you need database/sql"
	case LessMemory:
		return fmt.Sprintf("memory is scarce (%s instead of %s)", document.Megabytes(o.Own), document.Megabytes(o.Others))
	case Smaller:
		return fmt.Sprintf("the size of the binary counts (%s instead of %s)", document.Megabytes(o.Own), document.Megabytes(o.Others))
	case ShorterTail:
		return "the slowest operations matter more than the total time"
	case FewerRisks:
		return "you must avoid every known defect, even one that cannot falsify data"
	}
	return string(o.Advantage)
}

// wouldDecide says what would decide between candidates.
func wouldDecide(a Advised) (words []string) {
	if slices.ContainsFunc(a.Overturn, func(o Overturn) bool { return o.Change == ChangeRounds }) {
		words = append(words, overturnWords(a, Overturn{Change: ChangeRounds}))
	}
	if a.Because != nil {
		words = append(words, "which of these advantages your program needs most")
	}
	return words
}

// measuredFacts is the table of what the run measured. Ratios are to the first candidate with
// figures.
func measuredFacts(a Advised) document.Grid {
	f := a.Facts
	g := document.Grid{Columns: []document.Column{{Title: "candidate"}, {Title: "time", Right: true, Whole: true}, {Title: "p99", Right: true, Whole: true, Drop: 1},
		{Title: "failed", Right: true}, {Title: "peak memory", Right: true}, {Title: "status"}}}
	for i := range f.Candidates {
		c := &f.Candidates[i]
		row := []string{c.Name, document.Absent, document.Absent, document.Absent, document.Absent, string(c.Status)}
		switch {
		case i == 0 && c.Measured:
			row[1] = document.Times(1)
			if slices.ContainsFunc(f.Pairs, func(p Pair) bool { return p.Tail != nil }) {
				row[2] = document.Times(1)
			}
		case c.Measured:
			at := slices.IndexFunc(f.Pairs, func(p Pair) bool { return p.First == 0 && p.Second == i })
			if at < 0 {
				break
			}
			p := f.Pairs[at]
			row[1] = strings.TrimSpace(document.Times(p.Time.Median) + " " + document.Interval(p.Time.Interval))
			if p.Tail != nil {
				row[2] = strings.TrimSpace(document.Times(p.Tail.Median) + " " + document.Interval(p.Tail.Interval))
			}
		}
		if c.Operations > 0 {
			row[3] = document.Thousands(c.Failed)
		}
		if c.MemoryBytes > 0 {
			row[4] = document.Megabytes(c.MemoryBytes)
		}
		g.Rows = append(g.Rows, row)
	}
	return g
}

// memoryFacts is the table of peak memory in each combination of settings, if there are several.
// It has a row for each combination.
func memoryFacts(f *Facts) document.Grid {
	g := document.Grid{Columns: []document.Column{{Title: "settings"}}}
	at := map[string]int{} // the row of each combination
	for i := range f.Candidates {
		g.Columns = append(g.Columns, document.Column{Title: f.Candidates[i].Name, Right: true})
		for _, m := range f.Candidates[i].Memory {
			if _, ok := at[m.Workload+" "+m.Variant]; !ok {
				at[m.Workload+" "+m.Variant] = len(at)
				g.Rows = append(g.Rows, []string{m.Workload + " " + m.Variant})
			}
		}
	}
	for i := range g.Rows {
		for range f.Candidates {
			g.Rows[i] = append(g.Rows[i], document.Absent)
		}
	}
	for k := range f.Candidates {
		for _, m := range f.Candidates[k].Memory {
			if m.Bytes > 0 {
				g.Rows[at[m.Workload+" "+m.Variant]][k+1] = document.Megabytes(m.Bytes)
			}
		}
	}
	return g
}

// tailNote says what times and percentiles are of.
func tailNote(f *Facts) string {
	text := "Times are ratios to the first row"
	if len(f.Cells) > 1 {
		text += fmt.Sprintf(", the geometric mean over %s", document.Counted(int64(len(f.Cells)), "cell"))
	} else if len(f.Cells) == 1 {
		text += " in " + f.Cells[0].String()
	} else {
		return ""
	}
	if slices.ContainsFunc(f.Pairs, func(p Pair) bool { return p.Tail != nil }) {
		text += "; p99 is the geometric mean over all kinds of operations"
	}
	return text + ". Memory is that of the process and its children."
}

// answersAlike says how the answers of the candidates differ from those of the first, and why
// that is likely: an item each, so that a terminal that cuts items shows every reason.
func answersAlike(d *diff.Diffed) (l document.List) {
	for _, r := range d.Results {
		l = append(l, document.Item{Label: r.Second, Text: diff.DiffAnswer(r), Alarm: alarming(r)})
		for i := range r.Groups {
			if i == mostGroups {
				l = append(l, document.Item{Label: "likely", Text: fmt.Sprintf("%d more reasons, which sqlite3perf diff lists", len(r.Groups)-i)})
				break
			}
			g := &r.Groups[i]
			l = append(l, document.Item{Label: "likely", Text: fmt.Sprintf("%s (%s)", diff.DiffReason(r, g), g.Statements[0].At())})
		}
	}
	return l
}

// alarming reports whether answers differ in more than the type or the text of errors.
func alarming(r *diff.Result) bool {
	return slices.ContainsFunc(r.Groups, func(g diff.Group) bool { return g.Kind != diff.ErrorType && g.Kind != diff.ErrorText })
}

// mostGroups is how many ways in which answers differ are told of each candidate.
const mostGroups = 2

// candidatesOf is the table of what the candidates are.
func candidatesOf(f *Facts) document.Grid {
	g := document.Grid{Columns: []document.Column{{Title: "candidate"}, {Title: "version"}, {Title: "SQLite"}, {Title: "released"}, {Title: "license"}, {Title: "interface", Drop: 1}}}
	for i := range f.Candidates {
		c := &f.Candidates[i]
		row := []string{c.Name, cmp.Or(shortVersion(c.Version), document.Absent), cmp.Or(c.SQLite, document.Absent), document.Absent, document.Absent, cmp.Or(string(c.Info.Interface), document.Absent)}
		if p := c.Footprint; p != nil {
			if !p.Released.IsZero() {
				row[3] = p.Released.UTC().Format(time.DateOnly)
			}
			row[4] = cmp.Or(p.License, document.Absent)
		}
		g.Rows = append(g.Rows, row)
	}
	return g
}

// shortVersion returns the revision of a version that is none of a release.
func shortVersion(v string) string {
	if module.IsPseudoVersion(v) {
		if rev, err := module.PseudoVersionRev(v); err == nil {
			return rev[:min(7, len(rev))]
		}
	}
	return v
}

// builds is the table of what building the candidates takes.
func builds(f *Facts) document.Grid {
	g := document.Grid{Columns: []document.Column{{Title: "candidate"}, {Title: "C compiler"}, {Title: "binary", Right: true}, {Title: "build warm", Right: true}, {Title: "cold", Right: true}}}
	var targets []string
	for i := range f.Candidates {
		if p := f.Candidates[i].Footprint; p != nil {
			for _, t := range p.Targets {
				if !slices.Contains(targets, t.Target) {
					targets = append(targets, t.Target)
					g.Columns = append(g.Columns, document.Column{Title: t.Target})
				}
			}
		}
	}
	for i := range f.Candidates {
		c := &f.Candidates[i]
		row := make([]string, len(g.Columns))
		for k := range row {
			row[k] = document.Absent
		}
		row[0] = c.Name
		if c.Info.Kind != driver.OtherLanguage {
			row[1] = map[bool]string{true: "not needed", false: "needed"}[c.WithoutC()]
		}
		if p := c.Footprint; p != nil {
			row[2], row[3] = document.Megabytes(p.SizeBytes), document.Elapsed(time.Duration(p.WarmNS))
			if p.ColdNS > 0 {
				row[4] = document.Elapsed(time.Duration(p.ColdNS))
			}
			for _, t := range p.Targets {
				row[len(g.Columns)-len(targets)+slices.Index(targets, t.Target)] = targetCell(t, c.WithoutC())
			}
		}
		g.Rows = append(g.Rows, row)
	}
	return g
}

// targetCell says whether a candidate is built for a platform without a C compiler.
func targetCell(t result.TargetBuild, withoutC bool) string {
	switch {
	case t.OK:
		return "builds"
	case !withoutC:
		return "needs C"
	}
	return "does not build"
}

// failedBuilds says why candidates that need no C compiler are not built for platforms.
func failedBuilds(f *Facts) (l document.List) {
	for i := range f.Candidates {
		c := &f.Candidates[i]
		if c.Footprint == nil || !c.WithoutC() {
			continue
		}
		for _, t := range c.Footprint.Targets {
			if !t.OK {
				l = append(l, document.Item{Label: c.Name, Text: t.Target + ": " + document.Line(t.Message)})
			}
		}
	}
	return l
}

// adviceDefects lists the known defects of each candidate: those that may matter, and those that
// cannot, and why.
func adviceDefects(f *Facts) document.Document {
	var beside, what, harmless document.List
	told := map[string]bool{}
	for i := range f.Candidates {
		c := &f.Candidates[i]
		var ids []string
		for _, d := range c.Harmful {
			ids = append(ids, d.ID)
			if !told[d.ID] {
				told[d.ID] = true
				what = append(what, document.Item{Label: d.ID, Text: fmt.Sprintf("%s: %s. It needs: %s", d.Effect, d.Title, conditions.DefectNeeds(d.Needs))})
			}
		}
		words := strings.Join(ids, ", ")
		switch {
		case ids != nil:
		case c.Version == "" && c.SQLite == "":
			words = "not known, since no worker told its versions"
		case c.Harmless != nil:
			words = "none that matters here"
		default:
			words = "none known"
		}
		beside = append(beside, document.Item{Label: c.Name, Text: words, Alarm: c.Falsifying() != nil})
		for _, d := range c.Harmless {
			harmless = append(harmless, document.Item{Label: c.Name, Text: fmt.Sprintf("%s does not matter here: it needs %s", d.ID, unmetWords(d.Needs.Unmet(f.Use)))})
		}
	}
	if beside == nil {
		return nil
	}
	d := document.Document{document.Heading{Level: 2, Text: "Known defects of these versions"}, beside, what, harmless}
	if what != nil || harmless != nil {
		d = append(d, document.Reference{Title: "known defects", Address: "https://github.com/sqlite3perf/sqlite3perf/blob/main/docs/defects.md"})
	}
	return d
}

// unmetWords says what a use does not have that a defect needs.
func unmetWords(unmet []string) string {
	words := map[string]string{"os": "another operating system", "arch": "another processor", "wal": "journal_mode=wal, which the workload does not use",
		"rollback": "another journal_mode than wal, which the workload uses", "connections": "several connections", "cancellation": "contexts that are canceled"}
	var list []string
	for _, u := range unmet {
		list = append(list, words[u])
	}
	return strings.Join(list, ", ")
}

// limits lists what the conformance suite found of each candidate.
func limits(f *Facts) (l document.List) {
	for i := range f.Candidates {
		c := &f.Candidates[i]
		for _, what := range slices.Sorted(maps.Keys(c.Info.Limits)) {
			l = append(l, document.Item{Label: c.Name, Text: what + ": " + c.Info.Limits[what]})
		}
	}
	return l
}

// megabytes formats a size in memory or in a file.
