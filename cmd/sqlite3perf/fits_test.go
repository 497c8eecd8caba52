package main

import (
	"context"
	"testing"
	"time"

	"github.com/sqlite3perf/sqlite3perf/internal/lab"
	"github.com/sqlite3perf/sqlite3perf/internal/lab/build"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/worker/plan"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// mixCase is a case with one mix that lasts 300 ms.
func mixCase(workload, driver string) *lab.Case {
	c := &lab.Case{Ref: build.Ref{Name: driver}, Plan: &plan.Plan{Phases: []plan.Phase{{Name: "mix", Mix: &plan.Mix{DurationMS: 300}}}}}
	c.Workload, c.Driver = workload, driver
	return c
}

// TestForecast checks the time of a round that is estimated from trials of some cases. The first
// trial of a case loads the database, which later ones don't.
func TestForecast(t *testing.T) {
	const load = 5 * time.Second
	later := map[string]time.Duration{"locks mattn": 400 * time.Millisecond, "locks modernc": 700 * time.Millisecond, "nested mattn": 600 * time.Millisecond}
	for name, c := range map[string]struct {
		all    bool
		budget time.Duration
		cases  []*lab.Case
		hangs  int // the first cases of nested wait for themselves, and fail after 6 s
		trials int
		round  time.Duration
		once   time.Duration
	}{
		"only what phases say":     {false, time.Hour, []*lab.Case{mixCase("locks", "mattn"), mixCase("locks", "mattn")}, 0, 0, 600 * time.Millisecond, 0},
		"a trial takes longer":     {true, time.Hour, []*lab.Case{mixCase("locks", "mattn"), mixCase("locks", "mattn")}, 0, 2, 800 * time.Millisecond, 0},
		"each driver":              {true, time.Hour, []*lab.Case{mixCase("locks", "mattn"), mixCase("locks", "modernc")}, 0, 4, 1100 * time.Millisecond, 0},
		"no time for each driver":  {true, time.Millisecond, []*lab.Case{mixCase("locks", "mattn"), mixCase("locks", "modernc")}, 0, 2, 800 * time.Millisecond, 0},
		"each workload in any way": {true, time.Millisecond, []*lab.Case{mixCase("locks", "mattn"), mixCase("nested", "mattn")}, 0, 4, time.Second, 0},
		"what fails runs once":     {true, time.Millisecond, []*lab.Case{mixCase("locks", "mattn"), mixCase("nested", "mattn"), mixCase("nested", "mattn")}, 1, 3, 800 * time.Millisecond, 6 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			now := time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
			loaded, trials, hangs := map[string]bool{}, 0, c.hangs
			f := forecast{All: c.all, Budget: c.budget, Now: func() time.Time { return now }, Begins: func(*lab.Case, int, int) {}}
			f.Try = func(_ context.Context, x *lab.Case) (*result.Trial, error) {
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
				t.Errorf("a round takes %v, and once %v, by %d trials; want %v, %v and %d", f.Round, f.Once, trials, c.round, c.once, c.trials)
			}
		})
	}
}

// TestRefusal checks that the error about too little time names a time that is enough.
func TestRefusal(t *testing.T) {
	l := limited{what: "locks of 2 drivers and 29 choices", takes: "takes", fewer: "fewer drivers", more: " or --rounds 6", limit: 30 * time.Second, least: 212 * time.Second}
	const want = "--time 30s: locks of 2 drivers and 29 choices takes at least 3m32s: name fewer drivers, or give --time 4m or --rounds 6"
	if got := l.refusal().Error(); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	for least, want := range map[time.Duration]string{
		time.Millisecond: "1s", 6 * time.Second: "7s", 36 * time.Second: "40s", 100 * time.Second: "1m50s", 9 * time.Minute: "10m", 70 * time.Minute: "1h17m",
	} {
		if got := enough(least); got != want {
			t.Errorf("%v: %s, want %s", least, got, want)
		}
		if d, err := time.ParseDuration(want); err != nil || d < least+least/10 {
			t.Errorf("%v is not enough for %v (%v)", d, least, err)
		}
	}
}
