package report

import (
	"fmt"
	"io"
	"slices"

	"github.com/sqlite3perf/sqlite3perf/internal/compare"
	"github.com/sqlite3perf/sqlite3perf/internal/conditions"
	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
)

func writeHTML(w io.Writer, a *stats.Analysis, o Options) error {
	return document.RenderHTML(w, runOnPage(a, o), fmt.Sprintf("Run %d", a.Run.ID), o.Options)
}

// runOnPage describes a run for a page. A comparing run gets the page of its comparison, because
// only a comparison has intervals and p-values for verdicts.
func runOnPage(a *stats.Analysis, o Options) document.Document {
	if a.Run.Compares != nil && o.Study == nil {
		return compare.ComparisonPage(compare.Compared{Comparison: stats.CompareRun(a), First: a, Second: a}, o.Options)
	}
	return pageOf(a, o)
}

// pageOf describes a run for a page: the answer and warnings, pictures with their figures, and how
// the run was measured. All further text is the same as in the other formats.
func pageOf(a *stats.Analysis, o Options) document.Document {
	said := AnswersOf(a, o)
	d := pageAnswer(a, said, o)
	s := ScopeOf(o)
	if o.Study != nil {
		d = append(d, s.pageStudy(a, o.Study)...)
	} else {
		looks := LooksOf(a)
		d = append(d, document.Heading{Level: 2, Text: "Summary"})
		d = append(d, s.pageSummary(a, looks)...)
		if p, ok := s.HeatMap(a); ok {
			d = append(d, p)
		}
		if f := firsts(said); f != nil {
			d = append(append(d, document.Heading{Level: 2, Text: "Who comes first"}), f[1:]...) // a level-2 heading, so that the table of contents lists the section
		}
		samples := 0
		for i := range a.Run.Trials {
			samples += len(a.Run.Trials[i].Samples)
		}
		p := runPage{s, a, o.Hints, looks, samples > compare.MostTips && !o.alone}
		d = append(d, p.tables()...)
		d = append(d, conditions.Drivers(a)...)
		d = append(d, conditions.AllCompileOptions(a))
	}
	d = append(d, document.Heading{Level: 2, Text: "How it was measured"})
	d = append(d, header(a, o, nil)...)
	if o.Study == nil {
		if r := reliability(a); r != "" {
			d = append(d, document.Paragraph{Text: r})
		}
		d = append(d, legend(a)...)
		d = append(d, document.Methodology("Statistics"))
	} else {
		d = append(d, document.Methodology("Studies and claims"))
	}
	d = append(d, conditions.DriverNotes(a)...)
	return document.UniqueNames(d, map[string]bool{})
}

// pageAnswer returns the beginning of a page: the answer, how sure it is, and warnings.
func pageAnswer(a *stats.Analysis, said Answers, o Options) document.Document {
	d := document.Document{document.Heading{Level: 1, Text: said.Text}}
	if l := said.alternatives(); l != nil {
		d = append(d, l)
	}
	d = append(d, document.List{{Label: "how sure", Text: HowSure(a, &said, o)}})
	l := caveatItems(said.Caveats, o.Study == nil)
	if len(l) > mostCaveats+1 {
		return append(d, l[:mostCaveats], document.Details{Title: fmt.Sprintf("%d more warnings", len(l)-mostCaveats), Body: document.Document{l[mostCaveats:]}})
	}
	return append(d, l)
}

const mostCaveats = 5

const mostLeftOut = 3

func (s scope) pageSummary(a *stats.Analysis, l looks) document.Document {
	d := overall(a)
	if len(d) == 0 {
		return nil
	}
	at := slices.IndexFunc(d, func(b document.Block) bool { _, ok := b.(document.Grid); return ok })
	if at < 0 {
		h := d[0].(document.Heading)
		d[0] = document.Paragraph{Text: h.Text}
		return d
	}
	base := slices.IndexFunc(a.Overall.Drivers, func(x stats.OverallDriver) bool { return x.Case.Driver == a.Overall.Base })
	p, ok := s.OverallBars(a, conditions.Label(a.Overall.Drivers[base].Case), l)
	if !ok {
		return nil
	}
	table := d[at].(document.Grid)
	p.Behind = document.Document{table}
	d[at] = p
	if left, ok := d[len(d)-1].(document.List); ok && len(left) > mostLeftOut {
		d[len(d)-1] = document.Details{Title: fmt.Sprintf("What the summary leaves out, and notes (%d)", len(left)), Body: document.Document{left}}
	}
	return d[1:]
}

