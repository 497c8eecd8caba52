package bisect

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// Change is the change that a search follows: how a cell of the second release differs from the same cell
// of the first release. The search follows the first change that one of its steps shows.
type Change struct {
	stats.TableName
	Verdict stats.Verdict `json:"verdict"`
	Status  result.Status `json:"status,omitempty"` // status of the release without figures, if Verdict is "bad"
	Fixed   bool          `json:"fixed,omitempty"`  // true if Verdict is "bad" and the release without figures is the earlier release

	of       result.Case // the case of the first release
	nearest  float64     // the smallest effect that the change can have, as the method "nearer" estimates it
	blamed   string      // if Verdict is bad: the phase that is wrong or failed, timed or not; "" if unknown
	followed string      // if Verdict is bad: a timed phase that has no figures because of the blamed phase
}

// Of reports whether x has the workload, parameters and settings of the changed case.
func (c *Change) Of(x *result.Case) bool {
	return c.of.Workload == x.Workload && maps.Equal(c.of.Parameters, x.Parameters) && maps.Equal(c.of.Settings, x.Settings)
}

// graded reports whether a release can have only a part of the change. This is possible for changes of
// times and of the share of failed operations.
func (c *Change) graded() bool { return c.timed() || c.failing() }

func (c *Change) timed() bool { return c.Verdict == stats.Slower || c.Verdict == stats.Faster }

func (c *Change) failing() bool { return c.Verdict == stats.FailsMore || c.Verdict == stats.FailsLess }

// effect returns the size of the change in a cell, with its interval. It is the logarithm of a
// ratio of times, or the difference of two shares of failed operations. Positive values are changes
// in the same direction as c. ok is false if there is no interval.
func (c *Change) effect(x *stats.Compared) (at, low, high float64, ok bool) {
	switch {
	case c.failing() && x.Failing == nil: // nothing failed on either side
		return 0, 0, 0, true
	case c.failing():
		i := x.Failing.Difference()
		at, low, high = x.Failing.Second-x.Failing.First, i.Low, i.High
	case x.Ratio.Interval == nil:
		return 0, 0, 0, false
	default:
		at, low, high = math.Log(x.Ratio.Median), math.Log(x.Ratio.Interval.Low), math.Log(x.Ratio.Interval.High)
	}
	if c.Verdict == stats.Faster || c.Verdict == stats.FailsLess {
		at, low, high = -at, -high, -low
	}
	return at, low, high, true
}

// compared compares the two releases of a step by the metric that the search follows.
func (s *Search) compared(a *stats.Analysis) *stats.Comparison {
	c := stats.CompareRun(a)
	if s.Metric == "" || s.Metric == stats.Time {
		return c
	}
	return c.By(s.Metric)
}

// judge sets the judgment of a step from its analysis.
func (s *Search) judge(step *Step) error {
	step.comparison = s.compared(step.Analysis)
	if s.f.Change == nil {
		return s.discover(step)
	}
	step.Judgment, step.Cell, step.Why = s.f.Change.judge(step.comparison)
	return nil
}

func (s *Search) discover(step *Step) error {
	var start *StartError
	followed := 0
	step.Judgment = Unchanged
	for _, x := range step.comparison.Cells {
		if !s.follows(x) {
			if start == nil && x.First.Status != result.OK && x.First.Reason != nil {
				start = &StartError{step.First, x.TableName, x.First.Status, x.First.Reason}
			}
			continue
		}
		followed++
		c := s.changed(x)
		if c != nil && c.Verdict == stats.Bad {
			// A wrong or failed phase leaves all phases of its trials without figures. So the judgment is
			// based on the cell of that phase.
			if at := slices.IndexFunc(step.comparison.Cells, func(y *stats.Compared) bool { return y.Phase == c.blamed && c.Of(y.First.Case) }); at >= 0 {
				x = step.comparison.Cells[at]
			}
			c.followed, c.Phase = x.Phase, cmp.Or(c.blamed, x.Phase)
		}
		switch {
		case c != nil:
			s.f.Change, step.Judgment, step.Cell = c, Changed, x
			return nil
		case open(x) && (step.Judgment == Unchanged || x.Rounds > step.Cell.Rounds):
			step.Judgment, step.Cell = Unclear, x
		case x.Second.Status != result.OK && step.Judgment == Unchanged && !s.UntilFixed:
			step.Judgment, step.Cell, step.Why = PassedOver, x, reason(x)
		}
	}
	if followed == 0 && start != nil {
		return start
	}
	return nil
}

// open reports whether a cell may still turn out to have changed: its verdict is unclear, and the
// interval of its typical times or of its failures reaches beyond the margin. A cell that will
// probably get the verdict "same" is not open, although this verdict needs more rounds.
func open(x *stats.Compared) bool {
	return x.Verdict == stats.Unclear && (!x.Typical || !x.FailAlike)
}

// follows reports whether the search looks for a change in cell x.
func (s *Search) follows(x *stats.Compared) bool {
	return (s.Phase == "" || x.Phase == s.Phase) && (s.UntilFixed || x.First.Status == result.OK || disagree(x))
}

// disagree reports whether both sides are wrong only because their answers differ from each other.
func disagree(x *stats.Compared) bool {
	wrong := func(c *stats.Cell) bool {
		return c.Status == result.Wrong && c.Reason != nil && c.Reason.Code == protocol.CodeChecksum
	}
	return wrong(x.First) && wrong(x.Second)
}

