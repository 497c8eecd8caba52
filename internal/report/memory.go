package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/sqlite3perf/sqlite3perf/internal/chart"
	"github.com/sqlite3perf/sqlite3perf/internal/conditions"
	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
)

// tradeoff is the time of a driver over all tables of the summary, and its peak memory.
type tradeoff struct {
	stats.OverallDriver
	name    string
	memory  stats.Summary // peak memory in bytes, in the table of the summary where its median is greatest
	in      string        // name of the table that the field "memory" is from
	isFloor bool
	harmful []string // IDs of known defects that can lose, damage or falsify data
}

// tradeoffs returns the time and the peak memory of each driver, in the order of the summary. It
// returns nil if there is no summary, or if the memory of fewer than two drivers is known.
func tradeoffs(a *stats.Analysis) (list []tradeoff) {
	if len(a.Overall.Drivers) < 2 || len(a.Overall.Tables)+len(a.Overall.LeftOut) < 2 {
		return nil
	}
	harmful := conditions.HarmfulDefects(a)
	for _, d := range a.Overall.Drivers {
		t := tradeoff{OverallDriver: d, name: conditions.Label(d.Case), isFloor: a.Overall.IsFloor && d.Case.Driver == a.Overall.Base, harmful: harmful.IDs(d.Case.Driver)}
		for g, table := range a.Tables() {
			n := g.Named(table)
			if !slices.Contains(a.Overall.Tables, n) {
				continue
			}
			for _, c := range table.Measured() {
				if m := summary(c, peakMemory); c.Case.Driver == d.Case.Driver && m.Median > t.memory.Median {
					t.memory, t.in = m, n.String()
				}
			}
		}
		if t.memory.Median > 0 && d.Ratio.N > 0 {
			list = append(list, t)
		}
	}
	if len(list) < 2 {
		return nil
	}
	return list
}

func peakMemory(s stats.Sample) float64 { return float64(s.PeakRSSBytes) }

const memoryMeans = "Each driver's peak memory is the greatest of all its cells: the median, over the trials, of the process and its children."

// LeastMemory says which drivers of a run need the least memory, over all cells of its summary. If
// the first of them has a known defect that can lose data, LeastMemory also says which drivers
// without such a defect need the least. It returns "" if the run has no summary, or if the memory
// of fewer than two drivers is known.
func LeastMemory(a *stats.Analysis) string {
	list := slices.DeleteFunc(tradeoffs(a), func(t tradeoff) bool { return t.isFloor })
	if len(list) < 2 {
		return ""
	}
	slices.SortStableFunc(list, func(x, y tradeoff) int { return cmp.Compare(x.memory.Median, y.memory.Median) })
	text := "Least memory: " + leastOf(list)
	sound := slices.DeleteFunc(slices.Clone(list), func(t tradeoff) bool { return t.harmful != nil })
	if list[0].harmful != nil && len(sound) > 0 {
		text += "; without a known defect that can lose data, " + leastOf(sound)
	}
	return text + "."
}

// leastOf names the first driver of a list that is sorted by memory, and the drivers that do not
// clearly need more than the first. A driver does not clearly need more if the two intervals overlap,
// if one of the intervals is not known, or if both amounts are shown as the same number.
func leastOf(list []tradeoff) string {
	name := func(t tradeoff) string { return t.name + harmMark(t.harmful != nil) }
	least := document.BytesOf(list[0].memory.Median)
	var tied []string
	for _, t := range list[1:] {
		if x, y := list[0].memory.Interval, t.memory.Interval; x == nil || y == nil || y.Low <= x.High || document.BytesOf(t.memory.Median) == least {
			tied = append(tied, name(t))
		}
	}
	text := name(list[0]) + " with " + least
	if tied != nil {
		text += " (no clear difference: " + document.AndOthers(tied) + ")"
	}
	return text
}

// timeAndMemory returns a section about the drivers' time and peak memory, with the given blocks.
func timeAndMemory(a *stats.Analysis, body ...document.Block) document.Document {
	if body == nil {
		return nil
	}
	d := document.Document{document.Heading{Level: 2, Text: "Time and memory"}}
	if words := LeastMemory(a); words != "" {
		d = append(d, document.Paragraph{Text: words})
	}
	return append(d, body...)
}

