package barrier_test

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/sqlite3perf/sqlite3perf/worker/barrier"
)

// TestBarrier lets goroutines with different numbers of pauses wait for each other. During a pause, none of
// them may work.
func TestBarrier(t *testing.T) {
	var working, pauses atomic.Int64
	b := barrier.New(4, func() error {
		pauses.Add(1)
		if n := working.Load(); n != 0 {
			t.Errorf("%d goroutines work during a pause, want none", n)
		}
		return nil
	})
	var all sync.WaitGroup
	working.Store(4)
	for i := range 4 {
		all.Go(func() {
			for range 10 * (i + 1) {
				working.Add(-1)
				if err := b.Wait(); err != nil {
					t.Error(err)
				}
				working.Add(1)
			}
			working.Add(-1)
			b.Leave()
		})
	}
	all.Wait()
	if n := pauses.Load(); n != 40 {
		t.Errorf("%d pauses, want 40, as many as the last goroutine makes", n)
	}
}

// TestError checks that after the function of a barrier has returned an error, every call of Wait
// returns this error.
func TestError(t *testing.T) {
	first := errors.New("first")
	errs := []error{nil, first, errors.New("second")}
	b := barrier.New(1, func() (err error) {
		err, errs = errs[0], errs[1:]
		return err
	})
	for i, want := range []error{nil, first, first} {
		if got := b.Wait(); !errors.Is(got, want) {
			t.Errorf("pause %d: %v, want %v", i, got, want)
		}
	}
}
