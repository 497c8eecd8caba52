package website

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"golang.org/x/mod/semver"

	"github.com/sqlite3perf/sqlite3perf/internal/conditions"
	"github.com/sqlite3perf/sqlite3perf/internal/report"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
	"github.com/sqlite3perf/sqlite3perf/internal/trends"
)

// facts are what pages about several runs need of a run. They are written beside the run's page, for
// readers who want figures, and so that the run need not be read again.
type facts struct {
	Version  int            `json:"version"`
	Run      int64          `json:"run"`
	Started  time.Time      `json:"started"`
	Answer   string         `json:"answer"`             // the result in words
	Compares bool           `json:"compares,omitempty"` // whether the run was made to compare two sides
	Machine  result.Machine `json:"machine"`
	Floor    []floorRatio   `json:"to_plain_c,omitempty"`
	Figures  []figure       `json:"figures"`
}

const factsVersion = 1

// floorRatio is the time of a driver over all cells, divided by that of plain C.
type floorRatio struct {
	Driver string        `json:"driver"`
	Cells  int           `json:"cells"`
	Ratio  stats.Summary `json:"ratio"`
}

// figure is the time of a driver in a cell.
type figure struct {
	trends.Trend
	Older []older `json:"older_releases,omitempty"`
}

// older compares a release with an older one in the same run.
type older struct {
	Library     string        `json:"library"`
	Ratio       stats.Summary `json:"ratio"` // time of the newer one divided by that of the older one, round by round
	Significant bool          `json:"significant"`
}

func readFacts(data []byte) *facts {
	var f facts
	if json.Unmarshal(data, &f) != nil || f.Version != factsVersion {
		return nil
	}
	for i := range f.Figures {
		if len(f.Figures[i].Points) != 1 {
			return nil
		}
		f.Figures[i].Machine = f.Machine
	}
	return &f
}

func factsOf(a *stats.Analysis, o report.Options) *facts {
	run := a.Run
	f := &facts{Version: factsVersion, Run: run.ID, Started: run.Started.UTC(), Answer: report.AnswersOf(a, o).Text,
		Compares: run.Compares != nil, Machine: run.Machine, Figures: []figure{}}
	f.Machine.Directory = "" // says nothing about figures, and may be private
	if a.Overall.IsFloor {
		for _, d := range a.Overall.Drivers {
			if d.Ratio.N > 0 {
				f.Floor = append(f.Floor, floorRatio{d.Case.Driver, len(a.Overall.Tables), d.Ratio})
			}
		}
	}
	for _, t := range a.Tables() {
		harmful := conditions.HarmfulIn(a, t)
		for i, c := range t.Cells {
			if c.Status != result.OK || c.Summary.N == 0 {
				continue
			}
			x := trends.Of(run, t, c, c.Summary, trends.TimeUnit(t, c), "")
			x.Points[0].Harmful = harmful.IDs(c.Case.Driver)
			x.Machine = f.Machine
			f.Figures = append(f.Figures, figure{*x, olderIn(t, i)})
		}
	}
	// Of several releases in a run, the oldest comes first.
	slices.SortStableFunc(f.Figures, func(a, b figure) int { return compareReleases(a.Points[0].Library, b.Points[0].Library) })
	return f
}

// olderIn compares a cell with the cells of older releases of its driver.
func olderIn(t *stats.Table, i int) (list []older) {
	c := t.Cells[i]
	for j, x := range t.Cells {
		if !released(c.Case.Driver) || !released(x.Case.Driver) || result.BaseDriver(c.Case.Driver) != result.BaseDriver(x.Case.Driver) || x.Status != result.OK {
			continue
		}
		mine, theirs := c.Proof(), x.Proof()
		if mine == nil || theirs == nil || compareReleases(theirs.ModuleVersion, mine.ModuleVersion) >= 0 {
			continue
		}
		r := t.Ratio(stats.Pair{First: i, Second: j})
		if test, ok := t.Against(i, j); ok && r.N > 0 {
			list = append(list, older{theirs.ModuleVersion, r, test.Significant()})
		}
	}
	return list
}

// released reports whether a name means a release of a driver: mattn or mattn@v1.14.22.
func released(driver string) bool {
	base := result.BaseDriver(driver)
	version, at := strings.CutPrefix(driver, base+"@")
	return driver == base || at && semver.IsValid(version)
}

// compareReleases orders versions of a library. Versions that are not of Go modules come first.
func compareReleases(a, b string) int {
	return cmp.Or(semver.Compare(a, b), cmp.Compare(a, b))
}

func baseOf(f figure) string { return result.BaseDriver(f.Driver) }
