//go:build !linux

package worker

import (
	"runtime"
	"time"
)

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
