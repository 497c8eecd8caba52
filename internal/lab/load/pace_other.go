//go:build !linux

package load

import (
	"runtime"
	"time"
)

// pacer waits until given times. It sleeps until shortly before the given time. Then it calls runtime.Gosched
// in a loop, because a sleep may end a millisecond late. Sleeps end early when the channel "done" is closed.
type pacer struct{ done <-chan struct{} }

func newPacer(done <-chan struct{}) pacer { return pacer{done} }

// until waits until now() reaches t. It returns at once if t has passed.
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
