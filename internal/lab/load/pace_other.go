//go:build !linux

package load

import (
	"runtime"
	"time"
)

// pacer waits for points in time. It sleeps until shortly before them, and then
// yields, since sleeps may be a millisecond late.
// Waits end early when done is closed.
type pacer struct{ done <-chan struct{} }

func newPacer(done <-chan struct{}) pacer { return pacer{done} }

// until returns at the time t by the clock of now, or at once if it is past.
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
