package stats

import (
	"math/bits"

	"github.com/sqlite3perf/sqlite3perf/internal/result"
)

// Sequential is the level of the intervals by which a run decides that a figure is settled,
// and of those that such a run reports. If intervals are looked at again and again, and
// reported once they are narrow, they hold the true value less often than their level says.
// With this level at least 95 % of them do (docs/methodology.md has the reason). It is
// just below that of the range of [MinSamples] samples, 31/32.
const Sequential = 0.9687

// looking returns the factor by which p-values are multiplied if intervals have the given
// level: two cells are told apart by the same samples that leave 1 out of their ratio's
// interval.
func looking(confidence float64) float64 {
	if confidence == Confidence {
		return 1
	}
	return Alpha / (1 - confidence)
}

// Figure is what a run finds out of a cell: its ratio to the base of its table or, if it
// is compared with no other cell, its median.
type Figure struct {
	TableName
	Cell    *Cell
	Base    *Cell // nil: the figure is a median
	Summary Summary
}

// Settled reports whether the interval is within ±precision of the figure (0.05: 5 %). Too
// few samples are never settled.
func (f *Figure) Settled(precision float64) bool {
	spread, ok := f.Summary.Spread()
	return ok && spread <= precision
}

// Figures returns the figures of a run. A cell that is compared in two tables has two.
func (a *Analysis) Figures() []Figure {
	var list []Figure
	type key struct {
		of    *result.Case
		phase string
	}
	compared := map[key]bool{}
	a.eachTable(func(name TableName, t *Table) {
		measured := t.Measured()
		for i, c := range measured {
			if len(measured) == 1 {
				break
			}
			compared[key{c.Case, t.Phase}] = true
			if i != t.Base {
				list = append(list, Figure{name, c, measured[t.Base], *c.Ratio})
			}
		}
	})
	a.eachTable(func(name TableName, t *Table) {
		for _, c := range t.Measured() {
			if k := (key{c.Case, t.Phase}); !compared[k] {
				compared[k] = true
				list = append(list, Figure{name, c, nil, c.Summary})
			}
		}
	})
	return list
}

func (g *Group) eachTable(f func(TableName, *Table)) {
	for _, t := range g.Tables {
		f(TableName{g.Workload, g.Variant(), t.Phase}, t)
	}
}

func (a *Analysis) eachTable(f func(TableName, *Table)) {
	for _, g := range a.Groups {
		g.eachTable(f)
	}
	for _, x := range a.Factorials {
		for _, t := range x.Tables {
			f(TableName{Workload: x.Workload, Phase: t.Phase}, t)
		}
	}
}

// UntilSettled returns a function that says which cases of a run need no further trials,
// as [lab.Schedule] asks: those of which every figure is within ±precision, or that have
// none. The base of a table goes on for as long as another cell of it does.
//
// Every look judges all cases. If another driver becomes the base of a table, the ratios
// change, and a case can go on that was settled before.
func UntilSettled(floor string, precision float64) func(run *result.Run, round int) (ids []int, judged bool) {
	return func(run *result.Run, round int) (ids []int, judged bool) {
		if !settlingLook(round) {
			return nil, false
		}
		open := map[int]bool{}
		for _, f := range gather(run, floor, Sequential).Figures() {
			if !f.Settled(precision) {
				open[f.Cell.Case.ID] = true
				if f.Base != nil {
					open[f.Base.Case.ID] = true
				}
			}
		}
		for i := range run.Cases {
			if id := run.Cases[i].ID; !open[id] {
				ids = append(ids, id)
			}
		}
		return ids, true
	}
}

// settlingLook reports whether it is decided after n rounds which figures are settled:
// after every round up to 16, and then eight times until the rounds have doubled. Long runs
// of short trials would otherwise spend their time on looking.
func settlingLook(n int) bool {
	return n >= MinSamples && (n <= 16 || n%(1<<(bits.Len(uint(n-1))-4)) == 0)
}
