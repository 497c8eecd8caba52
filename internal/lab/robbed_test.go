package lab_test

import (
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sqlite3perf/sqlite3perf/internal/lab"
	"github.com/sqlite3perf/sqlite3perf/internal/lab/machine"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
)

// TestRobbed checks how much CPU time other processes must take from a trial so that the trial counts as
// robbed.
func TestRobbed(t *testing.T) {
	ns := func(d time.Duration) *int64 { return (*int64)(&d) }
	for _, c := range []struct {
		name string
		cpu  result.CPU
		took time.Duration
		want bool
	}{
		{"nothing known", result.CPU{UserNS: 1e9}, time.Second, false},
		{"stolen", result.CPU{StolenNS: ns(60 * time.Millisecond)}, time.Second, true},
		{"at the limit", result.CPU{StolenNS: ns(50 * time.Millisecond)}, time.Second, false},
		{"too little to be sure", result.CPU{StolenNS: ns(30 * time.Millisecond)}, 100 * time.Millisecond, false},
		{"others used what the worker did not want", result.CPU{StolenNS: ns(0), OthersNS: ns(time.Second), WaitedNS: ns(time.Millisecond)}, time.Second, false},
		{"the worker waited for itself", result.CPU{StolenNS: ns(0), OthersNS: ns(time.Millisecond), WaitedNS: ns(time.Second)}, time.Second, false},
		{"others used what the worker wanted", result.CPU{StolenNS: ns(0), OthersNS: ns(time.Second), WaitedNS: ns(60 * time.Millisecond)}, time.Second, true},
		{"both together", result.CPU{StolenNS: ns(30 * time.Millisecond), OthersNS: ns(30 * time.Millisecond), WaitedNS: ns(time.Second)}, time.Second, true},
	} {
		if got := lab.Robbed(&c.cpu, c.took); got != c.want {
			t.Errorf("%s: got %v", c.name, got)
		}
	}
}

// TestCPUOfTrial checks the recorded CPU times of a trial, on a machine where other processes take CPU time,
// and on a machine that reports no CPU times.
func TestCPUOfTrial(t *testing.T) {
	t.Parallel()
	readings := 0
	for _, known := range []bool{true, false} {
		c := tinyCase(t, faulty(t, "none"))
		p := &lab.Processes{Dir: t.TempDir(), Limit: time.Minute, CPUTime: func() (machine.CPUTime, bool) {
			readings++
			return machine.CPUTime{Stolen: time.Duration(readings) * time.Hour, User: time.Duration(readings) * time.Minute}, known
		}}
		got, err := p.Trial(t.Context(), c, 7)
		if err != nil || got.CPU == nil || got.Status != result.OK {
			t.Fatalf("%v, %+v", err, got)
		}
		if got.CPU.UserNS+got.CPU.SystemNS <= 0 {
			t.Errorf("CPU time %+v", got.CPU)
		}
		if unix := runtime.GOOS != "windows"; (got.CPU.Switches != nil) != unix {
			t.Errorf("involuntary switches %v", got.CPU.Switches)
		}
		if linux := runtime.GOOS == "linux"; (got.CPU.WaitedNS != nil) != linux {
			t.Errorf("waited %v", got.CPU.WaitedNS)
		}
		if got.Robbed != known || (got.CPU.StolenNS != nil) != known || (got.CPU.OthersNS != nil) != known {
			t.Errorf("known %v: robbed %v, %+v", known, got.Robbed, got.CPU)
		}
		if known && (*got.CPU.StolenNS != int64(time.Hour) || *got.CPU.OthersNS <= 0 || *got.CPU.OthersNS > int64(time.Minute)) {
			t.Errorf("stolen %v, others %v", *got.CPU.StolenNS, *got.CPU.OthersNS)
		}
	}
	if got, _ := trial(t, "panic", time.Minute); got.CPU == nil || got.Robbed {
		t.Errorf("a worker that fails: %+v", got)
	}
}

