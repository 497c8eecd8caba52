package stats

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/sqlite3perf/sqlite3perf/internal/result"
)

// State is what a gate says of a cell.
type State string

// The states, in the order in which cells are listed. [Gate.Decision] says what they
// amount to.
const (
	GateWrong       State = "wrong"          // the candidate's answers
	GateFailing     State = "more failed"    // of the candidate's operations; confirmed
	GateRegression  State = "regression"     // confirmed
	GateUnusable    State = "not measured"   // one of the sides has no figures
	GateTooFew      State = "too few rounds" // for any regression to be found, or excluded
	GateUnconfirmed State = "not confirmed"  // at first a regression, or more failed, but not when it was measured again
	GatePossible    State = "not excluded"   // no regression was found, but the interval reaches beyond what is allowed
	GatePassed      State = "passed"         // the whole interval is within what is allowed
)

var stateOrder = []State{GateWrong, GateFailing, GateRegression, GateUnusable, GateTooFew, GateUnconfirmed, GatePossible, GatePassed}

// Decision is what a gate says of the candidate: the first words of its answer.
type Decision string

// The decisions. Failed shuts a gate. NotPassed doesn't pass either, and NotExcluded only
// if the gate is not strict.
const (
	Failed      Decision = "Failed"
	NotPassed   Decision = "Not passed"   // some cells could not be judged, or not all was measured
	NotExcluded Decision = "Not excluded" // no regression was found, but some cells could hide one
	Passed      Decision = "Passed"       // every cell excludes a regression
)

// Gate judges a candidate by its baseline: the first side of each comparison is the
// baseline, the second the candidate.
type Gate struct {
	Baseline, Candidate string
	Max                 float64 // 0.05: up to 5 % more is no regression
	Strict              bool    // NotExcluded does not pass either; so it is unless somebody says otherwise
	Cells               []*Gated
	Alone               []string // cells that only one side has
	Unknown             []Metric // of which no cell has figures, although others have times
	Interrupted         bool     // the measurement was, so not all is known that was to be
	Following           int      // cells that are left out because they follow: see follows

	interleaved bool // both sides are of one run
	tests       int  // comparisons that p-values are corrected for
}

// Gated is a cell of a gate.
type Gated struct {
	*Compared
	State State
	Why   string    // of GateTooFew, of Differing, and of operations that failed; of Bad the sides have the reason
	P     float64   // of the one-sided test that no more than allowed is needed, corrected for looks and cells
	Again *Compared // the second measurement; nil if there was none

	Stored bool   // the baseline's figures are of an earlier run
	Beside bool   // Again has both sides in the same rounds
	Moot   string // why a second measurement would say nothing; "" if it was worth it

	// Excluded says that a GateUnconfirmed cell has no regression: its second measurement
	// excludes one, or both sides are the same build.
	Excluded bool

	more    float64 // P, corrected only for looks
	failing float64 // the p-value of Failing, corrected for looks and all of the gate's tests
}

// NewGate judges comparisons of the same two sides, one for each metric. No regression is
// confirmed yet: a cell that has one is GateRegression, and [Gate.Confirm] decides.
func NewGate(most float64, comparisons ...*Comparison) *Gate {
	g := &Gate{Max: most, Strict: true}
	for _, c := range comparisons {
		g.Baseline, g.Candidate, g.Alone, g.interleaved = c.First, c.Second, c.Alone, c.Interleaved
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
		c.judge(most, g.tests)
	}
	g.sort()
	return g
}

// follows reports whether a cell has no figures only because another phase of its trials is wrong
// or failed, which the gate has as a cell. If that phase is not timed, it has no cell of its own,
// and the first cell that it takes the figures of stands for it.
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

// test tests, for each cell, whether the candidate exceeds what g.Max allows, and whether
// more of its operations failed. The p-values of all these tests are corrected together
// (Holm 1979). So if a candidate is within the limit in every cell and its operations fail
// no more often, the probability that any cell is called a regression is at most [Doubt].
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
	g.tests = len(family)
}

