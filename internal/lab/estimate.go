package lab

import (
	"maps"
	"math"
	"slices"
	"time"

	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/workload"
	"github.com/sqlite3perf/sqlite3perf/worker/plan"
)

// Plan predicts the size of a run.
type Plan struct {
	Cases    int // number of cases that can be measured
	Phases   int // number of timed phases, over all cases that can be measured
	Schedule Schedule
	Trials   int           // minimum number of trials; an estimate if Takes is above 0
	Takes    time.Duration // estimated time of the run, if no early result ends it sooner; 0: not known yet
	Least    time.Duration // total time, over all trials, of the phases that have a fixed duration; only set while Takes is 0
}

// differs reports whether p differs by more than a tenth, in trials or time, from the parameter "told": the
// plan that was last passed to [Progress].
func (p Plan) differs(told Plan) bool {
	off := func(now, before float64) bool { return math.Abs(now-before) > 0.1*before }
	return off(float64(p.Trials), float64(told.Trials)) || off(p.Takes.Seconds(), told.Takes.Seconds())
}

// recentRounds is how many of the last rounds are used to predict the time of the next round. A smaller number
// follows changes of the machine's speed faster; a larger number averages out chance.
const recentRounds = 6

// spend records how long a trial of a case took. The parameter "again" is true if the case already had a
// trial in this round. In the second round, spend discards the times of the first round, because trials of
// the first round also load the database and verify more.
func (l *Laboratory) spend(c *Case, round int, again bool, d time.Duration) {
	rounds := l.took[c.ID]
	switch {
	case again:
		rounds[len(rounds)-1] += d
	case round == 2:
		rounds = []time.Duration{d}
	default:
		rounds = append(rounds, d)
	}
	l.took[c.ID] = rounds[max(0, len(rounds)-recentRounds):]
}

// left estimates the remaining time of the run from the times of past trials. It returns 0 during the first
// round, because too little is known then.
func (l *Laboratory) left(round, done, total int) time.Duration {
	if round == 1 && done < total {
		return 0
	}
	perRound := l.perRound()
	left := perRound * time.Duration(total-done) / time.Duration(total) // time left in this round
	return left + time.Duration(l.more(round, l.Now().Add(left)))*perRound
}

// more returns how many rounds follow the current round. The parameter "ends" is the time at which the
// current round ends. more does not consider that the run may end earlier because its results are precise
// enough.
func (l *Laboratory) more(round int, ends time.Time) int {
	if l.Schedule.Rounds > 0 {
		return l.Schedule.Rounds - round
	}
	more := max(MinRounds-round, 0)
	if perRound := l.perRound(); perRound > 0 {
		more = max(more, int((l.Schedule.Time-ends.Sub(l.began))/perRound))
	}
	return more
}

// plan predicts the size of the run. The parameter "round" is the number of complete rounds.
func (l *Laboratory) plan(round int) Plan {
	active := l.active()
	p := Plan{Cases: len(active), Schedule: l.Schedule, Trials: l.trials}
	more := max(l.Schedule.Rounds, MinRounds)
	if round > 0 {
		more = l.more(round, l.Now())
		p.Trials += more * l.repeated / round
		p.Takes = l.Now().Sub(l.began) + time.Duration(more)*l.perRound()
	}
	for _, c := range active {
		p.Phases += len(c.Phases)
		if l.there[measured{c.ID, round + 1}] {
			p.Trials--
		}
		trials := more
		if c.Once {
			trials = 1
		}
		p.Trials += trials
		if p.Takes == 0 {
			p.Least += time.Duration(trials) * c.Lasts()
		}
	}
	return p
}

// Lasts returns the total time of the case's phases that have a fixed duration.
func (c *Case) Lasts() (sum time.Duration) {
	if c.Plan == nil {
		return 0
	}
	for _, p := range c.Plan.Phases {
		switch {
		case p.Mix != nil:
			sum += time.Duration(p.Mix.DurationMS) * time.Millisecond
		case p.HTTP != nil:
			sum += time.Duration(p.HTTP.DurationMS) * time.Millisecond
		case p.Replay != nil && p.Replay.Speed > 0:
			sum += time.Duration(float64(p.Replay.Events.AtNS[p.Replay.Events.Len()-1]) / p.Replay.Speed)
		}
	}
	return sum
}

// Beginning returns a copy of the case for a shorter trial. In the copy, each replay has only the first
// events of its recording, as many as the parameter "events" says. Replays at a given speed are not
// shortened. The result "whole" is the number of events that the shortened replays have in the original case.
func (c *Case) Beginning(events int) (cut *Case, whole int) {
	next := *c
	if c.Plan == nil {
		return &next, 0
	}
	next.Expect = maps.Clone(c.Expect)
	next.Plan = withPhases(c.Plan, func(p *plan.Phase) {
		if p.Replay == nil || p.Replay.Speed > 0 {
			return
		}
		whole += p.Replay.Events.Len()
		p.Replay = workload.FirstEvents(p.Replay, events)
		expect := next.Expect[p.Name]
		expect.Operations = int64(p.Replay.Events.Len())
		next.Expect[p.Name] = expect
	})
	return &next, whole
}

// TakesWhole estimates how long a trial of the case "whole" takes. The trial t was a trial of "cut", a copy
// of that case which [Case.Beginning] returned. TakesWhole scales the time of each replay by the number of
// events. If t is not OK, the result is 0.
func TakesWhole(t *result.Trial, cut, whole *Case) time.Duration {
	takes := time.Duration(t.TookNS)
	if t.Status != result.OK {
		return 0
	}
	for i := range cut.Plan.Phases {
		r := cut.Plan.Phases[i].Replay
		k := slices.IndexFunc(t.Samples, func(s result.Sample) bool { return s.Phase == cut.Plan.Phases[i].Name })
		if r == nil || k < 0 {
			continue
		}
		more := float64(whole.Plan.Phases[i].Replay.Events.Len()) / float64(r.Events.Len())
		takes += time.Duration(float64(t.Samples[k].WallNS) * (more - 1))
	}
	return takes
}

// perRound estimates how long a round of the active cases takes.
func (l *Laboratory) perRound() time.Duration {
	sum := l.between
	for _, c := range l.active() {
		sum += mean(l.took[c.ID])
	}
	return sum
}

// mean returns the mean of the times, or 0 if there are none.
func mean(list []time.Duration) time.Duration {
	sum := time.Duration(0)
	for _, d := range list {
		sum += d
	}
	return sum / time.Duration(max(1, len(list)))
}
