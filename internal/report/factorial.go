package report

import (
	"fmt"
	"slices"

	"github.com/sqlite3perf/sqlite3perf/internal/conditions"
	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
)

// factorialHead returns the heading of a workload with several settings or parameters, and the
// settings and parameters that all its cases share.
func factorialHead(f *stats.Factorial) document.Document {
	varied := document.Map(f.Factors, func(x stats.Factor) string { return x.Name })
	d := document.Document{document.Heading{Level: 2, Text: fmt.Sprintf("%s · %s, side by side", f.Workload, f)}}
	return append(d, measuredWith(f.Group.Outcomes[0].Case, varied)...)
}

// factorial returns the tables of a workload with several settings or parameters side by side, and
// the effect of each change of a setting or parameter.
func factorial(a *stats.Analysis, f *stats.Factorial, h document.Hints) document.Document {
	d := factorialHead(f)
	alone := len(f.Drivers) == 1 // with several drivers, latencies and notes follow in the tables of each group
	for _, t := range f.Tables {
		switch measured := t.Measured(); {
		case len(measured) == 0:
		case alone:
			d = append(d, phase(a, t, h)...)
		default:
			d = append(append(d, phaseHead(a, t, measured)...), figures(a, t, measured))
		}
		d = append(d, effects(f, t)...)
	}
	if len(f.Tables) == 0 {
		d = append(d, document.Paragraph{Text: fmt.Sprintf("%d rows are too many side by side: each combination has its own tables, below.", len(f.Group.Outcomes))})
	}
	if alone {
		d = append(d, conditions.Troubles(f.Group, result.WarningUnverified)...)
		d = append(d, conditions.ReadLater(f.Group.Outcomes)...)
	}
	return d
}

func effects(f *stats.Factorial, t *stats.Table) document.Document {
	phase := t.Phase
	var rows []*stats.Effect
	depends := false
	for _, e := range f.Effects {
		if e.Phase != phase {
			continue
		}
		mean := true
		for _, d := range e.Dependences {
			if d.Significant() {
				mean, depends = false, true
				rows = append(rows, d.Effects...)
			}
		}
		if mean {
			rows = append(rows, e)
		}
	}
	var left document.List
	for _, x := range f.Factors {
		for _, v := range x.Values[1:] {
			if !x.Follows && !slices.ContainsFunc(f.Effects, func(e *stats.Effect) bool { return e.Phase == phase && e.To == v && e.From == x.Values[0] }) {
				left = append(left, document.Item{Label: "effect", Text: fmt.Sprintf("%s instead of %s: effect not known: %s", v, value(x.Values[0]), whyUntold(t))})
			}
		}
	}
	if rows == nil {
		return document.Document{left}
	}
	driver := document.Words("driver", func(e *stats.Effect) string { return e.Driver })
	if len(f.Drivers) < 2 {
		driver.Cell = nil
	}
	g := document.GridOf(rows, driver, document.Words("change", change),
		document.ColumnOf[*stats.Effect]{Column: document.Column{Title: "× time", Whole: true},
			Cell:   func(e *stats.Effect) string { return document.Times(e.Ratio.Median) },
			Spread: func(e *stats.Effect) string { return document.Interval(e.Ratio.Interval) }},
		document.Figures("p", 0, func(e *stats.Effect) string { return document.Probability(e.Adjusted) }))
	title := "What a change by itself is worth:"
	switch {
	case depends:
		title += " the geometric mean, formed within rounds, over all values of what else varies. A change that depends on one of these has a row for each of its values instead, because a mean would be misleading."
	case len(f.Factors) > 1:
		title += " the geometric mean, formed within rounds, over all values of what else varies. No change is seen to depend on that."
	}
	return document.Document{document.Paragraph{Text: title}, g, left}
}

func change(e *stats.Effect) string {
	words := fmt.Sprintf("%s instead of %s", e.To, value(e.From))
	if e.With.Name != "" {
		words += fmt.Sprintf(", with %s", e.With)
	}
	return words
}

func whyUntold(t *stats.Table) string {
	least, most := 0, 0
	for _, c := range t.Measured() {
		if least == 0 || c.Summary.N < least {
			least = c.Summary.N
		}
		most = max(most, c.Summary.N)
	}
	switch {
	case most == 0:
		return "there are no figures"
	case most < stats.MinSamples && least < most:
		return fmt.Sprintf("the rows have %d to %d rounds, and %d are needed", least, most, stats.MinSamples)
	case most < stats.MinSamples:
		return fmt.Sprintf("the rows have %s, and %d are needed", document.Counted(int64(most), "round"), stats.MinSamples)
	}
	return fmt.Sprintf("no two rows that differ only in this have at least %d rounds and the same share of successful operations", stats.MinSamples)
}

func value(v stats.Variation) string {
	if v.Unset {
		return "not set"
	}
	return v.Value
}