// Tests returns how many comparisons p-values are corrected for.
func (g *Gate) Tests() int { return g.tests }

// moreThan returns the p-value of the one-sided test that the second side needs no more
// than a share of the first side's metric in addition. It is corrected for the number of
// looks. Only a test against what is allowed has a level there: the one against no
// difference sooner or later tells a candidate apart that stays within it, and then its
// ratio is beyond half of the time by chance.
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

// rounding is by how much the logarithm of a ratio can miss what is allowed although they are
// the same, as those of two counts are.
const rounding = 1e-9

// excludes reports whether a cell needs no more than allowed. It takes no correction for
// the number of cells, since a gate passes only if all of them do.
func (x *Compared) excludes(most float64) bool {
	return x.Measured() && !x.Failing.open() && x.timeExcluded(most) && (x.Failing == nil || x.Failing.Difference().High <= most)
}

// timeExcluded reports whether the metric's interval is within what is allowed.
func (x *Compared) timeExcluded(most float64) bool {
	return x.Ratio.Interval != nil && math.Log(x.Ratio.Interval.High) <= math.Log1p(most)+rounding
}

// beyond reports whether no more rounds would let a cell pass in which fewer operations failed.
func (x *Compared) beyond(most float64) bool {
	return x.Verdict == FailsLess && x.Settled() && x.Ratio.Interval != nil && x.Ratio.Interval.Low > 1+most
}

// fewRounds reports whether none of some one-sided tests could tell anything with so few rounds.
func (x *Compared) fewRounds(tests int) bool {
	return x.least/2*float64(tests) >= Doubt // least is that of a two-sided test
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
	case x.Verdict == FailsLess: // the times are of other work, but they may be a regression
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
			c.Why = fmt.Sprintf("typical trials need no more than is allowed, but slow ones make the mean %.3g times that of the baseline [%.3g, %.3g]",
				m.Median, m.Interval.Low, m.Interval.High)
		}
	case x.Ratio.Interval == nil || x.fewRounds(tests):
		c.State, c.Why = GateTooFew, fmt.Sprintf("%d rounds are too few to find or exclude a regression: it takes more of them", x.Ratio.N)
	default:
		c.State = GatePossible
		if x.timeExcluded(most) {
			c.Why = fmt.Sprintf("that more operations fail is not excluded: %.3g %% and %.3g %%, a difference of up to %.3g percentage points",
				100*x.Failing.Second, 100*x.Failing.First, 100*x.Failing.Difference().High)
		}
		x.estimate(x.moreUntilJudged(most, float64(tests)))
	}
}

// moreUntilJudged estimates how many more rounds it takes until an interval is on one side of
// what is allowed, on the assumptions of [Compared.more].
func (x *Compared) moreUntilJudged(most, tests float64) int {
	i, allowed := x.Ratio.Interval, math.Log1p(most)
	if i == nil || !(i.Low > 0) || math.IsInf(i.High, 0) {
		return 1
	}
	distance := allowed - math.Log(x.Ratio.Median)
	factor := (math.Log(i.High) - math.Log(x.Ratio.Median)) / distance
	if distance < 0 { // a regression, corrected for the number of cells
		level := Doubt / x.looks
		factor = (math.Log(x.Ratio.Median) - math.Log(i.Low)) / -distance * normalQuantile(2*level/tests) / normalQuantile(level)
	}
	return x.moreUntil(x.Ratio.N, 0, factor)
}

// Settled returns the IDs of the cases, in the last run, of which no cell needs further
// rounds: each has a regression, or has none, or cannot be judged.
func (g *Gate) Settled() []int {
	open, ids := map[int]bool{}, map[int]bool{}
	for _, c := range g.Cells {
		settled := (c.State != GatePossible || c.beyond(g.Max)) && c.State != GateTooFew &&
			(c.State != GateRegression || c.more*float64(g.tests) < Doubt) && // Holm's correction is at most that
			(c.State != GateFailing || c.Failing.P*float64(g.tests) < Doubt)
		for i, side := range []*Cell{c.Second, c.First} {
			if i == 1 && !g.interleaved {
				continue // of another run
			}
			ids[side.Case.ID] = true
			open[side.Case.ID] = open[side.Case.ID] || !settled
		}
	}
	maps.DeleteFunc(ids, func(id int, _ bool) bool { return open[id] })
	return slices.Sorted(maps.Keys(ids))
}

