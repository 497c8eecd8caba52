package website

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/sqlite3perf/sqlite3perf/internal/conditions"
	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/report"
	"github.com/sqlite3perf/sqlite3perf/internal/store"
	"github.com/sqlite3perf/sqlite3perf/internal/trends"
)

// mostNamed is the greatest number of drivers, and of workloads, that the index names for a run.
const mostNamed = 6

func indexDocument(entries []store.Entry, list []*JSONRun, drivers []*history) document.Document {
	list = newestFirst(list)
	head, rest := fmt.Sprintf("%s of %s", document.Counted(len(entries), "run"), document.Counted(len(drivers), "driver")), ""
	cells := fastest(list)
	d := document.Document{}
	if f := newestAnswer(list); f != nil {
		counts := head
		head, rest = report.Headline(f.Answer, document.Map(f.Figures, func(x JSONFigure) string { return x.Driver }))
		d = append(d, document.Paragraph{Text: fmt.Sprintf("The answer of %s. The site has %s.", f.source(), counts), Quiet: true})
	}
	if rest != "" {
		d = append(d, document.Paragraph{Text: rest})
	}
	d = append(document.Document{document.Heading{Level: 1, Text: head}}, d...)
	var tables document.Document
	if len(cells) > 0 {
		tables = append(document.Document{document.Heading{Level: 2, Text: "Which driver is fastest"}}, fastestTable(cells, drivers)...)
	}
	if len(drivers) > 0 {
		tables = append(tables, document.Heading{Level: 2, Text: "Drivers"}, driverGrid(drivers))
	}
	d = append(d, explained(tables)...)
	if answered := slices.DeleteFunc(slices.Clone(list), func(f *JSONRun) bool { return !f.Compares && f.Question == "" }); len(answered) > 0 {
		g := document.Grid{Stacks: true}
		g.Add(document.Column{Title: "run"}, document.Map(answered, func(f *JSONRun) string { return fmt.Sprint(f.Run) }))
		g.Add(document.Column{Title: "date"}, document.Map(answered, func(f *JSONRun) string { return date(f.Started) }))
		g.Add(document.Column{Title: "of"}, document.Map(answered, func(f *JSONRun) string { return document.Line(cmp.Or(f.Question, f.Command, "compare")) }))
		g.Add(document.Column{Title: "answer"}, document.Map(answered, func(f *JSONRun) string { return document.Line(f.Answer) }))
		g.Links = document.Map(answered, func(f *JSONRun) string { return pageOf(f.Run) })
		d = append(d, document.Heading{Level: 2, Text: "Comparisons and other answers", Named: "comparisons"}, g)
	}
	if len(entries) > 0 {
		d = append(d, document.Heading{Level: 2, Text: "Runs"}, runGrid(entries, list))
	}
	return d
}

// explained adds the meaning of [report.HarmMark] after the first table that contains this mark.
func explained(d document.Document) document.Document {
	for i, b := range d {
		g, _ := b.(document.Grid)
		if slices.ContainsFunc(slices.Concat(g.Rows...), func(cell string) bool { return strings.Contains(cell, report.HarmMark) }) {
			return slices.Insert(d, i+1, document.Block(document.Paragraph{Text: report.HarmMeans + " The list of drivers marks a driver if that is so in any workload.", Quiet: true}))
		}
	}
	return d
}

// newestAnswer returns the newest run that ranked drivers. It returns a run that only compares two
// sides (such as two drivers) only if there is no other. If no run ranked drivers, it returns the newest
// run with figures, because a run without figures is only the answer of a command such as crash. The
// parameter "list" has the newest run first.
func newestAnswer(list []*JSONRun) *JSONRun {
	for _, is := range []func(f *JSONRun) bool{
		func(f *JSONRun) bool { return len(ranked(f)) > 1 && !f.Compares },
		func(f *JSONRun) bool { return len(ranked(f)) > 1 },
		func(f *JSONRun) bool { return len(f.Figures) > 0 },
	} {
		if i := slices.IndexFunc(list, is); i >= 0 {
			return list[i]
		}
	}
	return nil
}

