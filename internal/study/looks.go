package study

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/sqlite3perf/sqlite3perf/internal/lab"
	"github.com/sqlite3perf/sqlite3perf/internal/report"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
)

// A run with a limited time spends this time on deciding the claims. A look is an evaluation of the claims
// during the run. In the first [lab.MinRounds] rounds, each case is measured. Then, until the first look,
// only cases on which claims depend are measured. After the first look, only cases of open claims (claims
// that are not decided yet) are measured, and only if the remaining time will probably suffice to decide
// these claims.
//
// The claims are evaluated three times: at two looks, and at the end of the run. These three evaluations
// share the significance level, so that the probability of deciding a comparison wrongly is at most that
// level (Bonferroni). A look gets only a fifth of the level. A fifth is enough for most comparisons, because
// their figures are far from the bounds that the claims state. So most of the level is left for the close
// comparisons at the end.
const (
	// Look is the number of rounds before the first look (an evaluation of the claims during the
	// run). It must be at least 8, because figures of fewer rounds have no interval at the
	// significance level of a look.
	Look = 10

	secondLook = 2 * Look
	lookShare  = 0.2
	endShare   = 1 - 2*lookShare
)

// Settled returns a function for [lab.Schedule] that reports which cases of a run of the study need
// no further trials. It judges the cases only after some rounds. After the other rounds, its result
// "judged" is false. The parameter "limit" is the time after which the run ends. The field Looks of
// the run's [result.Study] must be true.
func (s *Study) Settled(limit time.Duration) func(run *result.Run, round int) (ids []int, judged bool) {
	return func(run *result.Run, round int) (ids []int, judged bool) {
		var open map[int]bool
		switch {
		case round == lab.MinRounds:
			open = rests(rule(s.claims, newCells(stats.Analyze(run, ""), endShare), nil))
		case plans(round):
			open = s.plan(run, limit)
		default:
			return nil, false
		}
		for i := range run.Cases {
			if c := &run.Cases[i]; once(c) || !open[c.ID] {
				ids = append(ids, c.ID)
			}
		}
		return ids, true
	}
}

func rests(list [][]*ruling) map[int]bool {
	ids := map[int]bool{}
	for _, r := range slices.Concat(list...) {
		maps.Copy(ids, r.cases)
	}
	return ids
}

// plans reports whether [Study.plan] is called after a round. It is called after [Look] rounds, and
// whenever the number of rounds has doubled since.
func plans(round int) bool {
	for round > Look && round%2 == 0 {
		round /= 2
	}
	return round == Look
}

// plan returns the IDs of the cases to be measured in the remaining time. These are the cases of open
// claims that will probably be decided in that time. The cheapest claims come first, and at least one
// claim is included.
//
// A claim that would be decided if the run ended now still counts as open. If the measurement of such a
// claim stopped now, this decision would be another look (evaluation of the claims), which needs its
// own part of the significance level.
func (s *Study) plan(of *result.Run, limit time.Duration) map[int]bool {
	look, now := s.rulings(stats.Analyze(of, ""))
	var open []need
	for i := range s.claims {
		if s.claims[i].verdict(look[i]) == report.CannotBeTold {
			open = append(open, s.claims[i].needs(look[i], now[i]))
		}
	}
	last := &of.Trials[len(of.Trials)-1]
	left := limit - last.Started.Add(time.Duration(last.TookNS)).Sub(of.Started)
	perRound := costs(of)
	takes := func(n need) time.Duration { return time.Duration(n.rounds) * perRound(n.cases) }
	slices.SortStableFunc(open, func(a, b need) int { return cmp.Compare(takes(a), takes(b)) })
	all := need{cases: map[int]bool{}}
	for _, n := range open {
		with := need{rounds: max(all.rounds, n.rounds), cases: maps.Clone(all.cases)}
		maps.Copy(with.cases, n.cases)
		if all.rounds == 0 || takes(with) <= left {
			all = with
		}
	}
	return all.cases
}

// costs returns a function that estimates how long one round takes for the cases with the given
// IDs. The estimate is based on the trials of these cases so far.
func costs(run *result.Run) func(ids map[int]bool) time.Duration {
	took, trials := map[int]time.Duration{}, map[int]time.Duration{}
	for _, t := range run.Trials {
		took[t.Case] += time.Duration(t.TookNS)
		trials[t.Case]++
	}
	return func(ids map[int]bool) (sum time.Duration) {
		for id := range ids {
			sum += took[id] / max(trials[id], 1)
		}
		return sum
	}
}

// rulings evaluates the claims at each look (evaluation during the run) that the run has had (after
// [Look] and secondLook rounds), and then with all samples, as at the run's end. The result "look" has
// the rulings of the last look; it is nil if there was no look. The result "now" has the rulings with all
// samples.
func (s *Study) rulings(a *stats.Analysis) (look, now [][]*ruling) {
	for _, round := range []int{Look, secondLook} {
		if a.Run.Rounds < round {
			break
		}
		first := *a.Run
		first.Rounds = round
		first.Trials = slices.DeleteFunc(slices.Clone(a.Run.Trials), func(t result.Trial) bool { return t.Round > round })
		look = rule(s.claims, newCells(stats.Analyze(&first, ""), lookShare), look)
	}
	return look, rule(s.claims, newCells(a, endShare), look)
}

func (s *Study) judge(a *stats.Analysis) []report.Claim {
	var rulings [][]*ruling
	if a.Run.Study.Looks {
		_, rulings = s.rulings(a)
	} else {
		share := 1.0
		if a.Confidence != stats.Confidence { // the run measured its cases until their figures were precise enough
			share = (1 - a.Confidence) / stats.Alpha
		}
		rulings = rule(s.claims, newCells(a, share), nil)
	}
	list := []report.Claim{}
	for i := range s.claims {
		c := &s.claims[i]
		out := report.Claim{Claim: c.text, AnyOf: c.anyOf, Comparisons: []report.Comparison{}, Verdict: c.verdict(rulings[i])}
		for _, r := range rulings[i] {
			out.Comparisons = append(out.Comparisons, r.Comparison)
		}
		list = append(list, out)
	}
	return list
}

// looked returns a note that says when the claims of a run were evaluated. It returns nil if
// they were evaluated only at the run's end.
func looked(run *result.Run) []string {
	if !run.Study.Looks {
		return nil
	}
	percent := func(share float64) string { return fmt.Sprintf("%.0f%%", 100*(1-stats.Alpha*share)) }
	if run.Rounds < Look {
		return []string{fmt.Sprintf("the run ended after %d rounds, before the claims are looked at after %d; they are judged by intervals of %s",
			run.Rounds, Look, percent(endShare))}
	}
	return []string{fmt.Sprintf("every case had %d rounds, and cases that claims depend on had %d; the remaining time was spent on open claims that could probably be decided; comparisons that were clear after %d or %d rounds, by an interval of %s, were decided then; the other comparisons were decided at the end, by an interval of %s",
		lab.MinRounds, Look, Look, secondLook, percent(lookShare), percent(endShare))}
}
