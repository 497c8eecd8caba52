package lab_test

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/sqlite3perf/sqlite3perf/internal/lab"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/worker/plan"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// TestTimeLeft compares the estimates of the remaining time with the time that the simulated run
// then takes.
func TestTimeLeft(t *testing.T) {
	for _, c := range []struct {
		name string
		s    lab.Schedule
		off  time.Duration // greatest error of the estimate
	}{
		{"rounds", lab.Schedule{Rounds: 10}, 2 * time.Second},
		{"time", lab.Schedule{Time: time.Minute}, 6 * time.Second}, // a round takes 6 s
		{"time is short", lab.Schedule{Time: time.Second}, 2 * time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t)
			b.took = func(id, _ int) time.Duration { return time.Duration(id) * time.Second } // a round takes 6 s
			if _, err := b.measure(3, c.s); err != nil {
				t.Fatal(err)
			}
			for i, e := range b.lefts {
				if e.round != i/3+1 || e.done != i%3+1 || e.total != 3 || e.rounds != c.s.Rounds {
					t.Errorf("estimate %d has the wrong round, trial or total: %+v", i, e)
				}
				if i < 2 {
					if e.left != 0 {
						t.Errorf("an estimate of %v before the end of the first round", e.left)
					}
					continue
				}
				if truth := b.now.Sub(e.at); e.left < 0 || (e.left-truth).Abs() > c.off {
					t.Errorf("after trial %d: about %v left, and it was %v", i+1, e.left, truth)
				}
			}
		})
	}
}

// TestPlan checks the two plans that are announced. The plan before the first round must give the least
// number of trials, and no time. The plan after the second round may be wrong by at most a tenth, although
// trials take different times, and the trials of the first round take longer.
func TestPlan(t *testing.T) {
	half := func(run *result.Run, round int) ([]int, bool) { return []int{1, 3, 5, 7}, round == 8 }
	for _, c := range []struct {
		name  string
		s     lab.Schedule
		least int
	}{
		{"rounds", lab.Schedule{Rounds: 20}, 160},
		{"time", lab.Schedule{Time: 5 * time.Minute}, 48},
		{"time, and half of the cases settled", lab.Schedule{Time: 5 * time.Minute, Settled: half}, 48},
		{"time is short", lab.Schedule{Time: time.Second}, 48},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t)
			r := rand.New(rand.NewPCG(1, 2))
			b.took = func(id, round int) time.Duration {
				took := time.Duration((0.9 + 0.2*r.Float64()) * (0.5 + float64(id%3)) * float64(time.Second))
				if round == 1 {
					took *= 2
				}
				return took
			}
			lasting := func(l *lab.Laboratory) {
				for _, c := range l.Cases {
					c.Plan = &plan.Plan{Phases: []plan.Phase{{Mix: &plan.Mix{DurationMS: 200}}, {HTTP: &plan.HTTP{DurationMS: 50}}, {Query: &plan.Query{}}}}
				}
			}
			run, err := b.measure(8, c.s, lasting)
			if err != nil {
				t.Fatal(err)
			}
			if len(b.plans) != 2 {
				t.Fatalf("%d plans, want one before the first round and one after the second", len(b.plans))
			}
			if p := b.plans[0]; p.Cases != 8 || p.Phases != 8 || p.Trials != c.least || p.Takes != 0 || p.Least != time.Duration(c.least)*250*time.Millisecond {
				t.Errorf("at first %+v", p)
			}
			p, took := b.plans[1], b.now.Sub(b.began)
			if off := float64(p.Trials)/float64(len(run.Trials)) - 1; math.Abs(off) > 0.1 {
				t.Errorf("%d trials were planned, there were %d", p.Trials, len(run.Trials))
			}
			if off := p.Takes.Seconds()/took.Seconds() - 1; math.Abs(off) > 0.1 {
				t.Errorf("%v were planned, it took %v", p.Takes, took)
			}
		})
	}
}

// TestPlanFollows checks what happens if the machine becomes slower or faster half way through the run. The
// plan must be announced again, and the new plan must come true. Small changes must not be announced.
func TestPlanFollows(t *testing.T) {
	for _, c := range []struct {
		name   string
		s      lab.Schedule
		change float64 // factor by which trials take longer from the tenth round on
	}{
		{"rounds, slower", lab.Schedule{Rounds: 24}, 2},
		{"rounds, faster", lab.Schedule{Rounds: 24}, 0.5},
		{"time, slower", lab.Schedule{Time: 3 * time.Minute}, 2},
		{"time, faster", lab.Schedule{Time: 3 * time.Minute}, 0.5},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t)
			r := rand.New(rand.NewPCG(3, 4))
			b.took = func(_, round int) time.Duration {
				took := (0.9 + 0.2*r.Float64()) * float64(time.Second)
				if round >= 10 {
					took *= c.change
				}
				return time.Duration(took)
			}
			run, err := b.measure(8, c.s)
			if err != nil {
				t.Fatal(err)
			}
			said := b.plans[1:]
			if len(said) < 2 || len(said) > 6 {
				t.Fatalf("%d estimates", len(said))
			}
			last, took := said[len(said)-1], b.now.Sub(b.began)
			if off := float64(last.Trials)/float64(len(run.Trials)) - 1; math.Abs(off) > 0.1 {
				t.Errorf("in the end %d trials were planned, there were %d", last.Trials, len(run.Trials))
			}
			if off := last.Takes.Seconds()/took.Seconds() - 1; math.Abs(off) > 0.1 {
				t.Errorf("in the end %v were planned, it took %v", last.Takes, took)
			}
			for i, p := range said[1:] {
				trials, takes := float64(p.Trials)/float64(said[i].Trials)-1, p.Takes.Seconds()/said[i].Takes.Seconds()-1
				if math.Abs(trials) <= 0.1 && math.Abs(takes) <= 0.1 {
					t.Errorf("%+v was replaced by %+v, which differs by less than a tenth", said[i], p)
				}
			}
		})
	}
}

// TestTimeLeftAfterALoss checks that the estimate of the remaining time shrinks when a case
// fails.
func TestTimeLeftAfterALoss(t *testing.T) {
	b := newBench(t)
	b.outcome = func(id, round int) *result.Trial {
		if id == 1 && round == 2 {
			return &result.Trial{Status: result.Failed, Reason: &protocol.Reason{Code: "timeout"}}
		}
		return nil
	}
	b.took = func(id, _ int) time.Duration {
		if id == 1 {
			return time.Minute
		}
		return time.Second
	}
	if _, err := b.measure(2, lab.Schedule{Rounds: 6}); err != nil {
		t.Fatal(err)
	}
	if e := b.lefts[3]; e.round != 2 || e.left != 4*time.Second {
		t.Errorf("after round %d: %v left, want 4s", e.round, e.left)
	}
}
