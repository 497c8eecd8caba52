package lab

import (
	"testing"
	"time"

	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/worker/latency"
	"github.com/sqlite3perf/sqlite3perf/worker/plan"
)

// TestByRowsForEver checks that a query that is divided by rows in its first round stays divided by rows, even
// if later trials would have time for more executions. Otherwise the caches would hold different data in
// different rounds. A query that is not divided by rows must be executed an even number of times, because a
// turn has two executions.
func TestByRowsForEver(t *testing.T) {
	t.Parallel()
	c := &Case{Case: result.Case{ID: 1, Workload: "rows"}}
	c.Plan = &plan.Plan{Phases: []plan.Phase{{Name: "all", Query: &plan.Query{Call: plan.Call{SQL: "SELECT 1"}, Repeat: 1}}}}
	trial := func(wall time.Duration) *result.Trial {
		return &result.Trial{TookNS: int64(wall + 10*time.Millisecond), Samples: []result.Sample{{
			Phase: "all", WallNS: int64(wall), FirstRowNS: int64(wall / 10), Operations: 1, Rows: 1000,
		}}}
	}
	// Nine executions of 16 ms fit into 150 ms. These are fewer than enoughRepeats, so the query is divided
	// by rows, and only half of them run. For 14 ms, the number is 10.7, which is rounded to 11,
	// and then up to an even number.
	for _, first := range []struct {
		wall   time.Duration
		byRows bool
		n      int64
	}{{16 * time.Millisecond, true, 5}, {14 * time.Millisecond, false, 12}} {
		p := &Processes{paces: map[string]*pace{}, needs: map[*Case]need{}}
		p.learn(c, trial(first.wall))
		d := p.divide(c)
		if got := d.slices["all"] > 0; got != first.byRows {
			t.Fatalf("%v for each execution: divided by rows %v", first.wall, got)
		}
		if d.repeats["all"] != first.n {
			t.Errorf("%v for each execution: %d executions, want %d", first.wall, d.repeats["all"], first.n)
		}
		at := p.paces[work(c)].phases["all"][c.ID]
		at.wall = float64(30*time.Millisecond - first.wall)
		p.paces[work(c)].phases["all"][c.ID] = at
		if got := p.divide(c).slices["all"] > 0; got != first.byRows {
			t.Errorf("divided by rows %v, and then %v", first.byRows, got)
		}
	}
}

// TestRepeats checks how often a query is executed in a trial.
func TestRepeats(t *testing.T) {
	t.Parallel()
	c := &Case{Case: result.Case{ID: 1, Workload: "repeats"}}
	c.Plan = &plan.Plan{Phases: []plan.Phase{{Name: "all", Query: &plan.Query{Call: plan.Call{SQL: "SELECT 1"}, Repeat: 1}}}}
	for _, x := range []struct {
		wall, outside time.Duration
		clients       int
		want          int64
	}{
		{4 * time.Millisecond, 10 * time.Millisecond, 1, 12},
		{100 * time.Microsecond, 10 * time.Millisecond, 1, 250}, // the executions take at least 25 ms
		{10 * time.Microsecond, 10 * time.Millisecond, 1, 1000},
		{5 * time.Millisecond, 10 * time.Millisecond, 4, 20},  // with several clients, at least 100 ms
		{4 * time.Millisecond, 100 * time.Millisecond, 1, 26}, // the executions take half of the trial's time
		{4 * time.Millisecond, time.Second, 1, 38},            // the executions take at most about 150 ms
		{50 * time.Millisecond, time.Second, 1, 4},            // 3 fit into 150 ms, but the number must be even
		{120 * time.Millisecond, time.Second, 1, 0},
	} {
		c.Plan.Phases[0].Query.Clients = x.clients
		p := &Processes{paces: map[string]*pace{}, needs: map[*Case]need{}}
		p.learn(c, &result.Trial{TookNS: int64(x.wall + x.outside), Samples: []result.Sample{{Phase: "all", WallNS: int64(x.wall), Operations: 1, Rows: 1}}})
		if got := p.divide(c).repeats["all"]; got != x.want {
			t.Errorf("%v for each execution, %v outside the clock, %d clients: %d executions, want %d", x.wall, x.outside, x.clients, got, x.want)
		}
	}
}

