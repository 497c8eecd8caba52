package worker

import (
	"runtime"
	"runtime/debug"
	"time"

	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// epoch is the zero point of the times that the function "now" returns. time.Since(epoch) asks the
// system only for the monotonic time.
var epoch = time.Now()

// now returns the monotonic time in nanoseconds.
func now() int64 { return int64(time.Since(epoch)) }

// Stopwatch adds up the time and resources used while it runs. The worker stops it while values are
// generated, so that only the driver's work counts. Hand-written programs (package byhand) use a
// Stopwatch too.
type Stopwatch struct {
	wall, user, system, allocs, allocBytes int64
	counted                                count
	io                                     ioCount

	profile   *profiler  // nil if the phase is not profiled
	counter   *counter   // counts instructions; nil if that is impossible
	ioCounter *ioCounter // counts syncs and writes; nil if the setting count_syncs does not ask for it

	before func() // called before the clock runs for the first time; may be nil
	begun  bool
	paused bool // Pause has been called

	waitAllocs, waitBytes int64 // number and bytes of the heap objects that the first call of Pause allocated in its function "wait"
	children              bool  // the driver uses child processes, whose CPU time counts

	wall0, user0, system0, allocs0, allocBytes0 int64
	counted0                                    count
	io0                                         ioCount
}

// ioCount has the number of calls with which a process waited for the disk, the number of calls that
// wrote, and the number of bytes written.
type ioCount struct{ syncs, writes, bytes int64 }

func (c *ioCount) add(more ioCount) {
	c.syncs, c.writes, c.bytes = c.syncs+more.syncs, c.writes+more.writes, c.bytes+more.bytes
}

func (c *ioCount) subtract(less ioCount) {
	c.syncs, c.writes, c.bytes = c.syncs-less.syncs, c.writes-less.writes, c.bytes-less.bytes
}

// count is the number n of events that a counter has counted. The field "missed" is the time, in
// nanoseconds, in which threads ran without being counted, because the processor had too few
// counters, or because a thread ran on another kind of core.
type count struct{ n, missed int64 }

func (c *count) add(more count)      { c.n, c.missed = c.n+more.n, c.missed+more.missed }
func (c *count) subtract(less count) { c.n, c.missed = c.n-less.n, c.missed-less.missed }

// divide divides all totals by n.
func (s *Stopwatch) divide(n int64) {
	for _, v := range []*int64{&s.wall, &s.user, &s.system, &s.allocs, &s.allocBytes, &s.counted.n, &s.io.syncs, &s.io.writes, &s.io.bytes} {
		*v /= n
	}
}

// Start starts the stopwatch.
func (s *Stopwatch) Start() {
	s.prepare()
	s.profile.start()
	s.allocs0, s.allocBytes0 = heapAllocs()
	s.start()
}

// prepare does the work that is needed before the clock runs for the first time. It collects
// garbage and returns the memory to the system, so that the garbage from generating values or from
// an earlier phase costs nothing while the clock runs. Further calls do nothing.
func (s *Stopwatch) prepare() {
	if s.begun {
		return
	}
	s.begun = true
	s.children = len(livingChildren()) > 0
	debug.FreeOSMemory()
	if s.before != nil {
		s.before()
	}
}

// start does what Start does, except for the steps that stop all goroutines.
func (s *Stopwatch) start() {
	s.io0, _ = s.ioCounter.read()
	s.user0, s.system0 = cpuTimes(s.children)
	s.counted0 = s.counter.read()
	s.wall0 = now()
}

// Stop stops the stopwatch.
func (s *Stopwatch) Stop() {
	s.stop()
	allocs, bytes := heapAllocs()
	s.allocs += allocs - s.allocs0
	s.allocBytes += bytes - s.allocBytes0
	s.profile.stop()
}

// stop does what Stop does, except for the steps that stop all goroutines.
func (s *Stopwatch) stop() {
	s.wall += now() - s.wall0
	s.counted.add(s.counter.read())
	s.counted.subtract(s.counted0)
	user, system := cpuTimes(s.children)
	s.user += user - s.user0
	s.system += system - s.system0
	if now, ok := s.ioCounter.read(); ok {
		s.io.add(now)
		s.io.subtract(s.io0)
	}
}

// Pause stops the stopwatch, calls the function "wait", and starts the stopwatch again. What "wait"
// allocates does not count. Measuring allocations stops all goroutines, which would cost too much
// after each of many short slices. So, unless the phase is profiled, only the first call of Pause
// measures what "wait" allocates, and later calls subtract the same amount.
func (s *Stopwatch) Pause(wait func() error) error {
	if s.paused && s.profile == nil {
		s.stop()
		err := wait()
		s.allocs -= s.waitAllocs
		s.allocBytes -= s.waitBytes
		s.start()
		return err
	}
	s.Stop()
	allocs, bytes := heapAllocs()
	err := wait()
	s.Start()
	s.paused, s.waitAllocs, s.waitBytes = true, s.allocs0-allocs, s.allocBytes0-bytes
	return err
}

// Read writes the totals to a sample.
func (s *Stopwatch) Read(to *protocol.Sample) {
	to.WallNS = s.wall
	to.UserNS, to.SystemNS = shares(s.user, s.system)
	to.Allocs, to.AllocBytes = max(0, s.allocs), max(0, s.allocBytes)
	if s.counted.missed == 0 {
		to.Instructions = s.counted.n
	}
	// Go's scheduler writes a few bytes to wake up a thread. SQLite never writes less than the
	// smallest page, so fewer bytes are not from SQLite.
	if s.io.bytes >= 512 {
		to.Syncs, to.Writes, to.WrittenBytes = s.io.syncs, s.io.writes, s.io.bytes
	}
}

// shares corrects user and system CPU time so that neither is negative. Their sum stays the same.
// For a child process, only the sum of user and system CPU time is exact. How it is divided into
// user and system time is an estimate, which may change during a short phase by more than the phase
// has used.
func shares(user, system int64) (int64, int64) {
	switch {
	case user < 0:
		return 0, user + system
	case system < 0:
		return user + system, 0
	}
	return user, system
}

// heapAllocs returns the number and bytes of heap objects allocated so far. It stops all goroutines
// for a moment, outside the timed part. Package runtime/metrics does not stop them, but misses
// objects in the per-processor caches of Go's scheduler.
func heapAllocs() (objects, bytes int64) {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.Mallocs), int64(m.TotalAlloc)
}
