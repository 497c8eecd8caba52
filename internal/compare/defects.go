package compare

import (
	"fmt"
	"slices"

	"github.com/sqlite3perf/sqlite3perf/internal/conditions"
	"github.com/sqlite3perf/sqlite3perf/internal/defects"
	"github.com/sqlite3perf/sqlite3perf/internal/distinct"
	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
)

// Explanation is a known defect that may explain why a driver needs more time, memory or syncs than the
// other side.
type Explanation struct {
	Defect  string   `json:"defect"` // ID of the defect in docs/defects.md
	Title   string   `json:"title"`
	Needs   string   `json:"needs"`   // conditions under which the defect does harm
	Driver  string   `json:"driver"`  // driver that has the defect and needs more
	Metrics []string `json:"metrics"` // what the driver needs more of, such as time
	Cells   []string `json:"cells"`   // names of the cells in which the driver needs more
}

// Explained lists known performance defects that may explain why one side needs more than the
// other. Only the driver of the side that needs more has the defect. In the map "worse", a cell has
// a positive number if the second side needs more, and a negative number if the first side does.
// The parameters "first" and "second" are the analyses of the two sides' runs.
func Explained(first, second *stats.Analysis, cells []*stats.Compared, worse map[*stats.Compared]int) (list []Explanation) {
	for _, x := range cells {
		with, a, without, b := x.Second, second, x.First, first
		switch {
		case worse[x] == 0:
			continue
		case worse[x] < 0:
			with, a, without, b = without, b, with, a
		}
		others, _ := conditions.KnownDefects(b, without.Outcome)
		for _, d := range conditions.SlowDefects(a, with.Outcome) {
			if slices.ContainsFunc(others, func(o defects.Defect) bool { return o.ID == d.ID }) {
				continue
			}
			driver := conditions.Label(with.Case)
			e := distinct.Find(&list, Explanation{Defect: d.ID, Title: d.Title, Needs: conditions.DefectNeeds(d.Needs), Driver: driver},
				func(e Explanation) bool { return e.Defect == d.ID && e.Driver == driver })
			e.Metrics = distinct.Append(e.Metrics, string(x.Metric))
			e.Cells = distinct.Append(e.Cells, x.String())
		}
	}
	return list
}

// Brief names the defect in a few words.
func (e Explanation) Brief() string { return fmt.Sprintf("known defect: %s may explain it", e.Defect) }

// Explanations describes known defects in a list.
func Explanations(explained []Explanation) (l document.List) {
	for _, e := range explained {
		l = append(l, document.Item{Label: "known defect", Alarm: true, Text: fmt.Sprintf("%s may explain why %s needs more %s in %s: %s. It needs %s",
			e.Defect, e.Driver, document.And(e.Metrics), document.SomeOf(e.Cells, MostNamed), e.Title, e.Needs)})
	}
	return l
}

// explained lists the known defects that may explain the differences of a comparison.
func (c Compared) explained() []Explanation {
	cells, worse := slices.Clone(c.Cells), map[*stats.Compared]int{}
	for _, x := range cells {
		switch kindOf(x) {
		case slower, slowerMean, likelySlower:
			worse[x] = 1
		case faster, fasterMean, likelyFaster:
			worse[x] = -1
		}
	}
	for _, x := range counted(c.Comparison) {
		switch inEachRound(x) {
		case moreInEach:
			worse[x] = 1
		case fewerInEach:
			worse[x] = -1
		}
		cells = append(cells, x)
	}
	return Explained(c.First, c.Second, cells, worse)
}
