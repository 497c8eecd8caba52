package lab_test

import (
	"context"
	"fmt"
	"time"

	"github.com/sqlite3perf/sqlite3perf/internal/lab"
	"github.com/sqlite3perf/sqlite3perf/internal/lab/build"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/workload"
)

// instant is an executor that returns invented trials. It runs nothing.
type instant struct{}

func (instant) Trials(_ context.Context, cases []*lab.Case, _ uint64) (list []*result.Trial, err error) {
	for _, c := range cases {
		t := &result.Trial{Status: result.OK}
		for _, p := range c.Phases {
			t.Samples = append(t.Samples, result.Sample{Phase: p, Metric: "time", WallNS: 1e6, Operations: 1})
		}
		list = append(list, t)
	}
	return list, nil
}

// forgetful records nothing, observes no noise and reports no progress.
type forgetful struct{}

func (forgetful) AddTrial(context.Context, int64, *result.Trial) error              { return nil }
func (forgetful) AddWarning(context.Context, int64, result.Warning) error           { return nil }
func (forgetful) Finish(context.Context, *result.Run) error                         { return nil }
func (forgetful) BeforeRun() []result.Warning                                       { return nil }
func (forgetful) BeforeRound(int)                                                   {}
func (forgetful) AfterRun() []result.Warning                                        { return nil }
func (forgetful) Steal() *float64                                                   { return nil }
func (forgetful) Planned(lab.Plan)                                                  {}
func (forgetful) Trial(int, int, int, int, time.Duration, *lab.Case, *result.Trial) {}

func ExampleLaboratory() {
	w, err := workload.Load("simple")
	if err != nil {
		fmt.Println(err)
		return
	}
	m := lab.Matrix{Workloads: []*workload.Workload{w}, Scale: "0.001", Seed: 42, Drivers: []build.Ref{{Name: "mattn"}, {Name: "modernc"}}}
	cases, err := m.Cases()
	if err != nil {
		fmt.Println(err)
		return
	}
	run := &result.Run{Seed: 42}
	for _, c := range cases {
		run.Cases = append(run.Cases, c.Case)
	}
	l := lab.Laboratory{Run: run, Cases: cases, Schedule: lab.Schedule{Rounds: 3}, Now: time.Now,
		Executor: instant{}, Recorder: forgetful{}, Noise: forgetful{}, Progress: forgetful{}}
	if err := l.Measure(context.Background()); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(len(run.Trials), "trials,", run.Rounds, "rounds:", run.Stopped)
	// Output: 6 trials, 3 rounds: rounds
}
