package connpool

import (
	"context"
	"sync"
	"time"
)

// between is the time from one interrupt to the next. It is much longer than the call, and
// too short to be noticed by a person.
const between = time.Millisecond

// Interrupt is a [Conn.Guard] for a library that only has a call that interrupts.
// When ctx has ended, it calls interrupt repeatedly until release is called, since
// SQLite forgets an interrupt that comes while no statement is being stepped. A ctx
// that cannot end costs nothing.
func Interrupt(ctx context.Context, interrupt func()) (release func()) {
	if ctx.Done() == nil {
		return func() {}
	}
	var mu sync.Mutex
	released := false
	fire := func() bool {
		mu.Lock()
		defer mu.Unlock()
		if !released {
			interrupt()
		}
		return !released
	}
	stop := context.AfterFunc(ctx, func() {
		for fire() {
			time.Sleep(between)
		}
	})
	return func() {
		if !stop() {
			mu.Lock()
			released = true
			mu.Unlock()
		}
	}
}
