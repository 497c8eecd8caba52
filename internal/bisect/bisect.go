// Package bisect finds the release that changed a cell: that made it slower or faster, or
// wrong or failed. It decides which releases are compared and what each comparison says.
// It measures nothing itself.
package bisect

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// Judgment is what a step says of its second release.
type Judgment string

// The judgments.
const (
	Changed    Judgment = "changed"
	Unchanged  Judgment = "unchanged"
	Unclear    Judgment = "unclear"     // more rounds would tell
	PassedOver Judgment = "passed over" // it has no figures; Step.Why says why
)

// Change is what a search follows from the step that first shows it: how a cell of the
// second release differs from that of the first.
type Change struct {
	stats.TableName
	Verdict stats.Verdict `json:"verdict"`
	Status  result.Status `json:"status,omitempty"` // of verdict "bad": how the release without figures ended
	Fixed   bool          `json:"fixed,omitempty"`  // of verdict "bad": the earlier release is that one

	of       result.Case // what is done, in which settings
	nearest  float64     // the end of the effect's interval that is nearer to none
	blamed   string      // of Bad: the phase that is wrong or failed, timed or not; "" if that is not known
	followed string      // of Bad: a timed phase that has no figures because of it
}

// Of reports whether a case does what changed.
func (c *Change) Of(x *result.Case) bool {
	return c.of.Workload == x.Workload && maps.Equal(c.of.Parameters, x.Parameters) && maps.Equal(c.of.Settings, x.Settings)
}

// graded reports whether the change is one of times or of shares that failed, so that a release
// may have it in part.
func (c *Change) graded() bool { return c.timed() || c.failing() }

// timed reports whether the change is one of times.
func (c *Change) timed() bool { return c.Verdict == stats.Slower || c.Verdict == stats.Faster }

// failing reports whether the change is one of the share of operations that failed.
func (c *Change) failing() bool { return c.Verdict == stats.FailsMore || c.Verdict == stats.FailsLess }

// effect returns how far a cell is from no change, in the direction of the change, with its
// interval: the logarithm of a ratio, or the difference of two shares. ok is false if there is
// no interval.
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

// Step is the comparison of a release with an earlier one.
type Step struct {
	First, Second string
	Judgment      Judgment
	Why           string          // of PassedOver
	Cell          *stats.Compared // what the judgment rests on; nil if there is none
	Analysis      *stats.Analysis // the run; nil if nothing was measured

	comparison *stats.Comparison
}

// Finding is what a search found.
type Finding struct {
	Releases   []string // oldest first
	UntilFixed bool
	Margin     float64 // 0.05: a difference of 5 % is no change

	Change *Change // nil: none was seen
	Good   string  // the last release that was seen without the change
	Bad    string  // the first that was seen with it; "" if there is none
	Pair   *Step   // Good and Bad, compared

	// Between are the releases between Good and Bad, which were not judged. The change
	// came with one of them or with Bad.
	Between []string

	Steps []*Step // in the order in which they were taken
}

// Certain reports whether the finding is one release, or that none changed anything.
func (f *Finding) Certain() bool {
	if f.Change != nil {
		return len(f.Between) == 0 && f.Pair != nil && f.Pair.Judgment == Changed
	}
	return f.Good == f.Releases[len(f.Releases)-1]
}

// Missing is the error of [Search.Measure] if there is no worker for a release.
type Missing struct{ Release, Why string }

func (e *Missing) Error() string { return e.Release + ": " + e.Why }

// StartError says that the first release is wrong or failed in everything that was to be
// followed.
type StartError struct {
	Release string
	Cell    stats.TableName // one of these
	Status  result.Status
	Reason  *protocol.Reason
}

// Error names the phase that is to blame: because of it all phases of a trial may lack
// figures.
func (e *StartError) Error() string {
	name := e.Cell
	name.Phase = cmp.Or(e.Reason.Phase, name.Phase)
	return fmt.Sprintf("%s is %s in %s already: %s", name, e.Status, e.Release, e.Reason.Message)
}

