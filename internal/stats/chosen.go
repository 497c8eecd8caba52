package stats

import (
	"math"

	mstats "github.com/aclements/go-moremath/stats"
)

// LessByChance returns a corrected estimate of a ratio. It is for ratios that are reported only if they are
// significantly less than 1, and at most the parameter "limit". Some of these ratios are so small only by
// chance, so their medians are too small on average ("the winner's curse"). The corrected estimate is too
// small as often as too large, if estimates have a normal distribution. It stays within the interval of s,
// which is valid whether or not the ratio is reported.
func LessByChance(s Summary, limit float64) float64 {
	if s.Interval == nil || !(s.Interval.Low > 0) || s.Interval.High >= 1 {
		return s.Median
	}
	x, low, high := math.Log(s.Median), math.Log(s.Interval.Low), math.Log(s.Interval.High)
	reach := (high - low) / 2
	sd := reach / normalQuantile(1-s.Interval.Confidence)
	most := min(-reach, math.Log(limit)) // logarithm of the greatest ratio that is reported
	if !(sd > 0) || x >= most {
		return s.Median
	}
	cdf := mstats.StdNormal.CDF
	from, to := x, high
	for range 50 { // bisection: the greater the true ratio, the less likely a reported ratio is as small as x
		at := (from + to) / 2
		if cdf((x-at)/sd) > 0.5*cdf((most-at)/sd) {
			from = at
		} else {
			to = at
		}
	}
	return math.Exp(to)
}
