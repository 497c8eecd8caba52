package website

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/report"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
	"github.com/sqlite3perf/sqlite3perf/internal/trends"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
)

// cell is a cell in which a run ranked several drivers. It has the ranking of the newest such run.
type cell struct {
	in      *JSONRun
	key     string
	figures []*JSONFigure // ranked drivers, the fastest first
}

// mostCells is the greatest number of cells that the index shows.
const mostCells = 40

// ranked returns the drivers that have a rank in some cell of a run.
func ranked(f *JSONRun) map[string]bool {
	drivers := map[string]bool{}
	for i := range f.Figures {
		if x := &f.Figures[i]; x.Rank > 0 {
			drivers[baseOf(*x)] = true
		}
	}
	return drivers
}

// fastest returns the cells in which a run ranked several drivers. The parameter "list" has the newest
// run first. For each cell, the newest ranking is used. A run that only compares two sides (such as two
// drivers) is used only if no other run ranked drivers in the cell.
func fastest(list []*JSONRun) (cells []*cell) {
	seen := map[string]bool{}
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(a, b *JSONRun) int {
		of := map[bool]int{true: 1}
		return cmp.Compare(of[a.Compares], of[b.Compares])
	})
	for _, f := range list {
		if len(ranked(f)) < 2 {
			continue
		}
		own := map[string]*cell{}
		for i := range f.Figures {
			x := &f.Figures[i]
			key := cellKey(x.Workload, x.Phase, x.Scale, x.Parameters, x.Settings, f.Machine.Hostname)
			if x.Rank == 0 || seen[key] {
				continue
			}
			if own[key] == nil {
				own[key] = &cell{in: f, key: key}
			}
			own[key].figures = append(own[key].figures, x)
		}
		for key, c := range own {
			seen[key] = true
			slices.SortStableFunc(c.figures, func(a, b *JSONFigure) int {
				return cmp.Or(cmp.Compare(a.Rank, b.Rank), cmp.Compare(a.Median, b.Median))
			})
			if slices.ContainsFunc(c.figures, func(x *JSONFigure) bool { return baseOf(*x) != baseOf(*c.figures[0]) }) {
				cells = append(cells, c)
			}
		}
	}
	slices.SortFunc(cells, func(a, b *cell) int {
		x, y := a.figures[0], b.figures[0]
		return cmp.Or(cmp.Compare(x.Workload, y.Workload), cmp.Compare(x.Case, y.Case), cmp.Compare(a.key, b.key))
	})
	return cells[:min(len(cells), mostCells)]
}

// cellKey returns a text that is the same for all figures of a cell on a machine, and different for
// any other cell or machine.
func cellKey(workload, phase, scale string, parameters map[string]int64, settings map[string]string, host string) string {
	return fmt.Sprintf("%q %q %q %v %q %q", workload, phase, scale, parameters, settings, host)
}

// named is a cell with the words that say how it was measured.
type named struct {
	name string
	of   []string
}

// toldApart returns the names of cells. A name that several cells have is followed by the words in which
// they differ.
func toldApart(cells []named) []string {
	return document.Map(cells, func(c named) string {
		words := []string{c.name}
		for _, w := range c.of {
			if slices.ContainsFunc(cells, func(x named) bool { return x.name == c.name && !slices.Contains(x.of, w) }) {
				words = append(words, w)
			}
		}
		return document.Line(strings.Join(words, " · "))
	})
}

// conditionWords says how a cell was measured, such as "scale quick", "users=100" and "pool_size=1".
func conditionWords(scale string, parameters map[string]int64, settings driver.Settings) []string {
	words := []string{"scale " + scale}
	for _, name := range slices.Sorted(maps.Keys(parameters)) {
		words = append(words, fmt.Sprintf("%s=%d", name, parameters[name]))
	}
	for _, name := range stats.SettingNames(settings) {
		words = append(words, name+"="+settings[name])
	}
	return words
}

// best returns the fastest driver, and the drivers from which it does not clearly differ.
func (c *cell) best() []*JSONFigure {
	return slices.DeleteFunc(slices.Clone(c.figures), func(x *JSONFigure) bool { return x.ToFastest != nil })
}

