package stats

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/sqlite3perf/sqlite3perf/internal/result"
)

// Table has the figures of one phase of a [Group], with one cell for each case.
type Table struct {
	Phase string
	Cells []*Cell // first the ranked cells, then other cells with figures, then cells without figures in the order of the run
	Pairs []Pair  // comparisons of every two of Cells, by index

	// Base is the index of the cell that ratios are relative to. It is the cell of the floor, the
	// driver that is measured only for comparison. If the floor has no cell, it is the fastest cell.
	// It is -1 if there is nothing to compare.
	Base    int
	IsFloor bool

	PerOp bool // times are divided by the number of operations, because the cells have different numbers of operations

	base       string  // name of the driver that ratios are relative to, if it has figures; "" means the fastest driver
	floor      string  // name of the floor, a driver such as plain C that is measured only for comparison; "" if it has no figures
	confidence float64 // confidence of the intervals
}

// Cell is one phase of one case. A case that is not OK in one phase has no figures in any phase.
type Cell struct {
	*Outcome
	Status  result.Status // the case's status, or NotMeasured if the cell has no sample that counts
	Samples []Sample      // sorted by round; nil if Status is not OK
	Summary Summary
	Ratio   *Summary // the cell's time divided by that of the table's base, from the ratios of all rounds
	Skipped int      // number of rounds without a ratio, because the base's value was zero

	// Unranked says why a cell with figures is not compared with others. It is "" if the cell is
	// compared or has no figures.
	Unranked string
	Standing

	FailsMore bool // significantly more of its operations failed than of another cell's
	FailsOpen bool // more of its operations seem to have failed, but there are too few rounds to be sure

	perOp bool
}

// Sample is a sample with the round in which it was measured.
type Sample struct {
	Round int
	*result.Sample
}

// Points returns one value for each round: the value by which the phase is judged, in seconds or in
// seconds per operation.
func (c *Cell) Points() []Point {
	if c.perOp {
		return c.points(valuePerOp)
	}
	return c.points((*result.Sample).Value)
}

func valuePerOp(s *result.Sample) float64 { return s.Value() / float64(max(s.Operations, 1)) }

func (c *Cell) points(of func(*result.Sample) float64) []Point {
	p := make([]Point, len(c.Samples))
	for i, s := range c.Samples {
		p[i] = Point{s.Round, of(s.Sample)}
	}
	return p
}

// Against returns the comparison of cell i with cell j. ok is false if they were not compared.
func (t *Table) Against(i, j int) (test Test, ok bool) { return Against(t.Pairs, i, j) }

// Against returns, from the pairs that [CompareAll] returned, the comparison of set i with set
// j. ok is false if they were not compared.
func Against(pairs []Pair, i, j int) (test Test, ok bool) {
	for _, p := range pairs {
		switch {
		case p.First == i && p.Second == j:
			return p.Test, true
		case p.First == j && p.Second == i:
			return p.inverse(), true
		}
	}
	return Test{}, false
}

// Ratio returns the first cell's time divided by the second cell's, for the cells of a pair. It is
// computed from the ratio of each round.
func (t *Table) Ratio(p Pair) Summary {
	ratios, _ := Ratios(t.Cells[p.First].Points(), t.Cells[p.Second].Points())
	return SummarizeRatiosAt(Values(ratios), t.confidence)
}

func (g *Group) table(phase, floor string, confidence float64) *Table {
	t := &Table{Phase: phase, confidence: confidence, base: floor}
	for _, o := range g.Outcomes {
		t.Cells = append(t.Cells, o.cell(phase))
	}
	t.PerOp = operationsDiffer(t.Cells)
	for _, c := range t.Cells {
		c.summarize(t)
		switch {
		case c.Status != result.OK:
		case c.LeftAfter > 0:
			c.Unranked = fmt.Sprintf("left out of the race after %d rounds", c.LeftAfter)
		case len(c.Samples) < MinSamples:
			c.Unranked = fmt.Sprintf("%d of at least %d samples", len(c.Samples), MinSamples)
		}
	}
	t.order()
	return t
}

func (t *Table) order() {
	slices.SortStableFunc(t.Cells, func(a, b *Cell) int {
		return cmp.Or(cmp.Compare(a.class(), b.class()), cmp.Compare(b.LeftAfter, a.LeftAfter), cmp.Compare(a.Summary.Median, b.Summary.Median))
	})
	measured := t.Measured()
	t.Base = -1
	if i := t.setFloor(t.base); i >= 0 {
		t.Base, t.IsFloor = i, true
	} else if len(measured) > 1 {
		t.Base = 0
	}
	if t.Base >= 0 {
		base := measured[t.Base].Points()
		for _, c := range measured {
			ratios, skipped := Ratios(c.Points(), base)
			s := SummarizeRatiosAt(Values(ratios), t.confidence)
			c.Ratio, c.Skipped = &s, skipped
		}
	}
}

// setFloor makes the driver with the given name the table's floor (the driver that ratios are relative to),
// and returns the index of its cell. It returns -1 if the driver has no figures.
func (t *Table) setFloor(floor string) int {
	var cases []*result.Case
	for _, c := range t.Measured() {
		cases = append(cases, c.Case)
	}
	i := floorOf(cases, floor)
	if i >= 0 {
		t.floor = cases[i].Driver
	}
	return i
}

func (t *Table) compare() {
	measured := t.Measured()
	sets := make([][]Point, len(measured))
	for i, c := range measured {
		sets[i] = c.Points()
	}
	t.Pairs = CompareAll(sets, func(i int) bool { return measured[i].Unranked == "" })
}

func operationsDiffer(cells []*Cell) bool {
	var first *result.Sample
	for _, c := range cells {
		if len(c.Samples) == 0 || c.Samples[0].Metric != result.MetricTime {
			continue
		}
		if s := c.Samples[0].Sample; first == nil {
			first = s
		} else if s.Operations != first.Operations {
			return true
		}
	}
	return false
}

// class returns a number by which the cells of a table are sorted: 0 for ranked cells, 1 for other
// cells with figures, 2 for cells that a search for settings dropped early, 3 for cells without
// figures.
func (c *Cell) class() int {
	switch {
	case c.Status != result.OK:
		return 3
	case c.LeftAfter > 0:
		return 2
	case c.Unranked != "":
		return 1
	}
	return 0
}

// Measured returns the cells that have figures.
func (t *Table) Measured() []*Cell {
	n := slices.IndexFunc(t.Cells, func(c *Cell) bool { return c.Status != result.OK })
	if n < 0 {
		n = len(t.Cells)
	}
	return t.Cells[:n]
}

func (t *Table) rank() {
	measured := t.Measured()
	order := arrange(measured, t.Pairs)
	if t.Base >= 0 {
		t.Base = slices.Index(order, t.Base)
	}
	takesPart := func(i int) bool { return measured[i].Unranked == "" }
	floor := func(i int) bool { return t.floor != "" && measured[i].Case.Driver == t.floor }
	for i, s := range Rank(len(measured), t.Pairs, takesPart, floor) {
		measured[i].Standing = s
	}
}

// floorOf returns the index of the case whose driver has the name in the parameter "floor". If there is no
// such case, it returns the index of the first case whose driver is a version of the named driver. If there
// is no version either, it returns -1.
func floorOf(cases []*result.Case, floor string) int {
	best := -1
	for i, c := range cases {
		name := result.BaseDriver(c.Driver)
		switch {
		case floor == "":
		case c.Driver == floor:
			return i
		case name == floor && (best < 0 || c.ID < cases[best].ID):
			best = i
		}
	}
	return best
}
