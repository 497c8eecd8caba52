//go:build !linux

package worker

import (
	"runtime"
	"time"
)

// systemClock returns 0. On this system sqlite3perf does not compare times of different
// processes.
func systemClock() int64 { return 0 }

// waitUntil returns at the monotonic time t in ns, or at once if t has passed.
func waitUntil(t int64) {
	const fine = int64(2 * time.Millisecond)
	if left := t - now(); left > fine {
		time.Sleep(time.Duration(left - fine))
	}
	for now() < t {
		runtime.Gosched()
	}
}

// threadCPU returns 0, because this platform does not report the CPU time of a thread. So the CPU
// time of a mix includes the generation of parameters.
func threadCPU() (user, system int64) { return 0, 0 }

func livingChildren() []int { return nil }

func livingChildrenCPU() (user, system int64) { return 0, 0 }

func highWaterMark(string) int64 { return 0 }
