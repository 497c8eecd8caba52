package delay

import (
	"sync"
	"time"
)

// chunk has the bytes of one read. The last chunk of a direction has no bytes.
type chunk struct {
	bytes []byte
	due   time.Time
}

// cost returns the memory that a chunk takes in bytes, including a fixed overhead.
func (c chunk) cost() int { return len(c.bytes) + 64 }

// queue has the undelivered chunks of one direction of a connection, up to [Window] bytes.
type queue struct {
	gone <-chan struct{} // closed when the connection has ended

	mu     sync.Mutex
	chunks []chunk
	size   int
	closed bool
	more   chan struct{} // has a value if chunks may have a new element
	room   chan struct{} // has a value if there may be room for a chunk, or the queue is closed
}

func newQueue(gone <-chan struct{}) *queue {
	return &queue{gone: gone, more: make(chan struct{}, 1), room: make(chan struct{}, 1)}
}

// put waits for room and appends a chunk. It returns false if the queue is closed or the
// connection has ended.
func (q *queue) put(c chunk) bool {
	for {
		q.mu.Lock()
		closed, fits := q.closed, q.size < Window
		if fits && !closed {
			q.chunks, q.size = append(q.chunks, c), q.size+c.cost()
		}
		q.mu.Unlock()
		switch {
		case closed:
			return false
		case fits:
			signal(q.more)
			return true
		}
		select {
		case <-q.room:
		case <-q.gone:
			return false
		}
	}
}

// take waits for a chunk and removes it from the queue. It returns false if the connection has
// ended.
func (q *queue) take() (chunk, bool) {
	for {
		q.mu.Lock()
		if len(q.chunks) > 0 {
			c := q.chunks[0]
			q.chunks[0] = chunk{} // frees its bytes
			q.chunks, q.size = q.chunks[1:], q.size-c.cost()
			q.mu.Unlock()
			signal(q.room)
			return c, true
		}
		q.mu.Unlock()
		select {
		case <-q.more:
		case <-q.gone:
			return chunk{}, false
		}
	}
}

// close makes running and later calls of put return false.
func (q *queue) close() {
	q.mu.Lock()
	q.closed = true
	q.mu.Unlock()
	signal(q.room)
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
