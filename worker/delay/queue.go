package delay

import (
	"sync"
	"time"
)

// chunk is the bytes of one read. The last chunk has none.
type chunk struct {
	bytes []byte
	due   time.Time
}

// cost is the memory that a chunk takes. A small chunk costs its overhead too.
func (c chunk) cost() int { return len(c.bytes) + 64 }

// queue has the undelivered chunks of one direction, up to [Window] bytes.
type queue struct {
	gone <-chan struct{} // closed when the connection has ended

	mu     sync.Mutex
	chunks []chunk
	size   int
	closed bool
	more   chan struct{} // has a value if there may be more to take
	room   chan struct{} // has a value if there may be room to put
}

func newQueue(gone <-chan struct{}) *queue {
	return &queue{gone: gone, more: make(chan struct{}, 1), room: make(chan struct{}, 1)}
}

// put waits for room. It reports whether the chunk is in the queue.
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

// take waits for a chunk. It reports whether there is one.
func (q *queue) take() (chunk, bool) {
	for {
		q.mu.Lock()
		if len(q.chunks) > 0 {
			c := q.chunks[0]
			q.chunks[0] = chunk{} // its bytes are no longer kept
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

// close makes put fail, now and later.
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
