package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/sqlite3perf/sqlite3perf/internal/conditions"
	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
)

func overall(a *stats.Analysis) document.Document {
	o := a.Overall
	switch {
	case len(o.Tables)+len(o.LeftOut) < 2:
		return nil
	case len(o.Tables) == 0:
		return document.Document{document.Heading{Level: 2, Text: "Summary: none, since no cell has comparable figures of all drivers"}, leftOutOf(o)}
	case len(o.Drivers) < 2:
		return nil
	}
	base := slices.IndexFunc(o.Drivers, func(d stats.OverallDriver) bool { return d.Case.Driver == o.Base })
	to := baseLabel(a)
	d := document.Document{document.Heading{Level: 2, Text: fmt.Sprintf("Summary: geometric mean of the ratios to %s over %s", to, document.Counted(int64(len(o.Tables)), "cell"))}}
	outcomes := conditions.OutcomesByCase(a)
	harmful := conditions.HarmfulDefects(a)
	g := cellGrid{harmful: harmful, inRun: harmful}
	for _, od := range o.Drivers {
		g.cells = append(g.cells, &stats.Cell{Outcome: outcomes[od.Case.ID], Ratio: &od.Ratio, Standing: od.Standing})
	}
	g.addStandings()
	g.addRatios(to, o.Pairs, base)
	g.each(document.Column{Title: "rounds", Right: true, Drop: 4}, func(c *stats.Cell) string { return fmt.Sprint(c.Ratio.N) })
	g.addLibraries()
	d = append(d, g.Grid)
	l := leftOutOf(o)
	if !o.IsFloor {
		l = append(l, document.Item{Label: "note", Text: noFloor(a) + ": " + baseOf(o, to)})
	}
	return append(d, l)
}

func leftOutOf(o stats.Overall) document.List {
	var l document.List
	for _, x := range slices.Concat(o.LeftOut, o.Absent) {
		why := map[string]string{
			stats.NoFigures:    "no figures of ",
			stats.MoreFailed:   "more operations failed than of other drivers: ",
			stats.FailuresOpen: "it is not known yet whether more operations fail than with other drivers: ",
			stats.ShortPhase:   fmt.Sprintf("less than %s, too short to judge a driver by: ", conditions.ShortLimit()),
		}
		text := fmt.Sprintf("%s: figures in %d of %s", x.Driver, x.Figures, document.Counted(int64(x.Tables), "cell"))
		if x.Table != nil {
			text = fmt.Sprintf("%s: %s%s", x.Table, why[x.Code], strings.Join(x.Drivers, ", "))
		}
		l = append(l, conditions.WarningOf(conditions.CaveatSummary, text))
	}
	return l
}

// noFloor says why the ratios of a run are not relative to the floor (usually plain C).
func noFloor(a *stats.Analysis) string {
	if a.Floor == "" {
		return "no floor was named"
	}
	for _, c := range a.Run.Cases {
		if a.Floor == c.Driver || a.Floor == result.BaseDriver(c.Driver) {
			return a.Floor + " has figures in less than half of the cells"
		}
	}
	return a.Floor + " is not in this run"
}

// baseOf names the driver that ratios are relative to instead of the floor (usually plain C), and says
// why this driver was chosen.
func baseOf(o stats.Overall, base string) string {
	s := "ratios are to " + base + ", the fastest over these cells together (its medians have the least geometric mean)"
	if first := o.Drivers[0]; first.Case.Driver != o.Base && first.Ratio.N > 0 && first.Ratio.Median < 1 {
		s += fmt.Sprintf("; compared within rounds, %s is %s", conditions.Label(first.Case), document.Than(document.SlowerBy(first.Ratio), base))
	}
	return s
}

// firsts returns a grid with the best row of each table. It returns nil if fewer than two tables
// have a best row.
func firsts(said Answers) document.Document {
	tables := slices.DeleteFunc(slices.Clone(said.Tables), func(r Ranking) bool { return r.Best == nil })
	if len(tables) < 2 {
		return nil
	}
	sound := document.Words("first without "+HarmMark, func(r Ranking) string { return r.sound() })
	floor := document.ColumnOf[Ranking]{Column: document.Column{Title: "× floor", Whole: true}, Cell: func(r Ranking) string {
		if !r.IsFloor || r.Best.Ratio == nil {
			return document.Absent
		}
		return document.Times(r.Best.Ratio.Median) + " " + document.Ends(*r.Best.Ratio)
	}}
	harmful := slices.ContainsFunc(tables, func(r Ranking) bool { return r.bestIsHarmful() })
	if !harmful {
		sound.Cell = nil
	}
	if !slices.ContainsFunc(tables, func(r Ranking) bool { return r.IsFloor }) {
		floor.Cell = nil
	}
	g := document.GridOf(tables,
		document.Words("in", func(r Ranking) string { return r.Table.String() }),
		document.Words("first", func(r Ranking) string { return r.marked() }),
		sound, floor,
		document.ColumnOf[Ranking]{Column: document.Column{Title: "tied with it", Drop: 1},
			Cell: func(r Ranking) string { return cmp.Or(document.AndOthers(r.Tied), document.Absent) }},
		document.Words("first that is slower", func(r Ranking) string {
			if r.Next == nil {
				return document.Absent
			}
			return fmt.Sprintf("%s %s %s", r.Next.Name, document.Times(r.Next.Ratio.Median), document.Interval(r.Next.Ratio.Interval))
		}))
	g.Links = document.Map(tables, func(r Ranking) string { return "#" + document.PictureID(tablePicture(*r.Table)) })
	d := document.Document{document.Heading{Level: 3, Text: "Who comes first, cell by cell"}, g}
	if harmful {
		d = append(d, document.Paragraph{Text: HarmMeans, Quiet: true})
	}
	return d
}
