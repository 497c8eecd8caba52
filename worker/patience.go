package worker

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// clientState is what others may know of a client while it runs.
type clientState struct {
	under atomic.Int32 // the operation under way, from 1; 0: none
	ended atomic.Int64 // when the last operation ended; 0: none has
}

// endlessError says that the operations under way may never end. The database cannot be
// closed then.
type endlessError struct{ failure }

func (e *endlessError) Unwrap() error { return &e.failure }

// runPatiently runs clients until they have ended, or until none has ended an operation
// for some time.
func runPatiently(ctx context.Context, clients []*mixClient, begin int64, patience time.Duration) error {
	done := make(chan struct{})
	var wg sync.WaitGroup
	for _, c := range clients {
		c.state = &clientState{}
		wg.Go(func() { c.err = c.run(ctx, begin) })
	}
	go func() {
		wg.Wait()
		close(done)
	}()
	tick := time.NewTicker(max(patience/10, time.Millisecond))
	defer tick.Stop()
	for {
		select {
		case <-done:
			return nil
		case <-tick.C:
		}
		last, waiting := begin, 0
		for _, c := range clients {
			last = max(last, c.state.ended.Load())
			if c.state.under.Load() > 0 {
				waiting++
			}
		}
		if waiting > 0 && now()-last > int64(patience) { // otherwise they make parameters
			return endless(clients, waiting, patience)
		}
	}
}

// endless says which operations do not end.
func endless(clients []*mixClient, waiting int, patience time.Duration) error {
	counts := map[string]int{}
	var names []string
	for _, c := range clients {
		if i := c.state.under.Load(); i > 0 {
			name := c.mix.Operations[i-1].Name
			if counts[name] == 0 {
				names = append(names, name)
			}
			counts[name]++
		}
	}
	for i, name := range names {
		names[i] = fmt.Sprintf("%d in operation %s", counts[name], name)
	}
	return &endlessError{failure{protocol.CodeEndless, fmt.Errorf("no operation has ended for %v: of %d clients %d wait, %s",
		patience, len(clients), waiting, strings.Join(names, ", "))}}
}
