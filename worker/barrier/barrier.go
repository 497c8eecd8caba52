// Package barrier lets goroutines that work together pause at the same time.
package barrier

import "sync"

// Barrier lets several goroutines wait for each other. When all of them wait, one of them calls the
// function that was passed to [New], and then all continue.
type Barrier struct {
	between func() error

	mu      sync.Mutex
	resumed *sync.Cond
	running int // number of goroutines that have not called Leave
	waiting int
	pauses  int
	err     error
}

// New returns a barrier for n goroutines. When all of them wait, the barrier calls the function
// "between".
func New(n int, between func() error) *Barrier {
	b := &Barrier{between: between, running: n}
	b.resumed = sync.NewCond(&b.mu)
	return b
}

// Wait waits until every goroutine that has not called Leave has called Wait, and the function
// "between" has returned. It returns the first error that "between" has returned so far.
func (b *Barrier) Wait() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.waiting++
	if this := b.pauses; b.waiting < b.running {
		for this == b.pauses {
			b.resumed.Wait()
		}
	} else {
		b.pause()
	}
	return b.err
}

// Leave must be called by each goroutine that will not call Wait again.
func (b *Barrier) Leave() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.running--
	if b.waiting > 0 && b.waiting == b.running {
		b.pause()
	}
}

// pause calls the function "between" and lets all goroutines continue. The caller holds b.mu.
func (b *Barrier) pause() {
	if err := b.between(); b.err == nil {
		b.err = err
	}
	b.waiting = 0
	b.pauses++
	b.resumed.Broadcast()
}
