// Package bisect finds the release of a driver that changed a cell. A cell is a phase of a workload
// with its settings and parameters. The release may have made the cell slower or faster, or it may
// give wrong answers or fail. The package decides which releases are compared and what each
// comparison means. It measures nothing itself.
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

// Judgment says whether the second release of a [Step] has the change that the search looks for.
type Judgment string

// The values of Judgment.
const (
	Changed    Judgment = "changed"
	Unchanged  Judgment = "unchanged"
	Unclear    Judgment = "unclear"     // more rounds may lead to a clear judgment
	PassedOver Judgment = "passed over" // the second release has no figures; Step.Why gives the reason
)

// Step is the comparison of a release with an earlier one.
type Step struct {
	First, Second string
	Judgment      Judgment
	Why           string          // why the release was passed over or has no figures
	Cell          *stats.Compared // cell on which the judgment is based; nil if there is none
	Analysis      *stats.Analysis // analysis of the run; nil if nothing was measured

	comparison *stats.Comparison
}

// Finding is the result of a [Search].
type Finding struct {
	Releases   []string // the releases that can be compared, the oldest first
	UntilFixed bool
	Margin     float64      // differences up to this fraction are no change: 0.05 means 5 %
	Metric     stats.Metric // the metric that the search followed; "" for time

	Change *Change // the change that was found; nil if none was seen
	Good   string  // the last release that was measured without the change
	Bad    string  // the first release that was measured with the change; "" if none was
	Pair   *Step   // the comparison of Good and Bad; nil if the two were not compared

	// Between lists the releases between Good and Bad, which were not judged. The change came with
	// one of them or with Bad.
	Between []string

	Steps []*Step // all steps, in the order in which they were measured
}

// LastRun returns the ID of the last run of the search, or 0 if no step was measured.
func (f *Finding) LastRun() int64 {
	for _, step := range slices.Backward(f.Steps) {
		if step.Analysis != nil {
			return step.Analysis.Run.ID
		}
	}
	return 0
}

// Certain reports whether the finding names exactly one release, or proves that no release
// changed anything.
func (f *Finding) Certain() bool {
	if f.Change != nil {
		return len(f.Between) == 0 && f.Pair != nil && f.Pair.Judgment == Changed
	}
	return f.Good == f.Releases[len(f.Releases)-1]
}

// Missing is the error of [Search.Measure] if there is no worker for a release.
type Missing struct{ Release, Why string }

func (e *Missing) Error() string { return e.Release + ": " + e.Why }

// StartError says that a search cannot start, because the first release is already wrong or failed in
// all cells (timed phases) in which the search looks for a change.
type StartError struct {
	Release string
	Cell    stats.TableName // one of the cells that were wrong or failed
	Status  result.Status
	Reason  *protocol.Reason
}

// Error names the phase that was wrong or failed. It may be another phase than e.Cell.Phase, because
// one wrong or failed phase can leave all phases of a trial without figures.
func (e *StartError) Error() string {
	name := e.Cell
	name.Phase = cmp.Or(e.Reason.Phase, name.Phase)
	return fmt.Sprintf("%s is %s in %s already: %s", name, e.Status, e.Release, e.Reason.Message)
}

// Search looks for the release that changed a cell (a phase of a workload with its settings).
type Search struct {
	Releases []string     // two or more releases, the oldest first
	Margin   float64      // differences up to this fraction are no change: 0.05 means 5 %
	Phase    string       // the only phase that the search follows; "" for all phases
	Metric   stats.Metric // the metric that the search follows; "" for time

	// UntilFixed says that the search looks only for improvements: a later release is faster, or no
	// longer wrong or failed. If UntilFixed is false, the search ignores cells in which the first
	// release has no figures.
	UntilFixed bool

	// Measure compares two releases in one run. After each round it calls the function "settled", which
	// returns the IDs of the cases that need no further trials, as in [lab.Schedule]. When these are all
	// cases, the run ends. After a change has been found, the parameter "change" is not nil, and only the
	// cells of the changed case matter.
	Measure func(ctx context.Context, first, second string, change *Change, settled func(*result.Run, int) ([]int, bool)) (*stats.Analysis, error)

	// Begin is called before each step and End after it, if they are not nil. k is the number of
	// the step, and n is an estimate of the number of all steps.
	Begin func(k, n int, first, second string)
	End   func(*Step)

	base, lo, hi int          // indexes of releases: base is the release with which later releases are compared, lo is the last release without the change, and hi is the first release with the change, or len(Releases) if there is none
	without      map[int]bool // indexes of releases that are not compared again
	unclear      []int        // indexes of releases whose judgment is unclear
	last         bool         // the current step is the last one, whose ratio is reported
	f            *Finding
}

// mostUnclear is the number of unclear steps after which a search ends, if it has already found a
// change. Further steps would probably be unclear, too.
const mostUnclear = 3

// Run looks for the change by repeatedly halving the range of releases. If every step is clear, it compares
// at most ⌈log₂ n⌉ of n releases with the first release. It does not begin with the last release, because
// an earlier release may already have the change, and then the last release need not be built. At the end,
// Run compares the two releases around the change with each other. If there is an error, Run returns both
// the error and the findings so far.
func (s *Search) Run(ctx context.Context) (*Finding, error) {
	s.f = &Finding{Releases: s.Releases, UntilFixed: s.UntilFixed, Margin: s.Margin, Metric: s.Metric}
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
		default: // try the last release, which may show the change clearly
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

// middle returns the index of the release to be compared next, or -1 if none is left. It chooses the
// release that is farthest from both ends of the range. Releases near an unclear one would be unclear
// too, so middle also keeps away from unclear releases.
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

// The method "again" judges each unclear step once more. It is called when a later step has shown
// the change.
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

// step compares two releases, given by index, and judges the second. If there is no worker for the
// first release, step uses the release after it instead.
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
			step.Second = step.First // the release that is passed over is the first one of this step
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

// Steps returns the greatest number of steps that a search among n releases takes. It assumes that
// all steps are clear.
func Steps(n int) int { return int(math.Ceil(math.Log2(float64(max(n, 1))))) }
