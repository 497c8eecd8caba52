package stats

import (
	"cmp"
	"slices"
	"strings"

	mstats "github.com/aclements/go-moremath/stats"

	"github.com/sqlite3perf/sqlite3perf/internal/result"
)

// Overall summarizes the drivers over all tables of a run.
//
// A driver has one figure for each round. In each table, the driver's time is divided by the time
// of the driver Base. The figure is the geometric mean of these ratios over the tables. Two drivers
// are then compared by their figures within rounds, as two cells are compared by their samples. So
// it does not matter which driver is the base. Every table has the same weight. All drivers are
// judged by the same tables. In these tables, each driver has figures and a rank, and the phase is
// not too short for any driver.
type Overall struct {
	Base    string // the driver that ratios are relative to; "" if there is nothing to compare
	IsFloor bool

	Drivers []OverallDriver // sorted by median
	Pairs   []Pair          // comparisons of every two of Drivers, by index

	Tables  []TableName // the tables that the summary covers
	LeftOut []LeftOut   // tables that the summary leaves out
	Absent  []LeftOut   // drivers that have figures in less than half of the tables
}

type OverallDriver struct {
	Case   *result.Case // the driver's first case, which has the name and Info of the driver
	Points []Point      // for each round, the geometric mean of the ratios to the base
	Ratio  Summary
	Standing
}

// TableName names a table of a run.
type TableName struct {
	Workload string `json:"workload"`
	Variant  string `json:"variant,omitempty"`
	Phase    string `json:"phase"`
}

func (n TableName) String() string {
	return strings.Join(slices.DeleteFunc([]string{n.Workload, n.Variant, n.Phase}, func(s string) bool { return s == "" }), " ")
}

// LeftOut is a table or a driver that an [Overall] leaves out, and why.
type LeftOut struct {
	Table   *TableName `json:"table,omitempty"`
	Driver  string     `json:"driver,omitempty"`
	Code    string     `json:"code" jsonschema:"enum=no-figures,enum=too-short,enum=few-figures,enum=more-failed,enum=failures-open"` // the reason, such as [NoFigures]
	Drivers []string   `json:"drivers,omitempty"`                                                                                     // the drivers that cause the table to be left out
	Figures int        `json:"figures,omitempty"`                                                                                     // only for [FewFigures]: number of tables in which the driver has figures
	Tables  int        `json:"tables,omitempty"`                                                                                      // only for [FewFigures]: number of all tables
}

// The codes of [LeftOut].
const (
	NoFigures    = "no-figures"    // some drivers have no figures in the table
	MoreFailed   = "more-failed"   // in the table, significantly more operations of some drivers failed than of others
	FailuresOpen = "failures-open" // more operations of some drivers seem to have failed, but there are too few rounds to be sure
	ShortPhase   = "too-short"     // the phase is too short to judge drivers by
	FewFigures   = "few-figures"   // the driver has figures in less than half of the tables
)

type entry struct {
	first *result.Case  // the driver's first case
	cells map[int]*Cell // the driver's cells that have figures, by index of the table
}

func (d *OverallDriver) takesPart() bool { return len(d.Points) >= MinSamples }

// overall returns the summary of the run's tables, with comparisons of every two drivers.
func (a *Analysis) overall() Overall {
	o := a.summary()
	sets := make([][]Point, len(o.Drivers))
	for i, d := range o.Drivers {
		sets[i] = d.Points
	}
	o.Pairs = CompareAll(sets, func(i int) bool { return o.Drivers[i].takesPart() })
	return o
}

