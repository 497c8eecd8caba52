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
// For each round, a driver's figure is the geometric mean, over the tables, of
// its ratio to the base in that round. Two drivers are then compared by these
// figures within rounds, as two cells are by their samples, so it does not
// matter which driver is the base. Every table counts once. All drivers are measured
// by the same tables: those in which each of them has figures and is ranked, and none is
// too short to judge it by.
type Overall struct {
	Base    string // driver; "" if there is nothing to compare
	IsFloor bool

	Drivers []OverallDriver // by median
	Pairs   []Pair          // of Drivers, by index

	Tables  []TableName // that count
	LeftOut []LeftOut   // tables that don't count, on account of some drivers
	Absent  []LeftOut   // drivers that have figures in less than half of the tables
}

// OverallDriver is one driver's summary.
type OverallDriver struct {
	Case   *result.Case // the driver's first, for its name and Info
	Points []Point      // geometric means of ratios, by round
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

// LeftOut is a table or a driver that does not count, and why.
type LeftOut struct {
	Table   *TableName `json:"table,omitempty"`
	Driver  string     `json:"driver,omitempty"`
	Code    string     `json:"code" jsonschema:"enum=no-figures,enum=too-short,enum=few-figures,enum=more-failed,enum=failures-open"` // such as [NoFigures]
	Drivers []string   `json:"drivers,omitempty"`                                                                                     // on account of which a table does not count
	Figures int        `json:"figures,omitempty"`                                                                                     // of [FewFigures]: the tables in which the driver has figures
	Tables  int        `json:"tables,omitempty"`                                                                                      // in all
}

// The codes of [LeftOut].
const (
	NoFigures    = "no-figures"    // drivers have no figures in the table
	MoreFailed   = "more-failed"   // more of the drivers' operations failed in the table than of others
	FailuresOpen = "failures-open" // the same, but there are too few rounds to tell
	ShortPhase   = "too-short"     // the phase is too short to judge drivers by
	FewFigures   = "few-figures"   // the driver has figures in less than half of the tables
)

type entry struct {
	first *result.Case  // of the driver
	cells map[int]*Cell // by table, of those in which it has figures
}

func (d *OverallDriver) takesPart() bool { return len(d.Points) >= MinSamples }

func overall(groups []*Group, floor string, confidence float64) Overall {
	var o Overall
	names, entries := byDriver(groups)

	// Because of a driver with few figures, all the others would lose most tables.
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
		drivers := map[string][]string{} // on account of which the table does not count, by code
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
		codes := []string{NoFigures, MoreFailed, FailuresOpen, ShortPhase} // the first one counts
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
	base := floorOf(cases, floor)
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
		o.Drivers = append(o.Drivers, OverallDriver{Case: e.first, Points: points, Ratio: SummarizeRatiosAt(Values(points), confidence)})
	}
	slices.SortStableFunc(o.Drivers, func(a, b OverallDriver) int {
		// Having no figure is not the same as a figure of zero.
		return cmp.Or(cmp.Compare(min(b.Ratio.N, 1), min(a.Ratio.N, 1)), cmp.Compare(a.Ratio.Median, b.Ratio.Median))
	})
	sets := make([][]Point, len(o.Drivers))
	for i, d := range o.Drivers {
		sets[i] = d.Points
	}
	o.Pairs = CompareAll(sets, func(i int) bool { return o.Drivers[i].takesPart() })
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

func byDriver(groups []*Group) (names []TableName, entries []*entry) {
	byName := map[string]*entry{}
	for _, g := range groups {
		for _, t := range g.Tables {
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
			names = append(names, TableName{g.Workload, g.Variant(), t.Phase})
		}
	}
	slices.SortStableFunc(entries, func(a, b *entry) int { return cmp.Compare(a.first.ID, b.first.ID) })
	return names, entries
}

func (e *entry) medians(tables []int) float64 {
	var m []float64
	for _, t := range tables {
		m = append(m, e.cells[t].Summary.Median)
	}
	return geoMean(m)
}

func (e *entry) means(base *entry, tables []int) []Point {
	var sets [][]Point
	for _, t := range tables {
		ratios, _ := Ratios(e.cells[t].Points(), base.cells[t].Points())
		sets = append(sets, ratios)
	}
	return geoMeans(sets)
}

// geoMeans returns the geometric means of several sets, for the rounds that all of them
// have.
func geoMeans(sets [][]Point) []Point { return acrossSets(sets, geoMean) }

// acrossSets combines the values of several sets, for the rounds that all of them have. The
// rounds are ascending.
func acrossSets(sets [][]Point, combine func([]float64) float64) (list []Point) {
	rounds, rows := byRound(sets...)
	for i, row := range rows {
		list = append(list, Point{rounds[i], combine(row)})
	}
	slices.SortStableFunc(list, func(a, b Point) int { return cmp.Compare(a.Round, b.Round) })
	return list
}

// byRound returns the values of all sets for each round that all of them have, in the order
// of the first set.
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

func arithmeticMean(values []float64) float64 {
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	return sum / float64(len(values))
}

// geoMean returns the geometric mean of values that are not negative. It is zero
// if any of them is zero.
func geoMean(values []float64) float64 {
	if slices.Contains(values, 0) {
		return 0
	}
	return mstats.GeoMean(values)
}
