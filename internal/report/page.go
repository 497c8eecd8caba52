package report

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/sqlite3perf/sqlite3perf/internal/compare"
	"github.com/sqlite3perf/sqlite3perf/internal/conditions"
	"github.com/sqlite3perf/sqlite3perf/internal/distinct"
	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
)

func writeHTML(w io.Writer, a *stats.Analysis, o Options) error {
	o.Source = conditions.PageSource(a.Run)
	return document.RenderHTML(w, runOnPage(a, o), fmt.Sprintf("Run %d", a.Run.ID), o.Options)
}

// runOnPage describes a run for a page. A run that compares two sides (such as two drivers) gets
// the page of its comparison, because only a comparison has intervals and p-values for verdicts.
func runOnPage(a *stats.Analysis, o Options) document.Document {
	if a.Run.Compares != nil && o.Study == nil {
		return compare.ComparisonPage(compare.Compared{Comparison: stats.CompareRun(a), First: a, Second: a}, o.Options)
	}
	return pageOf(a, o)
}

// pageOf describes a run for a page: the answer and the first picture, warnings, pictures with their
// figures, and how the run was measured. The other formats have the same texts, without the
// pictures.
func pageOf(a *stats.Analysis, o Options) document.Document {
	o.Hints.Full = "" // no command is named, because the page itself lists the imprecise figures
	said := o.Answers
	if said == nil {
		all := AnswersOf(a, o)
		said = &all
	}
	d := pageAnswer(a, said, o)
	s := ScopeOf(a, o)
	if o.Study != nil {
		d = append(append(d, worstWarnings(said, o)), s.pageStudy(o.Study)...)
		d = append(d, pageWarnings(said, o)...)
	} else {
		d = append(d, s.pageFigures(said, o)...)
	}
	d = append(d, document.Heading{Level: 2, Text: "How it was measured"})
	d = append(d, header(a, o, nil)[1:]...)
	if o.Study == nil {
		if r := reliability(a); r != "" {
			d = append(d, document.Paragraph{Text: r})
		}
		d = append(d, legend(a)...)
		d = append(d, document.Methodology("Statistics"))
		d = append(d, below(conditions.Drivers(a))...)
		d = append(d, conditions.AllCompileOptions(a))
	} else {
		d = append(d, document.Methodology("Studies and claims"))
	}
	d = append(d, below(conditions.DriverNotes(a))...)
	return document.UniqueNames(document.WithConfidence(document.WithSource(d, conditions.PictureSource(a.Run)), stats.Confidence), map[string]bool{})
}

// below moves the headings of a document one level down.
func below(d document.Document) document.Document {
	for i, b := range d {
		if h, ok := b.(document.Heading); ok {
			h.Level++
			d[i] = h
		}
	}
	return d
}

// pageFigures returns the pictures and figures of a run, with the warnings after the first picture.
func (s scope) pageFigures(said *Answers, o Options) (d document.Document) {
	a, p := s.a, newRunPage(s, o)
	s = p.scope
	first := s.pageSummary()
	d = append(append(d, first...), worstWarnings(said, o))
	if p, ok := s.tradeoffPicture(); ok {
		d = append(d, timeAndMemory(a, p)...)
	}
	if len(first) > 0 {
		d = append(d, pageWarnings(said, o)...)
	}
	cells := firsts(*said)
	heat, ok := s.HeatMap()
	if p.onlyTables() { // the rows of the grid that "firsts" returned link to pictures of tables, which this page does not have
		cells, ok = nil, false
	}
	if ok {
		heat.Fold, heat.Headed = "Figures, and who comes first", true
		heat.Behind = append(document.Document{document.ChartGrid(heat.Chart(0))}, below(cells)...)
		d = append(d, document.Heading{Level: 2, Text: "Each cell"}, document.Paragraph{Text: heat.Title + "."}, heat)
	}
	d = append(d, conditions.Expectations(a.Expectations())...)
	d = append(d, p.tables()...)
	if cells != nil && !ok {
		d = append(append(d, document.Heading{Level: 2, Text: "Who comes first"}), cells[1:]...)
	}
	if len(first) == 0 {
		d = append(d, pageWarnings(said, o)...)
	}
	if !p.onlyTables() {
		d = append(d, impreciseOnPage(a, o.Hints)...)
	}
	if p.cases != nil {
		heading := samplesHeading
		if o.Brief {
			heading = "Proven settings"
		}
		d = append(d, document.Heading{Level: 2, Text: heading}, document.Details{Title: "Of each driver and workload", Body: p.cases, Nest: true})
	}
	return d
}

// impreciseOnPage is [impreciseFigures] for a page, where a long list is collapsed until the reader
// opens it.
func impreciseOnPage(a *stats.Analysis, h document.Hints) document.Document {
	d := impreciseFigures(a, h)
	if len(d) == 0 {
		return nil
	}
	last := len(d) - 1
	if g, ok := d[last].(document.Grid); ok && len(g.Rows) > mostListed {
		d[last] = document.Details{Title: fmt.Sprintf("All %d, the widest first", len(g.Rows)), Body: document.Document{g}}
	}
	return d
}

