package lab_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sqlite3perf/sqlite3perf/internal/lab"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// The function "again" resumes a run on a new bench, whose clock has advanced by the pause.
func again(t *testing.T, run *result.Run, s lab.Schedule, pause time.Duration, change ...func(*bench)) (*bench, *result.Run) {
	t.Helper()
	b := newBench(t)
	last := run.Trials[len(run.Trials)-1]
	b.now = last.Started.Add(time.Duration(last.TookNS)).Add(pause)
	for _, f := range change {
		f(b)
	}
	run.Cases = nil // measure fills in the cases
	r, err := b.measure(3, s, func(l *lab.Laboratory) {
		l.Run = run
		lab.Resume(run, l.Cases, b.now)
	})
	if err != nil {
		t.Fatal(err)
	}
	return b, r
}

// rounds returns, by case, the rounds of the trials that were not repeated, in order.
func rounds(r *result.Run) map[int][]int {
	list := map[int][]int{}
	for _, t := range r.Trials {
		if !t.Repeated {
			list[t.Case] = append(list[t.Case], t.Round)
		}
	}
	return list
}

// upTo returns the run as the store has it if the process is killed after this number of trials.
func upTo(r *result.Run, trials int) *result.Run {
	k := *r
	k.Trials = slices.Clone(r.Trials[:trials])
	k.Rounds, k.Stopped, k.Ended, k.Steal, k.Warnings = 0, "", time.Time{}, nil, nil
	return &k
}

// TestResume kills a run after each of its trials. The resumed run must continue in the same
// order, and repeat no trial.
func TestResume(t *testing.T) {
	s := lab.Schedule{Rounds: 7}
	begun := newBench(t)
	whole, err := begun.measure(3, s, stamped(begun))
	if err != nil {
		t.Fatal(err)
	}
	order := func(r *result.Run) (list [][2]int) {
		for _, t := range r.Trials {
			list = append(list, [2]int{t.Case, t.Round})
		}
		return list
	}
	for n := 1; n < len(whole.Trials); n++ {
		b, r := again(t, upTo(whole, n), s, time.Hour)
		if d := cmp.Diff(order(whole), order(r)); d != "" {
			t.Errorf("killed after %d trials: -whole +resumed:\n%s", n, d)
		}
		if len(b.recorded) != len(whole.Trials)-n || r.Rounds != 7 || r.Stopped != result.StoppedRounds {
			t.Errorf("killed after %d trials: %d recorded, %d rounds, %s", n, len(b.recorded), r.Rounds, r.Stopped)
		}
		if !slices.ContainsFunc(b.warnings, func(w result.Warning) bool { return w.Code == result.WarningResumed }) || len(r.Resumed) != 1 || r.Resumed[0].PauseNS != int64(time.Hour) {
			t.Errorf("killed after %d trials: %+v, %+v", n, b.warnings, r.Resumed)
		}
	}
}

// TestResumeNoise checks warnings about rounds after a run was resumed. Such a warning must have the number of
// the round in the complete run, not in the resumed part. The machine must be asked for its warnings only once
// before the resumed run.
func TestResumeNoise(t *testing.T) {
	s := lab.Schedule{Rounds: 7}
	begun := newBench(t)
	whole, err := begun.measure(3, s, stamped(begun))
	if err != nil {
		t.Fatal(err)
	}
	b, _ := again(t, upTo(whole, 6), s, time.Hour, func(b *bench) {
		b.noisy = []result.Warning{{Code: "stolen"}, {Code: "stolen", Round: 1}, {Code: "stolen", Round: 5}}
	})
	var got []int
	for _, w := range b.warnings {
		if w.Code == "stolen" {
			got = append(got, w.Round)
		}
	}
	if want := []int{0, 3, 7}; !slices.Equal(got, want) { // rounds 1 and 2 were complete, so rounds 1 and 5 of the resumed run are rounds 3 and 7
		t.Errorf("rounds %v, want %v", got, want)
	}
	if n := len(slices.DeleteFunc(slices.Clone(b.log), func(note string) bool { return note != "before run" })); n != 1 {
		t.Errorf("the machine was asked %d times before the run, want once", n)
	}
}

// stamped returns a function that changes a laboratory: the laboratory's trials get start times and durations,
// as the trials of real workers have them.
func stamped(b *bench) func(*lab.Laboratory) {
	return func(l *lab.Laboratory) {
		l.Run.Started = b.began
		l.Executor = oneByOne(func(ctx context.Context, c *lab.Case, seed uint64) (*result.Trial, error) {
			start := b.now
			t, err := b.Trial(ctx, c, seed)
			if t != nil {
				t.Started, t.TookNS = start, int64(b.now.Sub(start))
			}
			return t, err
		})
	}
}

