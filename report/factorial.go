package report

import (
	"fmt"
	"slices"

	"github.com/sqlite3perf/sqlite3perf/result"
	"github.com/sqlite3perf/sqlite3perf/stats"
)

// factorial describes a workload with several settings or parameters side by side, and
// what each of these is worth by itself.
func factorial(f *stats.Factorial, h Hints) document {
	var varied []string
	for _, x := range f.Factors {
		varied = append(varied, x.Name)
	}
	d := document{heading{2, fmt.Sprintf("%s · %s, side by side", f.Workload, f)}}
	d = append(d, conditions(f.Group.Outcomes[0].Case, varied)...)
	alone := len(f.Drivers) == 1 // otherwise the groups that follow have the rest
	for _, t := range f.Tables {
		switch measured := t.Measured(); {
		case len(measured) == 0:
		case alone:
			d = append(d, phase(t, h)...)
		default:
			d = append(d, heading{3, t.Phase + ": " + subject(measured)}, figures(t, measured))
		}
		d = append(d, effects(f, t.Phase)...)
	}
	if alone {
		d = append(d, troubles(f.Group, result.WarningUnverified)...)
	}
	return d
}

// effects is the table of what each factor is worth in a phase.
func effects(f *stats.Factorial, phase string) document {
	var drivers, changes, ratios, intervals, p []string
	depends := false
	add := func(e *stats.Effect) {
		change := fmt.Sprintf("%s instead of %s", e.To, value(e.From))
		if e.With.Name != "" {
			change += fmt.Sprintf(", with %s", e.With)
		}
		drivers, changes = append(drivers, e.Driver), append(changes, change)
		ratios, intervals = append(ratios, times(e.Ratio.Median)), append(intervals, interval(e.Ratio.Interval))
		p = append(p, probability(e.Adjusted))
	}
	for _, e := range f.Effects {
		if e.Phase != phase {
			continue
		}
		mean := true
		for _, d := range e.Dependences {
			if !d.Significant() {
				continue
			}
			mean, depends = false, true
			for _, with := range d.Effects {
				add(with)
			}
		}
		if mean {
			add(e)
		}
	}
	var left list
	for _, x := range f.Factors {
		for _, v := range x.Values[1:] {
			if !x.Follows && !slices.ContainsFunc(f.Effects, func(e *stats.Effect) bool { return e.Phase == phase && e.To == v && e.From == x.Values[0] }) {
				left = append(left, item{label: "no effect of", text: v.String() + ": nowhere can it be compared with " + value(x.Values[0]) + ", because rows have no figures or other shares of their operations failed"})
			}
		}
	}
	if changes == nil {
		return document{left}
	}
	var g grid
	if len(f.Drivers) > 1 {
		g.add(column{title: "driver"}, drivers)
	}
	g.add(column{title: "change"}, changes)
	g.add(column{title: "× time", whole: true}, withSpreads(ratios, intervals))
	g.add(column{title: "p", right: true}, p)
	title := "What a change by itself is worth:"
	switch {
	case depends:
		title += " the geometric mean, formed within rounds, over all values of what else varies. A change that depends on one of these has a row for each of its values instead, because the mean would be true of none."
	case len(f.Factors) > 1:
		title += " the geometric mean, formed within rounds, over all values of what else varies. The samples do not show that any change depends on that."
	}
	return document{paragraph{text: title}, g, left}
}

// value formats the value of a variation.
func value(v stats.Variation) string {
	if v.Unset {
		return "not set"
	}
	return v.Value
}