// mostListed is the greatest number of imprecise figures that a page lists without collapsing the
// list.
const mostListed = 12

const samplesHeading = "Samples and proven settings"

// SamplesOf counts the samples of a run.
func SamplesOf(run *result.Run) (n int) {
	for i := range run.Trials {
		n += len(run.Trials[i].Samples)
	}
	return n
}

// mostHeadline is the greatest length, in bytes, of a headline. A longer headline is cut after its
// first part.
const mostHeadline = 90

// Headline divides an answer into a short headline and the rest. The rest begins with a capital letter. But
// if its first word is one of the given names, such as the name of a driver, the word is not changed.
func Headline(text string, names []string) (head, rest string) {
	head = text
	for _, end := range []string{". ", "; ", ": "} {
		if i := strings.Index(head, end); i >= 0 && len(head) > mostHeadline {
			head = head[:i]
		}
	}
	rest = strings.TrimLeft(text[len(head):], ".;: ")
	if first, _, _ := strings.Cut(rest, " "); rest != "" && !slices.Contains(names, strings.TrimSuffix(first, ",")) {
		rest = document.Upper(rest)
	}
	return strings.TrimSuffix(head, "."), rest
}

// pageAnswer returns the beginning of a page: the answer, the drivers to take for other needs, how
// sure the answer is, and what the settings can lose.
func pageAnswer(a *stats.Analysis, said *Answers, o Options) document.Document {
	head, rest := Headline(said.Text, document.Map(a.Run.Cases, func(c result.Case) string { return c.Driver }))
	d := document.Document{document.Heading{Level: 1, Text: head}}
	if rest != "" {
		d = append(d, document.Paragraph{Text: rest})
	}
	sure := document.Item{Label: "how sure", Text: HowSure(a, said, o)}
	l := append(said.Alternatives(), sure)
	if o.Study == nil {
		risks, _ := conditions.RunRisks(a)
		for _, it := range risks {
			it.Text, it.Alarm = it.Short[0], it.Kept
			l = append(l, it)
		}
	}
	return append(d, l)
}

// worstWarnings lists the worst warnings of a page, each in one line. It leaves out warnings about
// data that settings can lose, because the beginning of the page has them. The list comes after the
// first picture, so that the picture is on the first screen of a phone.
func worstWarnings(said *Answers, o Options) document.List {
	others := slices.DeleteFunc(slices.Clone(said.Caveats), func(c conditions.Caveat) bool { return conditions.IsRisk(c.Code) })
	worst := caveatItems(others, o.Study == nil).Alarms()
	worst = worst[:min(len(worst), mostWorst)]
	for i := range worst {
		worst[i].Brief = true
	}
	return worst
}

// mostWorst is the number of warnings that a page shows in addition to the section of all warnings.
const mostWorst = 2

// pageWarnings returns a section with all warnings.
func pageWarnings(said *Answers, o Options) document.Document {
	l := caveatItems(said.Caveats, o.Study == nil)
	if len(l) == 0 {
		return nil
	}
	return document.Document{document.Heading{Level: 2, Text: document.Counted(int64(len(l)), "warning")}, l}
}

// pageSummary returns the picture of the drivers over all tables or, if no table counts in the
// summary, the text that says why. It returns nil if the run has no summary.
func (s scope) pageSummary() document.Document {
	d := overall(s.a)
	at := slices.IndexFunc(d, func(b document.Block) bool { _, ok := b.(document.Grid); return ok })
	if at < 0 {
		if len(d) > 0 {
			d[0] = document.Paragraph{Text: d[0].(document.Heading).Text}
		}
		return d
	}
	p, ok := s.OverallBars()
	if !ok {
		return nil
	}
	p.Headed = false
	p.Behind = d[at:] // the table of figures, and the list of tables and drivers that the summary leaves out
	return document.Document{p}
}

func (p *runPage) tables() (d document.Document) {
	eachSection(p.a, func(f *stats.Factorial) { d = append(d, p.factorial(f)...) }, func(g *stats.Group) {
		if !slices.ContainsFunc(p.a.Factorials, func(f *stats.Factorial) bool { return f.Workload == g.Workload }) {
			d = append(d, p.group(g, 2)...)
		}
	})
	return d
}

// group returns the part of the page about one group. The parameter "level" is the level of its heading. If
// it is 3 or more, the part belongs to a section that compares several settings, and that already has pictures
// of these cells. Then each table has only its bars, without pictures of latencies, errors, samples and
// memory.
func (p *runPage) group(g *stats.Group, level int) document.Document {
	d := groupHead(g, level)
	for _, t := range g.Tables {
		d = append(d, p.phase(g.Named(t), t, level+1)...)
	}
	d = append(d, conditions.Troubles(g, result.WarningUnverified)...)
	p.addCases(g, g.Tables, groupTitle(g))
	return d
}

// addCases adds the samples and settings of a group to the end of the page.
func (p *runPage) addCases(g *stats.Group, tables []*stats.Table, title string) {
	if p.onlyTables() {
		return
	}
	if p.brief {
		tables = nil
	}
	cases := conditions.CasesOf(g.Outcomes, tables, true)
	cases.Title = title
	p.cases = append(p.cases, cases)
}

