package worker

import (
	"context"

	"github.com/sqlite3perf/sqlite3perf/worker/plan"
)

// slicing divides a phase into slices. Between two slices the worker waits until the other trials have
// had their turns. The zero value does not divide the phase.
//
// The first operations of a slice are called its lead. They take longer than later operations, because
// they find cold caches: the other trials have used the processor. slicing measures how much longer. It
// does not count the lead of the first slice, because a phase that is not divided begins in the same
// way.
type slicing struct {
	trial *trial
	watch *Stopwatch
	phase string
	size  int64 // operations in a slice; 0: the phase is measured in one piece
	left  int64 // operations left in the current slice
	lead  int64 // operations in a lead (the beginning of a slice); 0: leads are not timed

	began            int64 // time at which the lead of the current slice began; after the lead, time at which the rest of the slice began
	leads, rests     int64 // total time in ns of the leads (the first operations of slices), and of all later operations in the same slices
	leadOps, restOps int64 // number of operations in the leads, and after the leads in the same slices
	slices           int64 // number of slices whose lead has ended
}

// leastSlices is the minimum number of slices for an estimate by [slicing.cold].
const leastSlices = 5

// slicing returns how phase p is divided into slices: as the request says, or not at all.
func (t *trial) slicing(p *plan.Phase, w *Stopwatch) slicing {
	n := t.req.Slices[p.Name]
	if !t.req.Alternate || n <= 0 {
		return slicing{}
	}
	return slicing{trial: t, watch: w, phase: p.Name, size: n, left: n, lead: n / 3}
}

// The Repeats of a request make a query run several times. Such a query has at most mostTurns
// slices of at least leastExecutions executions. If each slice had only one execution, every
// execution would begin with cold caches, and the cost of cold caches could not be seen. If there
// are several clients, the executions vary much more, and so does this cost. Then there are at
// most mostCrowdTurns slices, which are longer.
const (
	mostTurns       = 12
	mostCrowdTurns  = 6
	leastExecutions = 2
)

// executionSlicing returns how the executions of a query are divided into slices.
func (t *trial) executionSlicing(p *plan.Phase, w *Stopwatch, executions int64) slicing {
	most := int64(mostTurns)
	if p.Query.Clients > 1 {
		most = mostCrowdTurns
	}
	n := max(leastExecutions, (executions+most-1)/most)
	return slicing{trial: t, watch: w, phase: p.Name, size: n, left: n, lead: max(1, n/3)}
}

// count counts an operation that is about to begin. It reports whether a slice has ended, so that the
// operation belongs to the next slice.
func (s *slicing) count() (ended bool) {
	switch s.left--; {
	case s.left == -1 && s.size > 0:
		s.sliceEnds(s.size - s.lead)
		s.left = s.size - 1
		return true
	case s.lead > 0 && s.left == s.size-s.lead-1:
		s.leadEnds(s.lead)
	}
	return false
}

// leadEnds records that the lead of a slice, which is its first n operations, has ended.
func (s *slicing) leadEnds(n int64) {
	t := now()
	if s.slices++; s.slices > 1 {
		s.leads += t - s.began
		s.leadOps += n
	}
	s.began = t
}

// sliceEnds records that the current slice has ended. After its lead (its first operations), the slice
// had n further operations.
func (s *slicing) sliceEnds(n int64) {
	if s.slices > 1 {
		s.rests += now() - s.began
		s.restOps += n
	}
}

// cold returns, in nanoseconds, how much longer the leads (the first operations of slices) took
// than the same number of operations after the leads. It returns 0 if fewer than leastSlices leads
// have ended. The result is negative if the leads took less time. If it were 0 then, the mean of
// many such estimates would be too great. The absolute value of the result is at most half of the
// time of all counted slices.
func (s *slicing) cold() int64 {
	if s.slices < leastSlices || s.leadOps == 0 || s.restOps == 0 {
		return 0
	}
	cold := s.leads - int64(float64(s.rests)/float64(s.restOps)*float64(s.leadOps))
	most := (s.leads + s.rests) / 2
	return max(-most, min(cold, most))
}

// round rounds the size of a slice to a multiple of n, because the phase can pause only after every
// n operations.
func (s *slicing) round(n int64) {
	begun := s.left < s.size
	s.size = max(1, (s.size+n/2)/n) * n
	if !begun {
		s.left = s.size
	}
}

// next waits until the other trials have had their turns, if the current slice is complete. It must
// be called before each operation or group of operations, while the stopwatch is stopped.
func (s *slicing) next(ctx context.Context) error {
	if s.size == 0 || s.left > 0 {
		return nil
	}
	s.left = s.size
	return s.trial.wait(ctx, s.phase, s.watch.wall)
}

// pause pauses the stopwatch until the other trials have had their turns. It does not change the
// number of operations left in the slice. The parameter "wall" is the wall time of the phase so
// far, in nanoseconds.
func (s *slicing) pause(ctx context.Context, wall int64) error {
	err := s.watch.Pause(func() error { return s.trial.wait(ctx, s.phase, wall) })
	s.began = s.watch.wall0
	return err
}
