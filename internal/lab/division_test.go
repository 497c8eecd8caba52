package lab

import (
	"testing"
	"time"

	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/worker/plan"
)

// TestByRowsForEver checks that a query which is divided by rows in its first round stays so, even if later
// trials would allow more executions. Otherwise the rounds would differ in what is in the caches. A query that
// is not divided by rows must be executed an even number of times, because a turn has two executions.
func TestByRowsForEver(t *testing.T) {
	t.Parallel()
	c := &Case{Case: result.Case{ID: 1, Workload: "rows"}}
	c.Plan = &plan.Plan{Phases: []plan.Phase{{Name: "all", Query: &plan.Query{Call: plan.Call{SQL: "SELECT 1"}, Repeat: 1}}}}
	trial := func(outside time.Duration) *result.Trial {
		const wall = 10 * time.Millisecond
		return &result.Trial{TookNS: int64(wall + outside), Samples: []result.Sample{{
			Phase: "all", WallNS: int64(wall), FirstRowNS: int64(time.Millisecond), Operations: 1, Rows: 1000,
		}}}
	}
	for _, first := range []struct {
		outside time.Duration // of the first trial, which determines how often a query may be executed
		byRows  bool
	}{{10 * time.Millisecond, true}, {time.Second, false}} {
		p := &Processes{paces: map[string]*pace{}, needs: map[*Case]need{}}
		p.learn(c, trial(first.outside))
		if got := p.divide(c).slices["all"] > 0; got != first.byRows {
			t.Fatalf("%v outside the clock: divided by rows %v", first.outside, got)
		}
		if n := p.divide(c).repeats["all"]; !first.byRows && n != 16 { // 150 ms have room for 15
			t.Errorf("%d executions, want 16", n)
		}
		p.paces[work(c)].outside[c.ID] = float64(time.Second + 10*time.Millisecond - first.outside)
		if got := p.divide(c).slices["all"] > 0; got != first.byRows {
			t.Errorf("divided by rows %v, and then %v", first.byRows, got)
		}
	}
}
