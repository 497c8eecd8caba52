package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/sqlite3perf/sqlite3perf/internal/conditions"
	"github.com/sqlite3perf/sqlite3perf/internal/distinct"
	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
)

// ImpreciseHeading is the beginning of the heading above the list of a run's imprecise figures.
const ImpreciseHeading = "Imprecise figures"

// imprecise has the figures of a run's cells that are less precise than the run asks for.
type imprecise struct {
	precision float64
	all       int            // number of figures of the run
	ratios    bool           // true: the figures are ratios; false: they are medians
	to        string         // what all ratios are relative to, such as " to plain C"; "" if their bases differ or the figures are medians
	open      []stats.Figure // the imprecise figures: first those without an interval, then those with an interval, widest interval first
	direction []string       // for each figure in open, the result of [directionOf], which is "" for a median
}

// clear counts the imprecise ratios that are nevertheless clearly greater or less than 1.
func (u *imprecise) clear() (n int) {
	for _, t := range u.direction {
		if t == isSlower || t == isFaster {
			n++
		}
	}
	return n
}

// impreciseOf returns the imprecise figures of a run. The result has no figures if the run asks for
// no precision.
func impreciseOf(a *stats.Analysis) imprecise {
	u := imprecise{precision: a.Run.Precision}
	if u.precision <= 0 {
		return u
	}
	figures := a.Figures()
	u.ratios = slices.ContainsFunc(figures, func(f stats.Figure) bool { return f.Base != nil })
	figures = onePerRow(figures, u.precision)
	u.all = len(figures)
	u.open = slices.DeleteFunc(figures, func(f stats.Figure) bool { return f.Settled(u.precision) })
	slices.SortStableFunc(u.open, func(a, b stats.Figure) int {
		x, known := a.Summary.Spread()
		y, other := b.Summary.Spread()
		switch {
		case known != other && other:
			return -1
		case known != other:
			return 1
		}
		return cmp.Compare(y, x)
	})
	tables := map[stats.TableName]*stats.Table{}
	eachTable(a, func(n stats.TableName, t *stats.Table) { tables[n] = t })
	var bases []string
	for _, f := range figures {
		if t := tables[f.TableName]; f.Base != nil && t != nil && t.IsFloor && t.Cells[t.Base] == f.Base {
			bases = distinct.Append(bases, "plain C")
		} else if f.Base != nil {
			bases = distinct.Append(bases, nameOf(f.Base))
		}
	}
	if len(bases) == 1 {
		u.to = " to " + bases[0]
	}
	u.direction = document.Map(u.open, func(f stats.Figure) string { return directionOf(tables[f.TableName], &f) })
	return u
}

// onePerRow returns one figure for each case and phase. A case can have two figures of a phase: one in the
// table of its own settings, and one in a table that shows several settings side by side. onePerRow keeps the
// less precise figure. If only one of the two is as precise as requested, the other one is kept. Otherwise the
// figure with the wider interval is kept.
func onePerRow(figures []stats.Figure, precision float64) (list []stats.Figure) {
	type row struct {
		of    int // id of the case
		phase string
	}
	at := map[row]int{} // indexes in "list"
	for _, f := range figures {
		k := row{f.Cell.Case.ID, f.Phase}
		i, ok := at[k]
		if !ok {
			at[k] = len(list)
			list = append(list, f)
			continue
		}
		x, _ := f.Summary.Spread()
		y, _ := list[i].Summary.Spread()
		if settled := f.Settled(precision); settled == list[i].Settled(precision) && x > y || !settled && list[i].Settled(precision) {
			list[i] = f
		}
	}
	return list
}

// within formats the precision that a run asks for.
func (u *imprecise) within() string { return "±" + document.Percent(u.precision) }

// kind returns what the figures are: ratios or medians.
func (u *imprecise) kind() string {
	if u.ratios {
		return "ratio"
	}
	return "median"
}

