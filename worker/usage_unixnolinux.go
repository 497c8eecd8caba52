//go:build unix && !linux

package worker

import (
	"runtime"
	"syscall"
)

// peakRSS returns the peak memory of this process in bytes.
func peakRSS() int64 {
	var ru syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &ru) != nil {
		return 0
	}
	if runtime.GOOS == "darwin" {
		return int64(ru.Maxrss)
	}
	return int64(ru.Maxrss) << 10 // other systems report KiB
}
