package lab_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sqlite3perf/sqlite3perf/internal/lab"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// bench is the environment of a laboratory, with its own clock. Each trial takes a given time, and only trials
// advance the clock. bench records what happens.
type bench struct {
	t     *testing.T
	began time.Time
	now   time.Time
	log   []string

	took    func(id, round int) time.Duration // duration of a trial
	wall    func(id, round int) time.Duration // wall time of a trial's only sample
	outcome func(id, round int) *result.Trial // result of a trial; nil: OK
	during  func(order int)                   // called during each trial
	record  func(t *result.Trial) error
	noisy   []result.Warning // additional warnings after the run

	runs     map[int]int // number of trials by ID of the case
	orders   [][]int     // IDs of the cases, by round, in the order in which they ran
	recorded []result.Trial
	warnings []result.Warning
	finished []string
	lefts    []estimate
	plans    []lab.Plan
	stop     chan struct{}
	cancel   context.CancelFunc
	seeds    map[uint64]bool
}

type estimate struct {
	at                         time.Time
	left                       time.Duration
	round, rounds, done, total int
}

func newBench(t *testing.T) *bench {
	began := time.Date(2026, 11, 21, 10, 0, 0, 0, time.FixedZone("", 3600))
	return &bench{
		t: t, began: began, now: began,
		took:    func(int, int) time.Duration { return time.Second },
		wall:    func(id, round int) time.Duration { return time.Duration(id*round) * time.Millisecond },
		outcome: func(int, int) *result.Trial { return nil },
		during:  func(int) {},
		record:  func(*result.Trial) error { return nil },
		runs:    map[int]int{}, stop: make(chan struct{}), seeds: map[uint64]bool{},
	}
}

func (b *bench) note(format string, args ...any) { b.log = append(b.log, fmt.Sprintf(format, args...)) }

func (b *bench) Trial(ctx context.Context, c *lab.Case, seed uint64) (*result.Trial, error) {
	b.note("trial")
	b.seeds[seed] = true
	b.runs[c.ID]++
	round := len(b.orders)
	b.orders[round-1] = append(b.orders[round-1], c.ID)
	b.during(len(b.recorded) + 1)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	b.now = b.now.Add(b.took(c.ID, round))
	if t := b.outcome(c.ID, round); t != nil {
		t.Case = c.ID
		return t, nil
	}
	return &result.Trial{Case: c.ID, Status: result.OK, Started: b.now, Samples: []result.Sample{
		{Phase: "insert", Metric: "time", WallNS: int64(b.wall(c.ID, round))},
	}}, nil
}

func (b *bench) BeforeRun() []result.Warning {
	b.note("before run")
	return []result.Warning{{Code: "before"}}
}
func (b *bench) BeforeRound(n int) {
	b.note("before round %d", n)
	b.orders = append(b.orders, nil)
}
func (b *bench) AfterRun() []result.Warning {
	b.note("after run")
	return append([]result.Warning{{Code: "after"}}, b.noisy...)
}
func (b *bench) Steal() *float64 {
	share := 0.25
	return &share
}

func (b *bench) AddTrial(_ context.Context, run int64, t *result.Trial) error {
	b.note("recorded")
	if err := b.record(t); err != nil {
		return err
	}
	if run != 42 {
		b.t.Errorf("recorded for run %d", run)
	}
	b.recorded = append(b.recorded, *t)
	return nil
}

func (b *bench) AddWarning(_ context.Context, _ int64, w result.Warning) error {
	b.warnings = append(b.warnings, w)
	return nil
}

func (b *bench) Finish(_ context.Context, run *result.Run) error {
	b.note("finished")
	b.finished = append(b.finished, fmt.Sprintf("%s after %d rounds at %s", run.Stopped, run.Rounds, run.Ended.Format(time.TimeOnly)))
	if run.Steal == nil || *run.Steal != 0.25 {
		b.t.Errorf("steal is %v when the run is finished", run.Steal)
	}
	return nil
}

// progress is a separate type because bench already has another method Trial.
type progress struct{ *bench }

func (p progress) Planned(plan lab.Plan) { p.plans = append(p.plans, plan) }

func (p progress) Trial(round, rounds, done, total int, left time.Duration, c *lab.Case, t *result.Trial) {
	if c.ID != t.Case {
		p.t.Errorf("progress of case %d with a trial of %d", c.ID, t.Case)
	}
	p.lefts = append(p.lefts, estimate{p.now, left, round, rounds, done, total})
}

// oneByOne is an [lab.Executor] that runs trials with a function, one after another.
type oneByOne func(ctx context.Context, c *lab.Case, seed uint64) (*result.Trial, error)

// Trials runs one trial of each case.
func (run oneByOne) Trials(ctx context.Context, cases []*lab.Case, seed uint64) (list []*result.Trial, err error) {
	for _, c := range cases {
		t, err := run(ctx, c, seed)
		if err != nil {
			return nil, err
		}
		list = append(list, t)
	}
	return list, nil
}

