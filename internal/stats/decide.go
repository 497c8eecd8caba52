package stats

import (
	"fmt"
	"math"
	"time"

	mstats "github.com/aclements/go-moremath/stats"
)

// TailRounds is the least number of rounds after which two sides can be called the same. With fewer
// rounds, slow trials could be missed. Suppose that one in ten trials of a side is slow. Then it
// takes 44 rounds until the probability of measuring no slow trial is below [Doubt].
const TailRounds = 44

func (x *Compared) decide(c *Comparison) {
	within := math.Log1p(c.Margin)
	inside := func(i *Interval) bool {
		return i != nil && math.Log(i.High) <= within && math.Log(i.Low) >= -within
	}
	x.Typical, x.FailAlike = inside(x.Ratio.Interval), x.Failing.within(c.Margin)
	m := x.Means.Interval
	same := x.Typical && inside(m) && x.Ratio.N >= TailRounds
	switch f, told := x.Failing, x.Adjusted < Doubt && (x.InRun == nil || x.InRun.Significant()); {
	case f.told():
		x.Verdict, x.Why = FailsMore, fmt.Sprintf("more operations of %s failed", c.Second)
		if f.test.sign < 0 {
			x.Verdict, x.Why = FailsLess, fmt.Sprintf("fewer operations of %s failed", c.Second)
		}
		x.Why += ": " + f.words(c) + mostFrequent(x.First, x.Second)
	case !x.FailAlike && (f.open() || same):
		x.Verdict, x.Why = Unclear, "it is not known yet whether one side fails more often: "+f.words(c)
		x.estimate(x.moreForFailures(c.Margin))
	case same:
		x.Verdict = Same
	case told && x.Ratio.Median > 1 && (!x.Typical || m != nil && math.Log(m.Low) > within):
		x.Verdict = Slower
	case told && x.Ratio.Median < 1 && (!x.Typical || m != nil && math.Log(m.High) < -within):
		x.Verdict = Faster
	default:
		x.Verdict = Unclear
		x.estimate(x.more(within))
	}
}

func (x *Compared) estimate(rounds int) {
	x.Rounds, x.Time = rounds, time.Duration(rounds)*(x.First.perTrial()+x.Second.perTrial())
}

func (o *Outcome) perTrial() time.Duration {
	var sum int64
	for _, t := range o.Trials {
		sum += t.TookNS
	}
	return time.Duration(sum / int64(max(len(o.Trials), 1)))
}

// MaxRounds is the greatest number of rounds that is estimated. If an estimate is MaxRounds, at least that
// many rounds are needed.
const MaxRounds = 10_000

// Further estimates how many more rounds are needed until an interval has shrunk by the given factor, at least
// 1. n is the number of rounds so far. The width of an interval shrinks with the square root of the
// number of rounds.
func Further(n int, factor float64) int {
	total := math.Ceil(float64(n) * factor * factor)
	if !(total < MaxRounds) {
		return MaxRounds
	}
	return max(int(total)-n, 1)
}

// more estimates how many more rounds the cell needs for a verdict. Either the interval of its ratio is
// then within the margin, or the interval excludes 1 even after the correction for the number of cells.
// The estimate assumes that the ratio stays the same, and that the interval shrinks with the square
// root of the number of rounds. If the verdict lacks only the ratio of the mean times, this ratio's
// interval is meant. The parameter "within" is the logarithm of 1 plus the margin.
func (x *Compared) more(within float64) int {
	n := x.Ratio.N
	if x.Typical {
		m := x.Means.Interval
		if m == nil {
			return x.nextLook(max(TailRounds, n+1)) - n
		}
		half := (math.Log(m.High) - math.Log(m.Low)) / 2
		return x.moreUntil(n, TailRounds, half/math.Abs(within-math.Abs(math.Log(x.Means.Median))))
	}
	least := LeastRounds(x.Tests, x.looks > 1)
	i := x.Ratio.Interval
	if i == nil || !(i.Low > 0) || math.IsInf(i.High, 0) {
		return max(least-n, 1)
	}
	level := Doubt / x.looks
	return x.moreUntil(n, least, narrower(x.Ratio, within, level, level/float64(x.Tests)))
}

// moreUntil estimates how many rounds more than n are needed until an interval has shrunk by the given
// factor. In total there must also be at least as many rounds as the parameter "least" says. If the result is
// [MaxRounds], at least that many rounds are needed.
func (x *Compared) moreUntil(n, least int, factor float64) int {
	more := Further(n, factor)
	if more == MaxRounds {
		return MaxRounds
	}
	return x.nextLook(max(n+more, least)) - n
}

// nextLook returns the first number of rounds, from n on, after which the cell is judged. After the
// last look, it returns n, because the run can end after any round.
func (x *Compared) nextLook(n int) int {
	for x.looks > 1 && n < lastLook && !Look(n) {
		n++
	}
	return n
}

// narrower returns the factor by which the interval of a ratio must shrink until it is within a
// margin, or excludes 1. The parameter "within" is the logarithm of 1 plus the margin. The
// parameter "level" is the interval's own level: 0.05 if its confidence is 95 %. The parameter
// "corrected" is the level at which the interval must exclude 1.
func narrower(s Summary, within, level, corrected float64) float64 {
	at, half := math.Abs(math.Log(s.Median)), (math.Log(s.Interval.High)-math.Log(s.Interval.Low))/2
	factor := half * normalQuantile(corrected) / normalQuantile(level) / at
	if at < within {
		factor = min(factor, half/(within-at))
	}
	return factor
}

// normalQuantile returns the positive number z for which a standard normal variable is above z or
// below -z with probability p.
func normalQuantile(p float64) float64 { return -mstats.InvCDF(mstats.StdNormal)(p / 2) }

// LeastRounds returns the least number of rounds after which a cell can have a significant
// difference. The parameter "cells" is the number of cells that are compared. The parameter "looks"
// is true if the run is judged while it is under way.
func LeastRounds(cells int, looks bool) int {
	for n := MinSamples; ; n++ {
		factor := float64(cells)
		if looks {
			factor *= spent(n)
		}
		if 2*math.Ldexp(1, -n)*factor < Doubt {
			return n
		}
	}
}

func mostFrequent(cells ...*Cell) string {
	counts := map[string]int64{}
	name := ""
	for _, c := range cells {
		for _, s := range c.Samples {
			for _, e := range s.Errors {
				if counts[e.Name] += e.Count; counts[e.Name] > counts[name] || name == "" {
					name = e.Name
				}
			}
		}
	}
	if name == "" {
		return ""
	}
	return ", mostly with " + name
}
