package worker

import (
	"context"
	"sync/atomic"

	"github.com/sqlite3perf/sqlite3perf/worker/barrier"
)

// clientTurns divides a query, a mix or a replay into slices. After each slice this process waits,
// because the trials that do the same work take turns. All clients pause together, each between two
// of its operations or transactions. In a query or a mix, the first client decides when they pause:
// it counts its own operations. In a replay, one client may do much more than another, so the
// operations of all clients are counted.
type clientTurns struct {
	slicing
	together *barrier.Barrier
	asked    atomic.Bool  // true if all clients must pause before their next operation
	wall     atomic.Int64 // wall time of the phase so far, in ns: the greatest time that a client has passed to the method "park"
	events   int64        // events in a slice of a replay
	counted  atomic.Int64 // events in the current slice
}

// newClientTurns returns the clientTurns for the given number of clients, or nil if the phase is measured
// in one piece.
func newClientTurns(ctx context.Context, s slicing, clients int) *clientTurns {
	if s.size == 0 {
		return nil
	}
	t := &clientTurns{slicing: s, events: s.size}
	t.size = max(1, s.size/int64(clients))
	t.left = t.size
	if clients > 1 {
		t.lead = 0 // the leads (first operations) of slices are not timed, because the first client does not know how long the other clients' leads took
	}
	t.together = barrier.New(clients, func() error {
		t.asked.Store(false)
		t.counted.Store(0)
		return t.pause(ctx, t.wall.Load())
	})
	return t
}

// operation must be called before each operation of a query or a mix. The parameter "leads" is true
// if the client is the first one, and "elapsed" is the client's time so far. If a slice has ended,
// operation waits until the other trials have had their turns, and returns how long it waited. The
// parameter "elapsed" and the result are in nanoseconds.
func (t *clientTurns) operation(leads bool, elapsed int64) (waited int64, err error) {
	if !leads {
		return t.park(0) // park keeps the greatest time that a client has passed, so 0 changes nothing
	}
	if t.count() {
		t.asked.Store(true)
	}
	return t.park(elapsed)
}

// transaction must be called between two transactions of a replay. The parameter n is the number of
// events since the client's previous call. In all other respects transaction is like the method
// "operation".
func (t *clientTurns) transaction(n int, elapsed int64) (waited int64, err error) {
	if t.counted.Add(int64(n)) >= t.events {
		t.asked.Store(true)
	}
	return t.park(elapsed)
}

func (t *clientTurns) park(elapsed int64) (waited int64, err error) {
	if !t.asked.Load() {
		return 0, nil
	}
	for wall := t.wall.Load(); elapsed > wall && !t.wall.CompareAndSwap(wall, elapsed); wall = t.wall.Load() {
	}
	began := now()
	err = t.together.Wait()
	return now() - began, err
}
