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
	for _, e := range f.Effects {
		if e.Phase != phase {
			continue
		}
		drivers = append(drivers, e.Driver)
		changes = append(changes, fmt.Sprintf("%s instead of %s", e.To, value(e.From)))
		ratios, intervals = append(ratios, times(e.Ratio.Median)), append(intervals, interval(e.Ratio.Interval))
		p = append(p, probability(e.Adjusted))
	}
	var left list
	for _, x := range f.Factors {
		for _, v := range x.Values[1:] {
			if !slices.ContainsFunc(f.Effects, func(e *stats.Effect) bool { return e.Phase == phase && e.To == v }) {
				left = append(left, item{label: "no effect of", text: v.String() + ": nowhere can it be compared with " + value(x.Values[0]) + ", because cells have no figures or other shares of their operations failed"})
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
	g.add(column{title: "× time"}, withSpreads(ratios, intervals))
	g.add(column{title: "p", right: true}, p)
	title := "What a change by itself is worth:"
	if len(f.Factors) > 1 {
		title = "What each change by itself is worth on average over the others (geometric mean within rounds of all combinations in which both values can be compared). If it depends on another setting, no combination need have this ratio: the rows above have their own."
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
