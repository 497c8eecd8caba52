//go:build unix

package worker

import "syscall"

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
