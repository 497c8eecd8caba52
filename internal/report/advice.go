package report

import (
	"cmp"
	_ "embed"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"golang.org/x/mod/module"

	"github.com/sqlite3perf/sqlite3perf/internal/advise"
	"github.com/sqlite3perf/sqlite3perf/internal/defects"
	"github.com/sqlite3perf/sqlite3perf/internal/diff"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
)

// AdviceVersion is the version of the JSON form of advice. Fields may be added without changing
// it.
const AdviceVersion = 1

// Advised is a recommendation with the facts that it rests on.
type Advised struct {
	*advise.Advice
	Facts   *advise.Facts
	Of      *stats.Analysis // of the run
	Answers *Diffed         // nil: they were not compared
	NotIn   []string        // facts that were not looked at, and how to have them
}

var adviceFormats = formatsOf[Advised, Options]{
	{"table", func(w io.Writer, a Advised, o Options) error { return renderPart(w, advice(a), o) }},
	{"markdown", func(w io.Writer, a Advised, _ Options) error { return renderMarkdown(w, advice(a)) }},
	{"html", func(w io.Writer, a Advised, o Options) error { return renderHTML(w, advicePage(a), "Advice", o) }},
	{"json", writeAdviceJSON},
}

// AdviceFormats lists the names of the formats of advice.
func AdviceFormats() []string { return adviceFormats.names() }

// CheckAdvice returns an error if there is no such format of advice.
func CheckAdvice(format string) error { return adviceFormats.check(format) }

// WriteAdvice writes advice in a format.
func WriteAdvice(w io.Writer, format string, a Advised, opts Options) error {
	return adviceFormats.write(w, "advice", format, a, opts)
}

// AdviceSchema is the JSON Schema (draft 2020-12) of the JSON form of advice.
//
//go:embed advice.schema.json
var AdviceSchema []byte

// JSONAdvice is a recommendation as JSON, with its words.
type JSONAdvice struct {
	Version int    `json:"version"`
	Answer  string `json:"answer"`
	Run     int64  `json:"run"`
	*advise.Advice
	Facts   *advise.Facts `json:"facts"`
	Answers *Diffed       `json:"answers,omitempty"` // of the candidates to the same statements
}

func writeAdviceJSON(w io.Writer, a Advised, _ Options) error {
	return encode(w, JSONAdvice{AdviceVersion, a.Answer(), a.Of.Run.ID, a.Advice, a.Facts, a.Answers})
}

// Answer says in a sentence or two which driver to take.
func (a Advised) Answer() string {
	switch a.Verdict {
	case advise.None:
		return "None of the candidates can be taken: none gave the right answers in every cell."
	case advise.Undecided:
		return a.undecided()
	case advise.Conditional:
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
			how = fmt.Sprintf("takes %s its time, but", times(r.Median))
		}
		text += fmt.Sprintf(". %s %s %s", left.Name, how, whyNotTaken(*left)) // others are listed
	}
	return text + "."
}

// leftOut returns the fastest candidate that is left out for another reason than its speed,
// although it is not slower than the one that is taken. It is nil if there is none.
func (a Advised) leftOut() (fastest *advise.Rejection) {
	for i := range a.Rejected {
		if r := &a.Rejected[i]; r.AsFast && (fastest == nil || r.Ratio.Median < fastest.Ratio.Median) {
			fastest = r
		}
	}
	return fastest
}

