package stats

import (
	"slices"
	"strings"

	"github.com/sqlite3perf/sqlite3perf/internal/distinct"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
)

// Factorial has the tables of one workload, which a run measured with several values of settings or
// parameters. Each table has the cases with all values, so that the values are compared with each
// other.
type Factorial struct {
	Workload string
	Factors  []Factor // settings and parameters, each with its values
	Drivers  []string
	Group    *Group    // all cases; each outcome is one driver with one value of each factor
	Tables   []*Table  // one for each phase; none if tables would be too long
	Effects  []*Effect // sorted by phase
}

// Factor is a setting or parameter with the values that a run measured, in the order in which
// they were requested.
type Factor struct {
	Name   string
	Values []Variation

	// Follows is true if the factor's value is determined by other factors. For example, the size
	// of a pool follows from the number of clients. The effect of such a factor is not computed.
	Follows bool
}

// changes returns the changes of the factor's value whose effects are computed. These are the
// changes from the first value to each other value, and from each of the others to the next one.
func (f *Factor) changes() (list [][2]Variation) {
	if f.Follows {
		return nil
	}
	for i, to := range f.Values {
		if i > 0 {
			list = append(list, [2]Variation{f.Values[0], to})
		}
		if i > 1 {
			list = append(list, [2]Variation{f.Values[i-1], to})
		}
	}
	return list
}

// Effect is the effect of changing one factor on the time of a phase: the time with the value To,
// divided by the time with the value From. The ratios are computed within rounds. The effect is
// their geometric mean over all combinations of the other factors' values (the main effect of a
// factorial experiment).
type Effect struct {
	Phase  string
	Driver string
	From   Variation
	To     Variation
	With   Variation // if its Name is set: only cases with this value of another factor count
	Ratio  Summary
	Over   int // number of combinations of the other factors' values
	Test

	// Dependences has an entry for each other factor that has several values. It is nil if
	// With is set.
	Dependences []Dependence
}

// Dependence says whether an effect depends on the value of another factor (the interaction of
// the two factors).
type Dependence struct {
	Factor  string
	Effects []*Effect // one for each value of Factor

	// tests has the comparison of every two of Effects. A comparison divides the ratios with one
	// value of Factor by the ratios with another value. It covers the combinations of the remaining
	// factors' values that were measured with both values of Factor.
	tests []*Test
}

// Significant reports whether the effects differ significantly between any two values of
// Factor.
func (d *Dependence) Significant() bool {
	return slices.ContainsFunc(d.tests, func(t *Test) bool { return t.Significant() })
}

// P returns the least adjusted p-value among the comparisons of every two of Effects.
func (d *Dependence) P() float64 {
	least := 1.0
	for _, t := range d.tests {
		least = min(least, t.Adjusted)
	}
	return least
}

// maxFactorialRows is the greatest number of rows of a table that has several drivers. Longer
// tables are left out, because one table for each combination of values is easier to read.
const maxFactorialRows = 24

func (a *Analysis) factorials() (list []*Factorial) {
	byWorkload := map[string][]*Group{}
	for _, g := range a.Groups {
		if byWorkload[g.Workload] = append(byWorkload[g.Workload], g); len(byWorkload[g.Workload]) == 2 {
			list = append(list, &Factorial{Workload: g.Workload})
		}
	}
	for _, f := range list {
		f.fill(byWorkload[f.Workload], a.Run.Search != nil, a.Floor, a.Confidence)
	}
	return list
}

// fill finds the factors that differ between groups, and compares their values. The parameter
// "search" is true if the run is part of a search for settings. In that case, the first group has
// the settings with which the search started.
func (f *Factorial) fill(groups []*Group, search bool, floor string, confidence float64) {
	all := &Group{Workload: f.Workload}
	f.Group = all
	for _, g := range groups {
		for i, v := range g.Varied {
			if i == len(f.Factors) {
				f.Factors = append(f.Factors, Factor{Name: v.Name})
			}
			f.Factors[i].Values = distinct.Append(f.Factors[i].Values, v)
		}
		for _, o := range g.Outcomes {
			f.Drivers = distinct.Append(f.Drivers, o.Case.Driver)
		}
	}
	alike := map[string]int{} // number of a driver's cases that differ only in settings that do not apply to this driver
	for _, g := range groups {
		for _, o := range g.Outcomes {
			alike[ownKey(o.Case)]++
		}
	}
	for _, g := range groups {
		for _, o := range g.Outcomes {
			row := *o
			varied := g.Varied
			if alike[ownKey(o.Case)] == 1 {
				varied = own(o.Case, varied)
			}
			if row.As = variant(varied); search {
				row.As = g.changes(groups[0])
			}
			if len(f.Drivers) > 1 {
				row.As = strings.TrimSpace(o.Case.Driver + " " + row.As)
			}
			all.Outcomes = append(all.Outcomes, &row)
		}
	}
	var cases []result.Case
	for _, o := range all.Outcomes {
		cases = append(cases, *o.Case)
	}
	follows := poolFollows(cases)
	for i := range f.Factors {
		f.Factors[i].Follows = follows && f.Factors[i].Name == poolSize
	}
	for _, phase := range all.phases() {
		t := all.table(phase, "", confidence) // ratios are relative to the fastest row
		t.setFloor(floor)
		f.effects(groups, t, follows, confidence)
		if len(f.Drivers) == 1 || len(t.Cells) <= maxFactorialRows {
			f.Tables = append(f.Tables, t)
		}
	}
	var family []*Test
	for _, e := range f.Effects {
		family = append(family, &e.Test)
		for _, d := range e.Dependences {
			family = append(family, d.tests...)
			for _, with := range d.Effects {
				family = append(family, &with.Test)
			}
		}
	}
	Adjust(family)
	for _, t := range family {
		t.Adjusted = min(1, t.Adjusted*looksFactor(confidence))
	}
}

