package lab

import (
	"context"
	"sync"
	"time"
)

// turns lets the trials of a comparison's sides alternate. One of them runs at a time, and
// passes the turn on before each phase. If the machine is slow for a moment, it thus slows
// the same phase of both.
type turns struct {
	mu   sync.Mutex
	wake []chan struct{} // by number of the trial
	gone []bool
	at   int // number of the trial that has the turn
}

// newTurns returns turns for n trials. The first trial has the turn.
func newTurns(n int) *turns {
	t := &turns{gone: make([]bool, n)}
	for range n {
		t.wake = append(t.wake, make(chan struct{}, 1))
	}
	t.wake[0] <- struct{}{}
	return t
}

// pass gives the turn to the next trial that has not ended, which may be the same trial. The
// caller holds t.mu.
func (t *turns) pass() {
	for i := range t.wake {
		if next := (t.at + 1 + i) % len(t.wake); !t.gone[next] {
			t.at = next
			t.wake[next] <- struct{}{}
			return
		}
	}
}

// turn is one trial's part in turns. It is nil for a trial that runs alone.
type turn struct {
	*turns
	number int
}

// wait waits until the trial has the turn.
func (t *turn) wait(ctx context.Context) error {
	select {
	case <-t.wake[t.number]:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// yield passes the turn on, and waits until the trial has it again. It returns how long it
// waited.
func (t *turn) yield(ctx context.Context) (time.Duration, error) {
	begin := time.Now()
	t.mu.Lock()
	t.pass()
	t.mu.Unlock()
	err := t.wait(ctx)
	return time.Since(begin), err
}

// leave records that the trial has ended.
func (t *turn) leave() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.gone[t.number] = true
	if t.at == t.number {
		t.pass()
	}
}
