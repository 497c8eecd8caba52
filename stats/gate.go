package stats

import (
	"fmt"
	"maps"
	"slices"

	"github.com/sqlite3perf/sqlite3perf/result"
)

// State is what a gate says of a cell.
type State string

// The states, in the order in which cells are listed. A gate is shut by GateRegression and
// GateWrong. GateUnusable and GateTooFew cells leave it open to doubt, and those of
// GateUnconfirmed and GatePossible if it is strict.
const (
	GateWrong       State = "wrong"          // the candidate's answers, or more of its operations failed
	GateRegression  State = "regression"     // confirmed
	GateUnusable    State = "not measured"   // one of the sides has no figures
	GateTooFew      State = "too few rounds" // for any regression to be found, or excluded
	GateUnconfirmed State = "not confirmed"  // at first a regression, or more failed, but not when it was measured again
	GatePossible    State = "not excluded"   // no regression was found, but the interval reaches beyond what is allowed
	GatePassed      State = "passed"
)

var stateOrder = []State{GateWrong, GateRegression, GateUnusable, GateTooFew, GateUnconfirmed, GatePossible, GatePassed}

// Gate judges a candidate by its baseline: the first side of each comparison is the
// baseline, the second the candidate.
type Gate struct {
	Baseline, Candidate string
	Max                 float64 // 0.05: up to 5 % more is no regression
	Strict              bool    // what is not excluded, or not confirmed, does not pass either
	Cells               []*Gated
	Alone               []string // cells that only one side has
	Unknown             []Metric // of which no cell has figures, although others have times
	Interrupted         bool     // the measurement was, so not all is known that was to be

	interleaved bool // both sides are of one run
}

// Gated is a cell of a gate.
type Gated struct {
	*Compared
	State State
	Why   string    // of GateTooFew, and of Differing; of Bad the sides have the reason
	Again *Compared // the second measurement; nil if there was none

	Stored bool   // the baseline's figures are of an earlier run
	Beside bool   // Again has both sides in the same rounds
	Moot   string // why a second measurement would say nothing; "" if it was worth it
}

// NewGate judges comparisons of the same two sides, one for each metric. No regression is
// confirmed yet: a cell that has one is GateRegression, and [Gate.Confirm] decides.
func NewGate(most float64, comparisons ...*Comparison) *Gate {
	g := &Gate{Max: most}
	for _, c := range comparisons {
		g.Baseline, g.Candidate, g.Alone, g.interleaved = c.First, c.Second, c.Alone, c.Interleaved
		if len(c.Cells) == 0 && len(comparisons[0].Cells) > 0 {
			g.Unknown = append(g.Unknown, c.Metric)
		}
		for _, x := range c.Cells {
			if !x.Measured() && c.Metric != comparisons[0].Metric {
				continue // the first metric's comparison has the cell already
			}
			cell := &Gated{Compared: x, Stored: !c.Interleaved}
			cell.judge(most)
			g.Cells = append(g.Cells, cell)
		}
	}
	g.sort()
	return g
}

func (g *Gate) sort() {
	slices.SortStableFunc(g.Cells, func(a, b *Gated) int {
		return slices.Index(stateOrder, a.State) - slices.Index(stateOrder, b.State)
	})
}

// regressed reports whether a cell needs more than is allowed, and not by chance.
func (x *Compared) regressed(most float64) bool {
	return x.Verdict == Slower && x.Ratio.Median > 1+most
}

func (c *Gated) judge(most float64) {
	x := c.Compared
	switch {
	case x.Verdict == Bad && x.Second.Status == result.Wrong:
		c.State = GateWrong
	case x.Verdict == Bad:
		c.State = GateUnusable
	case x.Verdict == Differing && x.Second.shareFailed() < x.First.shareFailed():
		c.State, c.Why = GatePassed, x.Why // less fails than before; the times are of other work
	case x.Verdict == Differing:
		c.State, c.Why = GateWrong, x.Why
	case x.regressed(most):
		c.State = GateRegression
	case x.Ratio.Interval != nil && x.Ratio.Interval.High <= 1+most:
		c.State = GatePassed
	case x.tooFew():
		c.State, c.Why = GateTooFew, fmt.Sprintf("with %d rounds no difference can be told from chance: it takes more of them", x.Ratio.N)
	default:
		c.State = GatePossible
	}
}

// Settled returns the IDs of the cases, in the last run, of which no cell needs further
// rounds: each has a regression, or has none, or cannot be judged.
func (g *Gate) Settled() []int {
	open, ids := map[int]bool{}, map[int]bool{}
	for _, c := range g.Cells {
		settled := c.State != GatePossible && c.State != GateTooFew &&
			(c.State != GateRegression || c.settled())
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
// a regression, and those in which more operations failed, since one may fail by chance.
func (g *Gate) Doubtful() (cells []*Gated) {
	for _, c := range g.Cells {
		if (c.State == GateRegression || c.State == GateWrong && c.failing) && c.Again == nil {
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
				if x.Metric == cell.Metric && x.candidate() == cell.candidate() {
					cell.Again, cell.Beside = x, c.Interleaved
					confirmed = x.confirms(cell, g.Max, len(doubtful))
				}
			}
		}
		if !confirmed {
			cell.State = GateUnconfirmed
		}
	}
	g.sort()
}

// Dismiss says why a doubtful cell cannot be confirmed by measuring it again.
func (g *Gate) Dismiss(c *Gated, why string) {
	c.State, c.Moot = GateUnconfirmed, why
	g.sort()
}

// candidate returns what a cell is found by in another measurement of the candidate. There
// the baseline can be another run, and variants can have other names.
func (x *Compared) candidate() string {
	c := x.Second.Case
	return fmt.Sprintf("%q %q %v %q %q %q", c.Workload, c.Scale, c.Parameters, c.Settings, c.Driver, x.Phase)
}

// confirms reports whether a cell that was measured again, as one of several, has the
// same fault as before. Only these are judged, not the others of their cases.
func (x *Compared) confirms(c *Gated, most float64, cells int) bool {
	switch {
	case c.failing:
		return x.failing && x.Second.shareFailed() > x.First.shareFailed()
	case !x.Measured():
		return false
	}
	return x.Ratio.Median > 1+most && x.P*float64(cells) < Doubt
}

// Count returns how many cells have a state.
func (g *Gate) Count(s State) int {
	n := 0
	for _, c := range g.Cells {
		if c.State == s {
			n++
		}
	}
	return n
}

// Shut reports whether the candidate must not pass.
func (g *Gate) Shut() bool { return g.Count(GateWrong)+g.Count(GateRegression) > 0 }

// Complete reports whether every cell could be judged, by every metric, and there is any,
// and the measurement came to its end.
func (g *Gate) Complete() bool {
	return !g.Interrupted && len(g.Cells) > 0 && len(g.Unknown) == 0 &&
		!slices.ContainsFunc(g.Cells, func(c *Gated) bool { return g.Doubts(c.State) })
}

// Doubts reports whether a cell in a state keeps the gate from being complete.
func (g *Gate) Doubts(s State) bool {
	switch s {
	case GateUnusable, GateTooFew:
		return true
	case GateUnconfirmed, GatePossible:
		return g.Strict
	}
	return false
}
