//go:build unix

package worker

import "syscall"

// cpuTimes returns the CPU time in nanoseconds that the process and its ended children have used.
// If the parameter "living" is true, the time includes the living children, as far as the platform
// reports them.
func cpuTimes(living bool) (user, system int64) {
	for _, who := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
		var ru syscall.Rusage
		if syscall.Getrusage(who, &ru) == nil {
			user += ru.Utime.Nano()
			system += ru.Stime.Nano()
		}
	}
	if living {
		u, s := livingChildrenCPU()
		user, system = user+u, system+s
	}
	return user, system
}