func driverGrid(drivers []*history) document.Grid {
	drivers = slices.Clone(drivers)
	slices.SortStableFunc(drivers, func(a, b *history) int { return cmp.Compare(a.toFloor(), b.toFloor()) }) // the fastest first
	g := document.Grid{Stacks: true}
	g.Add(document.Column{Title: "driver"}, document.Map(drivers, func(h *history) string { return document.Line(h.marked()) }))
	g.Add(document.Column{Title: "newest release"}, document.Map(drivers, func(h *history) string {
		if len(h.releases) == 0 {
			return document.Absent
		}
		return version(h.releases[0].library)
	}))
	g.AddKnown(document.Column{Title: "against the release before"}, document.Map(drivers, func(h *history) string {
		c := h.change()
		if c.cells == 0 {
			return document.Absent
		}
		return fmt.Sprintf("%s (run %d)", c.words(), c.run)
	}))
	g.AddKnown(document.Column{Title: "against plain C"}, document.Map(drivers, func(h *history) string {
		if h.floor == nil {
			return document.Absent
		}
		return fmt.Sprintf("%s (run %d)", toPlainC(h.floor.Ratio), h.floorIn.Run)
	}))
	g.Add(document.Column{Title: "releases", Right: true}, document.Map(drivers, func(h *history) string { return fmt.Sprint(len(h.releases)) }))
	g.Links = document.Map(drivers, (*history).page)
	return g
}

// runGrid lists all runs of the store, the newest first. A run that could not be read has no page.
func runGrid(entries []store.Entry, list []*JSONRun) document.Grid {
	entries = slices.Clone(entries)
	slices.SortStableFunc(entries, func(a, b store.Entry) int {
		return cmp.Or(b.Started.Compare(a.Started), cmp.Compare(b.ID, a.ID))
	})
	pages := map[int64]bool{}
	for _, f := range list {
		pages[f.Run] = true
	}
	g := document.Grid{Stacks: true}
	g.Add(document.Column{Title: "run"}, document.Map(entries, func(e store.Entry) string { return fmt.Sprint(e.ID) }))
	g.Add(document.Column{Title: "started (UTC)"}, document.Map(entries, func(e store.Entry) string { return e.Started.UTC().Format("2006-01-02 15:04") }))
	g.Add(document.Column{Title: "ended"}, document.Map(entries, func(e store.Entry) string {
		return document.Line(e.Ending())
	}))
	g.Add(document.Column{Title: "trials", Right: true}, document.Map(entries, func(e store.Entry) string { return fmt.Sprint(e.Trials) }))
	g.Add(document.Column{Title: "drivers"}, document.Map(entries, func(e store.Entry) string { return document.FirstOf(e.Drivers, mostNamed, ", ") }))
	g.Add(document.Column{Title: "workloads"}, document.Map(entries, func(e store.Entry) string { return document.FirstOf(e.Workloads, mostNamed, ", ") }))
	if slices.ContainsFunc(entries, func(e store.Entry) bool { return e.Host != entries[0].Host }) {
		g.Add(document.Column{Title: "machine"}, document.Map(entries, func(e store.Entry) string { return short(e.Host) }))
	}
	g.Links = document.Map(entries, func(e store.Entry) string {
		if !pages[e.ID] {
			return ""
		}
		return pageOf(e.ID)
	})
	return g
}

// trendsDocument lists the changes of drivers' times from one run to a later one, the newest change first.
func trendsDocument(drivers []*history) document.Document {
	type change struct {
		h *history
		t *trends.Trend
		c trends.Shift
	}
	var list []change
	series := 0
	for _, h := range drivers {
		for i := range h.series {
			series++
			for _, c := range h.series[i].Changes {
				list = append(list, change{h, &h.series[i], c})
			}
		}
	}
	slices.SortStableFunc(list, func(a, b change) int { return cmp.Compare(b.c.Run, a.c.Run) })
	head := fmt.Sprintf("%s in %d series of times", document.Counted(len(list), "change"), series)
	d := document.Document{document.Heading{Level: 1, Text: head}, document.Paragraph{Text: "A series has the times of a driver in a cell, measured in the same way on the same machine. " +
		"A change may come from a release or from the machine: to find out, measure both releases in one run. About two dozen runs are needed to find a change."}}
	if len(list) == 0 {
		return d
	}
	g := document.Grid{Stacks: true}
	g.Add(document.Column{Title: "driver"}, document.Map(list, func(c change) string { return document.Line(c.h.name) }))
	g.Add(document.Column{Title: "cell"}, document.Map(list, func(c change) string { return document.Line(c.t.Workload + " " + c.h.cellName(c.t)) }))
	g.Add(document.Column{Title: "machine"}, document.Map(list, func(c change) string { return cut(strings.TrimSpace(conditions.Machine(c.t.Machine)), mostMachine) }))
	g.Add(document.Column{Title: "change"}, document.Map(list, func(c change) string { return document.Line(changed(c.t, c.c)) }))
	g.Links = document.Map(list, func(c change) string { return c.h.page() })
	return append(d, document.Heading{Level: 2, Text: "Changes"}, g)
}
