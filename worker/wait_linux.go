package worker

import (
	"runtime"
	"syscall"
	"time"
)

// waitUntil returns at the monotonic time t in ns, or at once if t has passed. time.Sleep may be
// a millisecond late, so it is used only for the first part of long waits. The thread then
// sleeps for most of the remaining time, and a loop waits for the last part.
func waitUntil(t int64) {
	const coarse, fine = int64(3 * time.Millisecond), int64(80 * time.Microsecond)
	if left := t - now(); left > coarse {
		time.Sleep(time.Duration(left - coarse/2))
	}
	if left := t - now(); left > fine {
		ts := syscall.NsecToTimespec(left - fine)
		_ = syscall.Nanosleep(&ts, nil) // if a signal ends the sleep early, the loop waits
	}
	for now() < t {
		runtime.Gosched()
	}
}
