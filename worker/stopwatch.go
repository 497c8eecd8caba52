package worker

import (
	"runtime"
	"time"
)

// epoch anchors the monotonic clock: one reading is time.Since(epoch), which
// asks the system for the monotonic time only.
var epoch = time.Now()

// now is the monotonic time in nanoseconds.
func now() int64 { return int64(time.Since(epoch)) }

// stopwatch adds up what passes while it runs: it is stopped while values are
// made, so that only the driver's work counts.
type stopwatch struct {
	wall, user, system, allocs, allocBytes int64

	wall0, user0, system0, allocs0, allocBytes0 int64
}

func (s *stopwatch) start() {
	s.allocs0, s.allocBytes0 = heapAllocs()
	s.user0, s.system0 = cpuTimes()
	s.wall0 = now()
}

func (s *stopwatch) stop() {
	s.wall += now() - s.wall0
	user, system := cpuTimes()
	s.user += user - s.user0
	s.system += system - s.system0
	allocs, bytes := heapAllocs()
	s.allocs += allocs - s.allocs0
	s.allocBytes += bytes - s.allocBytes0
}

// heapAllocs is the count and bytes of heap objects so far. It stops the world
// for a moment, outside the timed region; runtime/metrics does not, but lags
// behind by what the caches of each P hold.
func heapAllocs() (objects, bytes int64) {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.Mallocs), int64(m.TotalAlloc)
}
