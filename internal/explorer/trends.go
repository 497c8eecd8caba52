package explorer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/sqlite3perf/sqlite3perf/internal/conditions"
	"github.com/sqlite3perf/sqlite3perf/internal/report"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
	"github.com/sqlite3perf/sqlite3perf/internal/store"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
)

// Trends is the answer to /api/v1/trends: a metric over the runs of the store.
type Trends struct {
	Metric    metric   `json:"metric"`
	Metrics   []metric `json:"metrics"`   // metrics that trends can show
	Workloads []string `json:"workloads"` // workloads of the store
	Drivers   []string `json:"drivers"`
	Runs      int      `json:"runs"`              // number of runs that the trends cover, including Pending
	Older     int      `json:"older,omitempty"`   // number of older runs that the trends leave out, because there are too many
	Pending   int      `json:"pending,omitempty"` // number of runs still to be read, which takes too long for one request: ask again
	Damaged   int      `json:"damaged,omitempty"`
	Start     *Start   `json:"start,omitempty"` // suggested workload and driver, if the request names none
	Series    []Trend  `json:"series"`          // series, the one with the newest run first
	More      int      `json:"more,omitempty"`  // number of series that are left out
}

// Start is a workload and a driver that have a trend.
type Start struct {
	Workload string `json:"workload"`
	Driver   string `json:"driver"`
}

// startOf returns the workload and driver that were measured most often in the same way: on the
// same machine, with the same text of the workload and scale. If several were measured equally
// often, it returns those of the newest run. It returns nil if no run has ended.
func startOf(entries []store.Entry) *Start {
	type key struct{ workload, driver, hash, scale, host string }
	count := map[key]int{}
	each := func(f func(key)) { // calls f for each workload and driver of each run, the newest run first
		for _, e := range slices.Backward(entries) {
			if e.Stopped == "" || e.Damaged != "" || !e.Sampled() {
				continue
			}
			for _, w := range e.Workloads {
				for _, d := range e.Drivers {
					f(key{w, d, e.Hashes[w], e.Scale, e.Host})
				}
			}
		}
	}
	each(func(k key) { count[k]++ })
	var most key
	each(func(k key) {
		if count[k] > count[most] {
			most = k
		}
	})
	if most == (key{}) {
		return nil
	}
	return &Start{most.workload, most.driver}
}

// Trend is a figure that was measured in the same way in several runs: on the same
// machine, with the same text of the workload, scale, parameters and settings.
type Trend struct {
	Workload   string           `json:"workload"`
	SHA256     string           `json:"sha256,omitempty"` // hash of the workload's text
	Phase      string           `json:"phase"`
	Driver     string           `json:"driver"`
	Scale      string           `json:"scale"`
	Settings   driver.Settings  `json:"settings"`
	Parameters map[string]int64 `json:"parameters,omitempty"`
	Host       string           `json:"host"`
	Unit       string           `json:"unit"`
	Of         string           `json:"of,omitempty"` // only for the metric p99: the kind of operations, as in [Table.Of]
	Points     []Point          `json:"points"`       // points, the oldest first
	Changes    []Shift          `json:"changes"`      // changes of the series' level
	Marks      []Mark           `json:"marks"`        // points where something else changed, such as the driver's version

	key     string
	machine result.Machine
}

// Point is the figure of one run in a series.
type Point struct {
	Run     int64     `json:"run"`
	Started time.Time `json:"started"`
	Case    int       `json:"case"`
	N       int       `json:"n"`
	Median  float64   `json:"median"`
	Low     *float64  `json:"low,omitempty"` // low end of the interval; absent if there are too few samples
	High    *float64  `json:"high,omitempty"`
	Library string    `json:"library,omitempty"` // version of the driver's library that the worker reported
	SQLite  string    `json:"sqlite,omitempty"`
	Go      string    `json:"go,omitempty"`
	Tool    string    `json:"tool,omitempty"` // version of sqlite3perf

	// Harmful has the ids of the known defects that can lose, damage or falsify data in this workload.
	Harmful []string `json:"harmful_defects,omitempty"`
}

