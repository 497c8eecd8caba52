package stats

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/sqlite3perf/sqlite3perf/internal/result"
)

// State says what a [Gate] found about a cell.
type State string

// The values of [State], in the order in which cells are listed. [Gate.Decision] combines them.
const (
	GateWrong       State = "wrong"          // the candidate read wrong values, or other values than the baseline
	GateFailing     State = "more failed"    // more operations failed for the candidate than for the baseline; see [Gate.Confirm]
	GateRegression  State = "regression"     // the candidate needs more time, or more of another metric, than is allowed; see [Gate.Confirm]
	GateUnusable    State = "not measured"   // the baseline or the candidate has no figures
	GateTooFew      State = "too few rounds" // there are too few rounds to find or to exclude a regression
	GateUnconfirmed State = "not confirmed"  // the first measurement found GateRegression or GateFailing, but a second measurement did not confirm it
	GatePossible    State = "not excluded"   // no regression was found, but the interval of the ratio extends beyond the limit
	GatePassed      State = "passed"         // the whole interval of the ratio is within the limit
)

var stateOrder = []State{GateWrong, GateFailing, GateRegression, GateUnusable, GateTooFew, GateUnconfirmed, GatePossible, GatePassed}

// Decision is the result of a gate for the candidate. The gate's report begins with it.
type Decision string

// The decisions. A candidate with Passed passes. A candidate with NotExcluded passes only if the gate is not
// strict. Candidates with NotPassed or Failed do not pass. Failed means that a fault of the candidate was
// found, so [Gate.Shut] is true.
const (
	Failed      Decision = "Failed"
	NotPassed   Decision = "Not passed"   // some cells could not be judged, or the measurement is incomplete
	NotExcluded Decision = "Not excluded" // no regression was found, but some cells could hide a regression
	Passed      Decision = "Passed"       // every cell excludes a regression
)

// Gate judges a candidate relative to its baseline. In each comparison, the first side is the
// baseline and the second the candidate.
type Gate struct {
	Baseline, Candidate string
	Max                 float64 // the limit; 0.05: a candidate may need up to 5 % more than the baseline
	Strict              bool    // a candidate with the decision NotExcluded does not pass; this is the default
	Cells               []*Gated
	Alone               []string // names of the cells that only the baseline or only the candidate has
	Unlike              []Unlike // see [Comparison.Unlike]
	Unknown             []Metric // metrics for which no cell has values, although cells have times
	Interrupted         bool     // the measurement was interrupted before its end
	Following           int      // number of cells that were left out, because another cell shows their fault; see [Gate.follows]

	// Expected has the workloads' expectations, and whether the candidate met each in the first measurement.
	Expected Expectations

	Tests int // number of comparisons for which p-values are corrected

	interleaved bool // both sides were measured by one run
}

// Gated is a cell that a [Gate] judges: a phase that was measured for both sides.
type Gated struct {
	*Compared
	State State
	Why   string    // explains the state GateTooFew, some cells with GatePossible, the verdict Differing and failed operations; for the verdict Bad, see the Reason of each side's cell
	P     float64   // p-value of the one-sided test that the second side needs more than is allowed, corrected for judging the run repeatedly (see [Look]) and for the number of cells
	Again *Compared // the second measurement; nil if there was none

	Stored bool   // the baseline's samples are from an earlier run
	Beside bool   // the second measurement (the field Again) measured both sides in the same rounds
	Moot   string // why a second measurement would be pointless; otherwise ""

	// Excluded says that a GateUnconfirmed cell certainly has no regression. Either its second
	// measurement excludes a regression, or both sides are the same build.
	Excluded bool

	more    float64 // P, corrected only for judging the run repeatedly (see [Look])
	failing float64 // the p-value of Failing, corrected for judging the run repeatedly (see [Look]) and for all of the gate's tests
}

