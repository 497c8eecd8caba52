package stats

import (
	"math"
	"slices"
)

// These are the least ratios of times that hint at a change of the machine's speed.
const (
	driftMost  = 1.25 // for the ratio of the reference driver's times or, without a reference driver, of every driver's times
	driftOther = 1.10 // for the median of the other drivers' ratios, if the reference driver's times have changed
)

// Drift reports whether the machine probably ran at another speed when the second side was measured:
//
//   - If both sides have the driver named by the parameter "reference", this driver must have become much
//     slower or faster, and the other drivers must have changed in the same direction.
//   - Otherwise, there must be at least two drivers, and all of them must have become much slower, or all
//     much faster.
//
// The result "ratio" is the time of the reference driver on the second side divided by its time on the first
// side. Without that driver, it is the ratio of a typical driver. ok is always false if both sides were
// measured in the same rounds.
func (c *Comparison) Drift(reference string) (ratio float64, ok bool) {
	if c.Interleaved || c.Metric != Time {
		return 0, false
	}
	of := map[string][]float64{} // logarithms of ratios by driver
	clear := map[string]bool{}   // drivers with a ratio that would be called slower or faster if it were the only comparison
	for _, x := range c.Cells {
		if d := x.First.Case.Driver; x.Measured() && d == x.Second.Case.Driver && !x.TooShort() && x.Ratio.Median > 0 {
			of[d], clear[d] = append(of[d], math.Log(x.Ratio.Median)), clear[d] || x.P < Alpha
		}
	}
	var others []float64
	allClear := true
	for driver, ratios := range of {
		if driver != reference {
			others, allClear = append(others, Summarize(ratios).Median), allClear && clear[driver]
		}
	}
	all := Summarize(others).Median
	alike := func(v, least float64) bool { return math.Abs(v) >= math.Log(least) }
	if len(of[reference]) == 0 {
		return math.Exp(all), allClear && len(others) > 1 && !slices.ContainsFunc(others, func(v float64) bool { return !alike(v, driftMost) || v*all < 0 })
	}
	base := Summarize(of[reference]).Median
	return math.Exp(base), clear[reference] && alike(base, driftMost) && (len(others) == 0 || alike(all, driftOther) && base*all > 0)
}