func (p *runPage) tables() (d document.Document) {
	eachSection(p.a, func(f *stats.Factorial) { d = append(d, p.factorial(f)...) }, func(g *stats.Group) {
		if !slices.ContainsFunc(p.a.Factorials, func(f *stats.Factorial) bool { return f.Workload == g.Workload }) {
			d = append(d, p.group(g, 2)...)
		}
	})
	return d
}

// group returns the part of the page about one group. If level is above 2, the part has only the
// pictures that its tables need, because the factorial around it shows the same cells.
func (p *runPage) group(g *stats.Group, level int) document.Document {
	d := groupHead(g, level)
	for _, t := range g.Tables {
		d = append(d, p.phase(stats.TableName{Workload: g.Workload, Variant: g.Variant(), Phase: t.Phase}, t, level+1)...)
	}
	d = append(d, conditions.Troubles(g, result.WarningUnverified)...)
	return append(d, conditions.CasesOf(g.Outcomes, g.Tables, true)...)
}

// factorial returns the section of a workload with several settings or parameters: first all cases
// side by side, then each combination if the run has several drivers.
func (p *runPage) factorial(f *stats.Factorial) document.Document {
	d := factorialHead(f)
	for _, t := range f.Tables {
		d = append(d, p.phase(stats.TableName{Workload: f.Workload, Phase: t.Phase}, t, 3)...)
		if m, ok := p.settingsMap(p.a, f, t); ok {
			d = append(d, m)
		}
		d = append(d, effects(f, t)...)
	}
	for _, phase := range phasesOf(p.a, f.Workload) {
		d = append(d, document.Blocks(p.scalingPictures(p.a, f, phase, p.looks))...)
	}
	if len(f.Drivers) == 1 {
		d = append(d, conditions.Troubles(f.Group, result.WarningUnverified)...)
		return append(d, conditions.CasesOf(f.Group.Outcomes, f.Tables, true)...)
	}
	var each document.Document
	n := 0
	for _, g := range p.a.Groups {
		switch {
		case g.Workload != f.Workload:
		case len(f.Tables) == 0: // the factorial has no tables because they would be too long
			d = append(d, p.group(g, 2)...)
		default:
			each = append(each, p.group(g, 3)...)
			n++
		}
	}
	return append(d, document.Details{Title: fmt.Sprintf("Each of the %d combinations by itself, with samples and proven settings", n), Body: each})
}

// phase returns the part of the page about one phase: the answer, pictures with their figures, and
// notes. Details are closed; if level is above 3 they are left out.
func (p *runPage) phase(n stats.TableName, t *stats.Table, level int) document.Document {
	measured := t.Measured()
	if len(measured) == 0 {
		return nil
	}
	shown := p.of(t, measured)
	if len(shown) == 0 {
		return nil
	}
	bars := p.TableBars(n, t, p.looks)
	table := figures(p.a, t, measured)
	for _, c := range measured {
		table.Links = append(table.Links, conditions.CaseLink(c.Case))
	}
	bars.Behind = document.Document{table}
	d := document.Document{document.Heading{Level: level, Text: t.Phase + ": " + subject(measured)}, document.Paragraph{Text: tableAnswer(t)}, bars, phaseNotes(t, measured, p.hints)}
	latency := latencies(measured)
	if level > 3 {
		if len(latency.Rows) > 0 {
			d = append(d, document.Details{Title: "Latency", Body: document.Document{document.Paragraph{Text: latencyTitle(measured)}, latency}})
		}
		return d
	}
	if len(latency.Rows) > 0 {
		for _, x := range p.latencyPictures(n, shown, p.looks) {
			x.Behind = document.Document{latency}
			d = append(d, x)
		}
	}
	d = append(d, document.Blocks(p.errorPictures(n, t, p.looks))...)
	d = append(d, document.Details{Title: "Samples in the order measured", Body: document.Document{p.orderPicture(n, t, p.looks, p.plain)}})
	if memory := p.memoryPictures(n, t, p.looks); memory != nil {
		d = append(d, document.Details{Title: "Memory", Body: document.Blocks(memory)})
	}
	return d
}

func phasesOf(a *stats.Analysis, workload string) (list []string) {
	for _, g := range a.Groups {
		for _, t := range g.Tables {
			if g.Workload == workload && !slices.Contains(list, t.Phase) {
				list = append(list, t.Phase)
			}
		}
	}
	return list
}

type runPage struct {
	scope
	a     *stats.Analysis
	hints document.Hints
	looks looks
	plain bool // pictures show samples without tips, because there are too many
}
