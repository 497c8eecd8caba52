package worker

import (
	"context"
	"sync/atomic"

	"github.com/sqlite3perf/sqlite3perf/worker/barrier"
)

// clientTurns divides a query, a mix or a replay into slices. After each slice this process waits
// until the other trials that do the same work have had their turns. All clients pause together,
// each between two of its operations or transactions. The size of a slice is a number of operations
// of all clients together, because one client may do many more operations than another client, for
// example if the other client waits for a lock.
//
// After the last operation of a slice has been counted, other clients may be in the middle of an
// operation. Waiting for them is a part of the phase's time. So a slice must be much longer than most
// operations.
type clientTurns struct {
	slicing
	together *barrier.Barrier
	clients  int64
	counted  atomic.Int64 // operations (in a replay: events) in the current slice; not used in a query or a mix of one client
	ended    atomic.Bool  // true if the current slice has ended; all clients must then wait before their next operation
	wall     atomic.Int64 // time of the phase so far, without pauses, in ns: the greatest time that a client has passed to the method "park"
	paused   int64        // how long the last pause took, in ns; only the barrier changes it, while all clients wait
}

// clientTurn is one client's part of a [clientTurns].
type clientTurn struct {
	*clientTurns
	uncounted int64     // operations of this client that are not yet in the field "counted"
	_         [112]byte // padding, so that no two clients write to the same cache line
}

// newClientTurns returns the clientTurns for the given number of clients, or nil if the phase is measured
// in one piece.
func newClientTurns(ctx context.Context, s slicing, clients int) *clientTurns {
	if s.size == 0 {
		return nil
	}
	t := &clientTurns{slicing: s, clients: int64(clients)}
	t.together = barrier.New(clients, func() error {
		t.counted.Store(0)
		t.ended.Store(false)
		began := now()
		err := t.pause(ctx, t.wall.Load())
		t.paused = now() - began
		return err
	})
	return t
}

// client returns the part of one more client. It returns nil if t is nil. The parameter "done" is
// the client's initial count of operations. In a query or a mix it is -1, because each call of
// "operation" counts one operation, and the first call comes before the client's first operation.
// In a replay it is 0.
func (t *clientTurns) client(done int64) *clientTurn {
	if t == nil {
		return nil
	}
	return &clientTurn{clientTurns: t, uncounted: done}
}

// wait has two times in ns. The time "all" is how long a client has waited between two operations.
// The time "pause" is the part of it in which all clients waited, because other trials had their
// turns. Only "pause" is excluded from the phase's time.
type wait struct{ all, pause int64 }

// operation must be called before each operation of a query or a mix. The parameter "elapsed" is the
// time in ns from the beginning of the phase to the end of the client's last operation, without
// pauses and, in a mix, without the time for generating parameters. If the slice has ended, operation
// waits until the other trials have had their turns.
func (c *clientTurn) operation(elapsed int64) (wait, error) {
	if c.clients > 1 {
		c.add(1)
	} else if c.count() {
		c.ended.Store(true)
	}
	return c.park(elapsed)
}

// transaction must be called between two transactions of a replay. The parameter n is the number of
// events since the client's previous call. In all other respects transaction is like the method
// "operation".
func (c *clientTurn) transaction(n int, elapsed int64) (wait, error) {
	c.add(int64(n))
	return c.park(elapsed)
}

// The method "add" counts n operations. It changes the shared counter only after every few
// operations, because the clients would otherwise wait for each other's changes.
func (c *clientTurn) add(n int64) {
	if c.uncounted += n; c.uncounted < max(1, c.size/(8*c.clients)) {
		return
	}
	if c.counted.Add(c.uncounted) >= c.size {
		c.ended.Store(true)
	}
	c.uncounted = 0
}

// exclude excludes a time, in nanoseconds, from the time of the current lead (the first operations
// of a slice), or, after the lead, from the time of the rest of the slice. It does nothing if there
// are several clients, because then leads are not timed.
func (c *clientTurn) exclude(ns int64) {
	if c.clients == 1 {
		c.began += ns
	}
}

func (c *clientTurn) park(elapsed int64) (wait, error) {
	if !c.ended.Load() {
		return wait{}, nil
	}
	for wall := c.wall.Load(); elapsed > wall && !c.wall.CompareAndSwap(wall, elapsed); wall = c.wall.Load() {
	}
	began := now()
	err := c.together.Wait()
	return wait{now() - began, c.paused}, err
}