// Shift is a change of the level of a series.
type Shift struct {
	At    int     `json:"at"`  // index of the first point of the new level
	Run   int64   `json:"run"` // run of that point
	Ratio float64 `json:"ratio,omitempty"`
	P     float64 `json:"p"`
}

// Mark says that before a point something changed that may explain a shift.
type Mark struct {
	At    int    `json:"at"`
	Run   int64  `json:"run"`
	Words string `json:"words"`
}

const (
	usualRuns = 50 // default number of runs in a trend, because reading runs takes time
	maxRuns   = 200
	maxTrends = 60
	maxPoints = 50_000 // points that the shelf keeps
)

func (s *Server) trends(r *http.Request, q *query) (*Trends, error) {
	m := q.metric()
	workload, drivers, phases := q.text("workload"), q.list("driver"), q.list("phase")
	most := int(q.number("runs", usualRuns, 1, maxRuns))
	if len(drivers) > maxFactors {
		q.fail("driver: is given %d times: at most %d", len(drivers), maxFactors)
	}
	if err := q.end(); err != nil {
		return nil, err
	}
	entries, err := s.shelf.list(r.Context())
	if err != nil {
		return nil, err
	}
	t := &Trends{Metric: m, Metrics: metrics,
		Drivers:   distinct(entries, func(e *store.Entry) []string { return e.Drivers }),
		Workloads: distinct(entries, func(e *store.Entry) []string { return e.Workloads })}
	if workload == "" || len(drivers) == 0 {
		t.Start = startOf(entries)
		return t, nil // without series, only the choices
	}
	var of []*store.Entry
	for i := range entries {
		e := &entries[i]
		measured := slices.ContainsFunc(drivers, func(d string) bool { return has(e.Drivers, []string{d}) })
		if measured && has(e.Workloads, []string{workload}) && e.Stopped != "" && e.Damaged == "" && e.Sampled() {
			of = append(of, e)
		}
	}
	t.Older = max(0, len(of)-most)
	of = of[t.Older:]
	t.Runs = len(of)
	byKey := map[string][]*Trend{}
	var figures [][]Trend // figures of each run, the newest run first
	for end := time.Now().Add(s.reading); len(figures) < len(of); {
		e := of[len(of)-1-len(figures)]
		found, err := s.shelf.figuresOf(r.Context(), e, drivers, workload, m)
		switch {
		case errors.Is(err, store.ErrDamaged):
			t.Damaged++
		case err != nil:
			return nil, err
		}
		if figures = append(figures, found); time.Now().After(end) {
			t.Pending = len(of) - len(figures)
			break
		}
	}
	for _, found := range slices.Backward(figures) {
		for i := range found {
			if f := &found[i]; matches(phases, f.Phase) {
				join(byKey, f)
			}
		}
	}
	for _, list := range byKey {
		for _, x := range list {
			t.Series = append(t.Series, *x)
		}
	}
	newest := func(x *Trend) int64 { return x.Points[len(x.Points)-1].Run }
	slices.SortFunc(t.Series, func(a, b Trend) int {
		return cmp.Or(cmp.Compare(newest(&b), newest(&a)), cmp.Compare(a.key, b.key), cmp.Compare(a.Points[0].Run, b.Points[0].Run))
	})
	t.More = max(0, len(t.Series)-maxTrends)
	t.Series = t.Series[:len(t.Series)-t.More]
	judged := 0
	for _, x := range t.Series {
		if len(x.Points) >= stats.MinChanges {
			judged++
		}
	}
	for i := range t.Series {
		t.Series[i].judge(judged)
	}
	return t, nil
}

// join adds a run's figure to the series of the same key and machine, or begins a new series.
func join(byKey map[string][]*Trend, f *Trend) {
	for _, x := range byKey[f.key] {
		if len(conditions.MachinesDiffer(x.machine, f.machine)) == 0 {
			x.Points = append(x.Points, f.Points[0])
			return
		}
	}
	own := *f
	own.Points = slices.Clone(f.Points)
	byKey[f.key] = append(byKey[f.key], &own)
}

