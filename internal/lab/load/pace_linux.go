package load

import (
	"runtime"
	"syscall"
	"time"
)

// pacer waits until given times. The Go runtime's timers are up to a millisecond late. So the pacer sleeps in
// a thread of its own, for which it removes the kernel's timer slack. It does not wait in a busy loop,
// because the server may need the CPU.
type pacer struct{ done <-chan struct{} }

// newPacer locks its goroutine to a thread. The thread ends with the goroutine, so no other goroutine gets the
// changed slack. Waits end early when the channel "done" is closed.
func newPacer(done <-chan struct{}) pacer {
	runtime.LockOSThread()
	const setTimerSlack = 29 // PR_SET_TIMERSLACK; the default slack is 50 µs
	_, _, _ = syscall.RawSyscall(syscall.SYS_PRCTL, setTimerSlack, 1, 0)
	return pacer{done}
}

// until waits until now() reaches t. It returns at once if t has passed. A long wait also ends when the channel
// "done" is closed.
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
			_ = syscall.Nanosleep(&ts, nil) // a signal may end the sleep early; then the loop sleeps again
		}
	}
}
