package report

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
)

// writeHTML writes a run as a page.
func writeHTML(w io.Writer, a *stats.Analysis, o RunOptions) error {
	return renderHTML(w, runOnPage(a, o), fmt.Sprintf("Run %d", a.Run.ID), o.Options)
}

// runOnPage describes a run for a page. That of a run that was made to compare two sides is the
// page of its comparison, which alone has intervals and p-values for its verdicts.
func runOnPage(a *stats.Analysis, o RunOptions) document {
	if a.Run.Compares != nil && o.Study == nil {
		return comparisonPage(Compared{stats.CompareRun(a), a, a}, o.Hints)
	}
	return pageOf(a, o)
}

// pageOf describes a run for a page: the answer and what to beware of, pictures with the
// figures behind them, and what was measured and how. Text that is not about a picture is
// that of the other formats.
func pageOf(a *stats.Analysis, o RunOptions) document {
	said := AnswersOf(a, o)
	d := pageAnswer(said, o.Study == nil)
	s := scopeOf(o)
	if o.Study != nil {
		d = append(d, s.pageStudy(a, o.Study)...)
	} else {
		looks := looksOf(a)
		d = append(d, heading{2, "Summary"})
		d = append(d, s.pageSummary(a, looks)...)
		if p, ok := s.heatMap(a); ok {
			d = append(d, p)
		}
		if f := firsts(said); f != nil {
			d = append(append(d, heading{2, "Who comes first"}), f[1:]...) // so that the contents have it
		}
		samples := 0
		for i := range a.Run.Trials {
			samples += len(a.Run.Trials[i].Samples)
		}
		p := runPage{s, a, o.Hints, looks, samples > mostTips && !o.alone}
		d = append(d, p.tables()...)
		d = append(d, drivers(a)...)
		d = append(d, allCompileOptions(a))
	}
	d = append(d, heading{2, "How it was measured"})
	d = append(d, header(a, o)...)
	if o.Study == nil {
		if r := reliability(a); r != "" {
			d = append(d, paragraph{text: r})
		}
		d = append(d, legend(a)...)
		d = append(d, methodology("Statistics"))
	} else {
		d = append(d, methodology("Studies and claims"))
	}
	d = append(d, driverNotes(a)...)
	return uniqueNames(d, map[string]bool{})
}

// pageAnswer is what a page begins with: the answer, how sure it is, and what to beware of.
// marked says that rows of the page have [ownCost].
func pageAnswer(said Answers, marked bool) document {
	d := document{heading{1, said.Text}}
	if said.FalseDifference > 0 {
		d = append(d, paragraph{fmt.Sprintf("How sure is that: if all drivers and settings compared here were equally fast, the probability that this run would still call any of them faster than another would be at most %s.", percent(said.FalseDifference)), true})
	}
	if choices := choiceItems(&said); choices != nil {
		d = append(d, choices)
	}
	var l list
	for _, c := range said.Caveats {
		words := strings.ReplaceAll(c.Code, "-", " ")
		if c.Code == CaveatAdded && marked {
			words = labels[c.Code] // with the mark of the rows
		}
		l = append(l, item{label: words, text: c.Text, alarm: !slices.Contains(mildCaveats, c.Code)})
	}
	if len(l) > mostCaveats+1 {
		return append(d, l[:mostCaveats], details{title: fmt.Sprintf("%d more to beware of", len(l)-mostCaveats), body: document{l[mostCaveats:]}})
	}
	return append(d, l)
}

// mildCaveats are the codes of what is true of any run, or says only what was not measured.
var mildCaveats = []string{result.WarningVirtual, CaveatUnsettled, CaveatSummary, CaveatLeftOut}

// mostCaveats is how many caveats a page begins with.
const mostCaveats = 5

// mostLeftOut is how many lines of what the summary leaves out are shown at once.
const mostLeftOut = 3

// pageSummary is the picture of all tables together, if there is a summary.
func (s scope) pageSummary(a *stats.Analysis, l looks) document {
	d := overall(a)
	if len(d) == 0 {
		return nil
	}
	at := slices.IndexFunc(d, func(b block) bool { _, ok := b.(grid); return ok })
	if at < 0 {
		h := d[0].(heading)
		d[0] = paragraph{text: h.text}
		return d
	}
	base := slices.IndexFunc(a.Overall.Drivers, func(x stats.OverallDriver) bool { return x.Case.Driver == a.Overall.Base })
	p, ok := s.overallBars(a, label(a.Overall.Drivers[base].Case), l)
	if !ok {
		return nil
	}
	table := d[at].(grid)
	p.behind = document{table}
	d[at] = p
	if left, ok := d[len(d)-1].(list); ok && len(left) > mostLeftOut {
		d[len(d)-1] = details{title: fmt.Sprintf("What the summary leaves out, and notes (%d)", len(left)), body: document{left}}
	}
	return d[1:]
}