// measure runs a laboratory with this number of cases.
func (b *bench) measure(cases int, s lab.Schedule, change ...func(*lab.Laboratory)) (*result.Run, error) {
	b.t.Helper()
	if s.Time == 0 {
		s.Time = time.Hour
	}
	l := &lab.Laboratory{
		Run: &result.Run{ID: 42, Seed: 1}, Schedule: s,
		Executor: oneByOne(b.Trial), Recorder: b, Noise: b, Progress: progress{b},
		Now: func() time.Time { return b.now }, Stop: b.stop,
	}
	for id := range cases {
		c := &lab.Case{}
		c.ID, c.Driver, c.Workload, c.Phases = id+1, fmt.Sprint("driver", id+1), "w", []string{"insert"}
		c.Parameters = map[string]int64{"own": int64(id)} // otherwise the cases would do the same work, and so run together
		l.Cases = append(l.Cases, c)
	}
	for _, f := range change {
		f(l)
	}
	for _, c := range l.Cases {
		l.Run.Cases = append(l.Run.Cases, c.Case)
	}
	ctx, cancel := context.WithCancel(b.t.Context())
	defer cancel()
	b.cancel = cancel
	err := l.Measure(ctx)
	return l.Run, err
}

// ended checks how a run ended, and that the recorder was given the same end.
func (b *bench) ended(r *result.Run, stopped string, rounds int) {
	b.t.Helper()
	if r.Stopped != stopped || r.Rounds != rounds {
		b.t.Errorf("stopped %q after %d rounds, want %q after %d", r.Stopped, r.Rounds, stopped, rounds)
	}
	want := []string{fmt.Sprintf("%s after %d rounds at %s", stopped, rounds, b.now.UTC().Format(time.TimeOnly))}
	if d := cmp.Diff(want, b.finished); d != "" {
		b.t.Errorf("finished: -want +got:\n%s", d)
	}
	if !r.Ended.Equal(b.now) {
		b.t.Errorf("ended %v, want %v", r.Ended, b.now)
	}
	if d := cmp.Diff(b.recorded, r.Trials); d != "" {
		b.t.Errorf("trials of the run and of the recorder: -recorded +run:\n%s", d)
	}
	if d := cmp.Diff([]result.Warning{{Code: "before"}, {Code: "after"}}, r.Warnings); d != "" {
		b.t.Errorf("warnings: -want +got:\n%s", d)
	}
	if d := cmp.Diff(r.Warnings, b.warnings); d != "" {
		b.t.Errorf("warnings of the run and of the recorder:\n%s", d)
	}
	for i, t := range r.Trials {
		if t.Order != i+1 {
			b.t.Errorf("trial %d has order %d", i+1, t.Order)
		}
	}
}

func TestEveryCaseOncePerRound(t *testing.T) {
	b := newBench(t)
	r, err := b.measure(5, lab.Schedule{Rounds: 8})
	if err != nil {
		t.Fatal(err)
	}
	b.ended(r, result.StoppedRounds, 8)
	if len(r.Trials) != 40 || len(b.orders) != 8 {
		t.Fatalf("%d trials in %d rounds, want 40 in 8", len(r.Trials), len(b.orders))
	}
	for i, order := range b.orders {
		if d := cmp.Diff([]int{1, 2, 3, 4, 5}, slices.Sorted(slices.Values(order))); d != "" {
			t.Errorf("round %d: -want +got:\n%s", i+1, d)
		}
	}
	for i, tr := range r.Trials {
		if tr.Round != i/5+1 {
			t.Errorf("trial %d is of round %d", i+1, tr.Round)
		}
	}
	if len(b.seeds) != 1 || !b.seeds[1] {
		t.Errorf("the trials had the seeds %v, want 1", b.seeds)
	}
}

func TestOrder(t *testing.T) {
	orders := func(seed uint64) [][]int {
		b := newBench(t)
		if _, err := b.measure(6, lab.Schedule{Rounds: 6}, func(l *lab.Laboratory) { l.Run.Seed = seed }); err != nil {
			t.Fatal(err)
		}
		return b.orders
	}
	one, again, other := orders(11), orders(11), orders(12)
	if d := cmp.Diff(one, again); d != "" {
		t.Errorf("one seed, two orders:\n%s", d)
	}
	if cmp.Equal(one, other) {
		t.Errorf("two seeds, one order: %v", one)
	}
	// Six cases have 720 orders, so fewer than five different ones in six rounds are very unlikely.
	different := map[string]bool{}
	for _, o := range one {
		different[fmt.Sprint(o)] = true
	}
	if len(different) < 5 {
		t.Errorf("the rounds are not shuffled each time: %v", one)
	}
}