// undecided says between which candidates the facts do not decide.
func (a Advised) undecided() string {
	among := allOf(a.Among)
	switch {
	case a.Hidden == 0 && !a.Untold:
		return fmt.Sprintf("The measurements do not decide between %s: they are equally fast, as far as %s matters, and each is better in something. What you need most decides.", among, percent(advise.Matters))
	case a.Facts.TooShort:
		return fmt.Sprintf("The measurements do not decide between %s: no cell that all of them have figures of is long enough to judge by.", among)
	case a.Facts.Open(a.Among) != nil:
		return fmt.Sprintf("The measurements do not decide between %s: %s too few to say whether more operations of one fail. %s would do.", among, a.roundsAre(), a.further())
	case a.Untold && a.Further == 0:
		return fmt.Sprintf("The measurements do not decide between %s: there are no rounds in which all of them have figures.", among)
	case a.Untold:
		return fmt.Sprintf("The measurements do not decide between %s: %s too few to say how their times differ. %s would do.", among, a.roundsAre(), a.further())
	case a.Further >= stats.MaxRounds:
		return fmt.Sprintf("The measurements do not decide between %s: one of them may take up to %s the time of another, which the noise hides. To tell them apart would take %s.", among, times(1+a.Hidden), a.further())
	}
	return fmt.Sprintf("The measurements do not decide between %s: one of them may take up to %s the time of another. %s too few to tell; an estimated %s would do.", among, times(1+a.Hidden), a.roundsAre(), a.further())
}

// roundsAre begins a sentence about the rounds of the run.
func (a Advised) roundsAre() string {
	if a.Facts.Rounds == 1 {
		return "1 round is"
	}
	return counted(int64(a.Facts.Rounds), "round") + " are"
}

// further says how many more rounds would tell the candidates apart.
func (a Advised) further() string {
	if a.Further >= stats.MaxRounds {
		return "more than " + Thousands(stats.MaxRounds) + " more rounds"
	}
	return counted(int64(a.Further), "more round")
}

