package stats

import (
	"slices"
	"strings"

	"github.com/sqlite3perf/sqlite3perf/internal/result"
)

// Factorial is a workload that a run measured with several settings or parameters. Its
// tables have all of them side by side, so that they are compared with each other.
type Factorial struct {
	Workload string
	Factors  []Factor // settings and parameters, each with its values
	Drivers  []string
	Group    *Group    // all cases; an outcome is a driver with values of the factors
	Tables   []*Table  // of Group, by phase; none if they would be too long
	Effects  []*Effect // by phase
}

// Factor is a setting or parameter with the values that a run gave it, in the order in
// which they were asked for.
type Factor struct {
	Name   string
	Values []Variation

	// Follows says that the value follows from those of other factors, as the size of a
	// pool from the number of clients. Then it has no effect of its own.
	Follows bool
}

// changes returns the changes of the factor that have effects: from its first value to
// each of the others, and from each of the others to the next.
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

// Effect is what one change of a factor by itself is worth in a phase: the time with To,
// divided by the time with From. It is the geometric mean over all combinations of the
// other factors' values, formed within rounds (the main effect of a factorial experiment).
type Effect struct {
	Phase  string
	Driver string
	From   Variation
	To     Variation
	With   Variation // the only value of another factor that counts; no Name: all values
	Ratio  Summary
	Over   int // combinations of the other factors' values
	Test

	// Dependences has each other factor of which several values count. It is nil if With
	// is set.
	Dependences []Dependence
}

// Dependence says whether an effect depends on the value of another factor (the
// interaction of the two factors).
type Dependence struct {
	Factor  string
	Effects []*Effect // with each of the factor's values

	// tests compare every two of these effects: the ratios with one value, divided by
	// those with the other, over the combinations that both have.
	tests []*Test
}

// Significant reports whether any two values of the factor are told apart.
func (d *Dependence) Significant() bool {
	return slices.ContainsFunc(d.tests, func(t *Test) bool { return t.Significant() })
}

// P returns the least adjusted p-value of the comparisons of every two values.
func (d *Dependence) P() float64 {
	least := 1.0
	for _, t := range d.tests {
		least = min(least, t.Adjusted)
	}
	return least
}

// maxFactorialRows is how many rows a table of several drivers may have. With more, one
// table for each combination of values is easier to read.
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

// fill finds out which factors groups differ in, and compares them. search says that the first
// group is what a search began with.
func (f *Factorial) fill(groups []*Group, search bool, floor string, confidence float64) {
	all := &Group{Workload: f.Workload}
	f.Group = all
	for _, g := range groups {
		for i, v := range g.Varied {
			if i == len(f.Factors) {
				f.Factors = append(f.Factors, Factor{Name: v.Name})
			}
			if !slices.Contains(f.Factors[i].Values, v) {
				f.Factors[i].Values = append(f.Factors[i].Values, v)
			}
		}
		for _, o := range g.Outcomes {
			if !slices.Contains(f.Drivers, o.Case.Driver) {
				f.Drivers = append(f.Drivers, o.Case.Driver)
			}
		}
	}
	alike := map[string]int{} // cases of a driver that differ only in settings that it does not have
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
		t := all.table(phase, "", confidence) // ratios are to the fastest row
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
		t.Adjusted = min(1, t.Adjusted*looking(confidence))
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
					if a, b := cell(g, driver), cell(groups[other], driver); a != nil && b != nil && !FailuresDiffer(a, b) {
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
	group  *Group  // with the value that it changes to
	ratios []Point // of the times after and before the change
}

// measure summarizes the ratios of some combinations. It returns false if there are too
// few rounds.
func (e *Effect) measure(list []combination, confidence float64) bool {
	var sets [][]Point
	for _, c := range list {
		sets = append(sets, c.ratios)
	}
	points := geoMeans(sets)
	if len(points) < MinSamples {
		return false
	}
	e.Over, e.Ratio, e.Test = len(sets), SummarizeRatiosAt(Values(points), confidence), CompareRatios(Values(points))
	return true
}

// dependence finds out how the effect, of which list has the combinations, differs between
// the values of another factor. place is that of the other factor.
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
			if points := geoMeans(sets); len(points) >= MinSamples {
				test := CompareRatios(Values(points))
				d.tests = append(d.tests, &test)
			}
		}
	}
	return d
}

// differsOnlyIn reports whether a group has the given value of a factor and of all others
// the values that another group has, except for a size of the pool that follows from them.
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
