package tune

import (
	"cmp"
	"context"
	"math"
	"slices"
	"time"

	"github.com/sqlite3perf/sqlite3perf/result"
	"github.com/sqlite3perf/sqlite3perf/stats"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
)

const (
	mostRounds   = 30  // of a confirmation
	mostConfirms = 3   // each but the first without what the one before has not confirmed
	firstShare   = 0.6 // of the time left that the first one may take
	costlyMemory = 1.05
)

// confirm measures the best candidates, and the steps to them, in trials by which none of them
// was chosen. What is not told apart from the step before is left out, and the rest is
// measured again if there is time.
func (s *Search) confirm(ctx context.Context) error {
	for attempt := 1; ; attempt++ {
		steps := s.steps()
		tests := comparisons(steps)
		var list []driver.Settings
		for _, x := range steps {
			list = append(list, x.Changes)
		}
		if len(list) == 1 {
			s.f.Steps, s.f.Confirmed = steps, nil
			return nil
		}
		least, share := leastRounds(tests), firstShare
		if attempt > 1 {
			share = 1
		}
		left := s.deadline.Sub(s.Now())
		fits := s.rounds(len(list), time.Duration(share*float64(left)))
		if attempt > 1 && fits < least {
			return nil
		}
		rounds := min(max(fits, least), mostRounds)
		r, err := s.measure(ctx, "confirmation", list, rounds, nil)
		if r == nil || err != nil {
			return err
		}
		s.judge(steps, tests, r.Analysis)
		ties := slices.DeleteFunc(slices.Clone(steps[1:]), func(x *Step) bool { return x.Worth || x.Safer })
		if len(ties) == 0 || attempt == mostConfirms {
			return nil
		}
		for _, x := range ties {
			s.drop(x)
		}
	}
}

// rounds returns how many rounds of n candidates fit into a time.
func (s *Search) rounds(n int, d time.Duration) int {
	return 1 + int((d-time.Duration(n)*s.first)/(time.Duration(n)*s.later))
}

// leastRounds returns the smallest number of rounds that can tell two sides apart in each of
// some comparisons.
func leastRounds(tests int) int {
	n := stats.MinSamples
	for 2*math.Ldexp(1, -n)*float64(tests) >= stats.Alpha {
		n++
	}
	return n
}

// comparisons returns how many pairs of steps are compared: each with the step before and
// with the first one.
func comparisons(steps []*Step) (n int) {
	for i, x := range steps {
		if i > 0 {
			n++
			if x.Before > 0 {
				n++
			}
		}
	}
	return max(n, 1)
}

// drop takes what a step adds out of the best candidates.
func (s *Search) drop(x *Step) {
	for level, c := range s.best {
		next := driver.Settings{}.With(c)
		for name, v := range x.Added {
			if v != "" && next[name] == v {
				delete(next, name)
			}
		}
		if next = s.normal(next); s.allowed(next) && s.loss(next) <= level {
			s.best[level] = next
		}
	}
}

// steps returns the steps to the best candidates: from the settings of today to the best that
// loses no more, from there to those that lose more, and then the best that lose less.
func (s *Search) steps() []*Step {
	steps := []*Step{{Changes: driver.Settings{}, Loss: s.f.Loss, Level: s.f.Loss}}
	for _, level := range s.levels() {
		if level >= s.f.Loss {
			steps = s.extend(steps, s.best[level], level)
		}
	}
	for _, level := range slices.Backward(s.levels()) {
		c := s.best[level]
		there := slices.ContainsFunc(steps, func(x *Step) bool { return words(x.Changes) == words(c) })
		if level < s.f.Loss && s.loss(c) == level && !there {
			steps = append(steps, &Step{Changes: c, Added: c, Loss: level, Level: level, Safer: true})
		}
	}
	return steps
}

// extend adds the steps from the last one to a candidate: one for each setting, if that is
// possible, those that take memory last.
func (s *Search) extend(steps []*Step, to driver.Settings, level int) []*Step {
	for {
		at := len(steps) - 1
		from := steps[at].Changes
		var missing []string
		back := false
		for _, name := range stats.SettingNames(from.With(to)) {
			switch old, there := from[name]; {
			case there && old != to[name]:
				back = true
			case !there:
				missing = append(missing, name)
			}
		}
		if len(missing) == 0 && !back {
			return steps
		}
		slices.SortStableFunc(missing, func(a, b string) int {
			x, y := s.alone[a+"="+to[a]], s.alone[b+"="+to[b]]
			switch {
			case x == nil || y == nil:
				return 0
			case (x.Memory > costlyMemory) != (y.Memory > costlyMemory):
				return cmp.Compare(x.Memory, y.Memory)
			}
			return cmp.Compare(x.Ratio.Median, y.Ratio.Median)
		})
		next, added := to, difference(from, to)
		for _, name := range missing {
			one := driver.Settings{name: to[name]}
			c := from.With(one)
			if !back && len(s.normal(c)) == len(c) && s.allowed(c) && s.loss(c) <= level {
				next, added = c, one
				break
			}
		}
		steps = append(steps, &Step{Changes: next, Added: added, Before: at, Loss: s.loss(next), Level: level})
	}
}

// difference returns what one candidate changes and another one does not, or differently.
// The value of what is no longer changed is "".
func difference(from, to driver.Settings) driver.Settings {
	d := driver.Settings{}
	for name := range from.With(to) {
		if from[name] != to[name] {
			d[name] = to[name]
		}
	}
	return d
}

// judge sets what a confirmation says of its steps.
func (s *Search) judge(steps []*Step, tests int, a *stats.Analysis) {
	m := stats.AlternativesOf(a.Run, len(steps), s.Phase)
	level := 1 - stats.Alpha/float64(tests)
	ratio := func(i, j int) stats.Summary { return stats.SummarizeRatiosAt(stats.Values(m.Ratios(i, j)), level) }
	for i, x := range steps {
		x.Memory = m.Memory(i)
		if i == 0 {
			continue
		}
		status, _ := m.Bad(i)
		x.MoreFailed, x.Phases = m.MoreFailed(i), m.Phases(i, 0, level)
		x.Ratio, x.Gain = ratio(i, 0), ratio(i, x.Before)
		x.Worth = status == result.OK && !x.MoreFailed && x.Gain.Interval != nil && x.Gain.Interval.High < 1 && x.Gain.Median <= 1-s.Margin
	}
	s.f.Steps, s.f.Confirmed, s.f.Tests, s.f.Rounds = steps, a, tests, a.Run.Rounds
}
