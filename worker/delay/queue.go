package delay

import (
	"sync"
	"time"
)

// chunk has the bytes of one read from a connection. A chunk without bytes marks the end of the data.
type chunk struct {
	bytes []byte
	due   time.Time
}

// cost returns the memory that a chunk takes in bytes, including a fixed overhead.
func (c chunk) cost() int { return len(c.bytes) + 64 }

// queue has the undelivered chunks of one direction of a connection, up to [Window] bytes.
type queue struct {
	mu      sync.Mutex
	changed *sync.Cond // broadcasts each change of the fields below
	chunks  []chunk
	size    int
	closed  bool
}

func newQueue() *queue {
	q := &queue{}
	q.changed = sync.NewCond(&q.mu)
	return q
}

// put waits for room and appends a chunk. It returns false if the queue is closed.
func (q *queue) put(c chunk) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	for q.size >= Window && !q.closed {
		q.changed.Wait()
	}
	if !q.closed {
		q.chunks, q.size = append(q.chunks, c), q.size+c.cost()
		q.changed.Broadcast()
	}
	return !q.closed
}

// take waits for a chunk and removes it from the queue.
func (q *queue) take() chunk {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.chunks) == 0 {
		q.changed.Wait()
	}
	c := q.chunks[0]
	q.chunks[0] = chunk{} // so that the chunk's bytes can be freed
	q.chunks, q.size = q.chunks[1:], q.size-c.cost()
	q.changed.Broadcast()
	return c
}

// close closes the queue. All later calls of put, and the calls that are waiting, return false.
func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.changed.Broadcast()
}