// Doubtful returns the cells that have to be confirmed by measuring them again: those with
// a regression, and those in which more operations failed.
func (g *Gate) Doubtful() (cells []*Gated) {
	for _, c := range g.Cells {
		if (c.State == GateRegression || c.State == GateFailing) && c.Again == nil {
			cells = append(cells, c)
		}
	}
	return cells
}

// Confirm judges the doubtful cells by a second measurement of the same sides, again one
// comparison for each metric. With a stored baseline its driver may be measured beside the
// candidate then, in a run for each pair of drivers. A cell that it lacks is not confirmed.
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

// Dismiss says why a doubtful cell cannot be confirmed by measuring it again. same says that
// both sides are the same build, so that the candidate cannot be at fault.
func (g *Gate) Dismiss(c *Gated, why string, same bool) {
	c.State, c.Moot, c.Excluded = GateUnconfirmed, why, same
	g.sort()
}

// candidate returns what a cell is found by in another measurement of the candidate. There
// the baseline can be another run, and variants can have other names.
func (x *Compared) candidate(phase string) string {
	c := x.Second.Case
	return fmt.Sprintf("%q %q %v %q %q %q", c.Workload, c.Scale, c.Parameters, c.Settings, c.Driver, phase)
}

// confirms reports whether a cell that was measured again, as one of several, has the
// same fault as before. Only these are judged, not the others of their cases.
func (x *Compared) confirms(c *Gated, most float64, cells int) bool {
	switch {
	case c.State == GateFailing:
		return x.Failing != nil && x.Failing.test.sign > 0 && x.Failing.P*float64(cells) < Doubt
	case !x.Measured():
		return false
	}
	return x.moreThan(most)*float64(cells) < Doubt
}

// Count returns how many cells have a state.
func (g *Gate) Count(s State) int {
	return countIf(g.Cells, func(c *Gated) bool { return c.State == s })
}

// Shut reports whether the candidate must not pass.
func (g *Gate) Shut() bool {
	return slices.ContainsFunc(g.Cells, func(c *Gated) bool { return c.State.Shuts() })
}

// Shuts reports whether a cell in the state shuts the gate.
func (s State) Shuts() bool { return s == GateWrong || s == GateFailing || s == GateRegression }

// Decision says what the cells amount to. The answer, the exit status and what CI services
// are told follow from it.
func (g *Gate) Decision() Decision {
	has := func(doubts func(*Gated) bool) bool { return slices.ContainsFunc(g.Cells, doubts) }
	switch {
	case g.Shut():
		return Failed
	case g.Interrupted, len(g.Cells) == 0, len(g.Unknown) > 0, has(func(c *Gated) bool { return c.State == GateUnusable || c.State == GateTooFew }):
		return NotPassed
	case has((*Gated).Hides):
		return NotExcluded
	}
	return Passed
}

// Hides reports whether a cell could have a regression that was not found.
func (c *Gated) Hides() bool {
	return c.State == GatePossible || c.State == GateUnconfirmed && !c.Excluded
}

// Complete reports whether every cell could be judged, by every metric, and there is any,
// and the measurement came to its end.
func (g *Gate) Complete() bool {
	return !g.Interrupted && len(g.Cells) > 0 && len(g.Unknown) == 0 && !slices.ContainsFunc(g.Cells, g.Doubts)
}

// Passes reports whether the candidate may pass. With NotExcluded it depends on the gate.
func (g *Gate) Passes() bool { return !g.Shut() && g.Complete() }

// Doubts reports whether a cell that is no regression keeps the gate from passing.
func (g *Gate) Doubts(c *Gated) bool {
	return c.State == GateUnusable || c.State == GateTooFew || g.Strict && c.Hides()
}
