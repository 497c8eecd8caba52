package explorer

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"time"

	"github.com/sqlite3perf/sqlite3perf/internal/conditions"
	"github.com/sqlite3perf/sqlite3perf/internal/report"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
	"github.com/sqlite3perf/sqlite3perf/internal/store"
	"github.com/sqlite3perf/sqlite3perf/internal/trends"
)

// Trends is the answer to /api/v1/trends: a metric over the runs of the store.
type Trends struct {
	Metric    metric         `json:"metric"`
	Metrics   []metric       `json:"metrics"`   // metrics that trends can show
	Workloads []string       `json:"workloads"` // workloads of the store
	Drivers   []string       `json:"drivers"`
	Runs      int            `json:"runs"`              // number of runs that the trends cover, including Pending
	Older     int            `json:"older,omitempty"`   // number of older runs that the trends leave out, because there are too many
	Pending   int            `json:"pending,omitempty"` // number of runs still to be read, which takes too long for one request: ask again
	Damaged   int            `json:"damaged,omitempty"`
	Start     *Start         `json:"start,omitempty"` // suggested workload and driver, if the request names none
	Series    []trends.Trend `json:"series"`          // the series with the newest run comes first
	More      int            `json:"more,omitempty"`  // number of series that are left out
}

// Start is a workload and a driver that have a trend.
type Start struct {
	Workload string `json:"workload"`
	Driver   string `json:"driver"`
}

// startOf returns the workload and driver that were measured most often in the same way: on the same
// machine, with the same text of the workload and at the same scale. If several pairs of them were
// measured equally often, it returns the workload and driver of the newest run. It returns nil if no
// run has ended.
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
		return t, nil // without series; the answer only says what the user can choose
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
	var figures [][]trends.Trend // figures of each run, the newest run first
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
	var kept []trends.Trend // the oldest run first
	for _, found := range slices.Backward(figures) {
		for _, f := range found {
			if matches(phases, f.Phase) {
				kept = append(kept, f)
			}
		}
	}
	t.Series, t.More = trends.Series(kept, maxTrends)
	return t, nil
}

func (s *shelf) figuresOf(ctx context.Context, e *store.Entry, drivers []string, workload string, m metric) ([]trends.Trend, error) {
	var all []trends.Trend
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
func (s *shelf) figures(ctx context.Context, id int64, driverName, workload string, m metric) ([]trends.Trend, error) {
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
	var list []trends.Trend
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

func figureOf(run *result.Run, t *stats.Table, c *stats.Cell, m metric, confidence float64) *trends.Trend {
	if c.Status != result.OK {
		return nil
	}
	sum, unit := figure(t, c, m, confidence)
	if sum.N == 0 {
		return nil
	}
	of := ""
	if m.Name == tailLatency {
		of = report.KindOfP99([]*stats.Cell{c})
	}
	return trends.Of(run, t, c, sum, unit, of)
}
