// Package trends follows figures over the runs of a store, on the same machine and measured in the
// same way. It finds the points where the level of a figure has changed.
package trends

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/sqlite3perf/sqlite3perf/internal/conditions"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
)

// Trend is a figure that was measured in the same way in several runs: on the same
// machine, with the same text of the workload, scale, parameters and settings.
type Trend struct {
	Subject
	Settings   driver.Settings  `json:"settings"`
	Parameters map[string]int64 `json:"parameters,omitempty"`
	Host       string           `json:"host"`
	Unit       string           `json:"unit"`
	Of         string           `json:"of,omitempty"` // only for the metric p99: the kind of operations, such as "read"
	Points     []Point          `json:"points"`       // points, the oldest first
	Changes    []Shift          `json:"changes"`      // changes of the series' level
	Marks      []Mark           `json:"marks"`        // points where something else changed, such as the driver's version

	Machine result.Machine `json:"-"`
}

// Subject says what a figure measures: a driver in a phase of a workload.
type Subject struct {
	Workload string `json:"workload"`
	SHA256   string `json:"sha256,omitempty"` // hash of the workload's text
	Phase    string `json:"phase"`
	Driver   string `json:"driver"`
	Scale    string `json:"scale"`
}

// Point is the figure of one run in a series.
type Point struct {
	Run     int64     `json:"run"`
	Started time.Time `json:"started"`
	Case    int       `json:"case"`
	Figure
	Tool string `json:"tool,omitempty"` // version of sqlite3perf

	// Harmful has the ids of the known defects that can lose, damage or falsify data in this workload.
	Harmful []string `json:"harmful_defects,omitempty"`
}

// Figure is a median over samples, and the versions that were measured.
type Figure struct {
	N       int      `json:"n"`
	Median  float64  `json:"median"`
	Low     *float64 `json:"low,omitempty"` // low end of the interval; absent if there are too few samples
	High    *float64 `json:"high,omitempty"`
	Library string   `json:"library,omitempty"` // version of the driver's library that the worker reported
	SQLite  string   `json:"sqlite,omitempty"`
	Go      string   `json:"go,omitempty"`
}

// Shift is a change of the level of a series.
type Shift struct {
	At    int     `json:"at"`  // index of the first point of the new level
	Run   int64   `json:"run"` // ID of the run of the point with the index At
	Ratio float64 `json:"ratio,omitempty"`
	P     float64 `json:"p"`
}

// Mark says what changed just before a point, such as a version. The change may explain a shift.
type Mark struct {
	At    int    `json:"at"`
	Run   int64  `json:"run"`
	Words string `json:"words"`
}

// Of returns the figure of a cell (a driver in a timed phase) as a series with one point. The parameter
// "sum" is the summary of the figures of the cell's samples.
func Of(run *result.Run, t *stats.Table, c *stats.Cell, sum stats.Summary, unit, of string) *Trend {
	p := Point{Run: run.ID, Started: run.Started, Case: c.Case.ID, Figure: Figure{N: sum.N, Median: sum.Median}, Tool: run.Version}
	if i := sum.Interval; i != nil {
		p.Low, p.High = &i.Low, &i.High
	}
	if proof := c.Proof(); proof != nil {
		p.Library, p.SQLite, p.Go = proof.ModuleVersion, proof.SQLiteVersion, proof.Runtime
	}
	return &Trend{Subject: Subject{c.Case.Workload, c.Case.WorkloadSHA256, t.Phase, c.Case.Driver, c.Case.Scale},
		Settings: c.Case.SettingsIn(t.Phase), Parameters: c.Case.Parameters, Host: run.Machine.Hostname, Unit: unit, Of: of,
		Points: []Point{p}, Machine: run.Machine}
}

// key returns a string that is the same for all figures that were measured in the same way.
func (t *Trend) key() string {
	return fmt.Sprintf("%q %q %q %q %v %q %q %s", t.Workload, t.Phase, t.SHA256, t.Scale, t.Parameters, t.Settings, t.Driver, t.Unit)
}

// Series joins the figures that were measured in the same way on the same machine to one series. The figures
// must be sorted, the oldest first. If there are more series than the parameter "most", Series returns only
// the series with the newest runs. The result "more" is the number of series that it leaves out.
func Series(figures []Trend, most int) (list []Trend, more int) {
	byKey := map[string][]*Trend{}
	for i := range figures {
		join(byKey, &figures[i])
	}
	for _, series := range byKey {
		for _, x := range series {
			list = append(list, *x)
		}
	}
	newest := func(x *Trend) int64 { return x.Points[len(x.Points)-1].Run }
	slices.SortFunc(list, func(a, b Trend) int {
		return cmp.Or(cmp.Compare(newest(&b), newest(&a)), cmp.Compare(a.key(), b.key()), cmp.Compare(a.Points[0].Run, b.Points[0].Run))
	})
	more = max(0, len(list)-most)
	list = list[:len(list)-more]
	judged := 0
	for _, x := range list {
		if len(x.Points) >= stats.MinChanges {
			judged++
		}
	}
	for i := range list {
		list[i].judge(judged)
	}
	return list, more
}

// join adds a run's figure to the series of the same key and machine, or begins a new series.
func join(byKey map[string][]*Trend, f *Trend) {
	key := f.key()
	for _, x := range byKey[key] {
		if len(conditions.MachinesDiffer(x.Machine, f.Machine)) == 0 {
			x.Points = append(x.Points, f.Points[0])
			return
		}
	}
	own := *f
	own.Points = slices.Clone(f.Points)
	byKey[key] = append(byKey[key], &own)
}

// judge finds the points at which the level of a series changed. It also marks the points at which
// a version changed, such as the version of SQLite. The parameter "series" is the number of series that
// are judged together. The p-values are corrected for this number.
func (t *Trend) judge(series int) {
	values := make([]float64, len(t.Points))
	logs := make([]float64, len(t.Points))
	positive := true
	for i, p := range t.Points {
		values[i], logs[i] = p.Median, math.Log(p.Median)
		positive = positive && p.Median > 0
	}
	level := logs
	if !positive { // some figures, such as the share of failed operations, can be 0, which has no logarithm
		level = values
	}
	found := stats.Changes(level, series)
	for i, c := range found {
		from, to := 0, len(values)
		if i > 0 {
			from = found[i-1].At
		}
		if i+1 < len(found) {
			to = found[i+1].At
		}
		shift := Shift{At: c.At, Run: t.Points[c.At].Run, P: c.P}
		if before := stats.Summarize(values[from:c.At]).Median; before > 0 {
			shift.Ratio = stats.Summarize(values[c.At:to]).Median / before
		}
		t.Changes = append(t.Changes, shift)
	}
	for i := 1; i < len(t.Points); i++ {
		a, b := t.Points[i-1], t.Points[i]
		var words []string
		for _, x := range []struct{ what, from, to string }{{t.Driver, a.Library, b.Library}, {"SQLite", a.SQLite, b.SQLite}, {"Go", a.Go, b.Go}, {"sqlite3perf", a.Tool, b.Tool}} {
			if x.from != x.to {
				words = append(words, fmt.Sprintf("%s %s, before %s", x.what, cmp.Or(x.to, "unknown"), cmp.Or(x.from, "unknown")))
			}
		}
		if words != nil {
			t.Marks = append(t.Marks, Mark{i, b.Run, strings.Join(words, "; ")})
		}
	}
}
