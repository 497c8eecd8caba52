package lab_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sqlite3perf/sqlite3perf/internal/lab"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// TestStopsWhenSettled checks how long cases are measured if package stats decides when a case needs no
// further trials. Case 1 is the fastest, so the ratios of the other cases are relative to it.
func TestStopsWhenSettled(t *testing.T) {
	for _, c := range []struct {
		name  string
		noisy int // number of first rounds in which the ratio of case 2 differs from its later ratio
		runs  map[int]int
	}{
		{"at once", 0, map[int]int{1: 6, 2: 6, 3: 6}},
		{"one goes on, and the base with it", 1, map[int]int{1: 13, 2: 13, 3: 6}},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t)
			b.wall = func(id, round int) time.Duration {
				if id == 2 && round <= c.noisy {
					return time.Second
				}
				return time.Duration(id*round) * 50 * time.Millisecond
			}
			r, err := b.measure(3, lab.Schedule{Settled: stats.UntilSettled("", 0.05)})
			if err != nil {
				t.Fatal(err)
			}
			b.ended(r, result.StoppedSettled, c.runs[1])
			if d := cmp.Diff(c.runs, b.runs); d != "" {
				t.Errorf("trials by case: -want +got:\n%s", d)
			}
		})
	}
}

// TestRoundsAreExact checks that exactly the requested number of rounds runs, however tight
// the intervals are and however long it takes.
func TestRoundsAreExact(t *testing.T) {
	b := newBench(t)
	b.wall = func(int, int) time.Duration { return time.Millisecond }
	r, err := b.measure(2, lab.Schedule{Rounds: 9, Time: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	b.ended(r, result.StoppedRounds, 9)
}

func TestStopsForTime(t *testing.T) {
	for _, c := range []struct {
		name string
		time time.Duration
		want int
	}{
		{"the last round fits exactly", 24 * time.Second, 8},
		{"the next would not fit", 26 * time.Second, 8},
		{"not before the sixth", time.Second, 6},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t)
			r, err := b.measure(3, lab.Schedule{Time: c.time}) // a round takes 3 s
			if err != nil {
				t.Fatal(err)
			}
			b.ended(r, result.StoppedTime, c.want)
		})
	}
}

// TestSettledWithoutTheLost checks that a failed case does not keep a run from ending when the other cases
// need no further trials. The case that remains at the end has no other case to be compared with.
func TestSettledWithoutTheLost(t *testing.T) {
	b := newBench(t)
	b.wall = func(id, round int) time.Duration {
		if id == 1 {
			return time.Duration(round) * time.Second
		}
		return time.Second
	}
	b.outcome = func(id, round int) *result.Trial {
		if id == 1 && round == 5 {
			return &result.Trial{Status: result.Wrong, Reason: &protocol.Reason{Code: "rows"}}
		}
		return nil
	}
	r, err := b.measure(2, lab.Schedule{Settled: stats.UntilSettled("", 0.05)})
	if err != nil {
		t.Fatal(err)
	}
	b.ended(r, result.StoppedSettled, 6)
}

func TestNothingLeft(t *testing.T) {
	b := newBench(t)
	b.outcome = func(_, round int) *result.Trial {
		if round == 3 {
			return &result.Trial{Status: result.Failed, Reason: &protocol.Reason{Code: "crash"}}
		}
		return nil
	}
	r, err := b.measure(2, lab.Schedule{Rounds: 6})
	if err != nil {
		t.Fatal(err)
	}
	b.ended(r, result.StoppedNothingLeft, 3)
}

func TestInterrupted(t *testing.T) {
	b := newBench(t)
	b.during = func(order int) {
		if order == 8 {
			close(b.stop)
		}
	}
	r, err := b.measure(3, lab.Schedule{Rounds: 6})
	if err != nil {
		t.Fatal(err)
	}
	b.ended(r, result.StoppedInterrupted, 2)
	if len(r.Trials) != 8 {
		t.Errorf("%d trials, want 8: the trial under way must be the last one", len(r.Trials))
	}
}

