package worker

import (
	"context"

	"github.com/sqlite3perf/sqlite3perf/worker/plan"
)

// slicing divides a phase into slices. Between two slices the worker waits until the other
// trials have had their turns. The zero value does not divide the phase.
type slicing struct {
	trial *trial
	watch *Stopwatch
	phase string
	size  int64 // operations in a slice; 0: the phase is measured in one piece
	left  int64 // operations left in the current slice
}

// slicing returns how phase p is divided into slices: as the lab has requested, or not at all.
func (t *trial) slicing(p *plan.Phase, w *Stopwatch) slicing {
	n := t.req.Slices[p.Name]
	if !t.req.Alternate || n <= 0 {
		return slicing{}
	}
	return slicing{t, w, p.Name, n, n}
}

// round makes the size of a slice a multiple of n, the number of operations after which the phase
// can pause.
func (s *slicing) round(n int64) {
	begun := s.left < s.size
	s.size = max(1, (s.size+n/2)/n) * n
	if !begun {
		s.left = s.size
	}
}

// next waits for this process's next turn if the current slice is complete. Callers call it before
// each operation or group of operations, while the stopwatch is stopped.
func (s *slicing) next(ctx context.Context) error {
	if s.size == 0 || s.left > 0 {
		return nil
	}
	s.left = s.size
	return s.trial.wait(ctx, s.phase, s.watch.wall)
}

// pause stops the stopwatch until this process's next turn. It does not change the number of
// operations left in the slice.
func (s *slicing) pause(ctx context.Context) error {
	s.watch.Stop()
	err := s.trial.wait(ctx, s.phase, s.watch.wall)
	s.watch.Start()
	return err
}
