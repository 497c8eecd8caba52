package connpool

import (
	"context"
	"sync"
	"time"
)

// The constant "between" is the pause between two calls of the function "interrupt". A call takes much
// less time than the pause, and the pause is too short for a person to notice.
const between = time.Millisecond

// Interrupt implements [Conn.Guard] for a library that can interrupt a connection, but does not use
// contexts. After the end of ctx, it calls the function "interrupt" again and again until "release"
// is called, because SQLite ignores an interrupt if no statement is running at that moment. It
// costs nothing if ctx cannot end.
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
