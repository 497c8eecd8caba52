package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sqlite3perf/sqlite3perf/internal/conditions"
	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
)

func facts(a *stats.Analysis, said *Answers, opts Options) (d document.Document) {
	run := a.Run
	add := func(label, t string, forms ...int) {
		s := document.Section{Rank: rankLast}
		for _, most := range forms {
			f := document.Form{Body: document.Document{document.List{{Label: label, Text: t, Most: most}}}}
			if most == 0 {
				f = document.Form{}
			}
			s.Forms = append(s.Forms, f)
		}
		if t != "" {
			d = append(d, s)
		}
	}
	add("settings", inForceInRun(a), 2, 1)
	words := []string{fmt.Sprint(run.ID), run.Started.UTC().Format("2006-01-02 15:04 MST")}
	if !run.Ended.IsZero() {
		words = append(words, document.Elapsed(run.Ended.Sub(run.Started)))
	}
	if opts.Study == nil && run.Scale != "" {
		words = append(words, "scale "+run.Scale)
	}
	if m := run.Machine; m.Cores > 0 {
		words = append(words, fmt.Sprintf("%d × %s", m.Cores, m.CPU))
	}
	add("run", strings.Join(words, " · "), 1, 0)
	return d
}

// inForceInRun lists the settings that have the same value in all workloads, and names the settings
// whose values differ.
func inForceInRun(a *stats.Analysis) string {
	count, where := map[string]int{}, []string{}
	for _, g := range a.Groups {
		for _, word := range conditions.Settings(g.Outcomes[0].Case) {
			if count[word]++; count[word] == 1 {
				where = append(where, word)
			}
		}
	}
	var all, names []string
	for _, word := range where {
		name, _, _ := strings.Cut(word, "=")
		switch {
		case count[word] == len(a.Groups):
			all = append(all, word)
		case !slices.Contains(names, name):
			names = append(names, name)
		}
	}
	switch {
	case names == nil:
		return strings.Join(all, " ")
	case all == nil:
		return "they differ by phase: " + strings.Join(names, ", ")
	}
	return strings.Join(all, " ") + "; differ by phase: " + strings.Join(names, ", ")
}

// caveatItems returns an item for each warning, but only one for all warnings about a noisy machine.
// The parameter "marked" says whether rows can be marked with [ownCost], the mark of sqlite3perf's own
// overhead.
func caveatItems(list []conditions.Caveat, marked bool) document.List {
	items := conditions.CaveatItems(list)
	own := conditions.KindOf(conditions.CaveatAdded).Name
	for i := range items {
		if marked && items[i].Label == own {
			items[i].Mark = ownCost
		}
	}
	return items
}

// tiedOnScreen says which rows row i is tied with. The parameter "rows" has the rows that the
// screen shows. Tied rows that are shown are given by rank. Others are given by name, because
// their rank would mean nothing to the reader.
func (r *Ranking) tiedOnScreen(i int, rows []int) string {
	var shown []int
	var words []string
	for _, j := range r.Rows[i].Tied {
		if slices.Contains(rows, j) {
			shown = append(shown, j)
		} else {
			words = append(words, r.Rows[j].Name+harmMark(r.Rows[j].harm))
		}
	}
	if ranks := ranksTied(func(j int) int { return r.Rows[j].Rank }, shown); ranks != "" {
		words = slices.Insert(words, 0, ranks)
	}
	if words == nil {
		return ""
	}
	return "tied with " + document.And(words)
}