// sentence says how many figures are imprecise, and how many of the imprecise figures show which row is
// faster. It returns "" if the run asks for no precision or has no figures. The sentence has no full stop.
func (u *imprecise) sentence() string {
	if u.all == 0 {
		return ""
	}
	text := u.count()
	n := u.clear()
	switch {
	case n == 0:
		return text
	case len(u.open) == u.all:
		return text + fmt.Sprintf(", but %d of %s which is faster", n, verb(u.all, "shows", "show"))
	}
	return text + "; " + verb(n, "of the others shows which is faster", "of the others show which is faster")
}

// count says how many figures are precise. It is the first part of [imprecise.sentence].
func (u *imprecise) count() string {
	switch {
	case len(u.open) == 0:
		return fmt.Sprintf("Every %s of a cell%s is precise to %s", u.kind(), u.to, u.within())
	case len(u.open) == u.all:
		return fmt.Sprintf("No %s of a cell%s is precise to %s", u.kind(), u.to, u.within())
	}
	n := u.all - len(u.open)
	return fmt.Sprintf("%d of %d %ss of cells%s %s precise to %s", n, u.all, u.kind(), u.to, document.Verb(n, "is", "are"), u.within())
}

// Settled returns the number of open figures, which are less precise than requested. The result
// "text" says how many of the run's figures are precise enough, and names the open figures with the
// widest intervals.
func Settled(a *stats.Analysis) (openFigures int, text string) {
	u := impreciseOf(a)
	open := u.open
	if u.all == 0 {
		return 0, ""
	}
	text = u.sentence()
	text = strings.ToLower(text[:1]) + text[1:]
	if len(open) == 0 {
		return 0, text
	}
	if !slices.ContainsFunc(open, func(f stats.Figure) bool { return f.Summary.Interval != nil }) {
		return len(open), fmt.Sprintf("%s; %s fewer than %d samples, and so no interval", text, verb(len(open), "has", "have"), stats.MinSamples)
	}
	words := u.widest(maxOpen)
	if more := len(open) - len(words); more > 0 {
		words = append(words, fmt.Sprintf("%d more", more))
	}
	return len(open), text + "; the least precise: " + strings.Join(words, ", ")
}

const maxOpen = 3

// widest names up to n imprecise figures, those with the widest intervals first.
func (u *imprecise) widest(n int) []string {
	return document.Map(u.open[:min(len(u.open), n)], func(f stats.Figure) string {
		return fmt.Sprintf("%s %s %s", f.TableName, nameOf(f.Cell), document.Spread(f.Summary))
	})
}

// brief says the same as [imprecise.count], in fewer words.
func (u *imprecise) brief() string {
	return fmt.Sprintf("%d of %s%s within %s", u.all-len(u.open), document.Counted(int64(u.all), u.kind()), u.to, u.within())
}

// namingWidest sets the short form of the warning about imprecise figures, if there is such a
// warning. The short form says how many figures are precise, which command lists the imprecise
// ones, and which of them have the widest intervals.
func namingWidest(warnings document.List, a *stats.Analysis, h document.Hints) document.List {
	for i := range warnings {
		if warnings[i].Label == conditions.KindOf(conditions.CaveatUnsettled).Name && h.Full != "" {
			u := impreciseOf(a)
			warnings[i].Short[1] = fmt.Sprintf("%s; %s lists all; the widest: %s", u.brief(), h.FullFlag, strings.Join(u.widest(2), ", "))
		}
	}
	return warnings
}

// nameOf returns the name of a row: the driver or, in a table of settings, the settings.
func nameOf(c *stats.Cell) string { return cmp.Or(c.As, conditions.Label(c.Case)) }

// FurtherRounds estimates how many more rounds a run needs until none of its figures is imprecise.
// If the result is [stats.MaxRounds], the run needs at least that many rounds. The result is 0 if no
// figure is imprecise.
func FurtherRounds(a *stats.Analysis) (rounds int) {
	u := impreciseOf(a)
	for _, f := range u.open {
		rounds = max(rounds, f.Further(u.precision))
	}
	return rounds
}