// NewGate judges comparisons of the same two sides, one for each metric. The parameter "most" is
// [Gate.Max]. A regression that it finds is not confirmed yet. If a second measurement does not
// find the regression too, [Gate.Confirm] changes the state of that cell to GateUnconfirmed.
func NewGate(most float64, comparisons ...*Comparison) *Gate {
	g := &Gate{Max: most, Strict: true}
	for _, c := range comparisons {
		g.Baseline, g.Candidate, g.Alone, g.Unlike, g.interleaved = c.First, c.Second, c.Alone, c.Unlike, c.Interleaved
		if len(c.Cells) == 0 && len(comparisons[0].Cells) > 0 {
			g.Unknown = append(g.Unknown, c.Metric)
		}
		for _, x := range c.Cells {
			if !x.Measured() && c.Metric != comparisons[0].Metric {
				continue // the first metric's comparison has the cell already
			}
			if x.Verdict == Bad && g.follows(x, c) {
				g.Following++
				continue
			}
			g.Cells = append(g.Cells, &Gated{Compared: x, Stored: !c.Interleaved})
		}
	}
	g.test()
	for _, c := range g.Cells {
		c.judge(most, g.Tests)
	}
	g.sort()
	return g
}

// follows reports whether a gate leaves out cell x, because another cell already shows the same
// fault. Cell x is left out if it has no figures only because another phase of its trials is wrong
// or failed. If the other phase is timed, its own cell shows the fault. An untimed phase has no cell.
// In that case, the fault is shown by the first cell that has no figures because of it.
func (g *Gate) follows(x *Compared, c *Comparison) bool {
	fault := x.fault()
	if fault == "" || fault == x.Phase {
		return false
	}
	same := func(y *Compared) bool {
		return y.Verdict == Bad && y.candidate(x.Phase) == x.candidate(x.Phase) && y.fault() == fault
	}
	return slices.ContainsFunc(c.Cells, func(y *Compared) bool { return y.Phase == fault && same(y) }) ||
		slices.ContainsFunc(g.Cells, func(y *Gated) bool { return same(y.Compared) })
}

func (x *Compared) fault() string {
	for _, side := range []*Cell{x.Second, x.First} {
		if side.Status != result.OK && side.Reason != nil {
			return side.Reason.Phase
		}
	}
	return ""
}

func (g *Gate) sort() {
	slices.SortStableFunc(g.Cells, func(a, b *Gated) int {
		return slices.Index(stateOrder, a.State) - slices.Index(stateOrder, b.State)
	})
}

// test computes, for each cell, the p-values of two tests: whether the candidate needs more than
// g.Max allows, and whether more of its operations failed. The p-values of all cells are corrected
// together (Holm 1979). If a candidate is within the limit in every cell and its operations do not
// fail more often, the probability that any cell is called a regression is at most [Doubt].
func (g *Gate) test() {
	var family []*float64
	for _, c := range g.Cells {
		if c.P = 1; c.Measured() {
			c.more = c.moreThan(g.Max)
			c.P, family = c.more, append(family, &c.P)
		}
		if c.Failing != nil && c.Metric == g.Cells[0].Metric {
			c.failing, family = c.Failing.P, append(family, &c.failing)
		}
	}
	holm(family, 1)
	g.Tests = len(family)
}

// moreThan returns the p-value of the one-sided test that the second side's figure is greater than the first
// side's by more than the given share. It is corrected for judging the run repeatedly (see [Look]). The test
// is against the allowed share, not against equality. A test against equality would, with enough rounds,
// even reject a candidate that needs only a little more.
func (x *Compared) moreThan(share float64) float64 {
	allowed := math.Log1p(share) + rounding
	first, second := x.Points()
	if !x.interleaved {
		a := logs(Values(second))
		b := logs(slices.DeleteFunc(Values(first), func(v float64) bool { return v == 0 }))
		notAbove := 0
		for _, v := range a {
			notAbove += countIf(b, func(w float64) bool { return !(v-w > allowed) })
		}
		return min(1, mannWhitneyNull(len(a), len(b))(notAbove)*x.looks)
	}
	ratios, _ := Ratios(second, first)
	d := logs(Values(ratios))
	for i := range d {
		d[i] -= allowed
	}
	notAbove, _ := walshSigns(d)
	return min(1, signedRankNull(len(d))(notAbove)*x.looks)
}