// judge finds changes of the level of a series, and marks changed versions. series is the number of
// series that the answer judges.
func (t *Trend) judge(series int) {
	values := make([]float64, len(t.Points))
	logs := make([]float64, len(t.Points))
	positive := true
	for i, p := range t.Points {
		values[i], logs[i] = p.Median, math.Log(p.Median)
		positive = positive && p.Median > 0
	}
	level := logs
	if !positive { // figures that can be 0, such as the share of failed operations
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

func (s *shelf) figuresOf(ctx context.Context, e *store.Entry, drivers []string, workload string, m metric) ([]Trend, error) {
	var all []Trend
	for _, d := range drivers {
		if !has(e.Drivers, []string{d}) {
			continue
		}
		found, err := s.figures(ctx, e.ID, d, workload, m)
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	return all, nil
}

const readingTime = time.Second

type figureKey struct {
	run                      int64
	driver, workload, metric string
}

// figures returns the figures of a driver and a workload in an ended run. Each figure is a series
// with one point.
func (s *shelf) figures(ctx context.Context, id int64, driverName, workload string, m metric) ([]Trend, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := figureKey{id, driverName, workload, m.Name}
	if list, ok := s.points[key]; ok {
		return list, nil
	}
	st, err := s.open(ctx)
	if err != nil {
		return nil, err
	}
	run, err := st.LoadCases(ctx, id, func(c *result.Case) bool { return clip(c.Driver) == driverName && clip(c.Workload) == workload })
	if err != nil {
		return nil, err
	}
	var list []Trend
	a := stats.Preview(run, s.floor)
	for _, t := range a.Tables() {
		harmful := conditions.HarmfulIn(a, t)
		for _, c := range t.Cells {
			if f := figureOf(run, t, c, m, a.Confidence); f != nil {
				f.Points[0].Harmful = harmful.IDs(c.Case.Driver)
				list = append(list, *f)
			}
		}
	}
	if s.kept += len(list); s.kept > maxPoints {
		clear(s.points)
		s.kept = len(list)
	}
	s.points[key] = list
	return list, nil
}

func figureOf(run *result.Run, t *stats.Table, c *stats.Cell, m metric, confidence float64) *Trend {
	if c.Status != result.OK {
		return nil
	}
	sum := c.Summary
	_, unit := m.of(c.Samples[0].Sample)
	if m.Name != judgedBy {
		sum = summary(c, m, confidence)
	} else if t.PerOp {
		unit = "s/op"
	}
	if sum.N == 0 {
		return nil
	}
	p := Point{Run: run.ID, Started: run.Started, Case: c.Case.ID, N: sum.N, Median: sum.Median, Tool: run.Version}
	if i := sum.Interval; i != nil {
		p.Low, p.High = &i.Low, &i.High
	}
	if proof := c.Proof(); proof != nil {
		p.Library, p.SQLite, p.Go = proof.ModuleVersion, proof.SQLiteVersion, proof.Runtime
	}
	settings, of := c.Case.SettingsIn(t.Phase), ""
	if m.Name == tailLatency {
		of = report.KindOfP99([]*stats.Cell{c})
	}
	return &Trend{Workload: c.Case.Workload, SHA256: c.Case.WorkloadSHA256, Phase: t.Phase, Driver: c.Case.Driver,
		Scale: c.Case.Scale, Settings: settings, Parameters: c.Case.Parameters, Host: run.Machine.Hostname, Unit: unit, Of: of, Points: []Point{p}, machine: run.Machine,
		key: fmt.Sprintf("%q %q %q %q %v %q %q %s", c.Case.Workload, t.Phase, c.Case.WorkloadSHA256, c.Case.Scale, c.Case.Parameters, settings, c.Case.Driver, unit)}
}