// impreciseFigures lists the figures of a run that are still imprecise, and the command that
// measures the missing rounds. It returns nil if no figure is imprecise. It also returns nil if the
// run asks for no precision, has no figures, or compares two sides (such as two drivers).
func impreciseFigures(a *stats.Analysis, h document.Hints) document.Document {
	u := impreciseOf(a)
	if len(u.open) == 0 || a.Run.Compares != nil {
		return nil
	}
	d := document.Document{document.Heading{Level: 2, Text: ImpreciseHeading + ": " + u.kind() + "s", Named: ImpreciseHeading}}
	times := ""
	if u.ratios {
		times = " Times are not listed: each table has their ±."
	}
	text := fmt.Sprintf("%s. The intervals (%s) of these figures reach more than %s from the %s. The widest come first.", u.sentence(), document.Percent(stats.Confidence), u.within(), u.kind())
	grid, unclear := u.grid()
	if unclear {
		text += " Not clear: there is no clear difference from the driver or settings that the ratio divides by."
	}
	d = append(d, document.Paragraph{Text: text + times})
	d = append(d, document.List{{Label: "to be sure", Text: remedy(FurtherRounds(a), h.Further)}})
	return append(d, grid)
}

// remedy says how to make all figures precise. The parameter "rounds" is the number of missing
// rounds, and "command" measures them. The command is "" if too many rounds are missing, or if the
// run cannot be extended.
func remedy(rounds int, command string) string {
	if command == "" {
		return "measure again while nothing else runs, or with fewer workloads or drivers: those get more rounds in the same time"
	}
	more := "further rounds"
	if rounds < stats.MaxRounds {
		more = "about " + document.Counted(int64(rounds), "more round")
	}
	return fmt.Sprintf("%s, fewer if cases settle earlier: %s", more, command)
}

// These words say, in the list of imprecise figures, how a row compares with the base of its ratio.
const (
	isSlower = "slower"
	isFaster = "faster"
	notClear = "not clear"
)

// grid returns the imprecise figures as a table. The result "unclear" is true if the table says "not clear"
// about any difference.
func (u *imprecise) grid() (g document.Grid, unclear bool) {
	bases := map[string]bool{}
	for _, f := range u.open {
		if f.Base != nil {
			bases[nameOf(f.Base)] = true
		}
	}
	figure := u.kind()
	columns := make([][]string, 7)
	for i, f := range u.open {
		base, value, difference := "", document.Nanoseconds(int64(f.Summary.Median*1e9)), u.direction[i]
		if f.Base != nil {
			base, value = nameOf(f.Base), document.Times(f.Summary.Median)
		}
		unclear = unclear || difference == notClear
		if len(bases) == 1 && base != "" {
			figure = "× " + base
		}
		for i, word := range []string{strings.TrimSpace(f.Workload + " " + f.Variant), f.Phase, nameOf(f.Cell), value, interval(&f), document.Spread(f.Summary), difference} {
			columns[i] = append(columns[i], word)
		}
		g.Links = append(g.Links, conditions.CaseLink(f.Cell.Case))
	}
	for i, c := range []document.Column{{Title: "workload"}, {Title: "phase"}, {Title: "driver"}, {Title: figure, Right: true, Whole: true}, {Title: "interval", Whole: true}, {Title: "±", Right: true, Whole: true}, {Title: "difference"}} {
		if slices.ContainsFunc(columns[i], func(word string) bool { return word != "" }) {
			g.Add(c, columns[i])
		}
	}
	return g, unclear
}

// interval formats the interval of a figure.
func interval(f *stats.Figure) string {
	i := f.Summary.Interval
	switch {
	case i == nil:
		return document.Absent
	case f.Base == nil:
		return document.Nanoseconds(int64(i.Low*1e9)) + " to " + document.Nanoseconds(int64(i.High*1e9))
	}
	return document.Interval(i)
}

// directionOf says whether the row of a figure is slower or faster than the base of its ratio. If
// the difference is not significant, it returns "not clear". It returns "" if t is nil or the
// figure is a median.
func directionOf(t *stats.Table, f *stats.Figure) string {
	if t == nil || f.Base == nil {
		return ""
	}
	switch test, ok := t.Against(slices.Index(t.Cells, f.Cell), slices.Index(t.Cells, f.Base)); {
	case !ok || !test.Significant():
		return notClear
	case test.Sign() > 0:
		return isSlower
	default:
		return isFaster
	}
}