// tables are the sections of the workloads.
func (p *runPage) tables() (d document) {
	side := map[string]*stats.Factorial{}
	for _, f := range p.a.Factorials {
		side[f.Workload] = f
	}
	begun := map[string]bool{}
	for _, g := range p.a.Groups {
		switch f := side[g.Workload]; {
		case f == nil:
			d = append(d, p.group(g, 2)...)
		case !begun[g.Workload]:
			d = append(d, p.factorial(f)...)
			begun[g.Workload] = true
		}
	}
	return d
}

// group is the part of a group, with a heading of a level. If it is within that of a
// factorial, which has its cells too, it has no more pictures than its tables need.
func (p *runPage) group(g *stats.Group, level int) document {
	title := g.Workload
	if v := g.Variant(); v != "" {
		title += " · " + v
	}
	var varied []string
	for _, v := range g.Varied {
		varied = append(varied, v.Name)
	}
	d := append(document{heading{level, title}}, conditions(g.Outcomes[0].Case, varied)...)
	for _, t := range g.Tables {
		d = append(d, p.phase(stats.TableName{Workload: g.Workload, Variant: g.Variant(), Phase: t.Phase}, t, level+1)...)
	}
	d = append(d, troubles(g, result.WarningUnverified)...)
	return append(d, casesOf(g.Outcomes, g.Tables, true)...)
}

// factorial is the section of a workload with several settings or parameters: side by side,
// and then, if there are several drivers, each combination by itself.
func (p *runPage) factorial(f *stats.Factorial) document {
	var varied []string
	for _, x := range f.Factors {
		varied = append(varied, x.Name)
	}
	d := document{heading{2, fmt.Sprintf("%s · %s, side by side", f.Workload, f)}}
	d = append(d, conditions(f.Group.Outcomes[0].Case, varied)...)
	for _, t := range f.Tables {
		d = append(d, p.phase(stats.TableName{Workload: f.Workload, Phase: t.Phase}, t, 3)...)
		if m, ok := p.settingsMap(p.a, f, t); ok {
			d = append(d, m)
		}
		d = append(d, effects(f, t)...)
	}
	for _, phase := range phasesOf(p.a, f.Workload) {
		d = append(d, blocks(p.scalingPictures(p.a, f, phase, p.looks))...)
	}
	if len(f.Drivers) == 1 {
		d = append(d, troubles(f.Group, result.WarningUnverified)...)
		return append(d, casesOf(f.Group.Outcomes, f.Tables, true)...)
	}
	var each document
	n := 0
	for _, g := range p.a.Groups {
		switch {
		case g.Workload != f.Workload:
		case len(f.Tables) == 0: // they would be too long
			d = append(d, p.group(g, 2)...)
		default:
			each = append(each, p.group(g, 3)...)
			n++
		}
	}
	return append(d, details{title: fmt.Sprintf("Each of the %d combinations by itself, with samples and proven settings", n), body: each})
}

// phase is the part of a phase, with a heading of a level: the answer, pictures with their
// figures, and what is to say of them. What is seldom looked at is closed, and left out where the cells
// are shown side by side too.
func (p *runPage) phase(n stats.TableName, t *stats.Table, level int) document {
	measured := t.Measured()
	if len(measured) == 0 {
		return nil
	}
	shown := p.of(t, measured)
	if len(shown) == 0 {
		return nil
	}
	bars := p.tableBars(n, t, p.looks)
	table := figures(t, measured)
	for _, c := range measured {
		table.links = append(table.links, caseLink(c.Case))
	}
	bars.behind = document{table}
	d := document{heading{level, t.Phase + ": " + subject(measured)}, paragraph{text: tableAnswer(t)}, bars, phaseNotes(t, measured, p.hints)}
	latency := latencies(measured)
	if level > 3 {
		if len(latency.rows) > 0 {
			d = append(d, details{title: "Latency", body: document{paragraph{text: latencyTitle(measured)}, latency}})
		}
		return d
	}
	if len(latency.rows) > 0 {
		for _, x := range p.latencyPictures(n, shown, p.looks) {
			x.behind = document{latency}
			d = append(d, x)
		}
	}
	d = append(d, blocks(p.errorPictures(n, t, p.looks))...)
	d = append(d, details{title: "Samples in the order measured", body: document{p.orderPicture(n, t, p.looks, p.plain)}})
	if memory := p.memoryPictures(n, t, p.looks); memory != nil {
		d = append(d, details{title: "Memory", body: blocks(memory)})
	}
	return d
}

// phasesOf lists the phases of a workload.
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

// runPage makes the parts of a run's page.
type runPage struct {
	scope
	a     *stats.Analysis
	hints Hints
	looks looks
	plain bool // there are so many samples that those in pictures have no tips
}
