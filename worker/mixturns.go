package worker

import (
	"context"
	"sync"
	"sync/atomic"
)

// mixTurns divides a mix into slices. After each slice this process waits, because the trials that
// do the same work take turns. All clients pause together, each between two of its operations. The
// first client decides when they pause: it counts its own operations.
type mixTurns struct {
	slicing
	asked atomic.Bool // all clients must pause before their next operation

	mu      sync.Mutex
	resumed *sync.Cond
	running int // number of clients that have not ended
	parked  int // number of clients that wait
	pauses  int
	err     error
	wall    int64 // the first client's time so far, in ns
}

// newMixTurns returns the mixTurns for the given number of clients, or nil if the mix is measured
// in one piece.
func newMixTurns(s slicing, clients int) *mixTurns {
	if s.size == 0 {
		return nil
	}
	s.size = max(1, s.size/int64(clients))
	s.left = s.size
	if clients > 1 {
		s.lead = 0 // a slice of several clients is long, and one client's operations do not tell how long
	}
	t := &mixTurns{slicing: s, running: clients}
	t.resumed = sync.NewCond(&t.mu)
	return t
}

// park makes a client wait for the next turn of this process. It returns how long that took, in
// nanoseconds.
func (t *mixTurns) park(ctx context.Context) (int64, error) {
	began := now()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.parked++
	if this := t.pauses; t.parked < t.running {
		for this == t.pauses {
			t.resumed.Wait()
		}
	} else {
		t.turn(ctx)
	}
	return now() - began, t.err
}

// leave records that a client has ended. If all remaining clients have parked, it calls turn.
func (t *mixTurns) leave(ctx context.Context) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.running--
	if t.parked > 0 && t.parked == t.running {
		t.turn(ctx)
	}
}

// turn waits for the next turn of this process, and then resumes all clients. All running clients
// must have parked. The caller holds t.mu.
func (t *mixTurns) turn(ctx context.Context) {
	t.asked.Store(false)
	if err := t.pause(ctx, &t.wall); t.err == nil {
		t.err = err
	}
	t.parked = 0
	t.pauses++
	t.resumed.Broadcast()
}