// rounding is the greatest rounding error of the logarithm of a ratio. Tests against a limit add this
// error to the limit. Otherwise the ratio of two counts could seem to exceed a limit that it equals.
const rounding = 1e-9

// excludes reports whether the candidate certainly needs no more than the limit allows. The
// parameter "most" is the limit. The result is not corrected for the number of cells. A gate passes
// only if all of its cells pass, so further cells cannot make a false pass more probable.
func (x *Compared) excludes(most float64) bool {
	return x.Measured() && !x.Failing.open() && x.timeExcluded(most) && (x.Failing == nil || x.Failing.Difference().High <= most)
}

// timeExcluded reports whether the upper end of the interval of the metric's ratio is within
// the limit.
func (x *Compared) timeExcluded(most float64) bool {
	return x.Ratio.Interval != nil && math.Log(x.Ratio.Interval.High) <= math.Log1p(most)+rounding
}

// beyond reports whether the cell certainly exceeds the limit although fewer operations of the
// candidate failed. In that case, more rounds would not help the candidate pass.
func (x *Compared) beyond(most float64) bool {
	return x.Verdict == FailsLess && x.Settled() && x.Ratio.Interval != nil && x.Ratio.Interval.Low > 1+most
}

// fewRounds reports whether the cell has so few rounds that a one-sided test cannot be significant.
// The parameter "tests" is the number of tests for which p-values are corrected.
func (x *Compared) fewRounds(tests int) bool {
	return x.least/2*float64(tests) >= Doubt // x.least is for a two-sided test
}

func (c *Gated) judge(most float64, tests int) {
	x := c.Compared
	switch {
	case x.Verdict == Bad && x.Second.Status == result.Wrong:
		c.State = GateWrong
	case x.Verdict == Bad:
		c.State = GateUnusable
	case x.Verdict == Differing:
		c.State, c.Why = GateWrong, x.Why
	case x.Verdict == FailsMore && c.failing < Doubt:
		c.State, c.Why = GateFailing, x.Why
	case x.Verdict == FailsLess && x.timeExcluded(most):
		c.State, c.Why = GatePassed, x.Why
	case x.Verdict == FailsLess: // more of the candidate's operations succeeded, so it did more work, but it may also be slower
		c.State, c.Why = GatePossible, fmt.Sprintf("%s; but it takes %.3g times the %s", x.Why, x.Ratio.Median, x.Metric)
		c.estimate(x.moreUntilJudged(most, float64(tests)))
		if c.beyond(most) {
			c.Rounds = MaxRounds
		}
	case (x.Verdict == FailsMore || x.Failing.open()) && x.fewRounds(tests):
		c.State, c.Why = GateTooFew, x.Why
	case x.Verdict == FailsMore || x.Failing.open():
		c.State, c.Why = GatePossible, x.Why
	case c.P < Doubt:
		c.State = GateRegression
	case x.excludes(most):
		c.State = GatePassed
		if m := x.means(1 - 2*Doubt); m.Interval != nil && math.Log(m.Interval.Low) > math.Log1p(most)+rounding {
			c.State, c.Rounds = GatePossible, MaxRounds
			c.Why = fmt.Sprintf("typical trials are within the limit, but slow ones make the mean %.3g times that of the baseline (%.3g to %.3g)",
				m.Median, m.Interval.Low, m.Interval.High)
		}
	case x.Ratio.Interval == nil || x.fewRounds(tests):
		c.State, c.Why = GateTooFew, fmt.Sprintf("%d rounds are too few to judge: give more", x.Ratio.N)
	default:
		c.State = GatePossible
		if x.timeExcluded(most) {
			c.Why = fmt.Sprintf("more operations of the candidate may fail: %s, and %s of the baseline; the difference is up to %.3g percentage points",
				FailedShare(x.Failing.Second), FailedShare(x.Failing.First), 100*x.Failing.Difference().High)
		}
		x.estimate(x.moreUntilJudged(most, float64(tests)))
	}
}

