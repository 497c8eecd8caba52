package worker

import (
	"context"
	"sync/atomic"

	"github.com/sqlite3perf/sqlite3perf/worker/barrier"
)

// clientTurns divides a query, a mix or a replay into slices. After each slice this process waits,
// because the trials that do the same work take turns. All clients pause together, each between two
// of its operations or transactions. The operations of all clients are counted, because one client
// may do much more than another, for example while the other waits for a lock.
type clientTurns struct {
	slicing
	together *barrier.Barrier
	clients  int64
	asked    atomic.Bool  // true if all clients must pause before their next operation
	wall     atomic.Int64 // wall time of the phase so far, in ns: the greatest time that a client has passed to the method "park"
	counted  atomic.Int64 // operations (in a replay: events) in the current slice, if there are several clients
}

// clientTurn is one client's part of a [clientTurns].
type clientTurn struct {
	*clientTurns
	uncounted int64 // operations of this client that are not yet in the field "counted"
}

// newClientTurns returns the clientTurns for the given number of clients, or nil if the phase is measured
// in one piece.
func newClientTurns(ctx context.Context, s slicing, clients int) *clientTurns {
	if s.size == 0 {
		return nil
	}
	t := &clientTurns{slicing: s, clients: int64(clients)}
	t.together = barrier.New(clients, func() error {
		t.asked.Store(false)
		t.counted.Store(0)
		return t.pause(ctx, t.wall.Load())
	})
	return t
}

// client returns the part of one more client. It returns nil if t is nil.
func (t *clientTurns) client() *clientTurn {
	if t == nil {
		return nil
	}
	return &clientTurn{t, -1} // -1, because the first call of "operation" comes before the client's first operation
}

// operation must be called before each operation of a query or a mix. The parameter "elapsed" is the
// client's time so far. If a slice has ended, operation waits until the other trials have had their
// turns, and returns how long it waited. The parameter "elapsed" and the result are in nanoseconds.
func (c *clientTurn) operation(elapsed int64) (waited int64, err error) {
	if c.clients > 1 {
		c.add(1)
	} else if c.count() {
		c.asked.Store(true)
	}
	return c.park(elapsed)
}

// transaction must be called between two transactions of a replay. The parameter n is the number of
// events since the client's previous call. In all other respects transaction is like the method
// "operation".
func (c *clientTurn) transaction(n int, elapsed int64) (waited int64, err error) {
	c.add(int64(n))
	return c.park(elapsed)
}

// add counts n operations. It changes the shared counter only after every few operations, because
// the clients would otherwise wait for each other's changes.
func (c *clientTurn) add(n int64) {
	if c.uncounted += n; c.uncounted < max(1, c.size/(8*c.clients)) {
		return
	}
	if c.counted.Add(c.uncounted) >= c.size {
		c.asked.Store(true)
	}
	c.uncounted = 0
}

// exclude excludes a time, in nanoseconds, from the time of the current slice.
func (c *clientTurn) exclude(ns int64) {
	if c.clients == 1 { // otherwise the leads (first operations) of slices are not timed
		c.began += ns
	}
}

func (c *clientTurn) park(elapsed int64) (waited int64, err error) {
	if !c.asked.Load() {
		return 0, nil
	}
	for wall := c.wall.Load(); elapsed > wall && !c.wall.CompareAndSwap(wall, elapsed); wall = c.wall.Load() {
	}
	began := now()
	err = c.together.Wait()
	return now() - began, err
}