// Search looks for a change.
type Search struct {
	Releases []string // oldest first, two or more
	Margin   float64  // as in [Finding]
	Phase    string   // the only one that is followed; "": any

	// UntilFixed looks only for what is better in a later release: faster, or no longer
	// wrong or failed. Otherwise a cell that the first release has no figures for is
	// left out.
	UntilFixed bool

	// Measure compares two releases in one run, until settled returns all of its cases,
	// as in [lab.Schedule]. If change is not nil, only its cases matter.
	Measure func(ctx context.Context, first, second string, change *Change, settled func(*result.Run, int) ([]int, bool)) (*stats.Analysis, error)

	// Begin and End, if not nil, are told of each step: the k-th of about n.
	Begin func(k, n int, first, second string)
	End   func(*Step)

	base, lo, hi int // indices: what is compared with; the last unchanged, the first changed
	without      map[int]bool
	unclear      []int
	last         bool // the pair is compared, whose ratio is wanted
	f            *Finding
}

// mostUnclear is how many steps may be unclear. Those that follow would not be clearer.
const mostUnclear = 3

// Run looks for the change by halving the releases. With n releases it compares at most
// ⌈log₂ n⌉ of them with the first one, if all are clear. The last release is not
// compared unless the search leads to it: that something changed is known as soon as any
// release has changed. Finally the two that are left are compared with each other. With
// an error it also returns what was found until then.
func (s *Search) Run(ctx context.Context) (*Finding, error) {
	s.f = &Finding{Releases: s.Releases, UntilFixed: s.UntilFixed, Margin: s.Margin}
	s.base, s.lo, s.hi, s.without, s.unclear, s.last = 0, 0, len(s.Releases), map[int]bool{}, nil, false
	err := s.halve(ctx)
	s.f.Good = s.Releases[s.lo]
	if s.hi == len(s.Releases) || err != nil {
		return s.f, err
	}
	s.f.Bad, s.f.Between = s.Releases[s.hi], s.Releases[s.lo+1:s.hi]
	for _, step := range s.f.Steps {
		if step.First == s.f.Good && step.Second == s.f.Bad && step.Judgment == Changed {
			s.f.Pair = step
			return s.f, nil
		}
	}
	s.last = true
	s.f.Pair, err = s.step(ctx, s.lo, s.hi)
	return s.f, err
}

func (s *Search) halve(ctx context.Context) error {
	last := len(s.Releases) - 1
	for at := s.middle(); at >= 0; at = s.middle() {
		step, err := s.step(ctx, s.base, at)
		if err != nil {
			return err
		}
		s.take(at, step)
		switch {
		case step.Judgment != Unclear:
		case s.f.Change != nil:
			if len(s.unclear) >= mostUnclear {
				return nil
			}
		case at == last:
			return nil
		default: // the last release may show what to look for
			step, err := s.step(ctx, s.base, last)
			if err != nil {
				return err
			}
			s.take(last, step)
			if s.f.Change == nil {
				return nil
			}
			s.again()
		}
	}
	return nil
}

// middle returns the index of the release to be compared next, or -1 if none is left: the
// one farthest from both ends and from what was unclear, whose neighbors would be so too.
func (s *Search) middle() int {
	best, most := -1, 0
	for at := s.lo + 1; at < min(s.hi, len(s.Releases)); at++ {
		if s.without[at] {
			continue
		}
		distance := min(at-s.lo, s.hi-at)
		for _, u := range s.unclear {
			distance = min(distance, max(at-u, u-at))
		}
		if distance > most {
			best, most = at, distance
		}
	}
	return best
}

// take narrows the range by what a step says.
func (s *Search) take(at int, step *Step) {
	switch step.Judgment {
	case Changed:
		s.hi = min(s.hi, at)
	case Unchanged:
		s.lo = max(s.lo, at)
	case Unclear:
		s.unclear = append(s.unclear, at)
		fallthrough
	default:
		s.without[at] = true
	}
}

// again judges the unclear steps by a change that is known only now.
func (s *Search) again() {
	s.unclear = nil
	for _, step := range s.f.Steps {
		if step.Judgment == Unclear {
			step.Judgment, step.Cell, step.Why = s.f.Change.judge(step.comparison)
			at := slices.Index(s.Releases, step.Second)
			delete(s.without, at)
			s.take(at, step)
		}
	}
}

