package worker

import (
	"syscall"
	"unsafe"
)

// systemClock returns the time of CLOCK_MONOTONIC in nanoseconds, or 0 if that clock cannot be
// read. All processes have the same CLOCK_MONOTONIC.
func systemClock() int64 {
	const monotonic = 1 // CLOCK_MONOTONIC
	var ts syscall.Timespec
	if _, _, e := syscall.Syscall(syscall.SYS_CLOCK_GETTIME, monotonic, uintptr(unsafe.Pointer(&ts)), 0); e != 0 {
		return 0
	}
	return ts.Nano()
}
