package latency_test

import (
	"runtime"
	"sync"
	"testing"

	"github.com/sqlite3perf/sqlite3perf/worker/latency"
)

// TestShared checks that no latency is lost if many goroutines record at once, with a histogram
// for each goroutine and with fewer histograms.
func TestShared(t *testing.T) {
	const goroutines, times = 100, 1000
	for _, histograms := range []int{1, 7, goroutines, 1000} {
		s := latency.NewShared(goroutines, histograms)
		var wg sync.WaitGroup
		for i := range goroutines {
			r := s.Recorder(i, goroutines)
			wg.Go(func() {
				for k := range times {
					r.Record(int64(1 + k%5))
				}
			})
		}
		wg.Wait()
		if got := s.Histogram().Summary("x"); got.Count != goroutines*times || got.MaxNS != 5 || got.P50NS != 3 {
			t.Errorf("%d histograms: %+v", histograms, got)
		}
	}
}

// TestSharedIsSmall checks the memory for ten thousand goroutines. With a histogram for each
// goroutine it would be 2.3 GB.
func TestSharedIsSmall(t *testing.T) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	s := latency.NewShared(10_000, 64)
	recorders := make([]latency.Recorder, 10_000)
	for i := range recorders {
		recorders[i] = s.Recorder(i, len(recorders))
		recorders[i].Record(1)
	}
	runtime.ReadMemStats(&after)
	if bytes := after.TotalAlloc - before.TotalAlloc; bytes > 20<<20 {
		t.Errorf("%d bytes for 10,000 goroutines", bytes)
	}
	runtime.KeepAlive(s)
}