// TestInterruptedAtTheEnd interrupts a run during its last trial. The run must count as complete, because no
// further trial would follow.
func TestInterruptedAtTheEnd(t *testing.T) {
	b := newBench(t)
	b.during = func(order int) {
		if order == 12 {
			close(b.stop)
		}
	}
	r, err := b.measure(2, lab.Schedule{Rounds: 6})
	if err != nil {
		t.Fatal(err)
	}
	b.ended(r, result.StoppedRounds, 6)
}

func TestCancelled(t *testing.T) {
	b := newBench(t)
	b.during = func(order int) {
		if order == 4 {
			b.cancel()
		}
	}
	r, err := b.measure(3, lab.Schedule{Rounds: 6})
	if err != nil {
		t.Fatal(err)
	}
	b.ended(r, result.StoppedInterrupted, 1)
	if len(r.Trials) != 3 {
		t.Errorf("%d trials, want 3: the trial under way must not be kept", len(r.Trials))
	}
}

// TestCancelledAfterTheTrial cancels the run while the result of a trial is recorded. This result
// must be kept, and no further trial may run.
func TestCancelledAfterTheTrial(t *testing.T) {
	b := newBench(t)
	b.record = func(tr *result.Trial) error {
		if tr.Order == 3 {
			b.cancel()
		}
		return nil
	}
	r, err := b.measure(3, lab.Schedule{Rounds: 6})
	if err != nil {
		t.Fatal(err)
	}
	b.ended(r, result.StoppedInterrupted, 1)
	if len(r.Trials) != 3 {
		t.Errorf("%d trials, want 3", len(r.Trials))
	}
}

func TestRecorderFails(t *testing.T) {
	full := errors.New("no space left")
	b := newBench(t)
	b.record = func(tr *result.Trial) error {
		if tr.Order == 5 {
			return full
		}
		return nil
	}
	r, err := b.measure(2, lab.Schedule{Rounds: 6})
	if !errors.Is(err, full) {
		t.Errorf("got %v", err)
	}
	if r.Stopped != "" || r.Rounds != 2 || len(b.runs) != 2 || b.runs[1]+b.runs[2] != 5 {
		t.Errorf("stopped %q after %d rounds, trials %v", r.Stopped, r.Rounds, b.runs)
	}
}

func TestExecutorFails(t *testing.T) {
	b := newBench(t)
	broken := errors.New("no directory")
	r, err := b.measure(2, lab.Schedule{Rounds: 6}, func(l *lab.Laboratory) { l.Executor = oneByOne(failing{broken}.Trial) })
	if !errors.Is(err, broken) || len(r.Trials) != 0 || r.Stopped != "" {
		t.Errorf("%v, %+v", err, r)
	}
}

type failing struct{ err error }

func (f failing) Trial(context.Context, *lab.Case, uint64) (*result.Trial, error) { return nil, f.err }

// TestSettled checks that a case gets no trials while Schedule.Settled returns it, and that the run ends when
// Settled returns all cases.
func TestSettled(t *testing.T) {
	b := newBench(t)
	s := lab.Schedule{Settled: func(run *result.Run, round int) ([]int, bool) {
		if len(run.Trials) == 0 || run.Trials[len(run.Trials)-1].Round != round {
			t.Errorf("asked after round %d with trials of other rounds", round)
		}
		switch round {
		case 8:
			return []int{2, 3}, true
		case 10:
			return []int{1, 2}, true
		case 11:
			return []int{1, 2, 3}, true
		}
		return nil, false
	}}
	run, err := b.measure(3, s)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(map[int]int{1: 10, 2: 8, 3: 9}, b.runs); d != "" {
		t.Error(d)
	}
	b.ended(run, result.StoppedSettled, 11)
}
