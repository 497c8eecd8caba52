// Package bisect finds the release that changed a cell: that made it slower or faster, or
// wrong or failed. It decides which releases are compared and what each comparison says.
// It measures nothing itself.
package bisect

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// Judgment is the judgment of a step's second release.
type Judgment string

// The judgments.
const (
	Changed    Judgment = "changed"
	Unchanged  Judgment = "unchanged"
	Unclear    Judgment = "unclear"     // more rounds would decide
	PassedOver Judgment = "passed over" // it has no figures; Step.Why says why
)

// Step is the comparison of a release with an earlier one.
type Step struct {
	First, Second string
	Judgment      Judgment
	Why           string          // of PassedOver
	Cell          *stats.Compared // what the judgment rests on; nil if there is none
	Analysis      *stats.Analysis // the run; nil if nothing was measured

	comparison *stats.Comparison
}

// Finding is the result of a search.
type Finding struct {
	Releases   []string // oldest first
	UntilFixed bool
	Margin     float64 // 0.05: a difference of 5 % is no change

	Change *Change // nil: none was seen
	Good   string  // the last release that was seen without the change
	Bad    string  // the first release that was seen with it; "" if there is none
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

// StartError says that the first release is wrong or failed in all cells that the search follows.
type StartError struct {
	Release string
	Cell    stats.TableName // one of the cells
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

	// UntilFixed looks only for improvements: a later release is faster, or no longer wrong or
	// failed. Otherwise cells without figures of the first release are left out.
	UntilFixed bool

	// Measure compares two releases in one run, until settled returns all of its cases,
	// as in [lab.Schedule]. If change is not nil, only its cases matter.
	Measure func(ctx context.Context, first, second string, change *Change, settled func(*result.Run, int) ([]int, bool)) (*stats.Analysis, error)

	// Begin and End, if not nil, are called for each step: the k-th of about n.
	Begin func(k, n int, first, second string)
	End   func(*Step)

	base, lo, hi int          // releases: the one compared with, the last unchanged, the first changed
	without      map[int]bool // releases that are not compared again
	unclear      []int        // releases
	last         bool         // this is the last step, whose ratio is reported
	f            *Finding
}

// mostUnclear is how many steps may be unclear. Further steps would not be clearer.
const mostUnclear = 3

// Run looks for the change by halving the releases. With n releases it compares at most
// ⌈log₂ n⌉ of them with the first one, if all are clear. The last release is compared only if the
// search leads to it, because any release shows that something changed. Finally the two releases
// around the change are compared with each other. With an error Run also returns the findings so
// far.
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

// middle returns the index of the release to be compared next, or -1 if none is left. It is the
// release farthest from both ends and from unclear ones, whose neighbors would be unclear too.
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

// again judges the unclear steps by the change that has become known.
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
