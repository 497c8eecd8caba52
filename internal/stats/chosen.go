package stats

import (
	"math"

	mstats "github.com/aclements/go-moremath/stats"
)

// LessByChance returns an estimate of a ratio that is known only because it was told apart
// from 1 and was at most a limit, in the same samples. Of such ratios those are seen that
// chance has made smaller, so their medians are too small on average ("the winner's curse").
// What is returned is too small and too large equally often among those that are seen, as far
// as the estimate is normal. It is kept within the interval, which holds the ratio whether it
// was chosen or not.
func LessByChance(s Summary, limit float64) float64 {
	if s.Interval == nil || !(s.Interval.Low > 0) || s.Interval.High >= 1 {
		return s.Median
	}
	x, low, high := math.Log(s.Median), math.Log(s.Interval.Low), math.Log(s.Interval.High)
	reach := (high - low) / 2
	sd := reach / normalQuantile(1-s.Interval.Confidence)
	most := min(-reach, math.Log(limit)) // what is not beyond it is not seen
	if !(sd > 0) || x >= most {
		return s.Median
	}
	cdf := mstats.StdNormal.CDF
	from, to := x, high
	for range 50 { // the greater the ratio, the less likely one so small among those seen
		at := (from + to) / 2
		if cdf((x-at)/sd) > 0.5*cdf((most-at)/sd) {
			from = at
		} else {
			to = at
		}
	}
	return math.Exp(to)
}