// step compares two releases and judges the second. If the first has no worker, the next
// one takes its place.
func (s *Search) step(ctx context.Context, first, second int) (*Step, error) {
	for {
		step := &Step{First: s.Releases[first], Second: s.Releases[second]}
		if s.Begin != nil {
			k := len(s.f.Steps) + 1
			s.Begin(k, max(k, k-1+Steps(s.hi-s.lo)), step.First, step.Second)
		}
		var err error
		step.Analysis, err = s.Measure(ctx, step.First, step.Second, s.f.Change, s.settled())
		missing, gone := errors.AsType[*Missing](err)
		switch {
		case gone:
			step.Judgment, step.Why, step.Analysis = PassedOver, missing.Why, nil
		case err != nil:
			return nil, err
		default:
			if err := s.judge(step); err != nil {
				return nil, err
			}
		}
		if gone && missing.Release == step.First {
			step.Second = step.First // it is the one that is passed over
		}
		s.f.Steps = append(s.f.Steps, step)
		if s.End != nil {
			s.End(step)
		}
		if !gone || missing.Release == s.Releases[second] {
			return step, nil
		}
		s.without[first] = true
		if first++; first == second {
			return nil, &Missing{s.Releases[first], "no earlier release has a worker"}
		}
		s.base, s.lo = first, max(s.lo, first)
	}
}

// Steps returns the most steps that a search takes among n releases, if all are clear.
func Steps(n int) int { return int(math.Ceil(math.Log2(float64(max(n, 1))))) }

// judge sets what a step says.
func (s *Search) judge(step *Step) error {
	step.comparison = stats.CompareRun(step.Analysis)
	if s.f.Change == nil {
		return s.discover(step)
	}
	step.Judgment, step.Cell, step.Why = s.f.Change.judge(step.comparison)
	return nil
}

// discover looks for a change in a step, while none is known.
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
			// One phase without a right answer takes the figures of all: blame the one.
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

// open reports whether a cell could have changed. What is asked is whether typical trials
// have, so it takes less than the verdict that the sides are the same.
func open(x *stats.Compared) bool {
	return x.Verdict == stats.Unclear && (!x.Typical || !x.FailAlike)
}

// follows reports whether a change of a cell is looked for.
func (s *Search) follows(x *stats.Compared) bool {
	return (s.Phase == "" || x.Phase == s.Phase) && (s.UntilFixed || x.First.Status == result.OK || disagree(x))
}

// disagree reports whether both sides are wrong only because they give different answers.
func disagree(x *stats.Compared) bool {
	wrong := func(c *stats.Cell) bool {
		return c.Status == result.Wrong && c.Reason != nil && c.Reason.Code == protocol.CodeChecksum
	}
	return wrong(x.First) && wrong(x.Second)
}

// changed returns how the sides of a cell differ, or nil if they don't, or not for
// certain, or not in the direction that is looked for.
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

// blamed returns the phase because of which a cell has no figures, or "".
func blamed(c *stats.Cell) string {
	if c.Reason == nil {
		return ""
	}
	return c.Reason.Phase
}

// nearer returns the end of the interval of a cell's effect that is nearer to none.
func (c *Change) nearer(x *stats.Compared) float64 {
	at, low, _, ok := c.effect(x)
	if ok && low > 0 {
		return low
	}
	if !ok {
		at = math.Abs(math.Log(x.Ratio.Median))
	}
	return at / 3 // the test is clearer than the interval
}

// tight reports whether the interval of a cell's effect is narrow enough to look for the
// change elsewhere: half of it is no more than a third of the change.
func (c *Change) tight(x *stats.Compared) bool {
	at, _, _, _ := c.effect(x)
	return 3*c.nearer(x) >= 2*at
}

// judge says whether a release has the change. For a change of times, or of the share of
// operations that failed, the limit is the middle between none and the least that the change
// can be. A release has the change if the whole interval of its effect is beyond the limit. If
// the limit is in the interval, it is unclear.
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

// reason says why the times of a cell are not compared.
func reason(x *stats.Compared) string {
	for _, c := range []*stats.Cell{x.Second, x.First} {
		if c.Status != result.OK && c.Reason != nil {
			return fmt.Sprintf("%s: %s", c.Status, c.Reason.Message)
		}
	}
	return x.Why
}

// settled returns a function that says which cases of a run need no further trials, as
// [lab.Schedule] asks.
func (s *Search) settled() func(*result.Run, int) ([]int, bool) {
	return func(run *result.Run, round int) ([]int, bool) {
		if round != stats.MinSamples && !stats.Look(round) {
			return nil, false
		}
		c := stats.CompareRun(stats.Analyze(run, ""))
		if s.done(c, !stats.Look(round)) {
			var all []int
			for i := range run.Cases {
				all = append(all, run.Cases[i].ID)
			}
			return all, true
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

// done reports whether a step needs no further rounds. After a round that is not a look
// only statuses count.
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
	return s.Phase != "" && !unclear && !statuses // other phases don't matter
}
