package report

import (
	"slices"

	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/recommend"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
)

// Choice names the driver to use for a need that the recommended driver does not meet.
type Choice struct {
	DatabaseSQL bool     `json:"database_sql"` // the driver is used through database/sql
	WithoutCgo  bool     `json:"without_cgo"`  // the driver needs no C compiler
	Place                // the chosen driver; its ratio is relative to the recommended driver, and absent if the two are tied
	Tied        []string `json:"tied,omitempty"` // other drivers that meet the need, if the facts do not decide between them and the chosen driver
}

// recommended returns which driver of a run to take. It returns nil if the run had only one driver,
// too few rounds, or only phases that are too short. It also returns nil for runs with another
// answer: comparisons of two sides, searches for settings, and studies.
func recommended(a *stats.Analysis, o Options) *recommend.Recommendation {
	if a.Run.Compares != nil || a.Run.Search != nil || o.Study != nil {
		return nil
	}
	r := recommend.Of(a, nil)
	if len(r.Facts.Pairs) == 0 || r.Verdict == recommend.Undecided && (r.Facts.TooShort || rounds(a) < stats.MinSamples) {
		return nil
	}
	return r
}

// choices returns, for each need that the recommended driver does not meet, the driver to use and
// its place in the ranking of all drivers. It returns nil if there is no such ranking or no driver
// to recommend.
func (s *Answers) choices(a *stats.Analysis) (list []Choice) {
	r := s.Overall
	if r == nil && len(s.Tables) == 1 && len(a.Factorials) == 0 {
		r = &s.Tables[0]
	}
	if r == nil || r.Best == nil || s.Recommended.Verdict == recommend.None {
		return nil
	}
	row := func(driver string) int {
		return slices.IndexFunc(r.Rows, func(row Row) bool { return row.driver == driver && row.Rank > 0 })
	}
	best := row(s.Recommended.Names()[0])
	for _, n := range s.Recommended.Needs {
		at := row(n.Names()[0])
		if at < 0 || best < 0 {
			continue
		}
		c := Choice{DatabaseSQL: n.DatabaseSQL, WithoutCgo: n.WithoutC, Place: *r.place(at, best), Tied: n.Names()[1:]}
		if r.tied(best, at) {
			c.To, c.Ratio = "", nil
		}
		list = append(list, c)
	}
	return list
}

// Alternatives lists the driver to use for each need that the recommended driver does not meet,
// such as to work without cgo, and the reason not to use the fastest driver.
func (s *Answers) Alternatives() document.List {
	if s.Recommended == nil {
		return nil
	}
	return s.Recommended.Alternatives()
}
