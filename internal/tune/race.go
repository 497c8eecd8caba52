package tune

import (
	"cmp"
	"context"
	"math"
	"slices"
	"time"

	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
)

// The schedules "long" and "short" say after which rounds a race leaves out the worse half of its
// candidates, and after which round it ends. The schedule "short" is for workloads whose trials
// take long.
var (
	long  = schedule{[]int{2, 4}, 8}
	short = schedule{[]int{1, 2}, 4}
)

type schedule struct {
	looks []int
	last  int
}

func (s *Search) measure(ctx context.Context, p Plan) (*Race, error) {
	for _, c := range p.Candidates {
		for name, v := range c {
			s.tried[name+"="+v] = true
		}
	}
	a, err := s.Measure(ctx, p)
	if a == nil {
		return nil, err
	}
	r := &Race{Run: a.Run.ID, What: p.What, Candidates: len(p.Candidates), Trials: len(a.Run.Trials), Analysis: a, took: s.Now().Sub(a.Run.Started)}
	r.Seconds = r.took.Seconds()
	s.found.Races = append(s.found.Races, r)
	return r, err
}

// takes estimates the time of a race of n candidates.
func (s *Search) takes(n int, how schedule) time.Duration {
	d := time.Duration(n) * s.first
	round := 1
	for _, look := range how.looks {
		d += time.Duration((look-round)*n) * s.later
		round, n = look, n/2+1
	}
	return d + time.Duration((how.last-round)*n)*s.later
}

// left returns how much time is left until the confirmation must begin. The confirmation gets the time
// of leastConfirmed, but at least a third of the search's time and at most a half.
func (s *Search) left() time.Duration {
	return s.deadline.Add(-min(max(s.leastConfirmed(), s.Time/3), s.Time/2)).Sub(s.Now())
}

// leastConfirmed returns the least time in which the steps found so far and one further step can be
// confirmed. It counts a further step because the search may still find one.
func (s *Search) leastConfirmed() time.Duration {
	n := len(s.steps()) + 1
	return time.Duration(n) * (s.first + time.Duration(leastRounds(mostConfirms*n)-1)*s.later)
}

func (s *Search) spent() time.Duration { return s.Now().Sub(s.deadline.Add(-s.Time)) }

// enough returns the least time limit with which this search could still try one value and confirm
// it.
func (s *Search) enough() time.Duration { return s.least(s.spent() + s.takes(2, short)) }

// least returns how long a search must be, so that its races can last until the given time and the
// confirmation can follow.
func (s *Search) least(until time.Duration) time.Duration {
	return min(max(until*3/2, until+s.leastConfirmed()), 2*until)
}

// Least returns the least time of a search that tries one value and confirms it. The parameter
// "trials" is the time of one trial of each workload.
func Least(trials time.Duration) time.Duration {
	s := &Search{first: trials, later: trials, found: &Finding{}}
	return s.least(probeRounds*trials + s.takes(2, short))
}

// field is the result of a race.
type field struct {
	list []driver.Settings
	a    *stats.Alternatives
	out  map[int]bool // indexes of candidates that were left out before the race ended
}

// race measures candidates until few are left. The first candidate, which changes nothing, and the
// best candidates so far stay to the end. The result f is nil if there is nothing to measure or no
// time. The result "rest" has the candidates for which there was no time.
func (s *Search) race(ctx context.Context, what string, list []driver.Settings) (f *field, rest []driver.Settings, err error) {
	stay := map[string]bool{"": true}
	for _, c := range s.best {
		stay[stats.SettingWords(c)] = true
	}
	seen := map[string]bool{}
	list = slices.DeleteFunc(list, func(c driver.Settings) bool {
		again := seen[stats.SettingWords(c)]
		seen[stats.SettingWords(c)] = true
		return again
	})
	if len(list) == len(stay) {
		return nil, nil, nil
	}
	how := long
	if s.takes(len(list), how) > s.left() {
		how = short
	}
	n := len(list)
	for n > len(stay) && s.takes(n, how) > s.left() {
		n--
	}
	if n == len(stay) {
		return nil, list, nil
	}
	list, rest = list[:n:n], list[n:]
	f = &field{list: list, out: map[int]bool{}}
	end := s.Now().Add(max(s.left(), 0))
	r, err := s.measure(ctx, Plan{What: what, Candidates: list, Rounds: how.last, Settled: func(run *result.Run, round int) ([]int, bool) {
		switch {
		case s.Now().After(end):
			return ids(run, len(list), func(int) bool { return true }), true
		case slices.Contains(how.looks, round):
			s.halve(f, stats.AlternativesOf(run, len(list), s.Phase), stay)
			return ids(run, len(list), func(i int) bool { return f.out[i] }), true
		}
		return nil, false
	}})
	if err != nil {
		return nil, rest, err
	}
	f.a = stats.AlternativesOf(r.Analysis.Run, len(list), s.Phase)
	return f, rest, nil
}

// ids returns the IDs of the cases of selected candidates. There are n candidates. A candidate is selected if
// the function "which" returns true for its index.
func ids(run *result.Run, n int, which func(int) bool) (list []int) {
	each := len(run.Cases) / n
	for i := range run.Cases {
		if which(i / each) {
			list = append(list, run.Cases[i].ID)
		}
	}
	return list
}

// halve leaves out the slower half of the candidates (choices of settings). It compares only candidates
// that risk the same loss of data. Candidates in the parameter "stay" are kept, and are not counted.
func (s *Search) halve(f *field, a *stats.Alternatives, stay map[string]bool) {
	byLoss := map[int][]int{}
	f.a = a
	for i, c := range f.list {
		if status, _ := a.Bad(i); !stay[stats.SettingWords(c)] && !f.out[i] && status == result.OK {
			byLoss[s.loss(c)] = append(byLoss[s.loss(c)], i)
		}
	}
	for _, list := range byLoss {
		slices.SortStableFunc(list, func(i, j int) int { return cmp.Compare(f.value(i), f.value(j)) })
		for _, i := range list[(len(list)+1)/2:] {
			f.out[i] = true
		}
	}
}

func (f *field) to(i, j int) stats.Summary {
	return stats.SummarizeRatios(stats.Values(f.a.Ratios(i, j)))
}

// value returns the time per successful operation of candidate i, divided by the time with today's
// settings. It is infinite if the candidate has no correct result, or if more operations fail than
// with today's settings.
func (f *field) value(i int) float64 {
	status, _ := f.a.Bad(i)
	if status != result.OK || f.failed(i) || f.to(i, 0).N == 0 {
		return math.Inf(1)
	}
	return f.perSuccess(i, 0)
}

// perSuccess returns the time per successful operation of candidate i, divided by the same time of
// candidate j. It does not use the time per operation, because operations that fail may take little
// time. After only a few rounds, it may be unclear whether more operations fail with a candidate. If
// candidates were compared by the time per operation, such a candidate would seem to be the fastest.
func (f *field) perSuccess(i, j int) float64 {
	return f.to(i, j).Median * f.a.Succeeded(j) / f.a.Succeeded(i)
}

// failed reports whether more operations failed with a candidate than with today's settings:
// significantly more, or more in every round. This weak evidence is enough, because it only decides
// what is measured next.
func (f *field) failed(i int) bool {
	told, seems := f.a.MoreFailed(i, 1)
	return told || seems
}