// changed returns the change in a cell. It returns nil unless the change is certain and in the
// direction that the search looks for.
func (s *Search) changed(x *stats.Compared) *Change {
	c := &Change{TableName: x.TableName, Verdict: x.Verdict, of: *x.First.Case}
	switch {
	case x.Verdict == stats.Bad && s.UntilFixed:
		c.Status, c.Fixed = x.First.Status, true
		if x.First.Status == result.OK || x.Second.Status != result.OK {
			return nil
		}
		c.blamed = blamed(x.First)
	case x.Verdict == stats.Bad:
		c.Status = x.Second.Status
		if c.Status == result.Unavailable || c.Status == stats.NotMeasured {
			return nil
		}
		c.blamed = blamed(x.Second)
	case x.Verdict == stats.Differing:
	case x.Verdict == stats.Faster, x.Verdict == stats.FailsLess,
		(x.Verdict == stats.Slower || x.Verdict == stats.FailsMore) && !s.UntilFixed:
		c.nearest = c.nearer(x)
	default:
		return nil
	}
	return c
}

func blamed(c *stats.Cell) string {
	if c.Reason == nil {
		return ""
	}
	return c.Reason.Phase
}

// nearer returns an estimate of the smallest effect that a cell can have: the end of the effect's
// interval that is nearer to zero. If there is no interval, or the interval includes zero, it is a
// third of the effect.
func (c *Change) nearer(x *stats.Compared) float64 {
	at, low, _, ok := c.effect(x)
	if ok && low > 0 {
		return low
	}
	if !ok {
		at = math.Abs(math.Log(x.Ratio.Median))
	}
	return at / 3 // the effect is significant although its interval is missing or includes zero
}

// The method "tight" reports whether the interval of a cell's effect is narrow enough to go on with
// other releases: its lower end is at least two thirds of the effect.
func (c *Change) tight(x *stats.Compared) bool {
	at, _, _, _ := c.effect(x)
	return 3*c.nearer(x) >= 2*at
}

// judge says whether the second release of a comparison has the change. It also returns the cell on
// which the judgment is based, and the reason if the release is passed over.
//
// A change of times, or of the share of failed operations, has a limit: half of the smallest effect
// that the change can have. The release has the change if the entire interval of its effect is
// beyond the limit. If the limit lies in the interval, the judgment is unclear.
func (c *Change) judge(comparison *stats.Comparison) (Judgment, *stats.Compared, string) {
	i := slices.IndexFunc(comparison.Cells, func(x *stats.Compared) bool { return x.Phase == cmp.Or(c.followed, c.Phase) && c.Of(x.First.Case) })
	if i < 0 {
		return PassedOver, nil, fmt.Sprintf("%s was not measured", c)
	}
	x := comparison.Cells[i]
	switch none := x.Second.Status == result.Unavailable || x.Second.Status == stats.NotMeasured; {
	case none, c.timed() && !x.Measured(), c.failing() && !x.Measured() && !x.FailuresTold():
		return PassedOver, x, fmt.Sprintf("%s: %s", c, reason(x))
	case c.Fixed && x.Second.Status == result.OK, !c.Fixed && !c.graded() && (x.Verdict == stats.Bad || x.Verdict == stats.Differing):
		return Changed, x, ""
	case !c.graded():
		return Unchanged, x, ""
	}
	switch _, low, high, ok := c.effect(x); {
	case !ok:
		return Unclear, x, ""
	case low > c.nearest/2:
		return Changed, x, ""
	case high < c.nearest/2:
		return Unchanged, x, ""
	}
	return Unclear, x, ""
}

func reason(x *stats.Compared) string {
	for _, c := range []*stats.Cell{x.Second, x.First} {
		if c.Status != result.OK && c.Reason != nil {
			return fmt.Sprintf("%s: %s", c.Status, c.Reason.Message)
		}
	}
	return x.Why
}

// settled returns a function for [lab.Schedule] that lists the cases of a run that need no further
// trials.
func (s *Search) settled() func(*result.Run, int) ([]int, bool) {
	return func(run *result.Run, round int) ([]int, bool) {
		if round != stats.MinSamples && !stats.Look(round) {
			return nil, false
		}
		c := s.compared(stats.Analyze(run, ""))
		if s.done(c, !stats.Look(round)) {
			return document.Map(run.Cases, func(c result.Case) int { return c.ID }), true
		}
		if s.f.Change != nil || !stats.Look(round) {
			return nil, false
		}
		return slices.DeleteFunc(c.SettledBy(func(x *stats.Compared) bool { return x.Typical && x.FailAlike || x.Settled() }), func(id int) bool {
			return slices.ContainsFunc(c.Cells, func(x *stats.Compared) bool {
				return (x.First.Case.ID == id || x.Second.Case.ID == id) && s.follows(x) && s.changed(x) != nil
			})
		}), true
	}
}

// done reports whether a step needs no further rounds. If the parameter "statuses" is true, there are too
// few rounds to judge figures. Then done considers only the statuses of cells, such as wrong or failed.
func (s *Search) done(c *stats.Comparison, statuses bool) bool {
	if change := s.f.Change; change != nil {
		judgment, x, _ := change.judge(c)
		switch {
		case statuses || !change.graded():
			return !change.graded() || judgment == PassedOver
		case judgment == Changed && s.last:
			return change.tight(x)
		}
		return judgment != Unclear
	}
	unclear := false
	for _, x := range c.Cells {
		if !s.follows(x) {
			continue
		}
		if change := s.changed(x); change != nil {
			return !change.graded() || !statuses && change.tight(x)
		}
		unclear = unclear || open(x)
	}
	return s.Phase != "" && !unclear && !statuses // phases other than s.Phase don't matter
}
