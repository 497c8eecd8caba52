package load

import (
	"runtime"
	"syscall"
	"time"
)

// pacer waits for moments. Timers of the Go runtime are up to a millisecond
// late, so it has a thread of its own sleep, with the kernel's slack for that
// thread taken away. It does not spin: the server may need the processor.
type pacer struct{ done <-chan struct{} }

// newPacer locks its goroutine to a thread, which ends with it, so that its
// slack serves nobody else. Waits end early when done is closed.
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
			_ = syscall.Nanosleep(&ts, nil) // woken early by a signal: once more
		}
	}
}
