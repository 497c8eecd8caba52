package website

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"golang.org/x/mod/semver"

	"github.com/sqlite3perf/sqlite3perf/internal/conditions"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
	"github.com/sqlite3perf/sqlite3perf/internal/trends"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
)

// JSONRun has the facts about a run that a site keeps as JSON. The pages about several runs are
// made from these facts, so that an unchanged run is not read again.
type JSONRun struct {
	Schema   string         `json:"$schema"`
	Version  int            `json:"version"`
	Run      int64          `json:"run"`
	Tool     string         `json:"tool"` // version of sqlite3perf that measured the run
	Started  time.Time      `json:"started"`
	Command  string         `json:"command"`            // subcommand that made the run, such as compare; "" if it is not known
	Question string         `json:"question,omitempty"` // subcommand whose answer is stored with the run, such as gate
	Answer   string         `json:"answer"`             // the result in words
	Compares bool           `json:"compares,omitempty"` // whether the run was made to compare two sides
	Machine  result.Machine `json:"machine"`
	Floor    []JSONFloor    `json:"to_plain_c,omitempty"`
	Figures  []JSONFigure   `json:"figures"`
}

// FiguresVersion is the version of [JSONRun]. Adding fields does not change the version.
const FiguresVersion = 2

// figuresSchema is the address of the schema of [JSONRun].
const figuresSchema = "https://github.com/sqlite3perf/sqlite3perf/raw/main/docs/schemas/figures.schema.json"

// JSONFloor is the time of a driver over all cells, divided by the time of plain C.
type JSONFloor struct {
	Driver string        `json:"driver"`
	Cells  int           `json:"cells"`
	Ratio  stats.Summary `json:"ratio"`
}

// JSONFigure is the time of a driver in a cell.
type JSONFigure struct {
	trends.Subject
	Settings   driver.Settings  `json:"settings,omitempty"`
	Parameters map[string]int64 `json:"parameters,omitempty"`
	Case       int              `json:"case"`
	Unit       string           `json:"unit"`
	trends.Figure
	Rank      int            `json:"rank,omitempty"`            // place among the drivers of the cell; absent if the driver has no rank, like plain C
	Beaten    bool           `json:"beaten,omitempty"`          // another driver is clearly faster
	ToFastest *stats.Summary `json:"to_fastest,omitempty"`      // time divided by the time of the cell's fastest driver, round by round; absent if there is no clear difference
	Harmful   []string       `json:"harmful_defects,omitempty"` // ids of known defects that can lose, damage or falsify data in this workload
	Older     []JSONOlder    `json:"older_releases,omitempty"`
}

// JSONOlder compares a release with an older release in the same run.
type JSONOlder struct {
	Library     string        `json:"library"`
	Ratio       stats.Summary `json:"ratio"` // time of the newer release divided by the time of the older release, round by round
	Significant bool          `json:"significant"`
}

// source says which run the facts are from, when the run was measured, and on which machine.
func (f *JSONRun) source() string {
	m := f.Machine
	m.Hostname, m.CPU = short(m.Hostname), short(m.CPU)
	return conditions.PageSource(&result.Run{ID: f.Run, Started: f.Started, Machine: m, Version: short(f.Tool)})
}

func readFacts(data []byte) *JSONRun {
	var f JSONRun
	if json.Unmarshal(data, &f) != nil || f.Version != FiguresVersion {
		return nil
	}
	return &f
}

// factsOf returns the figures of a run. The parameter "answer" is the run's result in words.
func factsOf(a *stats.Analysis, answer string) *JSONRun {
	run := a.Run
	f := &JSONRun{Schema: figuresSchema, Version: FiguresVersion, Run: run.ID, Tool: run.Version, Started: run.Started.UTC(), Answer: answer,
		Compares: run.Compares != nil, Machine: run.Machine, Figures: []JSONFigure{}}
	f.Machine.Directory = "" // the directory does not help to understand figures, and may be private
	if len(run.Command) > 0 {
		f.Command = run.Command[0]
	}
	if a.Overall.IsFloor {
		for _, d := range a.Overall.Drivers {
			if d.Ratio.N > 0 {
				f.Floor = append(f.Floor, JSONFloor{d.Case.Driver, len(a.Overall.Tables), d.Ratio})
			}
		}
	}
	for _, t := range a.Tables() {
		harmful, best := conditions.HarmfulIn(a, t), slices.IndexFunc(t.Cells, func(c *stats.Cell) bool { return c.Rank > 0 && !c.Beaten })
		for i, c := range t.Cells {
			if c.Status == result.OK && c.Summary.N > 0 {
				one := trends.Of(run, t, c, c.Summary, conditions.TimeUnit(t, c), "")
				x := JSONFigure{Subject: one.Subject, Settings: one.Settings, Parameters: one.Parameters, Case: c.Case.ID, Unit: one.Unit, Figure: one.Points[0].Figure,
					Rank: c.Rank, Beaten: c.Beaten, Harmful: harmful.IDs(c.Case.Driver), Older: olderIn(t, i)}
				if best >= 0 && c.Rank > 0 && i != best && !slices.Contains(c.Tied, best) {
					r := t.Ratio(stats.Pair{First: i, Second: best})
					x.ToFastest = &r
				}
				f.Figures = append(f.Figures, x)
			}
		}
	}
	// If a run measured several releases of a driver, older releases come first.
	slices.SortStableFunc(f.Figures, func(a, b JSONFigure) int { return compareReleases(a.Library, b.Library) })
	return f
}

// trend returns a figure of a run as a series with one point. The parameter "name" is the driver's
// name in the series.
func (f *JSONRun) trend(x *JSONFigure, name string) trends.Trend {
	t := trends.Trend{Subject: x.Subject, Settings: x.Settings, Parameters: x.Parameters, Host: f.Machine.Hostname, Unit: x.Unit, Machine: f.Machine,
		Points: []trends.Point{{Run: f.Run, Started: f.Started, Case: x.Case, Figure: x.Figure, Tool: f.Tool, Harmful: x.Harmful}}}
	t.Driver = name
	return t
}

// olderIn compares row i of a table with the rows of older releases of the same driver, the oldest
// first.
func olderIn(t *stats.Table, i int) (list []JSONOlder) {
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
			list = append(list, JSONOlder{theirs.ModuleVersion, r, test.Significant()})
		}
	}
	slices.SortStableFunc(list, func(a, b JSONOlder) int { return compareReleases(a.Library, b.Library) })
	return list
}

// released reports whether a driver's name, such as mattn or mattn@v1.14.22, means a release of the
// driver.
func released(driver string) bool {
	base := result.BaseDriver(driver)
	version, at := strings.CutPrefix(driver, base+"@")
	return driver == base || at && semver.IsValid(version)
}

// compareReleases orders versions of a library. Versions that are not of Go modules come first.
func compareReleases(a, b string) int {
	return cmp.Or(semver.Compare(a, b), cmp.Compare(a, b))
}

func baseOf(f JSONFigure) string { return result.BaseDriver(f.Driver) }
