package lab

import (
	"context"
	"testing"
	"time"

	"github.com/sqlite3perf/sqlite3perf/internal/lab/build"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/worker/plan"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// mixCase returns a case with one mix that lasts 300 ms.
func mixCase(workload, driver string) *Case {
	c := &Case{Ref: build.Ref{Name: driver}, Plan: &plan.Plan{Phases: []plan.Phase{{Name: "mix", Mix: &plan.Mix{DurationMS: 300}}}}}
	c.Workload, c.Driver = workload, driver
	return c
}

// TestForecast checks the estimated time of a round, which is computed from trials of some of the cases. The
// first trial of a case takes longer than later trials, because it also loads the database.
func TestForecast(t *testing.T) {
	const load = 5 * time.Second
	later := map[string]time.Duration{"locks mattn": 400 * time.Millisecond, "locks modernc": 700 * time.Millisecond, "nested mattn": 600 * time.Millisecond}
	for name, c := range map[string]struct {
		all    bool
		budget time.Duration
		cases  []*Case
		hangs  int // number of cases of the workload "nested" that deadlock, and then fail after 6 s
		trials int
		round  time.Duration
		once   time.Duration
	}{
		"only what phases say":     {false, time.Hour, []*Case{mixCase("locks", "mattn"), mixCase("locks", "mattn")}, 0, 0, 600 * time.Millisecond, 0},
		"a trial takes longer":     {true, time.Hour, []*Case{mixCase("locks", "mattn"), mixCase("locks", "mattn")}, 0, 2, 800 * time.Millisecond, 0},
		"each driver":              {true, time.Hour, []*Case{mixCase("locks", "mattn"), mixCase("locks", "modernc")}, 0, 4, 1100 * time.Millisecond, 0},
		"no time for each driver":  {true, time.Millisecond, []*Case{mixCase("locks", "mattn"), mixCase("locks", "modernc")}, 0, 2, 800 * time.Millisecond, 0},
		"each workload in any way": {true, time.Millisecond, []*Case{mixCase("locks", "mattn"), mixCase("nested", "mattn")}, 0, 4, time.Second, 0},
		"what fails runs once":     {true, time.Millisecond, []*Case{mixCase("locks", "mattn"), mixCase("nested", "mattn"), mixCase("nested", "mattn")}, 1, 3, 800 * time.Millisecond, 6 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			now := time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
			loaded, trials, hangs := map[string]bool{}, 0, c.hangs
			f := Forecast{All: c.all, Budget: c.budget, Now: func() time.Time { return now }, Begins: func(*Case, int, int) {}}
			f.Try = func(_ context.Context, x *Case) (*result.Trial, error) {
				trials++
				key := x.Workload + " " + x.Driver
				out := &result.Trial{Status: result.OK, TookNS: int64(later[key])}
				switch {
				case x.Workload == "nested" && hangs > 0:
					hangs--
					out.Status, out.TookNS, out.Reason = result.Failed, int64(6*time.Second), &protocol.Reason{}
				case !loaded[key]:
					loaded[key] = true
					out.TookNS += int64(load)
				}
				now = now.Add(time.Duration(out.TookNS))
				return out, nil
			}
			if err := f.Of(t.Context(), c.cases); err != nil {
				t.Fatal(err)
			}
			if f.Round != c.round || f.Once != c.once || trials != c.trials {
				t.Errorf("Round is %v and Once is %v after %d trials; want %v and %v after %d", f.Round, f.Once, trials, c.round, c.once, c.trials)
			}
		})
	}
}
