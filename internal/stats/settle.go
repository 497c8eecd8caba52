package stats

import (
	"math"
	"math/bits"
	"slices"

	"github.com/sqlite3perf/sqlite3perf/internal/result"
)

// Sequential is the confidence of intervals in runs that measure until figures are precise enough.
// Such a run computes intervals repeatedly, and stops when they are narrow. So its intervals
// contain the true value less often than their confidence says. If their confidence is Sequential,
// at least 95 % of them contain it; docs/methodology.md gives the reason. For [MinSamples] samples,
// the interval is the range of the samples, whose confidence of 31/32 is just above Sequential.
const Sequential = 0.9687

// looksFactor returns the factor that corrects p-values in a run whose intervals have the given
// confidence. With this factor two cells differ significantly exactly if the interval of their
// ratio excludes 1.
func looksFactor(confidence float64) float64 {
	if confidence == Confidence {
		return 1
	}
	return Alpha / (1 - confidence)
}

// Figure is a figure that a run measures for a cell. It is the ratio of the cell's time to the time
// of another cell, the base of the table. If the cell is compared with no other, the figure is the
// cell's median.
type Figure struct {
	TableName
	Cell    *Cell
	Base    *Cell // the cell that the ratio is relative to; nil if Summary summarizes the cell's own values
	Summary Summary
}

// Settled reports whether both ends of the interval are within ±precision of the figure. A
// precision of 0.05 is 5 %. It returns false if there are too few samples for an interval.
func (f *Figure) Settled(precision float64) bool {
	spread, ok := f.Summary.Spread()
	return ok && spread <= precision
}

// Further estimates how many more rounds are needed until the figure is precise enough (see [Figure.Settled]).
// It assumes that the interval shrinks with the square root of the number of rounds. If the result is
// [MaxRounds], at least that many rounds are needed.
func (f *Figure) Further(precision float64) int {
	spread, ok := f.Summary.Spread()
	switch {
	case f.Summary.N < MinSamples:
		return MinSamples - f.Summary.N
	case !ok:
		return MaxRounds
	case spread <= precision:
		return 0
	}
	return Further(f.Summary.N, spread/precision)
}

// Figures returns the figures of a run. A cell that is compared in two tables has two figures.
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

func (a *Analysis) eachTable(f func(TableName, *Table)) {
	for g, t := range a.Tables() {
		f(g.Named(t), t)
	}
	for _, x := range a.Factorials {
		for _, t := range x.Tables {
			f(TableName{Workload: x.Workload, Phase: t.Phase}, t)
		}
	}
}

// summaryFactor says how much more precise than other figures the drivers' ratios in the summary of all
// tables must be, before a case needs no further trials. There are two reasons. The recommendation of a
// driver depends on these ratios. And these ratios use only rounds in which all cells were measured.
const summaryFactor = 2

// typicalPart is a fraction of the requested precision. At least half of the figures should be within
// ±precision × typicalPart. Otherwise most figures would be hardly more precise than the least precise ones.
const typicalPart = 0.6

// settled returns how many of the figures are precise enough; see [Figure.Settled].
func settled(list []Figure, precision float64) int {
	return countIf(list, func(f Figure) bool { return f.Settled(precision) })
}

// middleSpread returns the greatest spread of the more precise half of the figures. See
// [Summary.Spread]. The list must not be empty.
func middleSpread(list []Figure) float64 {
	var spreads []float64
	for _, f := range list {
		spread, ok := f.Summary.Spread()
		if !ok {
			spread = math.Inf(1)
		}
		spreads = append(spreads, spread)
	}
	slices.Sort(spreads)
	return spreads[(len(spreads)-1)/2]
}

// UntilSettled returns a function for [lab.Schedule] that reports which cases of a run need no
// further trials. A case needs trials until all of its figures are within ±precision, and after
// that in three situations:
//
//   - The ratios of a table are relative to the case, and another case of the table needs trials.
//   - The summary of all tables covers the case, and the ratio of its driver there is not within
//     ±precision/[summaryFactor].
//   - Of all figures, nine tenths are within ±precision, but fewer than half are within
//     ±precision × [typicalPart]. A figure of the case is not within this smaller range, but is in
//     the more precise half of all figures. The figures of this half need the fewest trials.
//
// The function judges all cases each time. After rounds for which [settlingLook] is false, it
// judges nothing and its result "judged" is false. If another driver becomes the base of a table,
// the ratios change. So a case that needed no further trials before may need trials again.
func UntilSettled(floor string, precision float64) func(run *result.Run, round int) (ids []int, judged bool) {
	return func(run *result.Run, round int) (ids []int, judged bool) {
		if !settlingLook(round) {
			return nil, false
		}
		open := map[int]bool{}
		a := gather(run, floor, Sequential)
		for _, id := range a.summaryOpen(precision / summaryFactor) {
			open[id] = true
		}
		list, typical := a.Figures(), typicalPart*precision
		refined := 0.0 // figures within ±refined must also be within ±typical; 0: no figure must
		if n := len(list); 10*settled(list, precision) >= 9*n && 2*settled(list, typical) < n {
			refined = middleSpread(list)
		}
		for _, f := range list {
			if !f.Settled(precision) || f.Settled(refined) && !f.Settled(typical) {
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

// summaryOpen returns the IDs of the cases whose driver's ratio in the summary of all tables is not within
// ±precision. If there are any, it also returns the IDs of the base's cases. The base is the driver that
// ratios are relative to.
func (a *Analysis) summaryOpen(precision float64) (ids []int) {
	o := a.summary()
	if len(o.Tables) < 2 {
		return nil
	}
	open := map[string]bool{}
	for _, d := range o.Drivers {
		if spread, ok := d.Ratio.Spread(); d.Case.Driver != o.Base && (!ok || spread > precision) {
			open[d.Case.Driver], open[o.Base] = true, true
		}
	}
	for g, t := range a.Tables() {
		for _, c := range t.Measured() {
			if open[c.Case.Driver] && slices.Contains(o.Tables, g.Named(t)) {
				ids = append(ids, c.Case.ID)
			}
		}
	}
	return ids
}

// settlingLook reports whether a run decides after n rounds which figures are precise enough. It
// decides after every round up to 16, and then eight times during each doubling of the number of
// rounds. Otherwise long runs of short trials would spend too much time on deciding.
func settlingLook(n int) bool {
	return n >= MinSamples && (n <= 16 || n%(1<<(bits.Len(uint(n-1))-4)) == 0)
}
