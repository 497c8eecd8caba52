package report

import (
	"fmt"
	"strings"

	"github.com/sqlite3perf/sqlite3perf/internal/chart"
	"github.com/sqlite3perf/sqlite3perf/internal/conditions"
	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
)

// looks are the colors and marks of a run's cases. A case looks the same in all pictures of a run.
type looks struct {
	drivers  map[string]int // numbers of drivers, from 1
	variants map[string]int // numbers of variants (settings and parameters), from 1 in each workload
}

func looksOf(a *stats.Analysis) looks {
	l := looks{map[string]int{}, map[string]int{}}
	for i, o := range conditions.DriverOrder(a) {
		l.drivers[o.Case.Driver] = i + 1
	}
	count := map[string]int{} // number of variants by workload
	for g, o := range a.OutcomesByGroup() {
		if v := variant(o.Case); l.variants[v] == 0 {
			count[g.Workload]++
			l.variants[v] = count[g.Workload]
		}
	}
	return l
}

// marker marks, in a picture, the names of drivers with defects that can lose or falsify data.
type marker struct {
	harmful conditions.Harmful
	used    bool // whether the method "name" has marked a name
}

// marker returns a marker for a picture of a table.
func (s scope) marker(t *stats.Table) marker { return marker{harmful: conditions.HarmfulIn(s.a, t)} }

// name returns a name that belongs to a driver, with [HarmMark] if the driver has a harmful defect.
func (m *marker) name(name, driver string) string {
	if m.harmful[driver] == nil {
		return name
	}
	m.used = true
	return name + HarmMark
}

// explain adds the meaning of [HarmMark] to a picture if a name in the picture has this mark.
func (m *marker) explain(p document.Picture) document.Picture {
	if m.used {
		p.Note = strings.TrimSpace(p.Note + " " + harmOnPicture)
		p.Marks = append(p.Marks, harmOnPicture)
	}
	return p
}

func variant(c *result.Case) string { return fmt.Sprint(c.Workload, c.Parameters, c.Settings) }

// ofCases returns the looks (colors and marks) of the cases of one picture. Each driver has a color.
// If a driver is in the picture more than once, its variants have different marks. In a run of one
// driver, each variant has a color.
func (l looks) ofCases(cases []*result.Case) []chart.Look {
	list := make([]chart.Look, len(cases))
	drivers, again := map[string]bool{}, false
	for i, c := range cases {
		list[i].Color = l.drivers[c.Driver]
		if len(l.drivers) == 1 {
			list[i].Color = l.variants[variant(c)]
			continue
		}
		again = again || drivers[c.Driver]
		drivers[c.Driver] = true
	}
	for i, c := range cases {
		if again {
			list[i].Mark = l.variants[variant(c)] + (list[i].Color-1)/chart.Colors*len(l.variants)
		}
	}
	return list
}

func (l looks) ofCells(cells []*stats.Cell) []chart.Look {
	cases := document.Map(cells, func(c *stats.Cell) *result.Case { return c.Case })
	return l.ofCases(cases)
}