// factorial returns the section of a workload with several settings or parameters: first all cases
// side by side, then each combination if the run has several drivers.
func (p *runPage) factorial(f *stats.Factorial) document.Document {
	d := factorialHead(f)
	for _, t := range f.Tables {
		d = append(d, p.phase(stats.TableName{Workload: f.Workload, Phase: t.Phase}, t, 3)...)
		if m, ok := p.settingsMap(f, t); ok && !p.onlyTables() {
			d = append(d, m)
		}
		d = append(d, effects(f, t)...)
	}
	for _, phase := range phasesOf(p.a, f.Workload) {
		scaling := p.scalingPictures(f, phase)
		for i := range scaling {
			if p.onlyTables() {
				scaling[i].Aside, scaling[i].Behind = true, document.Document{document.Paragraph{Text: "The figures are in the table above."}}
			}
		}
		d = append(d, document.Blocks(scaling)...)
	}
	if len(f.Drivers) == 1 || p.onlyTables() && len(f.Tables) > 0 {
		p.addCases(f.Group, f.Tables, f.Workload)
		return append(d, conditions.Troubles(f.Group, result.WarningUnverified)...)
	}
	var each document.Document
	n := 0
	for _, g := range p.a.Groups {
		switch {
		case g.Workload != f.Workload:
		case len(f.Tables) == 0: // tables with all combinations side by side would be too long
			d = append(d, p.group(g, 2)...)
		default:
			each = append(each, p.group(g, 3)...)
			n++
		}
	}
	return append(d, document.Details{Title: fmt.Sprintf("Each of the %d combinations by itself", n), Body: each})
}

// phase returns the part of the page about one phase: the answer, pictures with their figures, and notes. The
// details below a picture are collapsed. If the parameter "level", the level of the phase's heading, is above
// 3, the details contain only figures.
func (p *runPage) phase(n stats.TableName, t *stats.Table, level int) document.Document {
	measured := t.Measured()
	if len(measured) == 0 {
		return nil
	}
	shown := p.of(t, measured)
	if len(shown) == 0 {
		return nil
	}
	d := document.Document{document.Heading{Level: level, Text: t.Phase + ": " + subject(measured)}, document.Paragraph{Text: tableAnswer(p.a, t)}}
	table := figures(p.a, t, measured)
	if p.onlyTables() {
		return append(d, table, phaseNotes(t, measured, p.hints))
	}
	table.Links = document.Map(measured, func(c *stats.Cell) string { return conditions.CaseLink(c.Case) })
	bars := p.TableBars(n, t)
	bars.Behind = document.Document{table}
	words := []string{"Figures"}
	add := func(word string, more document.Document) {
		if len(more) > 0 {
			words = append(words, word)
			bars.Behind = append(bars.Behind, more...)
		}
	}
	if latency := latencies(measured); len(latency.Rows) > 0 {
		add("latency", document.Document{document.Paragraph{Text: document.Upper(latencyTitle(measured)) + "."}, latency})
		if level <= 3 && !p.brief {
			bars.Behind = append(bars.Behind, document.Blocks(p.latencyPictures(n, shown))...)
		}
	}
	errors := document.Blocks(p.errorPictures(n, t))
	if p.cells > mostOpen && level <= 3 {
		add("errors", errors)
	}
	if level <= 3 && !p.brief {
		add("samples", document.Document{p.orderPicture(n, t, p.plain)})
		add("memory", document.Blocks(p.memoryPictures(n, t)))
	}
	bars.Fold = document.And(words)
	d = append(d, bars, phaseNotes(t, measured, p.hints))
	if p.cells <= mostOpen && level <= 3 {
		d = append(d, errors...)
	}
	return d
}

// mostOpen is a number of tables, which pages call cells. If a run has more tables, its page collapses the
// pictures of errors, and a brief page (see [Options.Brief]) shows no pictures of single tables.
const mostOpen = 8

func phasesOf(a *stats.Analysis, workload string) (list []string) {
	for g, t := range a.Tables() {
		if g.Workload == workload {
			list = distinct.Append(list, t.Phase)
		}
	}
	return list
}

func newRunPage(s scope, o Options) *runPage {
	p := &runPage{scope: s, hints: o.Hints, brief: o.Brief, plain: SamplesOf(s.a.Run) > compare.MostTips && !o.alone}
	for range s.a.Tables() {
		p.cells++
	}
	if p.onlyTables() { // the page does not show the cases, so there is nothing to link to
		p.link = func(int, string) string { return "" }
	}
	return p
}

// onlyTables reports whether the page leaves out the picture of each table to stay small.
func (p *runPage) onlyTables() bool { return p.brief && p.cells > mostOpen }

type runPage struct {
	scope
	hints document.Hints
	brief bool              // the page has no samples, as [Options.Brief] says
	plain bool              // pictures show samples without tooltips, because there are too many
	cells int               // number of the run's tables, which pages call cells
	cases document.Document // samples and settings of each case, for the end of the page
}
