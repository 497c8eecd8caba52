package connpool

import (
	"context"
	"sync"
	"time"
)

// between is the time from one call of interrupt to the next. It is much longer than the call
// takes, and too short to be noticed by a person.
const between = time.Millisecond

// Interrupt implements [Conn.Guard] for a library that only has a call to interrupt. After the
// end of ctx, it calls interrupt again and again until release is called, because SQLite
// forgets an interrupt while no statement runs. It costs nothing if ctx cannot end.
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