// robbedTrial returns a trial from which other processes took too much CPU time.
func robbedTrial(b *bench, id, round int) *result.Trial {
	return &result.Trial{Case: id, Status: result.OK, Started: b.now, Robbed: true, Samples: []result.Sample{
		{Phase: "insert", Metric: "time", WallNS: int64(b.wall(id, round))},
	}}
}

// TestRobbedOnceMore checks that a trial from which other processes took CPU time is recorded,
// and that its case then runs once more at the end of the round.
func TestRobbedOnceMore(t *testing.T) {
	b := newBench(t)
	b.outcome = func(id, round int) *result.Trial {
		if id == 3 && round == 2 && b.runs[id] == 2 || id == 5 && round == 9 {
			return robbedTrial(b, id, round)
		}
		return nil
	}
	r, err := b.measure(5, lab.Schedule{Rounds: 9})
	if err != nil {
		t.Fatal(err)
	}
	for round, order := range b.orders {
		want := 5
		if round == 1 || round == 8 {
			want = 6
		}
		if len(order) != want {
			t.Errorf("round %d: %v", round+1, order)
		}
	}
	if last := b.orders[1][5]; last != 3 || slices.Index(b.orders[1], 3) == 5 {
		t.Errorf("in round 2 the order is %v", b.orders[1])
	}
	var robbed []result.Trial
	for _, trial := range b.recorded {
		if trial.Robbed {
			robbed = append(robbed, result.Trial{Case: trial.Case, Round: trial.Round, Repeated: trial.Repeated})
		}
	}
	want := []result.Trial{{Case: 3, Round: 2, Repeated: true}, {Case: 5, Round: 9, Repeated: true}, {Case: 5, Round: 9}}
	if d := cmp.Diff(want, robbed); d != "" {
		t.Errorf("robbed trials: -want +got:\n%s", d)
	}
	if w := r.Warnings[1]; len(r.Warnings) != 3 || w.Code != result.WarningRobbed || w.Share != 1.0/47 {
		t.Errorf("warnings %+v", r.Warnings)
	}
}

// TestAlwaysRobbed checks that a run ends although other processes take CPU time from every trial,
// and that it repeats at most a tenth of its trials.
func TestAlwaysRobbed(t *testing.T) {
	b := newBench(t)
	b.outcome = func(id, round int) *result.Trial { return robbedTrial(b, id, round) }
	r, err := b.measure(2, lab.Schedule{Rounds: 20})
	if err != nil {
		t.Fatal(err)
	}
	repeated := 0
	for _, trial := range r.Trials {
		if trial.Repeated {
			repeated++
		}
	}
	if r.Rounds != 20 || len(r.Trials) != 40+repeated || repeated < 4 || repeated > 5 {
		t.Errorf("%d rounds, %d trials, %d of them repeated", r.Rounds, len(r.Trials), repeated)
	}
	if w := r.Warnings[1]; w.Code != result.WarningRobbed || w.Share <= 0.8 {
		t.Errorf("warnings %+v", r.Warnings)
	}
}

// TestRobbedSamplesDoNotCount checks that times of repeated trials do not affect when a run ends.
func TestRobbedSamplesDoNotCount(t *testing.T) {
	b := newBench(t)
	b.wall = func(int, int) time.Duration { return time.Millisecond }
	b.outcome = func(id, round int) *result.Trial {
		if round == 3 && b.runs[id] == 3 {
			trial := robbedTrial(b, id, round)
			trial.Samples[0].WallNS = int64(time.Hour)
			return trial
		}
		return nil
	}
	r, err := b.measure(1, lab.Schedule{Settled: stats.UntilSettled("", 0.05)})
	if err != nil || r.Stopped != result.StoppedSettled || r.Rounds != 6 {
		t.Errorf("%v, stopped %q after %d rounds", err, r.Stopped, r.Rounds)
	}
}
