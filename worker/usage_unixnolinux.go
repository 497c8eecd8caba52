//go:build unix && !linux

package worker

import (
	"runtime"
	"syscall"
)

// peakRSS returns the most memory in bytes that the process has held.
func peakRSS() int64 {
	var ru syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &ru) != nil {
		return 0
	}
	if runtime.GOOS == "darwin" {
		return int64(ru.Maxrss)
	}
	return int64(ru.Maxrss) << 10 // KiB everywhere else
}