// TestRepeatsOfTheSlowest checks that a query is executed less often if one driver needs much longer
// for it than the others.
func TestRepeatsOfTheSlowest(t *testing.T) {
	t.Parallel()
	p := &Processes{paces: map[string]*pace{}, needs: map[*Case]need{}}
	var c *Case
	for id, want := range []int64{12, 12, 12, 6} {
		wall := 10 * time.Millisecond
		if id == 3 {
			wall = 100 * time.Millisecond // 6 executions take 600 ms
		}
		c = &Case{Case: result.Case{ID: id, Workload: "repeats"}}
		c.Plan = &plan.Plan{Phases: []plan.Phase{{Name: "all", Query: &plan.Query{Call: plan.Call{SQL: "SELECT 1"}, Repeat: 1}}}}
		p.learn(c, &result.Trial{TookNS: int64(wall), Samples: []result.Sample{{Phase: "all", WallNS: int64(wall), Operations: 1, Rows: 1}}})
		if got := p.divide(c).repeats["all"]; got != want {
			t.Errorf("with %d drivers: %d executions, want %d", id+1, got, want)
		}
	}
}

// TestSliceOfTwo checks that slices are shorter if only two cases do the same work.
func TestSliceOfTwo(t *testing.T) {
	t.Parallel()
	c := &Case{Case: result.Case{ID: 1, Workload: "pair"}}
	c.Plan = &plan.Plan{Phases: []plan.Phase{{Name: "insert", Insert: &plan.Insert{}}}}
	p := &Processes{paces: map[string]*pace{}, needs: map[*Case]need{}}
	p.learn(c, &result.Trial{Samples: []result.Sample{{Phase: "insert", WallNS: int64(time.Second), Operations: 1_000_000}}})
	for n, want := range map[int]int64{2: 1000, 3: 2000, 10: 2000} {
		p.sides = map[string]int{work(c): n}
		if got := p.divide(c).slices["insert"]; got != want {
			t.Errorf("%d cases do the same work: slices of %d rows, want %d", n, got, want)
		}
	}
}

// TestSliceOfClients checks that phases with several clients have longer slices, which are much longer than
// the operations of the slowest driver.
func TestSliceOfClients(t *testing.T) {
	t.Parallel()
	const phase = time.Second
	for _, tc := range []struct {
		p    plan.Phase
		p99  [2]time.Duration // 99th percentile of the latencies of two drivers
		want time.Duration    // length of a slice
	}{
		{plan.Phase{Mix: &plan.Mix{Clients: 1}}, [2]time.Duration{phase, phase}, time.Millisecond},
		{plan.Phase{Mix: &plan.Mix{Clients: 4}}, [2]time.Duration{}, 500 * time.Millisecond},
		{plan.Phase{Mix: &plan.Mix{Clients: 4}}, [2]time.Duration{time.Millisecond, 12 * time.Millisecond}, 600 * time.Millisecond},
		{plan.Phase{HTTP: &plan.HTTP{Clients: 50}}, [2]time.Duration{}, 500 * time.Millisecond},
		{plan.Phase{Query: &plan.Query{Clients: 2, Repeat: 5}}, [2]time.Duration{}, 500 * time.Millisecond},
		{plan.Phase{Replay: &plan.Replay{Connections: 3}}, [2]time.Duration{}, 500 * time.Millisecond},
		{plan.Phase{Replay: &plan.Replay{Connections: 1, Clients: 3}}, [2]time.Duration{}, 500 * time.Millisecond},
		{plan.Phase{Replay: &plan.Replay{Connections: 1}}, [2]time.Duration{phase, phase}, 20 * time.Millisecond},
		{plan.Phase{HTTP: &plan.HTTP{Clients: 1}}, [2]time.Duration{phase, phase}, 20 * time.Millisecond},
	} {
		p := &Processes{paces: map[string]*pace{}, needs: map[*Case]need{}}
		var c *Case
		for id, p99 := range tc.p99 {
			c = &Case{Case: result.Case{ID: id}}
			c.Plan = &plan.Plan{Phases: []plan.Phase{tc.p}}
			p.learn(c, &result.Trial{Samples: []result.Sample{{WallNS: int64(phase), Operations: 1_000_000, Latency: []latency.Summary{{P99NS: int64(p99)}}}}})
		}
		p.sides = map[string]int{work(c): 2}
		if got := time.Duration(p.divide(c).slices[""]) * phase / 1_000_000; got != tc.want {
			t.Errorf("%+v with latencies of %v: slices of %v, want %v", tc.p, tc.p99, got, tc.want)
		}
	}
}