func (f *Factorial) effects(groups []*Group, t *Table, follows bool, confidence float64) {
	byCase := map[*result.Case]*Cell{}
	for _, c := range t.Measured() {
		byCase[c.Case] = c
	}
	cell := func(g *Group, driver string) *Cell {
		i := slices.IndexFunc(g.Outcomes, func(o *Outcome) bool { return o.Case.Driver == driver })
		if i < 0 {
			return nil
		}
		return byCase[g.Outcomes[i].Case]
	}
	for _, driver := range f.Drivers {
		for i, factor := range f.Factors {
			for _, change := range factor.changes() {
				var list []combination
				for _, g := range groups {
					if g.Varied[i] != change[1] {
						continue
					}
					other := slices.IndexFunc(groups, func(x *Group) bool { return differsOnlyIn(x, g, i, change[0], follows) })
					if other < 0 {
						continue
					}
					if a, b := cell(g, driver), cell(groups[other], driver); a != nil && b != nil && CompareFailures(a, b).P >= Alpha {
						ratios, _ := Ratios(a.Points(), b.Points())
						list = append(list, combination{g, ratios})
					}
				}
				e := &Effect{Phase: t.Phase, Driver: driver, From: change[0], To: change[1]}
				if !e.measure(list, confidence) {
					continue
				}
				for j, other := range f.Factors {
					if j == i || other.Follows {
						continue
					}
					if d := e.dependence(list, j, other, follows, confidence); len(d.tests) > 0 {
						e.Dependences = append(e.Dependences, d)
					}
				}
				f.Effects = append(f.Effects, e)
			}
		}
	}
}

type combination struct {
	group  *Group  // the group after the change
	ratios []Point // times after the change divided by times before it
}

// measure summarizes the ratios of a list of combinations of values. It returns false if the
// combinations have fewer than [MinSamples] rounds in common.
func (e *Effect) measure(list []combination, confidence float64) bool {
	var sets [][]Point
	for _, c := range list {
		sets = append(sets, c.ratios)
	}
	points := GeoMeans(sets)
	if len(points) < MinSamples {
		return false
	}
	e.Over, e.Ratio, e.Test = len(sets), SummarizeRatiosAt(Values(points), confidence), CompareRatios(Values(points))
	return true
}

// dependence computes the effect e for each value of another factor separately, and compares the
// results. The parameter "list" has the combinations of values over which e was computed. The
// parameter "place" is the index of the other factor.
func (e *Effect) dependence(list []combination, place int, other Factor, follows bool, confidence float64) Dependence {
	d := Dependence{Factor: other.Name}
	for i, v := range other.Values {
		with := slices.DeleteFunc(slices.Clone(list), func(c combination) bool { return c.group.Varied[place] != v })
		at := &Effect{Phase: e.Phase, Driver: e.Driver, From: e.From, To: e.To, With: v}
		if !at.measure(with, confidence) {
			continue
		}
		d.Effects = append(d.Effects, at)
		for _, before := range other.Values[:i] {
			var sets [][]Point
			for _, c := range with {
				k := slices.IndexFunc(list, func(x combination) bool { return differsOnlyIn(x.group, c.group, place, before, follows) })
				if k >= 0 {
					ratios, _ := Ratios(c.ratios, list[k].ratios)
					sets = append(sets, ratios)
				}
			}
			if points := GeoMeans(sets); len(points) >= MinSamples {
				test := CompareRatios(Values(points))
				d.tests = append(d.tests, &test)
			}
		}
	}
	return d
}

// differsOnlyIn reports whether group g has the given value of a factor, and the same values of all other
// factors as the group in the parameter "from". If the parameter "follows" is true, the size of the pool may
// differ too.
func differsOnlyIn(g, from *Group, factor int, value Variation, follows bool) bool {
	for i, v := range g.Varied {
		want := from.Varied[i]
		if i == factor {
			want = value
		}
		if v != want && (i == factor || !follows || v.Name != poolSize) {
			return false
		}
	}
	return true
}

// String returns the factors with their values: "journal_mode=wal,delete synchronous=normal,full".
func (f *Factorial) String() string {
	var words []string
	for _, x := range f.Factors {
		var values []string
		for _, v := range x.Values {
			if v.Unset {
				v.Value = "not set"
			}
			values = append(values, v.Value)
		}
		words = append(words, x.Name+"="+strings.Join(values, ","))
	}
	return strings.Join(words, " ")
}
