package worker

import (
	"syscall"
)

// cpuTimes returns the CPU time in nanoseconds that the process has used. That of
// children is not read on Windows.
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

// peakRSS is not read on Windows.
func peakRSS() int64 { return 0 }