// fastestTable says for each cell which drivers are fastest, in the same way as the pages of the
// runs.
func fastestTable(cells []*cell, drivers []*history) document.Document {
	g := document.Grid{Stacks: true}
	text := func(title string, of func(c *cell) string) {
		g.Add(document.Column{Title: title}, document.Map(cells, func(c *cell) string { return document.Line(cmp.Or(of(c), document.Absent)) }))
	}
	g.Add(document.Column{Title: "cell"}, toldApart(document.Map(cells, func(c *cell) named {
		x := c.figures[0]
		return named{x.Workload + " " + x.Phase, conditionWords(x.Scale, x.Parameters, x.Settings)}
	})))
	text("fastest", func(c *cell) string {
		for _, x := range c.best() {
			return x.name() + " " + timeFormat(x.Unit)(x.Median)
		}
		return ""
	})
	text("tied with it", func(c *cell) string {
		best := c.best()
		return strings.Join(document.Map(best[min(1, len(best)):], (*JSONFigure).name), ", ")
	})
	text("first that is slower", func(c *cell) string {
		for _, x := range c.figures {
			if x.ToFastest != nil {
				return x.name() + ", " + document.Slower(*x.ToFastest)
			}
		}
		return ""
	})
	legend := "A cell is a phase of a workload; the page of its run has its parameters and settings. Each row is of the newest run that ranked several drivers in this cell. " +
		"Tied: there is no clear difference from the fastest."
	if slices.ContainsFunc(cells, func(c *cell) bool { return c.changed(drivers) != "" }) {
		text("changed", func(c *cell) string { return c.changed(drivers) })
		legend += " Changed: releases of the fastest that are clearly slower or faster than the release before, measured in the same run."
	}
	if slices.ContainsFunc(cells, func(c *cell) bool { return c.in != cells[0].in }) {
		text("run", func(c *cell) string { return fmt.Sprintf("%d, %s", c.in.Run, date(c.in.Started)) })
	}
	if slices.ContainsFunc(cells, func(c *cell) bool { return c.in.Machine.Hostname != cells[0].in.Machine.Hostname }) {
		text("machine", func(c *cell) string { return short(c.in.Machine.Hostname) })
	}
	g.Links = document.Map(cells, func(c *cell) string { return pageOf(c.in.Run) })
	return document.Document{g, document.Paragraph{Quiet: true, Text: legend}}
}

// name returns the driver with its version, and with [report.HarmMark] if it has a defect that can lose
// or falsify data.
func (x *JSONFigure) name() string {
	name := x.Driver
	if x.Library != "" && !strings.Contains(name, "@") {
		name += " " + version(x.Library)
	}
	return marked(name, x.Harmful)
}

// marked adds [report.HarmMark] to the name of a driver, unless the list of its harmful defects is empty.
func marked(name string, harmful []string) string {
	if len(harmful) > 0 {
		name += report.HarmMark
	}
	return name
}

// changed names, for each of the fastest drivers, the releases that changed the driver's time in the
// cell.
func (c *cell) changed(drivers []*history) string {
	var words []string
	for _, x := range c.best() {
		i := slices.IndexFunc(drivers, func(h *history) bool { return h.name == result.BaseDriver(x.Driver) })
		if i < 0 || !released(x.Driver) {
			continue
		}
		at := slices.IndexFunc(drivers[i].series, func(t trends.Trend) bool {
			return t.Driver == drivers[i].name && cellKey(t.Workload, t.Phase, t.Scale, t.Parameters, t.Settings, t.Host) == c.key
		})
		if at < 0 {
			continue
		}
		if text := drivers[i].changed(&drivers[i].series[at]); text != "" && text != noChange {
			words = append(words, drivers[i].name+" "+text)
		}
	}
	return strings.Join(slices.Compact(words), "; ")
}

// toFloor returns the driver's time relative to plain C. The list of drivers is sorted by this time.
func (h *history) toFloor() float64 {
	if h.floor == nil {
		return math.Inf(1)
	}
	return h.floor.Ratio.Median
}
