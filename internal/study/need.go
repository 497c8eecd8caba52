package study

import (
	"maps"
	"math"

	"github.com/sqlite3perf/sqlite3perf/internal/report"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
)

type need struct {
	rounds int
	cases  map[int]bool   // IDs of the cases to measure; nil if further rounds cannot decide the comparison or claim
	likely report.Verdict // the probable verdict
}

// outlook estimates how many further rounds decide a comparison. A comparison is decided when its interval
// lies within the bounds, lies outside of them, or is so close to 1 that the two sides are [alike].
// outlook assumes that the median stays the same.
func outlook(s *stats.Summary, atLeast, atMost *float64) need {
	if s.Interval == nil {
		return need{rounds: 1, likely: report.Holds}
	}
	at, half := math.Log(s.Median), math.Log(s.Interval.High/s.Interval.Low)/2
	n, nearest, factor := need{likely: report.Holds}, math.Inf(1), math.Inf(1)
	for i, bound := range []*float64{atLeast, atMost} {
		if bound == nil {
			continue
		}
		nearest = min(nearest, math.Abs(at-math.Log(*bound)))
		if i == 0 && s.Median < *bound || i == 1 && s.Median > *bound {
			n.likely = report.DoesNotHold
		}
		if room := math.Log1p(same) - math.Abs(at); *bound == 1 && room > 0 {
			factor = half / room
		}
	}
	if f := half / nearest; f > factor {
		n.likely = report.DoesNotHold
	} else {
		factor = f
	}
	n.rounds = stats.Further(s.N, factor)
	return n
}

// needs finds which further rounds may decide a claim. The parameter "look" has the rulings on the
// claim's comparisons at the last look (an evaluation of the claims during the run), and the
// parameter "now" has the rulings with all samples. A comparison that is clear only with all
// samples needs no further rounds. But its cases are still measured, because it is not decided
// before the next look.
func (c *claim) needs(look, now []*ruling) need {
	decisive, _ := decisiveVerdict(c.anyOf)
	all, one, never := need{cases: map[int]bool{}}, need{}, false
	for j, r := range now {
		if look[j].Verdict != report.CannotBeTold {
			continue
		}
		n := r.needs
		if r.Verdict != report.CannotBeTold {
			n = need{0, look[j].needs.cases, r.Verdict}
		}
		never = never || n.cases == nil
		if n.likely == decisive && n.cases != nil && (one.cases == nil || n.rounds < one.rounds) {
			one = n
		}
		all.rounds = max(all.rounds, n.rounds)
		maps.Copy(all.cases, n.cases)
	}
	switch {
	case one.cases != nil:
		return one
	case never:
		return need{}
	}
	return all
}