// summary is like [Analysis.overall], but it compares no drivers.
func (a *Analysis) summary() Overall {
	var o Overall
	names, entries := a.byDriver()

	// A driver with few figures is left out of the summary. Otherwise most tables would be left out.
	var in []*entry
	for _, e := range entries {
		if 2*len(e.cells) >= len(names) && len(e.cells) > 0 {
			in = append(in, e)
		} else {
			o.Absent = append(o.Absent, LeftOut{Driver: e.first.Driver, Code: FewFigures, Figures: len(e.cells), Tables: len(names)})
		}
	}
	if len(in) < 2 {
		return o
	}
	var tables []int
	for t, name := range names {
		drivers := map[string][]string{} // drivers that cause the table to be left out, by code
		leave := func(code string, e *entry) { drivers[code] = append(drivers[code], e.first.Driver) }
		for _, e := range in {
			switch c := e.cells[t]; {
			case c == nil:
				leave(NoFigures, e)
			case c.FailsMore:
				leave(MoreFailed, e)
			case c.FailsOpen:
				leave(FailuresOpen, e)
			case c.TooShort():
				leave(ShortPhase, e)
			}
		}
		codes := []string{NoFigures, MoreFailed, FailuresOpen, ShortPhase} // the first code that applies to the table is reported
		if i := slices.IndexFunc(codes, func(code string) bool { return drivers[code] != nil }); i >= 0 {
			o.LeftOut = append(o.LeftOut, LeftOut{Table: &name, Code: codes[i], Drivers: drivers[codes[i]]})
			continue
		}
		tables = append(tables, t)
		o.Tables = append(o.Tables, name)
	}
	if len(tables) == 0 {
		return o
	}

	cases := make([]*result.Case, len(in))
	for i, e := range in {
		cases[i] = e.first
	}
	base := floorOf(cases, a.Floor)
	o.IsFloor = base >= 0
	if base < 0 {
		for i, e := range in {
			if base < 0 || e.medians(tables) < in[base].medians(tables) {
				base = i
			}
		}
	}
	o.Base = in[base].first.Driver
	for _, e := range in {
		points := e.means(in[base], tables)
		o.Drivers = append(o.Drivers, OverallDriver{Case: e.first, Points: points, Ratio: SummarizeRatiosAt(Values(points), a.Confidence)})
	}
	slices.SortStableFunc(o.Drivers, func(a, b OverallDriver) int {
		// A driver without a figure comes after all other drivers, even after a driver whose figure
		// is zero.
		return cmp.Or(cmp.Compare(min(b.Ratio.N, 1), min(a.Ratio.N, 1)), cmp.Compare(a.Ratio.Median, b.Ratio.Median))
	})
	return o
}

func (o *Overall) rank() {
	arrange(o.Drivers, o.Pairs)
	takesPart := func(i int) bool { return o.Drivers[i].takesPart() }
	floor := func(i int) bool { return o.IsFloor && o.Drivers[i].Case.Driver == o.Base }
	for i, s := range Rank(len(o.Drivers), o.Pairs, takesPart, floor) {
		o.Drivers[i].Standing = s
	}
}

func (a *Analysis) byDriver() (names []TableName, entries []*entry) {
	byName := map[string]*entry{}
	for g, t := range a.Tables() {
		cells := slices.Clone(t.Cells)
		for _, o := range g.shared {
			c := o.cell(t.Phase)
			c.summarize(t)
			cells = append(cells, c)
		}
		for _, c := range cells {
			e := byName[c.Case.Driver]
			if e == nil {
				e = &entry{first: c.Case, cells: map[int]*Cell{}}
				byName[c.Case.Driver] = e
				entries = append(entries, e)
			}
			if c.Status == result.OK && e.cells[len(names)] == nil {
				e.cells[len(names)] = c
			}
		}
		names = append(names, g.Named(t))
	}
	slices.SortStableFunc(entries, func(a, b *entry) int { return cmp.Compare(a.first.ID, b.first.ID) })
	return names, entries
}

func (e *entry) medians(tables []int) float64 {
	var m []float64
	for _, t := range tables {
		m = append(m, e.cells[t].Summary.Median)
	}
	return GeoMean(m)
}

func (e *entry) means(base *entry, tables []int) []Point {
	var sets [][]Point
	for _, t := range tables {
		ratios, _ := Ratios(e.cells[t].Points(), base.cells[t].Points())
		sets = append(sets, ratios)
	}
	return GeoMeans(sets)
}

// GeoMeans returns the geometric mean of the values of several sets, for each round that all
// of them have.
func GeoMeans(sets [][]Point) []Point { return AcrossSets(sets, GeoMean) }

// AcrossSets combines the values of several sets into one, for each round that all of them
// have. The result is sorted by round.
func AcrossSets(sets [][]Point, combine func([]float64) float64) (list []Point) {
	rounds, rows := byRound(sets...)
	for i, row := range rows {
		list = append(list, Point{rounds[i], combine(row)})
	}
	slices.SortStableFunc(list, func(a, b Point) int { return cmp.Compare(a.Round, b.Round) })
	return list
}

// byRound returns the rounds that all sets have, in the order of the first set. For each of
// these rounds, it also returns the values of all sets.
func byRound(sets ...[]Point) (rounds []int, rows [][]float64) {
	values := map[int][]float64{}
	for i, set := range sets {
		for _, p := range set {
			if row := values[p.Round]; len(row) == i { // every earlier set has this round
				values[p.Round] = append(row, p.Value)
			}
		}
	}
	if len(sets) == 0 {
		return nil, nil
	}
	for _, p := range sets[0] {
		if row := values[p.Round]; len(row) == len(sets) {
			rounds, rows = append(rounds, p.Round), append(rows, row)
		}
	}
	return rounds, rows
}

// GeoMean returns the geometric mean of values, which must not be negative. It is zero if any value
// is zero.
func GeoMean(values []float64) float64 {
	if slices.Contains(values, 0) {
		return 0
	}
	return mstats.GeoMean(values)
}
