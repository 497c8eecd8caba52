//go:build linux && (amd64 || arm64)

package worker_test

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/sqlite3perf/sqlite3perf/worker"
	"github.com/sqlite3perf/sqlite3perf/worker/plan"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// The kernel counts page faults on every machine, and a test can cause a known number of them.
// The tests count page faults instead of instructions, because few virtual machines count
// instructions.

// mayCount skips a test if the system does not permit counting.
func mayCount(t testing.TB) {
	t.Helper()
	err := worker.TryCounting(worker.PageFaults)
	if errors.Is(err, syscall.EACCES) || errors.Is(err, syscall.EPERM) {
		t.Skipf("the system does not permit counting: %v: kernel.perf_event_paranoid is above 2, or this is a container", err)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// touch causes at least n page faults in the calling thread.
func touch(t testing.TB, n int) {
	t.Helper()
	const noHugePages = 15 // MADV_NOHUGEPAGE
	page := os.Getpagesize()
	b, err := syscall.Mmap(-1, 0, n*page, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_PRIVATE|syscall.MAP_ANONYMOUS)
	if err != nil {
		t.Fatal(err)
	}
	_ = syscall.Madvise(b, noHugePages) // fails if the kernel has no huge pages
	for i := range n {
		b[i*page] = 1
	}
	if err := syscall.Munmap(b); err != nil {
		t.Fatal(err)
	}
}

// TestCounter checks that a counter counts each event once: in existing threads, in threads that
// are started later, and in child processes.
func TestCounter(t *testing.T) {
	mayCount(t)
	c := worker.NewCounter(worker.PageFaults)
	if c == nil {
		t.Fatal("NewCounter returned nil")
	}
	defer c.Close()
	const n, slack = 20_000, 4_000 // slack is for page faults of other goroutines
	counted := func(what string, work func()) {
		before := c.Read()
		work()
		if got := c.Read() - before; got < n || got > n+slack {
			t.Errorf("%s: counted %d, want %d and a few more", what, got, n)
		}
	}
	counted("this thread", func() { touch(t, n) })
	counted("new threads", func() {
		// A goroutine that does not unlock its thread ends that thread. So each of these
		// goroutines uses a new thread.
		done := make(chan bool)
		for range 20 {
			go func() {
				runtime.LockOSThread()
				touch(t, n/20)
				done <- true
			}()
		}
		for range 20 {
			<-done
		}
	})
	before := c.Read()
	if out, err := exec.Command("true").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if got := c.Read() - before; got < 20 {
		t.Errorf("a child process: counted %d, want at least 20", got)
	}
	if worker.NewCounter(worker.Impossible) != nil {
		t.Error("NewCounter returned a counter for an event that cannot be counted")
	}
}

// TestStopwatchCounts checks that events are counted only while the stopwatch runs.
func TestStopwatchCounts(t *testing.T) {
	mayCount(t)
	c := worker.NewCounter(worker.PageFaults)
	defer c.Close()
	w := worker.NewStopwatch(c)
	for range 3 {
		touch(t, 20_000)
		w.Start()
		touch(t, 5_000)
		w.Stop()
	}
	var s protocol.Sample
	if w.Read(&s); s.Instructions < 15_000 || s.Instructions > 17_000 {
		t.Errorf("counted %d, want 15,000 and a few more", s.Instructions)
	}
}

// TestTrialCounts checks that the field Instructions of a sample has the count of an event. If the
// event cannot be counted, the field must be 0 and absent from the JSON.
func TestTrialCounts(t *testing.T) {
	mayCount(t)
	for _, c := range []struct {
		event worker.Event
		known bool
	}{{worker.TaskClock, true}, {worker.Impossible, false}} {
		worker.SetInstructions(t, c.event)
		got := serve(t, newFake(), trialOf(t, blog(1, plan.Phase{Name: "script", Script: "a script"}), nil))
		n := 0
		for _, a := range got {
			if a.Type != protocol.TypeSample {
				continue
			}
			n++
			text, err := json.Marshal(a)
			if err != nil || (a.Sample.Instructions > 0) != c.known || strings.Contains(string(text), "instructions") != c.known {
				t.Errorf("known: %v: %s, %v", c.known, text, err)
			}
		}
		if n == 0 {
			t.Errorf("no samples: %+v", got)
		}
	}
}

// TestMixCountsItsOperations checks that nothing is counted while a mix generates the parameters of
// its next chunk of operations. In this test, generating takes most of the CPU time.
func TestMixCountsItsOperations(t *testing.T) {
	mayCount(t)
	worker.SetInstructions(t, worker.TaskClock)
	s := mixSample(t, serve(t, quietFake(), trialOf(t, costlyParameters(), nil)))
	if s.Instructions <= 0 || s.Instructions > 20*s.WallNS {
		t.Errorf("%d ns of CPU time counted in %d ns, on one thread", s.Instructions, s.WallNS)
	}
}

// BenchmarkStopwatch measures how long a start and a stop of the stopwatch take, with and without
// counting. It reports the total time, and the part of it during which the clock runs.
func BenchmarkStopwatch(b *testing.B) {
	mayCount(b)
	for _, c := range []struct {
		name  string
		event worker.Event
	}{{"not-counted", worker.Impossible}, {"page-faults", worker.PageFaults}, {"task-clock", worker.TaskClock}} {
		b.Run(c.name, func(b *testing.B) {
			counter := worker.NewCounter(c.event)
			defer counter.Close()
			w := worker.NewStopwatch(counter)
			for b.Loop() {
				w.Start()
				w.Stop()
			}
			var s protocol.Sample
			w.Read(&s)
			b.ReportMetric(float64(s.WallNS)/float64(b.N), "clock-ns/op")
		})
	}
}

// BenchmarkSwitch measures how much time counting adds to each switch between threads.
func BenchmarkSwitch(b *testing.B) {
	mayCount(b)
	for _, c := range []struct {
		name  string
		event worker.Event
	}{{"not-counted", worker.Impossible}, {"page-faults", worker.PageFaults}} {
		b.Run(c.name, func(b *testing.B) {
			counter := worker.NewCounter(c.event)
			defer counter.Close()
			there, back := make(chan bool), make(chan bool)
			go func() {
				runtime.LockOSThread()
				for range there {
					back <- true
				}
			}()
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			for b.Loop() {
				there <- true
				<-back
			}
			close(there)
		})
	}
}
