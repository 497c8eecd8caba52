package stats

import (
	"slices"
	"strings"

	"github.com/sqlite3perf/sqlite3perf/result"
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
}

// Effect is what one factor by itself is worth in a phase: the time with one of its
// values, divided by the time with its first value. It is the geometric mean over all
// combinations of the other factors' values, formed within rounds (the main effect of a
// factorial experiment).
type Effect struct {
	Phase  string
	Driver string
	From   Variation
	To     Variation
	Ratio  Summary
	Over   int // combinations of the other factors' values
	Test
}

// maxFactorialRows is how many rows a table of several drivers may have. With more, one
// table for each combination of values is easier to read.
const maxFactorialRows = 24

// factorials finds the workloads of which a run varied settings or parameters.
func (a *Analysis) factorials() (list []*Factorial) {
	byWorkload := map[string][]*Group{}
	for _, g := range a.Groups {
		if byWorkload[g.Workload] = append(byWorkload[g.Workload], g); len(byWorkload[g.Workload]) == 2 {
			list = append(list, &Factorial{Workload: g.Workload})
		}
	}
	for _, f := range list {
		f.fill(byWorkload[f.Workload], a.Confidence)
	}
	return list
}

func (f *Factorial) fill(groups []*Group, confidence float64) {
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
	for _, g := range groups {
		for _, o := range g.Outcomes {
			row := *o
			if row.As = g.Variant(); len(f.Drivers) > 1 {
				row.As = o.Case.Driver + " " + row.As
			}
			all.Outcomes = append(all.Outcomes, &row)
		}
	}
	var cases []result.Case
	for _, o := range all.Outcomes {
		cases = append(cases, *o.Case)
	}
	follows := poolFollows(cases)
	for _, phase := range all.phases() {
		t := all.table(phase, "", confidence)
		f.effects(groups, t, follows, confidence)
		if len(f.Drivers) == 1 || len(t.Cells) <= maxFactorialRows {
			f.Tables = append(f.Tables, t)
		}
	}
	var family []*Test
	for _, e := range f.Effects {
		family = append(family, &e.Test)
	}
	Adjust(family)
	for _, t := range family {
		t.Adjusted = min(1, t.Adjusted*looking(confidence))
	}
}

// effects adds the effects of all factors in a phase. follows says that the size of the
// pool follows from other factors, and is part of their effects.
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
			for _, to := range factor.Values[1:] {
				e := &Effect{Phase: t.Phase, Driver: driver, From: factor.Values[0], To: to}
				var sets [][]Point
				for _, g := range groups {
					if g.Varied[i] != to {
						continue
					}
					other := slices.IndexFunc(groups, func(x *Group) bool { return differsOnlyIn(x, g, i, factor.Values[0], follows) })
					if other < 0 {
						continue
					}
					if a, b := cell(g, driver), cell(groups[other], driver); a != nil && b != nil && !FailuresDiffer(a, b) {
						ratios, _ := Ratios(a.Points(), b.Points())
						sets = append(sets, ratios)
					}
				}
				points := geoMeans(sets)
				if e.Over = len(sets); len(points) < MinSamples {
					continue
				}
				e.Ratio, e.Test = SummarizeRatiosAt(Values(points), confidence), CompareRatios(Values(points))
				f.Effects = append(f.Effects, e)
			}
		}
	}
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
