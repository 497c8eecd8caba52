package worker

import (
	"os"
	"syscall"
)

// input returns the standard input.
func input() *os.File { return os.Stdin }

// cpuTimes returns the CPU time in nanoseconds that this process has used. On Windows it does
// not include children.
func cpuTimes(bool) (user, system int64) {
	h, err := syscall.GetCurrentProcess()
	if err != nil {
		return 0, 0
	}
	var created, exited, kernel, usr syscall.Filetime
	if syscall.GetProcessTimes(h, &created, &exited, &kernel, &usr) != nil {
		return 0, 0
	}
	ns := func(f syscall.Filetime) int64 { return (int64(f.HighDateTime)<<32 + int64(f.LowDateTime)) * 100 }
	return ns(usr), ns(kernel)
}

// peakRSS returns 0, because peak memory is not read on Windows.
func peakRSS() int64 { return 0 }
