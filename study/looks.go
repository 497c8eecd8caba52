package study

import (
	"fmt"
	"maps"
	"slices"

	"github.com/sqlite3perf/sqlite3perf/lab"
	"github.com/sqlite3perf/sqlite3perf/report"
	"github.com/sqlite3perf/sqlite3perf/result"
	"github.com/sqlite3perf/sqlite3perf/stats"
)

// A run that has a limited time spends it on the claims: after the rounds that every case
// takes part in, only cases on which claims rest are measured, and after one look at them
// only those whose comparisons are still open. Two evaluations share the level, so that
// each comparison errs with at most that probability (Bonferroni): the look has a fifth
// of it, since most comparisons are far from their bounds, and the end has the rest.
const (
	// Look is the round after which the claims are looked at. Fewer than 8 rounds have no
	// interval at the look's level.
	Look = 10

	lookShare = 0.2
)

// Settled returns a function that says which cases of a run of the study need no further
// trials, as [lab.Schedule] asks. The run's [result.Study] must say that it looks.
func (s *Study) Settled() func(run *result.Run, round int) (ids []int, judged bool) {
	return func(run *result.Run, round int) (ids []int, judged bool) {
		var open map[int]bool
		switch round {
		case lab.MinRounds:
			open = s.rests(rule(s.claims, newCells(stats.Analyze(run, ""), 1-lookShare), nil), false)
		case Look:
			open = s.rests(s.look(run), true)
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

// look evaluates the claims on the samples that there are at the look.
func (s *Study) look(run *result.Run) [][]*ruling {
	first := *run
	first.Rounds = Look
	first.Trials = slices.DeleteFunc(slices.Clone(run.Trials), func(t result.Trial) bool { return t.Round > Look })
	return rule(s.claims, newCells(stats.Analyze(&first, ""), lookShare), nil)
}

// rests returns the IDs of the cases on which claims rest: all of them, or those whose
// further rounds may decide a claim that is open.
func (s *Study) rests(list [][]*ruling, open bool) map[int]bool {
	ids := map[int]bool{}
	for i := range s.claims {
		if open && s.claims[i].verdict(list[i]) != report.CannotBeTold {
			continue
		}
		for _, r := range list[i] {
			if open {
				maps.Copy(ids, r.open)
			} else {
				maps.Copy(ids, r.cases)
			}
		}
	}
	return ids
}

// judge decides the claims of a run.
func (s *Study) judge(a *stats.Analysis) []report.Claim {
	var rulings [][]*ruling
	switch {
	case !a.Run.Study.Looks:
		share := 1.0
		if a.Confidence != stats.Confidence { // cases were measured until they were settled
			share = (1 - a.Confidence) / stats.Alpha
		}
		rulings = rule(s.claims, newCells(a, share), nil)
	case a.Run.Rounds < Look:
		rulings = rule(s.claims, newCells(a, 1-lookShare), nil)
	default:
		rulings = rule(s.claims, newCells(a, 1-lookShare), s.look(a.Run))
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

// looked says when the claims of a run were evaluated, if that was before its end too.
func looked(run *result.Run) []string {
	if !run.Study.Looks {
		return nil
	}
	percent := func(share float64) string { return fmt.Sprintf("%.0f %%", 100*(1-stats.Alpha*share)) }
	if run.Rounds < Look {
		return []string{fmt.Sprintf("the run ended after %d rounds, before the claims are looked at after %d; they are judged by intervals of %s",
			run.Rounds, Look, percent(1-lookShare))}
	}
	return []string{fmt.Sprintf("every case had %d rounds, those on which claims rest %d, and open ones all; comparisons that were clear after %d rounds, by an interval of %s, were decided there, the others at the end, by one of %s",
		lab.MinRounds, Look, Look, percent(lookShare), percent(1-lookShare))}
}