// TestResumeFailed checks cases that failed, or had no worker, before the run was resumed. They must be
// measured in the rounds that they missed. Cases with wrong results must not be measured again.
func TestResumeFailed(t *testing.T) {
	s := lab.Schedule{Rounds: 7}
	begun := newBench(t)
	begun.outcome = func(id, round int) *result.Trial {
		switch {
		case id == 2 && round == 3:
			return &result.Trial{Status: result.Failed, Reason: &protocol.Reason{Code: "host"}}
		case id == 3 && round == 2:
			return &result.Trial{Status: result.Wrong, Reason: &protocol.Reason{Code: "rows"}}
		}
		return nil
	}
	run, err := begun.measure(3, s, stamped(begun))
	if err != nil {
		t.Fatal(err)
	}
	before := len(run.Trials)
	b, r := again(t, run, s, time.Hour)
	want := map[int][]int{1: {1, 2, 3, 4, 5, 6, 7}, 2: {1, 2, 3, 4, 5, 6, 7}, 3: {1, 2}}
	if d := cmp.Diff(want, rounds(r)); d != "" {
		t.Errorf("rounds: -want +got:\n%s", d)
	}
	if len(b.recorded) != 5 || r.Stopped != result.StoppedRounds {
		t.Errorf("%d trials, stopped for %s", len(b.recorded), r.Stopped)
	}
	again := slices.IndexFunc(r.Trials[:before], func(t result.Trial) bool { return t.Case == 2 && t.Status == result.Failed })
	if again < 0 || !r.Trials[again].Repeated || r.Trials[again].Round != 3 {
		t.Errorf("trial %d: %+v", again+1, r.Trials[again])
	}
}

// TestResumeTime checks that the pause does not count as time of the run.
func TestResumeTime(t *testing.T) {
	s := lab.Schedule{Time: 40 * time.Second}
	begun := newBench(t)
	whole, err := begun.measure(3, s, stamped(begun))
	if err != nil {
		t.Fatal(err)
	}
	_, r := again(t, upTo(whole, 14), s, 100*time.Hour)
	if r.Rounds != whole.Rounds || r.Stopped != result.StoppedTime {
		t.Errorf("%d rounds, stopped for %s; without a pause %d rounds", r.Rounds, r.Stopped, whole.Rounds)
	}
}

// TestResumeSettled checks that a case that needs no further trials still needs none after the run is resumed.
func TestResumeSettled(t *testing.T) {
	s := lab.Schedule{Time: time.Hour, Settled: func(r *result.Run, round int) ([]int, bool) {
		switch {
		case round%3 != 0:
			return nil, false
		case round >= 9:
			return []int{1, 2, 3}, true
		case round >= 6:
			return []int{2}, true
		}
		return nil, true
	}}
	begun := newBench(t)
	whole, err := begun.measure(3, s, stamped(begun))
	if err != nil {
		t.Fatal(err)
	}
	for n := 1; n < len(whole.Trials); n++ {
		_, r := again(t, upTo(whole, n), s, time.Hour)
		if d := cmp.Diff(rounds(whole), rounds(r)); d != "" || r.Stopped != result.StoppedSettled {
			t.Errorf("killed after %d trials, stopped for %s: -whole +resumed:\n%s", n, r.Stopped, d)
		}
	}
}

// TestResumeOtherWorker resumes a run with a worker that differs from the worker with which the run began. No
// trial must be recorded.
func TestResumeOtherWorker(t *testing.T) {
	proof := func(version string) func(int, int) *result.Trial {
		return func(int, int) *result.Trial {
			return &result.Trial{Status: result.OK, Proof: &protocol.Proof{SQLiteVersion: version}}
		}
	}
	begun := newBench(t)
	begun.outcome = proof("3.53.4")
	run, err := begun.measure(3, lab.Schedule{Rounds: 6}, stamped(begun))
	if err != nil {
		t.Fatal(err)
	}
	k := upTo(run, 8)
	b := newBench(t)
	b.outcome = proof("3.54.1")
	k.Cases = nil
	_, err = b.measure(3, lab.Schedule{Rounds: 6}, func(l *lab.Laboratory) {
		l.Run = k
		lab.Resume(k, l.Cases, b.now)
	})
	if err == nil || len(b.recorded) > 0 {
		t.Errorf("%d trials were recorded, %v", len(b.recorded), err)
	}
}
