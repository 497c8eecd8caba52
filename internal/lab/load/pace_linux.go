package load

import (
	"runtime"
	"syscall"
	"time"
)

// pacer waits for points in time. Timers of the Go runtime are up to a millisecond
// late. So it sleeps in its own thread, and removes the kernel's timer slack for
// that thread. It does not spin, since the server may need the processor.
type pacer struct{ done <-chan struct{} }

// newPacer locks its goroutine to a thread, which ends with the goroutine, so that
// no other goroutine gets its slack. Waits end early when done is closed.
func newPacer(done <-chan struct{}) pacer {
	runtime.LockOSThread()
	const setTimerSlack = 29 // PR_SET_TIMERSLACK: by default 50 µs
	_, _, _ = syscall.RawSyscall(syscall.SYS_PRCTL, setTimerSlack, 1, 0)
	return pacer{done}
}

// until returns at the time t by the clock of now, or at once if it is past.
func (p pacer) until(t int64) {
	const coarse = int64(5 * time.Millisecond)
	for {
		left := t - now()
		switch {
		case left <= 0:
			return
		case left > coarse:
			select {
			case <-time.After(time.Duration(left - coarse/2)):
			case <-p.done:
				return
			}
		default:
			ts := syscall.NsecToTimespec(left)
			_ = syscall.Nanosleep(&ts, nil) // a signal may end it early: then the loop sleeps again
		}
	}
}
