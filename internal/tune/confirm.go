package tune

import (
	"cmp"
	"context"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
)

const (
	mostRounds   = 60  // greatest number of rounds in a confirmation
	mostConfirms = 2   // greatest number of confirmations; the second one leaves out settings that the first one showed to be worthless
	firstShare   = 0.5 // fraction of the remaining time that the first confirmation may take
	costlyMemory = 1.05
)

// confirm measures the best candidates, and the steps ([Step]) that lead to them, in new trials. If
// some steps turn out not to be worth setting, confirm leaves out the values that [Search.prune]
// removes, and measures the remaining steps once more.
func (s *Search) confirm(ctx context.Context) error {
	for attempt := 1; ; attempt++ {
		steps := s.steps()
		if len(steps) == 1 {
			if attempt == 1 {
				s.found.Steps = steps
			}
			return nil
		}
		list := document.Map(steps, func(x *Step) driver.Settings { return x.Changes })
		tests := mostConfirms * (len(steps) - 1)
		least, share := leastRounds(tests), firstShare
		if attempt > 1 {
			share = 1
		}
		fits := s.rounds(len(list), time.Duration(share*float64(s.deadline.Sub(s.Now()))))
		if attempt > 1 && fits < least {
			return nil
		}
		r, err := s.measure(ctx, Plan{What: "confirmation", Candidates: list, Rounds: min(max(fits, least), mostRounds), Confirms: true})
		if r == nil || err != nil {
			return err
		}
		if ties := s.found.judge(steps, tests, r.Analysis); ties == 0 || attempt == mostConfirms {
			return nil
		}
		s.prune(steps)
	}
}

func (s *Search) rounds(n int, d time.Duration) int {
	return 1 + int((d-time.Duration(n)*s.first)/(time.Duration(n)*s.later))
}

// leastRounds returns how many rounds are needed so that a test can be significant. The parameter
// "tests" is the number of tests for which the significance level is corrected.
func leastRounds(tests int) int {
	n := stats.MinSamples
	for 2*math.Ldexp(1, -n)*float64(tests) >= stats.Alpha {
		n++
	}
	return n
}

// prune removes from the best candidates the values of steps that are not worth setting. It keeps such a
// value in two cases: if the value looks fast and no later step is worth setting, or if more data than
// allowed could be lost without the value.
func (s *Search) prune(steps []*Step) {
	after := false // whether a later step is worth setting
	for _, x := range slices.Backward(steps[1:]) {
		if after = after || x.Worth && !x.Safer; x.Worth || x.Safer || !after && !x.MoreFailed && x.Gain.N > 0 && x.Gain.Median <= 1-s.Margin {
			continue
		}
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
}

// steps returns the steps from today's settings to the best candidates. Steps that can lose no more
// data than today come first. Steps that can lose more follow. The last steps are safer: they can
// lose less than the best candidate that risks no more than today.
func (s *Search) steps() []*Step {
	steps := []*Step{{Changes: driver.Settings{}, Loss: s.found.Loss, Level: s.found.Loss}}
	for _, level := range s.levels() {
		if level >= s.found.Loss {
			steps = s.extend(steps, s.best[level], level)
		}
	}
	least := s.loss(s.best[s.found.Loss])
	for _, level := range slices.Backward(s.levels()) {
		c := s.best[level]
		there := slices.ContainsFunc(steps, func(x *Step) bool { return maps.Equal(x.Changes, c) })
		if level < least && s.loss(c) == level && !there {
			steps = append(steps, &Step{Changes: c, Added: c, Loss: level, Level: level, Safer: true})
		}
	}
	return steps
}

// extend appends the steps that lead from the last step to a candidate. The parameter "to" is the candidate.
// If possible, each step changes one setting. Settings that take memory come last.
func (s *Search) extend(steps []*Step, to driver.Settings, level int) []*Step {
	for {
		at := len(steps) - 1
		from := steps[at].Changes
		next, added := to, difference(from, to)
		if len(added) == 0 {
			return steps
		}
		var missing []string
		back := false
		for _, name := range stats.SettingNames(added) {
			if _, there := from[name]; there {
				back = true
			} else {
				missing = append(missing, name)
			}
		}
		slices.SortStableFunc(missing, func(a, b string) int {
			x, y := s.alone[a+"="+to[a]], s.alone[b+"="+to[b]]
			switch {
			case x == nil || y == nil:
				return 0
			case (x.memory > costlyMemory) != (y.memory > costlyMemory):
				return cmp.Compare(x.memory, y.memory)
			}
			return cmp.Compare(x.Ratio.Median, y.Ratio.Median)
		})
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

// difference compares two choices of settings, "from" and "to". It returns the values of "to" that
// differ from the values of "from". For a setting that only "from" has, it returns the value "".
func difference(from, to driver.Settings) driver.Settings {
	d := driver.Settings{}
	for name := range from.With(to) {
		if from[name] != to[name] {
			d[name] = to[name]
		}
	}
	return d
}

// judge sets the results of the steps, and the fields of f that describe the confirmation. It
// computes them from the analysis of the run that measured the steps. It returns how many steps,
// apart from safer ones, are not worth setting.
func (f *Finding) judge(steps []*Step, tests int, a *stats.Analysis) (ties int) {
	m := stats.AlternativesOf(a.Run, len(steps), f.Phase)
	level := 1 - stats.Alpha/float64(tests)
	ratio := func(i, j int) stats.Summary { return stats.SummarizeRatiosAt(stats.Values(m.Ratios(i, j)), level) }
	last := 0                           // index of the last step that is worth setting
	luck := make([]float64, len(steps)) // for each step: the factor by which its ratio is probably too small, because the same trials decided which steps are worth setting
	for i, x := range steps {
		x.Memory = m.Memory(i)
		if i == 0 {
			luck[0] = 1
			continue
		}
		if !x.Safer {
			x.Before, x.Added = last, difference(steps[last].Changes, x.Changes)
		}
		status, _ := m.Bad(i)
		x.MoreFailed, _ = m.MoreFailed(i, tests)
		x.Phases = m.Phases(i, 0, level)
		x.Ratio, x.Gain = ratio(i, 0), ratio(i, x.Before)
		x.Worth = status == result.OK && !x.MoreFailed && x.Gain.Interval != nil && x.Gain.Interval.High < 1 && x.Gain.Median <= 1-f.Margin
		luck[i] = luck[x.Before]
		if x.Worth { // the same trials decided that the step is worth setting; lucky trials make this likelier, so the gain is probably too large and is corrected
			gain := stats.LessByChance(x.Gain, 1-f.Margin)
			luck[i] *= x.Gain.Median / gain
			x.Gain.Median = gain
		}
		if in := x.Ratio.Interval; in != nil {
			x.Ratio.Median = min(max(x.Ratio.Median/luck[i], in.Low), in.High)
		}
		switch {
		case x.Safer:
		case x.Worth:
			last = i
		default:
			ties++
		}
	}
	f.Steps, f.Confirmed, f.Tests, f.Rounds = steps, a, tests, a.Run.Rounds
	return ties
}