// reasons says why the candidate is taken.
func (a Advised) reasons() (list []string) {
	as := "" // what it is as fast as
	if len(a.Because) > 0 && a.Because[0].Advantage != advise.Faster && a.Because[0].Over != "" {
		as = "as fast as " + a.Because[0].Over + ", and "
	}
	for i, r := range a.Because {
		text := reasonWords(r)
		if r.Advantage == advise.Faster && a.leftOut() != nil {
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
func reasonWords(r advise.Reason) string {
	switch r.Advantage {
	case advise.Faster:
		return fmt.Sprintf("it is the fastest; the next, %s, takes %s its time %s", r.Over, times(r.Ratio.Median), interval(r.Ratio.Interval))
	case advise.Only:
		return "no other candidate is right in every cell, fails no more often, and is free of known defects that can lose, damage or falsify data here"
	case advise.ShorterTail:
		return fmt.Sprintf("its slowest operations are faster: the 99th percentile of %s is %s its own %s", r.Over, times(r.Ratio.Median), interval(r.Ratio.Interval))
	case advise.LessMemory:
		return fmt.Sprintf("it needs %s at its peak, and %s %s", megabytes(r.Own), r.Over, megabytes(r.Others))
	case advise.Smaller:
		return fmt.Sprintf("its binary has %s, and that of %s %s", megabytes(r.Own), r.Over, megabytes(r.Others))
	case advise.WithoutC:
		return fmt.Sprintf("it is built without a C compiler, and %s is not", r.Over)
	case advise.DatabaseSQL:
		return fmt.Sprintf("it is used through database/sql, and %s is not", r.Over)
	case advise.FewerRisks:
		return fmt.Sprintf("no known defect of its versions matters here, and %s of %s may", counted(r.Others, "defect"), r.Over)
	}
	return string(r.Advantage)
}

// whyNotTaken says why a candidate is not taken, after its name and "but".
func whyNotTaken(r advise.Rejection) string {
	switch r.Cause {
	case advise.CauseStatus:
		words := map[result.Status]string{result.Wrong: "is wrong", result.Refused: "was refused", result.Failed: "failed", result.Unavailable: "has no worker"}
		return strings.TrimSuffix(cmp.Or(words[r.Status], "was not measured")+": "+r.Message, ": ")
	case advise.CauseDefect:
		return "has " + defectIDs(r.Defects) + ", which can lose, damage or falsify data"
	case advise.CauseErrors:
		return fmt.Sprintf("had more operations fail: %s", Thousands(r.Failed))
	case advise.CauseSlower:
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
	return someOf(words, 2)
}

// needsOf says what defects need.
func needsOf(list []defects.Defect) string {
	var words []string
	for _, d := range list {
		words = append(words, d.ID+": "+DefectNeeds(d.Needs))
	}
	return someOf(words, 2)
}

// allOf joins names, however many there are.
func allOf(names []string) string {
	if len(names) == 1 {
		return names[0] + " and nothing"
	}
	return strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1]
}

// candidate returns the candidate with a name.
func (a Advised) candidate(name string) *advise.Candidate {
	i := slices.IndexFunc(a.Facts.Candidates, func(c advise.Candidate) bool { return c.Name == name })
	return &a.Facts.Candidates[i]
}

// advice describes a recommendation: the answer, its evidence, what would overturn it, and then
// the facts.
func advice(a Advised) document {
	d := document{heading{1, a.Answer()}}
	var l list
	switch a.Verdict {
	case advise.Undecided:
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
			l = append(l, item{label: name, text: strings.Join(words, "; ")})
		}
	default:
		l = append(append(l, a.otherWork()...), a.unset()...)
		for i, r := range a.reasons() {
			if i > 0 || a.Verdict == advise.Conditional { // the answer has the first
				l = append(l, item{label: "because", text: r})
			}
		}
		for _, text := range overturns(a) {
			l = append(l, item{label: "unless", text: text})
		}
	}
	for _, r := range a.Rejected {
		l = append(l, item{label: "not " + r.Name, text: rejectionWords(r), alarm: r.Cause == advise.CauseStatus || r.Cause == advise.CauseDefect})
	}
	if a.Verdict == advise.Undecided {
		for _, w := range wouldDecide(a) {
			l = append(l, item{label: "would decide", text: w})
		}
	}
	d = append(d, l)
	d = append(d, heading{2, measuredTitle}, measuredFacts(a))
	if tail := tailNote(a.Facts); tail != "" {
		d = append(d, paragraph{text: tail, quiet: true})
	}
	if g := memoryFacts(a.Facts); g.rows != nil {
		d = append(d, paragraph{text: "Peak memory, by setting:"}, g)
	}
	d = append(d, adviceDefects(a.Facts)...)
	if a.Answers != nil {
		d = append(d, heading{2, "Whether the candidates answer alike"}, answersAlike(a.Answers))
	}
	d = append(d, heading{2, "What else a choice costs"}, candidatesOf(a.Facts), builds(a.Facts))
	if l := failedBuilds(a.Facts); l != nil {
		d = append(d, l)
	}
	if l := limits(a.Facts); l != nil {
		d = append(d, heading{2, "What the libraries cannot do, or do differently"}, l)
	}
	d = append(d, heading{2, "Where the figures are from"}, adviceOrigin(a.Of))
	notIn := slices.Clone(a.NotIn)
	if a.Answers != nil {
		for _, name := range a.Answers.Skipped {
			notIn = append(notIn, fmt.Sprintf("how the candidates answer %s, since a phase of this kind is not asked statement by statement", Line(name)))
		}
	}
	if notIn != nil {
		d = append(d, paragraph{text: "Not looked at: " + strings.Join(notIn, "; ") + ".", quiet: true})
	}
	return d
}

// advicePage is the advice as a page, for readers who have nothing else: with pictures of the
// times that it rests on.
func advicePage(a Advised) document {
	d := advice(a)
	at := slices.IndexFunc(d, func(b block) bool { h, ok := b.(heading); return ok && h.text == measuredTitle })
	at += 2 // after the table
	if p, ok := d[at].(paragraph); ok && p.quiet {
		at++ // and what is said of it
	}
	return slices.Insert(d, at, blocks(a.pictures())...)
}

// pictures are those of the times that speed is judged by: over all tables and in each or, if
// there is one table, in that. The samples are not in the page, so nothing leads to them.
func (a Advised) pictures() (list []picture) {
	s := scopeOf(RunOptions{Link: func(int, string) string { return "" }})
	looks := looksOf(a.Of)
	add := func(p picture, ok bool) {
		if ok {
			p.headed = false
			list = append(list, p)
		}
	}
	o := a.Of.Overall
	if base := slices.IndexFunc(o.Drivers, func(d stats.OverallDriver) bool { return d.Case.Driver == o.Base }); len(o.Drivers) > 1 && base >= 0 {
		add(s.overallBars(a.Of, label(o.Drivers[base].Case), looks))
		add(s.heatMap(a.Of))
		return list
	}
	eachGroupTable(a.Of, func(n stats.TableName, t *stats.Table) {
		if slices.Contains(a.Facts.Cells, n) && len(t.Measured()) > 1 {
			add(s.tableBars(n, t, looks), true)
		}
	})
	return list
}

// measuredTitle is the heading of what was measured.
const measuredTitle = "What was measured"

// adviceOrigin says where the figures are from, for readers who have nothing but the advice.
func adviceOrigin(a *stats.Analysis) list {
	of := a.Run
	l := list{{label: "measured", text: measuredIn(a, "workloads "+strings.Join(workloadsOf(of), ", ")), alarm: of.Stopped == result.StoppedInterrupted || of.Stopped == ""}}
	l.note(item{label: "repeated", text: countRepeated(of).String()})
	_, text := settled(a)
	l.note(item{label: "settled", text: text})
	l = append(l, machineItems(of.Machine)...)
	for _, g := range a.Groups {
		for _, b := range troubles(g) {
			of, _ := b.(list)
			for _, it := range of {
				if it.label == "warning" && !slices.Contains(l, it) {
					l = append(l, it)
				}
			}
		}
	}
	return append(l, runWarnings(a)...)
}

// unset says which settings the candidates had in their own ways, because nobody set them.
func (a Advised) unset() (l list) {
	if _, text := unsetInRun(a.Of); text != "" {
		l = append(l, item{label: "beware", alarm: true, text: text + ", so each driver used its own default, which can decide this answer"})
	}
	return l
}

// otherWork says of each replay how much of it did not end as recorded, with the candidate with
// which that was the most: what was compared is then not what was recorded.
func (a Advised) otherWork() (l list) {
	type most struct {
		driver         string
		different, all int64
	}
	var worst groups[string, most]
	eachGroupTable(a.Of, func(n stats.TableName, t *stats.Table) {
		for _, c := range t.Cells {
			sum := most{driver: c.Case.Driver}
			for _, s := range c.Samples {
				sum.different += s.Different + s.Skipped
				sum.all += s.Operations + s.Skipped
			}
			if sum.different > 0 && slices.ContainsFunc(a.Facts.Candidates, func(k advise.Candidate) bool { return k.Name == sum.driver }) {
				worst.add(n.String(), sum)
			}
		}
	})
	for _, name := range worst.keys {
		w := slices.MaxFunc(worst.of[name], func(x, y most) int {
			return cmp.Compare(float64(x.different)/float64(x.all), float64(y.different)/float64(y.all))
		})
		l = append(l, item{label: "beware", alarm: true, text: fmt.Sprintf("%s: %s of the events did not end as recorded with %s, so the times are of other work than the application's; a warning below says what may help",
			name, percent(float64(w.different)/float64(w.all)), w.driver)})
	}
	return l
}

// workloadsOf lists the names of a run's workloads.
func workloadsOf(run *result.Run) (names []string) {
	for i := range run.Cases {
		if name := Line(run.Cases[i].Workload); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// rejectionWords says why a candidate is not taken.
func rejectionWords(r advise.Rejection) string {
	text := whyNotTaken(r)
	if r.Cause == advise.CauseSlower {
		return fmt.Sprintf("it takes %s the time %s", times(r.Ratio.Median), interval(r.Ratio.Interval))
	}
	text = "it " + text
	if r.Ratio != nil {
		text += fmt.Sprintf("; it takes %s the time %s", times(r.Ratio.Median), interval(r.Ratio.Interval))
	}
	return text
}

// overturns says what would speak for other candidates. What speaks for the same one is said
// together.
func overturns(a Advised) (list []string) {
	var needs groups[string, advise.Overturn]
	var mended []string
	for _, o := range a.Overturn {
		switch o.Change {
		case advise.ChangeNeed:
			needs.add(o.For, o)
		case advise.ChangeStatus:
			mended = append(mended, o.For)
		default:
			list = append(list, overturnWords(a, o))
		}
	}
	for _, name := range needs.keys {
		var words []string
		for _, o := range needs.of[name] {
			words = append(words, needWords(o))
		}
		last := needs.of[name][len(words)-1]
		words[len(words)-1] = overturnWords(a, last)
		list = append(list, strings.Join(words, ", or "))
	}
	if mended != nil {
		is := "is"
		if len(mended) > 1 {
			is = "are"
		}
		list = append(list, fmt.Sprintf("%s %s fixed, and measured again", andOthers(mended), is))
	}
	return list
}

// overturnWords says what would speak for another candidate.
func overturnWords(a Advised, o advise.Overturn) string {
	at := ""
	if o.Ratio != nil && o.Change != advise.ChangeCell {
		at = fmt.Sprintf(", at %s the time %s", times(o.Ratio.Median), strings.TrimSpace(interval(o.Ratio.Interval)))
	}
	switch o.Change {
	case advise.ChangeDefect:
		then := "take " + o.For + at
		if o.Among != nil {
			then = "the facts do not decide between " + allOf(o.Among)
			if o.Ratio != nil {
				then += fmt.Sprintf("; %s takes %s the time %s", o.For, times(o.Ratio.Median), strings.TrimSpace(interval(o.Ratio.Interval)))
			}
		}
		return fmt.Sprintf("you can exclude what the defects of %s need (%s), or take a version without them: then %s", o.For, needsOf(a.candidate(o.For).Falsifying()), then)
	case advise.ChangeNeed:
		return needWords(o) + ": then take " + o.For + at
	case advise.ChangeCell:
		return fmt.Sprintf("%s matters most: there %s is the fastest, and the next takes %s its time %s", o.Cell, o.For, times(o.Ratio.Median), interval(o.Ratio.Interval))
	}
	rounds := "more rounds"
	if a.Further > 0 && a.Further < stats.MaxRounds {
		rounds = fmt.Sprintf("more rounds (%d in all)", a.Facts.Rounds+a.Further)
	}
	return rounds + ", a larger scale or a quieter machine tell them apart, or show that they are equally fast"
}

// needWords says which need speaks for another candidate.
func needWords(o advise.Overturn) string {
	switch o.Advantage {
	case advise.WithoutC:
		return "you have to build without a C compiler"
	case advise.DatabaseSQL:
		return "you need database/sql"
	case advise.LessMemory:
		return fmt.Sprintf("memory is scarce (%s instead of %s)", megabytes(o.Own), megabytes(o.Others))
	case advise.Smaller:
		return fmt.Sprintf("the size of the binary counts (%s instead of %s)", megabytes(o.Own), megabytes(o.Others))
	case advise.ShorterTail:
		return "the slowest operations matter more than the total time"
	case advise.FewerRisks:
		return "you must avoid every known defect, even one that cannot falsify data"
	}
	return string(o.Advantage)
}

// wouldDecide says what would decide between candidates.
func wouldDecide(a Advised) (words []string) {
	if slices.ContainsFunc(a.Overturn, func(o advise.Overturn) bool { return o.Change == advise.ChangeRounds }) {
		words = append(words, overturnWords(a, advise.Overturn{Change: advise.ChangeRounds}))
	}
	if a.Because != nil {
		words = append(words, "which of these advantages your program needs most")
	}
	return words
}

// measuredFacts is the table of what the run measured. Ratios are to the first candidate with
// figures.
func measuredFacts(a Advised) grid {
	f := a.Facts
	g := grid{columns: []column{{title: "candidate"}, {title: "time", right: true, whole: true}, {title: "p99", right: true, whole: true, drop: 1},
		{title: "failed", right: true}, {title: "peak memory", right: true}, {title: "status"}}}
	for i := range f.Candidates {
		c := &f.Candidates[i]
		row := []string{c.Name, absent, absent, absent, absent, string(c.Status)}
		switch {
		case i == 0 && c.Measured:
			row[1] = times(1)
			if slices.ContainsFunc(f.Pairs, func(p advise.Pair) bool { return p.Tail != nil }) {
				row[2] = times(1)
			}
		case c.Measured:
			at := slices.IndexFunc(f.Pairs, func(p advise.Pair) bool { return p.First == 0 && p.Second == i })
			if at < 0 {
				break
			}
			p := f.Pairs[at]
			row[1] = strings.TrimSpace(times(p.Time.Median) + " " + interval(p.Time.Interval))
			if p.Tail != nil {
				row[2] = strings.TrimSpace(times(p.Tail.Median) + " " + interval(p.Tail.Interval))
			}
		}
		if c.Operations > 0 {
			row[3] = Thousands(c.Failed)
		}
		if c.MemoryBytes > 0 {
			row[4] = megabytes(c.MemoryBytes)
		}
		g.rows = append(g.rows, row)
	}
	return g
}

// memoryFacts is the table of peak memory in each combination of settings, if there are several.
// It has a row for each combination.
func memoryFacts(f *advise.Facts) grid {
	g := grid{columns: []column{{title: "settings"}}}
	at := map[string]int{} // the row of each combination
	for i := range f.Candidates {
		g.columns = append(g.columns, column{title: f.Candidates[i].Name, right: true})
		for _, m := range f.Candidates[i].Memory {
			if _, ok := at[m.Workload+" "+m.Variant]; !ok {
				at[m.Workload+" "+m.Variant] = len(at)
				g.rows = append(g.rows, []string{m.Workload + " " + m.Variant})
			}
		}
	}
	for i := range g.rows {
		for range f.Candidates {
			g.rows[i] = append(g.rows[i], absent)
		}
	}
	for k := range f.Candidates {
		for _, m := range f.Candidates[k].Memory {
			if m.Bytes > 0 {
				g.rows[at[m.Workload+" "+m.Variant]][k+1] = megabytes(m.Bytes)
			}
		}
	}
	return g
}

// tailNote says what times and percentiles are of.
func tailNote(f *advise.Facts) string {
	text := "Times are ratios to the first row"
	if len(f.Cells) > 1 {
		text += fmt.Sprintf(", the geometric mean over %s", counted(int64(len(f.Cells)), "cell"))
	} else if len(f.Cells) == 1 {
		text += " in " + f.Cells[0].String()
	} else {
		return ""
	}
	if slices.ContainsFunc(f.Pairs, func(p advise.Pair) bool { return p.Tail != nil }) {
		text += "; p99 is the geometric mean over all kinds of operations"
	}
	return text + ". Memory is that of the process and its children."
}

// answersAlike says how the answers of the candidates differ from those of the first, and why
// that is likely: an item each, so that a terminal that cuts items shows every reason.
func answersAlike(d *Diffed) (l list) {
	for _, r := range d.Results {
		l = append(l, item{label: r.Second, text: diffAnswer(r), alarm: alarming(r)})
		for i := range r.Groups {
			if i == mostGroups {
				l = append(l, item{label: "likely", text: fmt.Sprintf("%d more reasons, which sqlite3perf diff lists", len(r.Groups)-i)})
				break
			}
			g := &r.Groups[i]
			l = append(l, item{label: "likely", text: fmt.Sprintf("%s (%s)", diffReason(r, g), g.Statements[0].At())})
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
func candidatesOf(f *advise.Facts) grid {
	g := grid{columns: []column{{title: "candidate"}, {title: "version"}, {title: "SQLite"}, {title: "released"}, {title: "license"}, {title: "interface", drop: 1}}}
	for i := range f.Candidates {
		c := &f.Candidates[i]
		row := []string{c.Name, cmp.Or(shortVersion(c.Version), absent), cmp.Or(c.SQLite, absent), absent, absent, cmp.Or(string(c.Info.Interface), absent)}
		if p := c.Footprint; p != nil {
			if !p.Released.IsZero() {
				row[3] = p.Released.UTC().Format(time.DateOnly)
			}
			row[4] = cmp.Or(p.License, absent)
		}
		g.rows = append(g.rows, row)
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
func builds(f *advise.Facts) grid {
	g := grid{columns: []column{{title: "candidate"}, {title: "C compiler"}, {title: "binary", right: true}, {title: "build warm", right: true}, {title: "cold", right: true}}}
	var targets []string
	for i := range f.Candidates {
		if p := f.Candidates[i].Footprint; p != nil {
			for _, t := range p.Targets {
				if !slices.Contains(targets, t.Target) {
					targets = append(targets, t.Target)
					g.columns = append(g.columns, column{title: t.Target})
				}
			}
		}
	}
	for i := range f.Candidates {
		c := &f.Candidates[i]
		row := make([]string, len(g.columns))
		for k := range row {
			row[k] = absent
		}
		row[0] = c.Name
		if c.Info.Kind != driver.OtherLanguage {
			row[1] = map[bool]string{true: "not needed", false: "needed"}[c.WithoutC()]
		}
		if p := c.Footprint; p != nil {
			row[2], row[3] = megabytes(p.SizeBytes), elapsed(time.Duration(p.WarmNS))
			if p.ColdNS > 0 {
				row[4] = elapsed(time.Duration(p.ColdNS))
			}
			for _, t := range p.Targets {
				row[len(g.columns)-len(targets)+slices.Index(targets, t.Target)] = targetCell(t, c.WithoutC())
			}
		}
		g.rows = append(g.rows, row)
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
func failedBuilds(f *advise.Facts) (l list) {
	for i := range f.Candidates {
		c := &f.Candidates[i]
		if c.Footprint == nil || !c.WithoutC() {
			continue
		}
		for _, t := range c.Footprint.Targets {
			if !t.OK {
				l = append(l, item{label: c.Name, text: t.Target + ": " + Line(t.Message)})
			}
		}
	}
	return l
}

// adviceDefects lists the known defects of each candidate: those that may matter, and those that
// cannot, and why.
func adviceDefects(f *advise.Facts) document {
	var beside, what, harmless list
	told := map[string]bool{}
	for i := range f.Candidates {
		c := &f.Candidates[i]
		var ids []string
		for _, d := range c.Harmful {
			ids = append(ids, d.ID)
			if !told[d.ID] {
				told[d.ID] = true
				what = append(what, item{label: d.ID, text: fmt.Sprintf("%s: %s. It needs: %s", d.Effect, d.Title, DefectNeeds(d.Needs))})
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
		beside = append(beside, item{label: c.Name, text: words, alarm: c.Falsifying() != nil})
		for _, d := range c.Harmless {
			harmless = append(harmless, item{label: c.Name, text: fmt.Sprintf("%s does not matter here: it needs %s", d.ID, unmetWords(d.Needs.Unmet(f.Use)))})
		}
	}
	if beside == nil {
		return nil
	}
	d := document{heading{2, "Known defects of these versions"}, beside, what, harmless}
	if what != nil || harmless != nil {
		d = append(d, reference{"known defects", "https://github.com/sqlite3perf/sqlite3perf/blob/main/docs/defects.md"})
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
func limits(f *advise.Facts) (l list) {
	for i := range f.Candidates {
		c := &f.Candidates[i]
		for _, what := range slices.Sorted(maps.Keys(c.Info.Limits)) {
			l = append(l, item{label: c.Name, text: what + ": " + c.Info.Limits[what]})
		}
	}
	return l
}

// megabytes formats a size in memory or in a file.
func megabytes(n int64) string { return fmt.Sprintf("%.1f MB", float64(n)/1e6) }
