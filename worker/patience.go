package worker

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// clientState is the state of a client that other goroutines may read while the client runs.
type clientState struct {
	under atomic.Int32 // index of the running operation plus 1; 0 if no operation runs
	moved atomic.Int64 // time in ns when an operation last began or ended; 0 if none has begun
}

// The method "begins" records that operation i begins. The parameter "at" is the time of its
// beginning.
func (s *clientState) begins(i int, at int64) {
	s.moved.Store(at)
	s.under.Store(int32(i) + 1)
}

// The method "ends" records that the running operation has ended. The parameter "at" is the time of
// its end.
func (s *clientState) ends(at int64) {
	s.under.Store(0)
	s.moved.Store(at)
}

// endlessError says that running statements may never end, so the database cannot be closed.
type endlessError struct{ failure }

func (e *endlessError) Unwrap() error { return &e.failure }

// runPatiently runs clients until all have ended. It returns an [endlessError] if operations run,
// but no client has begun or ended an operation for longer than the parameter "patience" says. The
// parameter "names" has the names of the operations, and "begin" is the time at which the clients
// begin.
func runPatiently(clients []*clientState, run func(client int), names []string, begin int64, patience time.Duration) error {
	done := make(chan struct{})
	var wg sync.WaitGroup
	for i := range clients {
		wg.Go(func() { run(i) })
	}
	go func() {
		wg.Wait()
		close(done)
	}()
	tick := time.Tick(max(patience/10, time.Millisecond))
	for {
		select {
		case <-done:
			return nil
		case <-tick:
		}
		last, waiting := begin, 0
		for _, c := range clients {
			last = max(last, c.moved.Load())
			if c.under.Load() > 0 {
				waiting++
			}
		}
		if waiting > 0 && now()-last > int64(patience) { // if no operation runs, the clients are generating parameters
			return endless(clients, names, waiting, patience)
		}
	}
}

// runClients runs n clients at once until all have ended, the first client in this goroutine. If
// the parameter "states" is not nil, it uses runPatiently instead, which may return an
// [endlessError] although some clients have not ended.
func runClients(n int, run func(client int), states []*clientState, names []string, begin int64, patienceMS int64) error {
	if states != nil {
		return runPatiently(states, run, names, begin, time.Duration(patienceMS)*time.Millisecond)
	}
	var wg sync.WaitGroup
	for i := 1; i < n; i++ {
		wg.Go(func() { run(i) })
	}
	run(0)
	wg.Wait()
	return nil
}

// endless returns an [endlessError] that says which operations do not end.
func endless(clients []*clientState, names []string, waiting int, patience time.Duration) error {
	counts := make([]int, len(names))
	for _, c := range clients {
		if i := c.under.Load(); i > 0 {
			counts[i-1]++
		}
	}
	var words []string
	for i, n := range counts {
		if n > 0 {
			words = append(words, fmt.Sprintf("%d in operation %s", n, names[i]))
		}
	}
	return &endlessError{failure{protocol.CodeEndless, fmt.Errorf("no operation has ended for %v: of %d clients %d wait, %s",
		patience, len(clients), waiting, strings.Join(words, ", "))}}
}