// memoryTable returns a table of the drivers' time and peak memory.
func memoryTable(a *stats.Analysis) document.Document {
	list := tradeoffs(a)
	if list == nil {
		return nil
	}
	known := func(t tradeoff) string {
		if t.isFloor {
			return document.Absent
		}
		return cmp.Or(strings.Join(t.harmful, ", "), "none")
	}
	g := document.GridOf(list,
		document.Words("driver", func(t tradeoff) string { return t.name }),
		document.Figures("× "+baseLabel(a), 0, func(t tradeoff) string { return document.Times(t.Ratio.Median) }),
		document.ColumnOf[tradeoff]{Column: document.Column{Title: "peak memory", Whole: true},
			Cell:   func(t tradeoff) string { return document.BytesOf(t.memory.Median) },
			Spread: func(t tradeoff) string { return document.Ends(t.memory) }},
		document.ColumnOf[tradeoff]{Column: document.Column{Title: "in", Drop: 2}, Cell: func(t tradeoff) string { return t.in }},
		document.ColumnOf[tradeoff]{Column: document.Column{Title: "known defects that can lose data in these workloads", Drop: 1}, Cell: known})
	return document.Document{g, document.Paragraph{Text: memoryMeans, Quiet: true}}
}

// baseLabel returns the label of the driver that the summary's ratios are relative to.
func baseLabel(a *stats.Analysis) string {
	for _, d := range a.Overall.Drivers {
		if d.Case.Driver == a.Overall.Base {
			return conditions.Label(d.Case)
		}
	}
	return a.Overall.Base
}

// tradeoffPicture draws the time of each driver against its peak memory.
func (s scope) tradeoffPicture() (p document.PictureBlock, ok bool) {
	shown, whole := s.shownDrivers()
	list := slices.DeleteFunc(tradeoffs(s.a), func(t tradeoff) bool { return !shown[t.Case.Driver] })
	if !whole || len(list) < 2 {
		return document.PictureBlock{}, false
	}
	to := baseLabel(s.a)
	const sound, harmful, floor = 0, 1, 2
	kinds := []chart.ItemKind{{Name: "no known defect that can lose data", Look: chart.Look{Color: 1, Mark: 1}},
		{Name: HarmMark + " known defect that can lose data", Look: chart.Look{Color: 2, Mark: 5}},
		{Name: "floor, not a choice", Look: chart.Look{Color: 5, Mark: 6}}}
	var items []chart.Item
	for _, t := range list {
		it := chart.Item{Name: t.name, Kind: sound, X: t.Ratio.Median, Y: t.memory.Median, Tip: document.JoinKnown("\n", document.Ends(t.memory), "most in "+t.in)}
		switch {
		case t.isFloor:
			it.Kind = floor
		case t.harmful != nil:
			it.Kind, it.Name = harmful, it.Name+HarmMark
			it.Tip = document.JoinKnown("\n", it.Tip, document.SomeOf(t.harmful, 3))
		}
		items = append(items, it)
	}
	x := chart.Axis{Label: "time, × " + to + ", less is better", Format: document.Times, Tick: document.Ticks(document.Times)}
	y := chart.Axis{Label: "peak memory, less is better", Binary: true, Format: document.BytesOf, Tick: document.Ticks(document.BytesOf)}
	return document.PictureBlock{Headed: true, Behind: memoryTable(s.a), Picture: document.Picture{Name: "memory", Title: fmt.Sprintf("Time over %s and peak memory", document.Counted(int64(len(s.a.Overall.Tables)), "cell")),
		Kind: document.KindTradeoff, Note: "Best is at the lower left. " + memoryMeans,
		Plot: &chart.Scatter{X: x, Y: y, Kinds: kinds, Items: items}}}, true
}

func (s scope) memoryPictures(n stats.TableName, t *stats.Table) (list []document.PictureBlock) {
	measured := s.of(t, t.Measured())
	looks, harm := s.ofCells(measured), s.marker(t)
	add := func(kind, title, axis string, of func(stats.Sample) float64) {
		var rows []chart.Bar
		any := false
		for i, c := range measured {
			sum := summary(c, of)
			b := chart.Bar{Name: harm.name(conditions.Name(c.Outcome), c.Case.Driver), Look: looks[i], Link: s.link(c.Case.ID, t.Phase), Tip: document.Counted(int64(sum.N), "sample")}
			b.Value, b.Low, b.High = document.OfSummary(sum)
			b.Text = document.BytesOf(sum.Median)
			if sum.Median <= 0 {
				b.Reason = "not known"
			}
			any = any || sum.Median > 0
			rows = append(rows, b)
		}
		if !any {
			return
		}
		bytes := chart.Axis{Label: axis, Binary: true, Format: document.BytesOf, Tick: document.Ticks(document.BytesOf)}
		p := document.Picture{Name: document.Slug(n.String() + " " + kind), Title: n.String() + ": " + title,
			Kind: document.KindMemory, Of: n, Plot: &chart.Bars{Rows: rows, Axis: bytes}}
		list = append(list, document.PictureBlock{Picture: harm.explain(p), Aside: true})
	}
	add("memory", "peak resident memory of the process tree", "bytes, less is better", peakMemory)
	add("allocations", "memory allocated by Go for each operation", "bytes per operation, less is better", perOperation(func(s stats.Sample) int64 { return s.AllocBytes }))
	return list
}
