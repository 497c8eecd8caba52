package worker

import (
	"runtime"
	"syscall"
	"time"
	"unsafe"
)

// systemClock returns the time of CLOCK_MONOTONIC in nanoseconds, or 0 if that clock cannot be
// read. All processes have the same CLOCK_MONOTONIC.
func systemClock() int64 {
	const monotonic = 1 // CLOCK_MONOTONIC
	return readClock(monotonic)
}

// readClock returns the time of one of the system's clocks in nanoseconds, or 0 if that clock cannot
// be read. See clock_gettime(2).
func readClock(clock int32) int64 {
	var ts syscall.Timespec
	if _, _, errno := syscall.Syscall(syscall.SYS_CLOCK_GETTIME, uintptr(clock), uintptr(unsafe.Pointer(&ts)), 0); errno != 0 {
		return 0
	}
	return ts.Nano()
}

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
		_ = syscall.Nanosleep(&ts, nil) // if a signal ends the sleep early, the loop below waits for the remaining time
	}
	for now() < t {
		runtime.Gosched()
	}
}
