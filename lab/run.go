package lab

import (
	"cmp"
	"context"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/sqlite3perf/sqlite3perf/result"
	"github.com/sqlite3perf/sqlite3perf/stats"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// MinRounds is the smallest number of rounds: fewer samples than that do not have a
// 95 % interval for their median.
const MinRounds = 6

// MaxRounds is the largest number of rounds that a run may ask for. It is more than any
// machine does in a month, and few enough to be counted and kept.
const MaxRounds = 1_000_000

// Executor runs one trial of a case.
type Executor interface {
	Trial(ctx context.Context, c *Case, seed uint64) (*result.Trial, error)
}

// Recorder stores the results of a run as they come. When AddTrial returns, the
// trial is safe. The end of a context only ends the wait for other processes: results
// that come after an interruption are still recorded.
type Recorder interface {
	AddTrial(ctx context.Context, runID int64, t *result.Trial) error
	AddWarning(ctx context.Context, runID int64, w result.Warning) error

	// Finish records what is known of the run only when it has ended.
	Finish(ctx context.Context, run *result.Run) error
}

// Noise observes the machine between trials.
type Noise interface {
	BeforeRun() []result.Warning
	BeforeRound(round int)
	AfterRun() []result.Warning
	Steal() *float64 // as in [result.Run], after AfterRun
}

// Progress is told how far a run is. Left is an estimate; it is 0 until the first
// round has shown how long trials take.
type Progress interface {
	Trial(round, rounds, done, total int, left time.Duration, c *Case, t *result.Trial)
}

// Schedule says how long a run lasts.
type Schedule struct {
	Rounds    int           // exactly this many; 0: at least MinRounds, until tight or out of time
	Time      time.Duration // no round begins that would not end within it
	Precision float64       // half-width of the interval over the median, see stats.Tight

	// Settled, if not nil, decides instead of Precision. After each round it returns the
	// IDs of the cases that need no further trials.
	Settled func(run *result.Run, round int) []int
}

// Laboratory runs the cases of one run.
type Laboratory struct {
	Run      *result.Run // has what is known beforehand, including the ID
	Cases    []*Case
	Schedule Schedule
	Executor Executor
	Recorder Recorder
	Noise    Noise
	Progress Progress
	Now      func() time.Time

	// Stop, when closed, ends the run after the current trial.
	Stop <-chan struct{}

	began   time.Time
	took    map[int]time.Duration // by case ID, the last trial's
	failed  map[int]bool          // by case ID: it is not run again
	settled map[int]bool          // by case ID: it needs no further trials
}

// Measure runs rounds until the schedule is met. It fills in l.Run. It returns an
// error only if the lab itself could not go on; what was measured until then is in
// l.Run and recorded.
func (l *Laboratory) Measure(ctx context.Context) error {
	l.began = l.Now()
	l.took, l.failed, l.settled = map[int]time.Duration{}, map[int]bool{}, map[int]bool{}
	err := l.warn(ctx, slices.Concat(l.Noise.BeforeRun(), beforehand(l.Cases)))
	stopped := ""
	if err == nil {
		err = l.recordUnavailable(ctx)
	}
	for round := 1; err == nil && stopped == ""; round++ {
		stopped, err = l.round(ctx, round)
	}
	if err != nil { // if a lock is the cause, one wait was enough
		var cancel context.CancelFunc
		ctx, cancel = context.WithCancel(ctx)
		cancel()
	}
	err = cmp.Or(err, l.warn(ctx, slices.Concat(robbery(l.Run), l.Noise.AfterRun())))
	l.Run.Ended, l.Run.Stopped, l.Run.Steal = l.Now().UTC(), stopped, l.Noise.Steal()
	return cmp.Or(err, l.Recorder.Finish(ctx, l.Run))
}

// beforehand returns what is doubtful before the first trial, case by case.
func beforehand(cases []*Case) []result.Warning {
	var list []result.Warning
	for _, c := range cases {
		for _, w := range c.Beforehand {
			w.Case = c.ID
			list = append(list, w)
		}
	}
	return list
}

func (l *Laboratory) warn(ctx context.Context, list []result.Warning) error {
	for _, w := range list {
		l.Run.Warnings = append(l.Run.Warnings, w)
		if err := l.Recorder.AddWarning(ctx, l.Run.ID, w); err != nil {
			return err
		}
	}
	return nil
}

// recordUnavailable records a trial that did not take place for each case that does
// not have a worker, or whose worker lacks what the workload needs.
func (l *Laboratory) recordUnavailable(ctx context.Context) error {
	for _, c := range l.Cases {
		if c.Unavailable == nil {
			continue
		}
		l.failed[c.ID] = true
		t := &result.Trial{Case: c.ID, Started: l.Now().UTC(), Status: result.Unavailable, Reason: c.Unavailable}
		if c.Unavailable.Code == protocol.CodeFeature {
			t.Status = result.Failed // as a trial would
		}
		if err := l.record(ctx, t); err != nil {
			return err
		}
	}
	return nil
}

// record stores a trial that has ended.
func (l *Laboratory) record(ctx context.Context, t *result.Trial) error {
	t.Order = len(l.Run.Trials) + 1
	l.Run.Trials = append(l.Run.Trials, *t)
	return l.Recorder.AddTrial(ctx, l.Run.ID, t)
}

// active returns the cases that are still being measured.
func (l *Laboratory) active() []*Case {
	return slices.DeleteFunc(slices.Clone(l.Cases), func(c *Case) bool { return l.failed[c.ID] || l.settled[c.ID] })
}

// round runs every active case once, and those that were robbed once more. It returns why the run ends, or "" if it goes on.
func (l *Laboratory) round(ctx context.Context, round int) (stopped string, err error) {
	active := l.active()
	if len(active) == 0 {
		return result.StoppedNothingLeft, nil
	}
	if l.interrupted() {
		return result.StoppedInterrupted, nil
	}
	l.Noise.BeforeRound(round)
	begin := l.Now()
	// Each round has its own generator, so the order does not depend on how many
	// trials the earlier rounds had.
	var order []*Case
	for _, at := range rand.New(rand.NewPCG(l.Run.Seed, uint64(round))).Perm(len(active)) {
		order = append(order, active[at])
	}
	for i := 0; i < len(order); i++ {
		if l.interrupted() {
			return result.StoppedInterrupted, nil
		}
		c := order[i]
		start := l.Now()
		t, err := l.Executor.Trial(ctx, c, l.Run.Seed)
		if err != nil && ctx.Err() != nil {
			return result.StoppedInterrupted, nil
		}
		if err != nil {
			return "", err
		}
		t.Round = round
		for i := range t.Warnings {
			if t.Warnings[i].Code == result.WarningStopped {
				t.Warnings[i].Round = round
			}
		}
		if t.Repeated = repeats(l.Run.Trials, t); t.Repeated {
			order = append(order, c)
		}
		if err := l.record(ctx, t); err != nil {
			return "", err
		}
		l.took[c.ID] = l.Now().Sub(start)
		l.failed[c.ID] = t.Status != result.OK
		l.Progress.Trial(round, l.Schedule.Rounds, i+1, len(order), l.left(round, i+1, len(order)), c, t)
	}
	l.Run.Rounds = round
	return l.verdict(round, l.Now().Sub(begin)), nil
}

func (l *Laboratory) interrupted() bool {
	select {
	case <-l.Stop:
		return true
	default:
		return false
	}
}

// left estimates the time until the run ends from the time that trials took so far.
func (l *Laboratory) left(round, done, total int) time.Duration {
	if round == 1 && done < total {
		return 0
	}
	var perRound time.Duration
	for _, c := range l.active() {
		perRound += l.took[c.ID]
	}
	left := perRound * time.Duration(total-done) / time.Duration(total) // of this round
	more := l.Schedule.Rounds - round
	if l.Schedule.Rounds == 0 {
		more = MinRounds - round
		if perRound > 0 {
			more = max(more, int((l.Schedule.Time-l.Now().Sub(l.began)-left)/perRound), 0)
		}
	}
	return left + time.Duration(more)*perRound
}

// verdict decides after a complete round whether the run ends. It returns why, or "".
func (l *Laboratory) verdict(round int, took time.Duration) string {
	if l.Schedule.Settled != nil {
		for _, id := range l.Schedule.Settled(l.Run, round) {
			l.settled[id] = true
		}
	}
	switch {
	case len(l.active()) == 0 && len(l.settled) > 0:
		return result.StoppedSettled
	case len(l.active()) == 0:
		return result.StoppedNothingLeft
	case l.Schedule.Rounds > 0:
		if round >= l.Schedule.Rounds {
			return result.StoppedRounds
		}
	case round < MinRounds:
	case l.Schedule.Settled == nil && l.tight():
		return result.StoppedPrecise
	case l.Now().Add(took).Sub(l.began) > l.Schedule.Time:
		return result.StoppedTime
	}
	return ""
}

// tight reports whether every cell's interval is as tight as asked for.
func (l *Laboratory) tight() bool {
	type cell struct {
		id    int
		phase string
	}
	values := map[cell][]float64{}
	for _, t := range l.Run.Trials {
		if l.failed[t.Case] || t.Repeated {
			continue
		}
		for _, s := range t.Samples {
			k := cell{t.Case, s.Phase}
			values[k] = append(values[k], s.Value())
		}
	}
	for _, v := range values {
		if !stats.Tight(v, l.Schedule.Precision) {
			return false
		}
	}
	return true
}
