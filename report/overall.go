package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sqlite3perf/sqlite3perf/stats"
)

func overall(a *stats.Analysis) document {
	o := a.Overall
	switch {
	case len(o.Tables)+len(o.LeftOut) < 2:
		return nil
	case len(o.Tables) == 0:
		return document{heading{2, "Summary: none, since no table has comparable figures of all drivers"}, leftOutOf(o)}
	case len(o.Drivers) < 2:
		return nil
	}
	base := slices.IndexFunc(o.Drivers, func(d stats.OverallDriver) bool { return d.Case.Driver == o.Base })
	to := label(o.Drivers[base].Case)
	d := document{heading{2, fmt.Sprintf("Summary: geometric mean of the ratios to %s over %s", to, counted(int64(len(o.Tables)), "table"))}}
	standings := make([]stats.Standing, len(o.Drivers))
	for i, od := range o.Drivers {
		standings[i] = od.Standing
	}
	tied := ties(standings)
	g := grid{columns: []column{{title: "#"}, {title: "driver"}, {title: tiedTitle}, {title: "× " + to}, {title: "p", right: true, drop: 1},
		{title: "rounds", right: true, drop: 3}, {title: "SQLite", drop: 2}, {title: "kind", drop: 5}, {title: "interface", drop: 6}}}
	var ratios, spreads []string
	for i, od := range o.Drivers {
		r, s := absent, ""
		if od.Ratio.N > 0 {
			r = times(od.Ratio.Median)
			if i != base {
				s = spread(od.Ratio)
			}
		}
		ratios, spreads = append(ratios, r), append(spreads, s)
	}
	outcomes := map[int]*stats.Outcome{}
	for _, gr := range a.Groups {
		for _, oc := range gr.Outcomes {
			outcomes[oc.Case.ID] = oc
		}
	}
	joined := withSpreads(ratios, spreads)
	for i, od := range o.Drivers {
		oc := outcomes[od.Case.ID]
		g.rows = append(g.rows, []string{rank(od.Standing), name(oc), tied[i], joined[i], against(o.Pairs, i, base),
			fmt.Sprint(od.Ratio.N), sqliteVersion(oc), string(od.Case.Info.Kind), string(od.Case.Info.Interface)})
		g.leaders = append(g.leaders, leads(od.Standing))
	}
	if !slices.ContainsFunc(tied, func(s string) bool { return s != absent }) {
		g.dropColumn(tiedTitle)
	}
	d = append(d, g)
	l := leftOutOf(o)
	if !o.IsFloor {
		l = append(l, item{label: "note", text: noFloor(a) + ": " + baseOf(o, to)})
	}
	if l != nil {
		d = append(d, l)
	}
	return d
}

// leftOutOf lists the tables and drivers that do not count.
func leftOutOf(o stats.Overall) list {
	var l list
	for _, x := range slices.Concat(o.LeftOut, o.Absent) {
		var text string
		switch drivers := strings.Join(x.Drivers, ", "); x.Code {
		case stats.NoFigures:
			text = fmt.Sprintf("%s: no figures of %s", x.Table, drivers)
		case stats.MoreFailed:
			text = fmt.Sprintf("%s: more operations failed than of other drivers: %s", x.Table, drivers)
		case stats.FewFigures:
			text = fmt.Sprintf("%s: figures in %d of %s", x.Driver, x.Figures, counted(int64(x.Tables), "table"))
		}
		l = append(l, item{label: "left out", text: text})
	}
	return l
}

// noFloor says why ratios do not refer to the floor.
func noFloor(a *stats.Analysis) string {
	if a.Floor == "" {
		return "no floor was named"
	}
	for _, c := range a.Run.Cases {
		if d, _, _ := strings.Cut(c.Driver, "@"); a.Floor == c.Driver || a.Floor == d {
			return a.Floor + " has figures in less than half of the tables"
		}
	}
	return a.Floor + " is not in this run"
}

// baseOf says why ratios refer to the base, if that is not the floor.
func baseOf(o stats.Overall, base string) string {
	s := "ratios are to " + base + ", whose medians have the least geometric mean over these tables"
	if first := o.Drivers[0]; first.Case.Driver != o.Base && first.Ratio.N > 0 && first.Ratio.Median < 1 {
		s += fmt.Sprintf("; round by round %s is at %s", label(first.Case), times(first.Ratio.Median))
	}
	return s
}

// against returns the p-value of i compared with base.
func against(pairs []stats.Pair, i, base int) string {
	for _, p := range pairs {
		if p.First == min(i, base) && p.Second == max(i, base) {
			return probability(p.Adjusted)
		}
	}
	return ""
}

// tiedTitle is the title of the column that says which rows cannot be told apart.
const tiedTitle = "tied with"

func rank(s stats.Standing) string {
	if s.Rank == 0 {
		return absent
	}
	return fmt.Sprint(s.Rank)
}

// leads reports whether nothing is told apart as faster.
func leads(s stats.Standing) bool { return s.Rank > 0 && !s.Beaten }

// ties returns for each row the ranks of the rows from which it cannot be told apart.
func ties(standings []stats.Standing) []string {
	words := make([]string, len(standings))
	for i, s := range standings {
		var ranks []int
		for _, j := range s.Tied {
			ranks = append(ranks, standings[j].Rank)
		}
		if words[i] = joinInts(ranks); ranks == nil {
			words[i] = absent
		}
	}
	return words
}
