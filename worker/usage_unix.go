//go:build unix

package worker

import (
	"runtime"
	"syscall"
)

// cpuTimes is the CPU time in nanoseconds that the process, its ended children
// and, where they can be seen, its living children have used.
func cpuTimes() (user, system int64) {
	for _, who := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
		var ru syscall.Rusage
		if syscall.Getrusage(who, &ru) == nil {
			user += ru.Utime.Nano()
			system += ru.Stime.Nano()
		}
	}
	u, s := livingChildrenCPU()
	return user + u, system + s
}

// peakRSS is the most memory in bytes that the process and its living children
// have held, each at its own peak.
func peakRSS() int64 {
	var ru syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &ru) != nil {
		return 0
	}
	rss := int64(ru.Maxrss)
	if runtime.GOOS != "darwin" {
		rss <<= 10 // KiB everywhere else
	}
	return rss + livingChildrenRSS()
}
