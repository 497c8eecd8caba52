package stats

import (
	"math"
	"slices"
)

// These constants say from which ratio on a change of speed hints at the machine.
const (
	driftMost  = 1.25 // of the reference or, without one, of every driver
	driftOther = 1.10 // of a typical other driver, if the reference changed
)

// Drift reports whether the machine probably ran at another speed when the second side was
// measured: the driver reference, which both sides have, became much slower or faster and the
// other drivers changed alike or, if the sides have no such driver, all of at least two drivers did.
// ratio is the time of the reference, or a typical driver's time, on the second side, divided by
// that on the first side. Drift is never true if both sides were measured in the same rounds.
func (c *Comparison) Drift(reference string) (ratio float64, ok bool) {
	if c.Interleaved || c.Metric != Time {
		return 0, false
	}
	of := map[string][]float64{} // logarithms of ratios by driver
	clear := map[string]bool{}   // drivers with a ratio that one comparison alone would call slower or faster
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
