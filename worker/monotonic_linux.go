package worker

import (
	"syscall"
	"unsafe"
)

// systemClock returns the time in nanoseconds by the clock that other processes read
// too, CLOCK_MONOTONIC, or 0 if it cannot be read.
func systemClock() int64 {
	const monotonic = 1 // CLOCK_MONOTONIC
	var ts syscall.Timespec
	if _, _, e := syscall.Syscall(syscall.SYS_CLOCK_GETTIME, monotonic, uintptr(unsafe.Pointer(&ts)), 0); e != 0 {
		return 0
	}
	return ts.Nano()
}
