package lab

import (
	"cmp"
	"context"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/sqlite3perf/sqlite3perf/internal/distinct"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// MinRounds is the smallest number of rounds of a run whose [Schedule.Rounds] is 0. With fewer rounds, a median
// has too few samples for a 95 % confidence interval. The command sqlite3perf also refuses fewer --rounds.
const MinRounds = 6

// MaxRounds is the largest number of rounds that a user may ask for. No machine completes more rounds in a
// month, and so many rounds can still be counted and stored.
const MaxRounds = 1_000_000

// Executor runs one trial of each of several cases. If possible, the trials take turns, so that only one of
// them works at a time.
type Executor interface {
	Trials(ctx context.Context, cases []*Case, seed uint64) ([]*result.Trial, error)
}

// Recorder stores the results of a run as they arrive. When AddTrial returns, the trial is stored safely. If
// ctx has ended, a method still stores its result, but does not wait for other processes that use the store.
type Recorder interface {
	AddTrial(ctx context.Context, runID int64, t *result.Trial) error
	AddWarning(ctx context.Context, runID int64, w result.Warning) error

	// Finish stores the facts that are known only when the run has ended.
	Finish(ctx context.Context, run *result.Run) error
}

// Noise observes the machine between trials.
type Noise interface {
	BeforeRun() []result.Warning
	BeforeRound(round int)
	AfterRun() []result.Warning
	Steal() *float64 // fraction of CPU time that other virtual machines took; nil: not known; called after AfterRun
}

// Progress is notified of the plan of a run, and of the end of each trial.
type Progress interface {
	// Planned is called before the first trial, and again when the time of trials can be estimated. The
	// estimate needs two complete rounds and a twentieth of the run, because the first round takes longer than
	// later rounds, and because the times of a few trials are not enough. Later, Planned is called whenever
	// the plan differs by more than a tenth from the plan passed last.
	Planned(p Plan)

	// Trial is called after each trial. The parameter "left" is the estimated remaining time. It is 0 until the
	// first round has shown how long trials take.
	Trial(round, rounds, done, total int, left time.Duration, c *Case, t *result.Trial)
}

// Schedule says how long a run lasts.
type Schedule struct {
	Rounds int           // number of rounds; 0: at least MinRounds, until no case needs further trials or Time is up
	Time   time.Duration // after MinRounds rounds, a round that would end later than this is not started

	// Settled, if not nil, is called after each round. It returns the IDs of the cases that need no further
	// trials. If the result "judged" is false, Settled has not decided after this round, and the IDs that it
	// returned earlier remain valid.
	Settled func(run *result.Run, round int) (ids []int, judged bool)
}

// Laboratory runs the cases of one run.
type Laboratory struct {
	Run      *result.Run // initially has the facts that are known before the run, including the ID
	Cases    []*Case
	Schedule Schedule
	Executor Executor
	Recorder Recorder
	Noise    Noise
	Progress Progress
	Now      func() time.Time

	// When the channel Stop is closed, the run ends after the current trials.
	Stop <-chan struct{}

	// The next two fields matter only if the run is resumed.
	there  map[measured]bool // trials that the run had before it was resumed
	rounds []int             // numbers of the rounds for which Noise.BeforeRound was called

	began    time.Time
	ended    time.Time               // when the last trial ended
	between  time.Duration           // pause between the last two rounds
	trials   int                     // number of trials so far
	repeated int                     // number of trials run again because other processes had taken CPU time from the first attempt
	told     Plan                    // plan that was last passed to Progress
	took     map[int][]time.Duration // by ID of the case: time that its trials took in each of the last rounds
	failed   map[int]bool            // by ID of the case: a trial failed, so the case is not run again
	settled  []int                   // IDs of the cases that need no further trials
}

// Measure runs rounds until the schedule is fulfilled, and completes l.Run. It returns an error only if the
// run could not continue; a failed trial is not an error. If there is an error, the results so far are in
// l.Run, and the Recorder has stored them.
func (l *Laboratory) Measure(ctx context.Context) error {
	l.began = l.Now()
	l.took, l.failed, l.settled = map[int][]time.Duration{}, map[int]bool{}, nil
	before, done := len(l.Run.Trials), 0
	doubts := l.Noise.BeforeRun()
	if l.Run.Resumed != nil {
		done = l.restore()
		doubts = l.newDoubts(doubts)
	} else {
		doubts = append(doubts, beforehand(l.Cases)...)
	}
	err := l.warn(ctx, doubts)
	stopped := ""
	if err == nil {
		err = l.recordUnavailable(ctx)
	}
	l.ended = l.Now()
	if err == nil && len(l.active()) > 0 {
		l.Progress.Planned(l.plan(done))
	}
	if done > 0 && err == nil {
		stopped, err = l.catchUp(ctx, done)
	}
	for round := done + 1; err == nil && stopped == ""; round++ {
		stopped, err = l.round(ctx, round)
	}
	if err != nil { // the store may be locked, and the failed call has already waited for it; do not wait again
		var cancel context.CancelFunc
		ctx, cancel = context.WithCancel(ctx)
		cancel()
	}
	err = cmp.Or(err, l.warn(ctx, slices.Concat(robbery(l.Run.Trials[before:]), l.afterRun())))
	l.Run.Ended, l.Run.Stopped, l.Run.Steal = l.Now().UTC(), stopped, l.Noise.Steal()
	return cmp.Or(err, l.Recorder.Finish(ctx, l.Run))
}

// beforehand returns the warnings known before the first trial, case by case.
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

// recordUnavailable records a trial for each case that cannot be run. The trial gives the reason: the case
// has no worker, or its worker lacks something that the workload needs.
func (l *Laboratory) recordUnavailable(ctx context.Context) error {
	for _, c := range l.Cases {
		if c.Unavailable == nil || l.failed[c.ID] {
			continue
		}
		l.failed[c.ID] = true
		t := &result.Trial{Case: c.ID, Started: l.Now().UTC(), Status: result.Unavailable, Reason: c.Unavailable}
		if c.Unavailable.Code == protocol.CodeFeature {
			t.Status = result.Failed // not result.Unavailable, because there is a worker, and its trial would fail
		}
		if err := l.record(ctx, t); err != nil {
			return err
		}
	}
	return nil
}

// record stores a trial that has ended.
func (l *Laboratory) record(ctx context.Context, t *result.Trial) error {
	t.Order = 1
	if n := len(l.Run.Trials); n > 0 { // not the number of trials: a user may have deleted trials of a resumed run
		t.Order = l.Run.Trials[n-1].Order + 1
	}
	l.Run.Trials = append(l.Run.Trials, *t)
	return l.Recorder.AddTrial(ctx, l.Run.ID, t)
}

// active returns the cases that need further trials.
func (l *Laboratory) active() []*Case {
	return slices.DeleteFunc(slices.Clone(l.Cases), func(c *Case) bool {
		_, ran := l.took[c.ID]
		return l.failed[c.ID] || slices.Contains(l.settled, c.ID) || c.Once && ran
	})
}

// round runs every active case once. If other processes took CPU time from a case's trial, the case runs once
// more. It returns the reason why the run ends, or "" if the run continues.
func (l *Laboratory) round(ctx context.Context, round int) (stopped string, err error) {
	active := l.active()
	if len(active) == 0 {
		return result.StoppedNothingLeft, nil
	}
	if closed(l.Stop) {
		return result.StoppedInterrupted, nil
	}
	stopped, err = l.trialsOf(ctx, round, l.due(active, round))
	if stopped != "" || err != nil {
		return stopped, err
	}
	l.Run.Rounds = round
	stopped = l.verdict(round)
	if p := l.plan(round); round >= 2 && stopped == "" && p.Takes <= 20*l.Now().Sub(l.began) && p.differs(l.told) {
		l.told = p
		l.Progress.Planned(p)
	}
	return stopped, nil
}

// due returns groups of cases to run in a round, in order. The trials of a group take turns.
// Trials that a resumed run already has are left out.
func (l *Laboratory) due(cases []*Case, round int) [][]*Case {
	order := slices.DeleteFunc(shuffled(cases, l.Run.Seed, round), func(c *Case) bool { return l.there[measured{c.ID, round}] })
	return together(order, l.Run.Compares)
}

// together groups the cases whose trials take turns. In a comparison, cases are in the same group if they
// differ only in the side of the comparison. Otherwise, they are in the same group if they do the same work.
func together(order []*Case, by *result.Compares) (groups [][]*Case) {
	for _, c := range order {
		group := distinct.Find(&groups, nil, func(g []*Case) bool {
			if by != nil {
				return by.Beside(&g[0].Case, &c.Case)
			}
			return work(g[0]) == work(c)
		})
		*group = append(*group, c)
	}
	return groups
}

// trialsOf runs groups of cases in a round. If other processes took CPU time from a group's trials, the group
// runs once more. trialsOf returns the reason why the run ends, or "" if the run continues.
func (l *Laboratory) trialsOf(ctx context.Context, round int, groups [][]*Case) (stopped string, err error) {
	l.Noise.BeforeRound(round)
	l.rounds = append(l.rounds, round)
	l.between = l.Now().Sub(l.ended)
	first, done, total := len(groups), 0, 0
	for _, cases := range groups {
		total += len(cases)
	}
	planned := total
	for i := 0; i < len(groups); i++ {
		if closed(l.Stop) {
			return result.StoppedInterrupted, nil
		}
		cases := groups[i]
		start := l.Now()
		trials, err := l.Executor.Trials(ctx, cases, l.Run.Seed)
		if err != nil && ctx.Err() != nil {
			return result.StoppedInterrupted, nil
		}
		if err != nil {
			return "", err
		}
		if err := l.sameWorkers(cases, trials); err != nil {
			return "", err
		}
		for _, t := range trials {
			t.Round = round
		}
		if repeats(l.Run.Trials, trials) {
			for _, t := range trials {
				t.Repeated = true
			}
			groups, total = append(groups, cases), total+len(cases)
		}
		each := l.Now().Sub(start) / time.Duration(len(cases))
		for k, t := range trials {
			for i := range t.Warnings {
				if t.Warnings[i].Code == result.WarningStopped {
					t.Warnings[i].Round = round
				}
			}
			if err := l.record(ctx, t); err != nil {
				return "", err
			}
			done++
			l.trials++
			l.ended = l.Now()
			l.spend(cases[k], round, i >= first, each)
			l.failed[cases[k].ID] = t.Status != result.OK
			l.Progress.Trial(round, l.Schedule.Rounds, done, total, l.left(round, done, total), cases[k], t)
		}
	}
	l.repeated += total - planned
	return "", nil
}

// shuffled returns the order of a round: the workloads in random order, and each workload's cases in random
// order. So cases that are compared run within seconds of each other. A machine that is slow for some seconds
// slows all of them down.
func shuffled(cases []*Case, seed uint64, round int) []*Case {
	// Each round has its own random generator, so its order does not depend on the number of
	// earlier trials.
	perm := rand.New(rand.NewPCG(seed, uint64(round))).Perm(len(cases))
	turn := map[string]int{} // position in the order, by name of the workload
	for _, at := range perm {
		if name := cases[at].Workload; turn[name] == 0 {
			turn[name] = len(turn) + 1
		}
	}
	order := make([]*Case, len(cases))
	for i, at := range perm {
		order[i] = cases[at]
	}
	slices.SortStableFunc(order, func(a, b *Case) int { return cmp.Compare(turn[a.Workload], turn[b.Workload]) })
	return order
}

// closed reports whether a channel on which nothing is sent is closed.
func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// verdict is called after a complete round. It first asks Schedule.Settled which cases need no further
// trials. Then it decides whether the run ends. It returns the reason why the run ends, or "" if the run
// continues.
func (l *Laboratory) verdict(round int) string {
	if l.Schedule.Settled != nil {
		if ids, judged := l.Schedule.Settled(l.Run, round); judged {
			l.settled = ids
		}
	}
	switch {
	case len(l.active()) == 0 && slices.ContainsFunc(l.Cases, func(c *Case) bool { return !l.failed[c.ID] }):
		return result.StoppedSettled
	case len(l.active()) == 0:
		return result.StoppedNothingLeft
	case l.Schedule.Rounds > 0:
		if round >= l.Schedule.Rounds {
			return result.StoppedRounds
		}
	case round < MinRounds:
	case l.Now().Add(l.perRound()).Sub(l.began) > l.Schedule.Time:
		return result.StoppedTime
	}
	return ""
}
