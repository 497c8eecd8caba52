package connpool

import (
	"sync/atomic"
	"time"
)

// Queue counts the callers that wait for a connection of a library's own pool, if the library
// does not count them. The adapter's [Pool] calls Enter before it asks the library for a
// connection, Leave when it has a connection or an error, and Return before it returns a
// connection to the library.
type Queue struct {
	size    int64
	present atomic.Int64 // callers that wait for a connection or have one
	callers atomic.Int64 // callers that had to wait so far
	waited  atomic.Int64 // total time that callers waited, in ns
}

// NewQueue returns the queue for a pool. The parameter "size" is the number of the pool's
// connections.
func NewQueue(size int) *Queue { return &Queue{size: int64(size)} }

// Enter counts a caller that asks for a connection. It returns the current time if the caller has
// to wait, otherwise the zero time.
func (q *Queue) Enter() (began time.Time) {
	if q.present.Add(1) > q.size {
		began = time.Now()
	}
	return began
}

// Leave counts the wait of a caller. The parameter "began" is the result of Enter for this caller,
// and "got" is false if the caller gets no connection.
func (q *Queue) Leave(began time.Time, got bool) {
	if !got {
		q.present.Add(-1)
	}
	if !began.IsZero() {
		q.callers.Add(1)
		q.waited.Add(int64(time.Since(began)))
	}
}

// Return counts a connection that is returned. It must be called before the library's own call that
// returns the connection. Otherwise a call of Enter between these two calls would count as a wait,
// although a connection is free.
func (q *Queue) Return() { q.present.Add(-1) }

// Waited implements [driver.WaitCounter].
func (q *Queue) Waited() (callers int64, total time.Duration) {
	return q.callers.Load(), time.Duration(q.waited.Load())
}