// moreUntilJudged estimates how many more rounds are needed until the whole interval of the cell's
// ratio is below or above the limit. It makes the same assumptions as [Compared.more].
func (x *Compared) moreUntilJudged(most, tests float64) int {
	i, allowed := x.Ratio.Interval, math.Log1p(most)
	if i == nil || !(i.Low > 0) || math.IsInf(i.High, 0) {
		return 1
	}
	distance := allowed - math.Log(x.Ratio.Median)
	factor := (math.Log(i.High) - math.Log(x.Ratio.Median)) / distance
	if distance < 0 { // a regression: the level is corrected for the number of cells
		level := Doubt / x.looks
		factor = (math.Log(x.Ratio.Median) - math.Log(i.Low)) / -distance * normalQuantile(2*level/tests) / normalQuantile(level)
	}
	return x.moreUntil(x.Ratio.N, 0, factor)
}

// Settled returns the IDs of the cases that need no further rounds. Each cell of such a case has a final
// result: it has a fault such as a regression, it has no regression, or it cannot be judged. All expectations
// of the case are decided, or further rounds cannot decide them. If the baseline was measured by another run,
// only cases of the candidate are returned.
func (g *Gate) Settled() []int {
	open, ids := map[int]bool{}, map[int]bool{}
	for _, c := range g.Cells {
		settled := (c.State != GatePossible || c.beyond(g.Max)) && c.State != GateTooFew &&
			(c.State != GateRegression || c.more*float64(g.Tests) < Doubt) && // Holm's correction multiplies by at most g.Tests
			(c.State != GateFailing || c.Failing.P*float64(g.Tests) < Doubt)
		for i, side := range []*Cell{c.Second, c.First} {
			if i == 1 && !g.interleaved {
				continue // the baseline was measured by another run
			}
			ids[side.Case.ID] = true
			open[side.Case.ID] = open[side.Case.ID] || !settled
		}
	}
	for _, x := range g.Expected {
		open[x.Case.ID] = open[x.Case.ID] || x.Open()
	}
	maps.DeleteFunc(ids, func(id int, _ bool) bool { return open[id] })
	return slices.Sorted(maps.Keys(ids))
}

// Doubtful returns the cells that a second measurement has to confirm: cells with a regression,
// and cells in which more operations failed.
func (g *Gate) Doubtful() (cells []*Gated) {
	for _, c := range g.Cells {
		if (c.State == GateRegression || c.State == GateFailing) && c.Again == nil {
			cells = append(cells, c)
		}
	}
	return cells
}

// Confirm judges the doubtful cells (see [Gate.Doubtful]) again, by a second measurement of the same sides.
// The parameter "comparisons" has one comparison for each metric. If the baseline was stored, the second
// measurement may measure the baseline's driver in the same rounds as the candidate. In that case, each pair
// of drivers has its own run and comparisons. A doubtful cell that is in no comparison is not confirmed.
func (g *Gate) Confirm(comparisons ...*Comparison) {
	doubtful := g.Doubtful()
	for _, cell := range doubtful {
		confirmed := false
		for _, c := range comparisons {
			for _, x := range c.Cells {
				if x.Metric == cell.Metric && x.candidate(x.Phase) == cell.candidate(cell.Phase) {
					cell.Again, cell.Beside = x, c.Interleaved
					confirmed = x.confirms(cell, g.Max, len(doubtful))
					cell.Excluded = x.excludes(g.Max)
				}
			}
		}
		if !confirmed {
			cell.State = GateUnconfirmed
		}
	}
	g.sort()
}

