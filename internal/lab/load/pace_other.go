//go:build !linux

package load

import (
	"runtime"
	"time"
)

// pacer waits until given times. It sleeps until shortly before, and then spins with yields,
// because a sleep may end a millisecond late. Waits end early when done is closed.
type pacer struct{ done <-chan struct{} }

func newPacer(done <-chan struct{}) pacer { return pacer{done} }

// until returns at time t of the clock now, or at once if t has passed.
func (p pacer) until(t int64) {
	const fine = int64(2 * time.Millisecond)
	if left := t - now(); left > fine {
		select {
		case <-time.After(time.Duration(left - fine)):
		case <-p.done:
			return
		}
	}
	for now() < t {
		runtime.Gosched()
	}
}
