package lab

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/sqlite3perf/sqlite3perf/internal/result"
)

// measured identifies a trial by its case and round.
type measured struct{ id, round int }

// Resume prepares the continuation of a run that already has trials. It records the time at which the run was
// resumed. If a case has a worker now, its failed trials no longer count, and Resume returns their
// [result.Trial.Order].
func Resume(run *result.Run, cases []*Case, now time.Time) (again []int) {
	last := run.Started
	for i := range run.Trials {
		if end := run.Trials[i].Started.Add(time.Duration(run.Trials[i].TookNS)); end.After(last) {
			last = end
		}
	}
	if run.Ended.After(last) {
		last = run.Ended
	}
	run.Resumed = append(run.Resumed, result.Resumption{At: now.UTC(), PauseNS: max(0, int64(now.Sub(last)))})
	run.Ended, run.Stopped = time.Time{}, ""
	for _, t := range run.Resumable() {
		if slices.ContainsFunc(cases, func(c *Case) bool { return c.ID == t.Case && c.Unavailable == nil }) {
			t.Repeated = true
			again = append(again, t.Order)
		}
	}
	return again
}

// restore sets the laboratory's state from the trials of a resumed run, and returns the number of complete
// rounds. The pauses before the run was resumed do not count as time of the run.
func (l *Laboratory) restore() int {
	l.began = l.Run.Started
	for _, r := range l.Run.Resumed {
		l.began = l.began.Add(time.Duration(r.PauseNS))
	}
	l.there = map[measured]bool{}
	last := 0
	for i := range l.Run.Trials {
		switch t := &l.Run.Trials[i]; {
		case t.Repeated:
			if t.Robbed {
				l.repeated++
			}
		case t.Status == result.OK:
			l.there[measured{t.Case, t.Round}] = true
			list := append(l.took[t.Case], time.Duration(t.TookNS))
			l.took[t.Case] = list[max(0, len(list)-recentRounds):]
			last = max(last, t.Round)
		default:
			l.failed[t.Case] = true
		}
	}
	l.trials = len(l.Run.Trials)
	if last == 0 {
		return 0
	}
	l.settled = l.settledAfter(last - 1)
	for _, c := range l.active() {
		if l.lostFrom(c) == 0 && !l.there[measured{c.ID, last}] {
			last-- // the last round is incomplete
			break
		}
	}
	l.Run.Rounds = last
	l.settled = slices.DeleteFunc(l.settledAfter(last), func(id int) bool {
		return slices.ContainsFunc(l.Cases, func(c *Case) bool { return c.ID == id && l.lostFrom(c) > 0 })
	})
	return last
}

// settledAfter returns the IDs of the cases that, according to Schedule.Settled, needed no further trials when
// the given round was complete.
func (l *Laboratory) settledAfter(round int) []int {
	if l.Schedule.Settled == nil {
		return nil
	}
	for ; round > 0; round-- {
		then := *l.Run
		then.Rounds = round
		then.Trials = slices.DeleteFunc(slices.Clone(then.Trials), func(t result.Trial) bool { return t.Round > round })
		if ids, judged := l.Schedule.Settled(&then, round); judged {
			return ids
		}
	}
	return nil
}

// lostFrom returns the first round in which a trial of the case failed and does not count any longer because
// the run was resumed. It returns 0 if there is no such round.
func (l *Laboratory) lostFrom(c *Case) (first int) {
	for i := range l.Run.Trials {
		if t := &l.Run.Trials[i]; t.Case == c.ID && t.Repeated && t.Status != result.OK && (first == 0 || t.Round < first) {
			first = max(t.Round, 1)
		}
	}
	return first
}

// catchUp runs the trials that are missing in the complete rounds of a resumed run. They are missing because a
// case failed before the run was resumed, and its failed trials no longer count. catchUp returns the reason why
// the run ends, or "" if the run continues.
func (l *Laboratory) catchUp(ctx context.Context, done int) (stopped string, err error) {
	for round := 1; round <= done; round++ {
		lost := slices.DeleteFunc(slices.Clone(l.Cases), func(c *Case) bool {
			first := l.lostFrom(c)
			return first == 0 || first > round || l.failed[c.ID]
		})
		groups := l.due(lost, round)
		if len(groups) == 0 {
			continue
		}
		if stopped, err = l.trialsOf(ctx, round, groups); stopped != "" || err != nil {
			return stopped, err
		}
	}
	return l.verdict(done), nil
}

// newDoubts returns the warnings in "list" without the ones that the run already has. It adds a warning that
// the run was resumed.
func (l *Laboratory) newDoubts(list []result.Warning) []result.Warning {
	r := l.Run.Resumed[len(l.Run.Resumed)-1]
	message := fmt.Sprintf("the run was resumed after a pause of %s, when %d rounds were complete: what happened to the machine in between is not known",
		time.Duration(r.PauseNS).Round(time.Second), l.Run.Rounds)
	list = slices.DeleteFunc(list, func(w result.Warning) bool { return slices.Contains(l.Run.Warnings, w) })
	return append(list, result.Warning{Code: result.WarningResumed, Message: message})
}

// afterRun returns the warnings that l.Noise gives after the run. If the run was resumed, l.Noise has observed
// and numbered only the rounds since then. So afterRun replaces the round numbers in the warnings by the
// round numbers of the run.
func (l *Laboratory) afterRun() []result.Warning {
	list := l.Noise.AfterRun()
	for i, w := range list {
		if l.Run.Resumed != nil && w.Round > 0 && w.Round <= len(l.rounds) {
			list[i].Round = l.rounds[w.Round-1]
		}
	}
	return list
}

// sameWorkers returns an error if a worker of a resumed run differs in its versions from the worker with which
// the run began.
func (l *Laboratory) sameWorkers(cases []*Case, trials []*result.Trial) error {
	if l.Run.Resumed == nil {
		return nil
	}
	for k, t := range trials {
		i := slices.IndexFunc(l.Run.Trials, func(b result.Trial) bool { return b.Case == cases[k].ID && b.Proof != nil })
		if i < 0 || t.Proof == nil {
			continue
		}
		before := l.Run.Trials[i].Proof
		for _, f := range []struct{ what, before, now string }{
			{"SQLite", before.SQLiteVersion, t.Proof.SQLiteVersion},
			{"SQLite's source", before.SQLiteSourceID, t.Proof.SQLiteSourceID},
			{cmp.Or(before.Module, "its module"), before.ModuleVersion, t.Proof.ModuleVersion},
			{"Go", before.Runtime, t.Proof.Runtime},
		} {
			if f.before != f.now {
				return fmt.Errorf("%s is not what the run began with: %s was %q, and is %q now: measure it in a new run", cases[k].Driver, f.what, f.before, f.now)
			}
		}
	}
	return nil
}