// TestNeighbors checks that the cases of a workload run next to each other, and that the
// order of workloads differs between rounds.
func TestNeighbors(t *testing.T) {
	b := newBench(t)
	workload := func(id int) string { return []string{"a", "b", "c"}[id%3] }
	if _, err := b.measure(9, lab.Schedule{Rounds: 12}, func(l *lab.Laboratory) {
		for _, c := range l.Cases {
			c.Workload = workload(c.ID)
		}
	}); err != nil {
		t.Fatal(err)
	}
	turns := map[string]bool{}
	for _, order := range b.orders {
		var names []string
		for _, id := range order {
			names = append(names, workload(id))
		}
		names = slices.Compact(names)
		if len(names) != 3 {
			t.Errorf("cases of the same workload do not run next to each other: %v", order)
		}
		turns[fmt.Sprint(names)] = true
	}
	if len(turns) < 2 {
		t.Errorf("the workloads are always in the order %v", turns)
	}
}

// TestOrderOfARoundIsItsOwn checks that the order of cases in a round does not depend on which cases have
// failed, or when.
func TestOrderOfARoundIsItsOwn(t *testing.T) {
	order := func(lost int) []int {
		b := newBench(t)
		b.outcome = func(id, round int) *result.Trial {
			if id == 3 && round == lost {
				return &result.Trial{Status: result.Failed, Reason: &protocol.Reason{Code: "crash"}}
			}
			return nil
		}
		if _, err := b.measure(6, lab.Schedule{Rounds: 6}); err != nil {
			t.Fatal(err)
		}
		return b.orders[5]
	}
	if d := cmp.Diff(order(1), order(4)); d != "" {
		t.Errorf("round 6 after a loss in round 1, and in round 4:\n%s", d)
	}
}

// TestLossesAreNotRunAgain checks that a failed case keeps its reason and gets no further
// trials, and that the other cases are measured to the end.
func TestLossesAreNotRunAgain(t *testing.T) {
	for _, status := range []result.Status{result.Refused, result.Wrong, result.Failed, result.Unavailable} {
		t.Run(string(status), func(t *testing.T) {
			b := newBench(t)
			b.outcome = func(id, round int) *result.Trial {
				if id == 2 && round == 2 {
					return &result.Trial{Status: status, Reason: &protocol.Reason{Code: "x", Message: "so"}}
				}
				return nil
			}
			r, err := b.measure(3, lab.Schedule{Rounds: 7})
			if err != nil {
				t.Fatal(err)
			}
			b.ended(r, result.StoppedRounds, 7)
			if d := cmp.Diff(map[int]int{1: 7, 2: 2, 3: 7}, b.runs); d != "" {
				t.Errorf("trials by case: -want +got:\n%s", d)
			}
		})
	}
}

func TestUnavailable(t *testing.T) {
	why := &protocol.Reason{Code: "no-cc", Message: "install gcc"}
	without := func(ids ...int) func(*lab.Laboratory) {
		return func(l *lab.Laboratory) {
			for _, c := range l.Cases {
				if slices.Contains(ids, c.ID) {
					c.Unavailable = why
				}
			}
		}
	}
	b := newBench(t)
	r, err := b.measure(3, lab.Schedule{Rounds: 6}, without(2))
	if err != nil {
		t.Fatal(err)
	}
	b.ended(r, result.StoppedRounds, 6)
	if first := r.Trials[0]; first.Case != 2 || first.Status != result.Unavailable || first.Reason != why || first.Started.IsZero() {
		t.Errorf("first trial %+v", first)
	}
	if d := cmp.Diff(map[int]int{1: 6, 3: 6}, b.runs); d != "" {
		t.Errorf("trials by case: -want +got:\n%s", d)
	}

	// If a worker lacks a feature, the case's status is failed, not unavailable.
	b = newBench(t)
	why = &protocol.Reason{Code: protocol.CodeFeature, Feature: "fts5", Message: "no FTS5"}
	if r, err = b.measure(2, lab.Schedule{Rounds: 6}, without(2)); err != nil {
		t.Fatal(err)
	}
	if first := r.Trials[0]; first.Status != result.Failed || first.Reason != why {
		t.Errorf("first trial %+v", first)
	}

	b = newBench(t)
	if r, err = b.measure(2, lab.Schedule{Rounds: 6}, without(1, 2)); err != nil {
		t.Fatal(err)
	}
	b.ended(r, result.StoppedNothingLeft, 0)
	if len(r.Trials) != 2 || len(b.runs) != 0 {
		t.Errorf("%d trials, %v run", len(r.Trials), b.runs)
	}
}

func TestRecordedBeforeTheNext(t *testing.T) {
	b := newBench(t)
	if _, err := b.measure(2, lab.Schedule{Rounds: 6}); err != nil {
		t.Fatal(err)
	}
	want := []string{"before run"}
	for round := range 6 {
		want = append(want, fmt.Sprintf("before round %d", round+1), "trial", "recorded", "trial", "recorded")
	}
	want = append(want, "after run", "finished")
	if d := cmp.Diff(want, b.log); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
}