// Dismiss marks a doubtful cell as unconfirmed without a second measurement. The parameter "why" is the reason
// why a second measurement would be pointless. If the parameter "same" is true, both sides are the same build,
// so the candidate cannot be at fault.
func (g *Gate) Dismiss(c *Gated, why string, same bool) {
	c.State, c.Moot, c.Excluded = GateUnconfirmed, why, same
	g.sort()
}

// candidate returns a key that identifies a cell of the candidate in all of its measurements. The
// key contains neither the baseline nor the variant, because in another measurement the baseline
// can be another run, and variants can have other names.
func (x *Compared) candidate(phase string) string {
	c := x.Second.Case
	return fmt.Sprintf("%q %q %v %q %q %q", c.Workload, c.Scale, c.Parameters, c.Settings, c.Driver, phase)
}

// confirms reports whether the second measurement x shows the same fault as cell c. The parameter
// "most" is the limit. The parameter "cells" is the number of cells that were measured again; the
// p-value is corrected for that number.
func (x *Compared) confirms(c *Gated, most float64, cells int) bool {
	switch {
	case c.State == GateFailing:
		return x.Failing != nil && x.Failing.test.sign > 0 && x.Failing.P*float64(cells) < Doubt
	case !x.Measured():
		return false
	}
	return x.moreThan(most)*float64(cells) < Doubt
}

// Count returns the number of cells in state s.
func (g *Gate) Count(s State) int {
	return countIf(g.Cells, func(c *Gated) bool { return c.State == s })
}

// Shut reports whether the gate is shut, so that the candidate must not pass. It is shut by some
// states of cells (see [State.Shuts]), and by expectations that are not met.
func (g *Gate) Shut() bool {
	return g.Expected.Any(NotMet) || slices.ContainsFunc(g.Cells, func(c *Gated) bool { return c.State.Shuts() })
}

// Shuts reports whether a cell in state s shuts the gate.
func (s State) Shuts() bool { return s == GateWrong || s == GateFailing || s == GateRegression }

// Decision combines the states of all cells. It determines the first words of the report, the exit
// status and the results for CI services.
func (g *Gate) Decision() Decision {
	has := func(doubts func(*Gated) bool) bool { return slices.ContainsFunc(g.Cells, doubts) }
	switch {
	case g.Shut():
		return Failed
	case g.Interrupted, len(g.Cells) == 0, len(g.Unknown) > 0, has(func(c *Gated) bool { return c.State == GateUnusable || c.State == GateTooFew }),
		slices.ContainsFunc(g.Expected, Expected.unusable):
		return NotPassed
	case has((*Gated).Hides), slices.ContainsFunc(g.Expected, Expected.Open):
		return NotExcluded
	}
	return Passed
}

// Hides reports whether the cell could have a regression that was not found or not confirmed.
func (c *Gated) Hides() bool {
	return c.State == GatePossible || c.State == GateUnconfirmed && !c.Excluded
}

// Complete reports whether the gate could judge everything. The gate must have cells, and every
// metric must have values. [Gate.Doubts] must be false for all cells, and [Gate.DoubtsExpected] for
// all expectations. The measurement must not have been interrupted.
func (g *Gate) Complete() bool {
	return !g.Interrupted && len(g.Cells) > 0 && len(g.Unknown) == 0 && !slices.ContainsFunc(g.Cells, g.Doubts) && !slices.ContainsFunc(g.Expected, g.DoubtsExpected)
}

// Passes reports whether the candidate may pass. If the decision is NotExcluded, that depends
// on g.Strict.
func (g *Gate) Passes() bool { return !g.Shut() && g.Complete() }

// Doubts reports whether a cell without a regression keeps the gate from passing.
func (g *Gate) Doubts(c *Gated) bool {
	return c.State == GateUnusable || c.State == GateTooFew || g.Strict && c.Hides()
}

// DoubtsExpected reports whether an expectation that is not decided keeps the gate from passing.
func (g *Gate) DoubtsExpected(x Expected) bool { return x.unusable() || g.Strict && x.Open() }
