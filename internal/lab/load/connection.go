package load

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sqlite3perf/sqlite3perf/worker/latency"
)

// connection sends one request after another. Its counts are read after the connection's goroutine has ended.
type connection struct {
	run *run

	mu   sync.Mutex // the method "send" holds it while it changes conn; other goroutines hold it while they use conn
	conn net.Conn   // nil: not connected
	in   response

	sent atomic.Int64 // time when the current request began, in ns since the process started; 0: no request; expired: the request timed out

	begun, ok     int64
	ok200         int64 // responses with status 200
	latency, late latency.Recorder
	statuses      map[int]int64 // number of responses by status other than 200
	errors        [len(kinds)]Errors
}

func newConnection(r *run, i int) *connection {
	return &connection{
		run: r, statuses: map[int]int64{},
		latency: r.latency.Recorder(i, r.Connections), late: r.late.Recorder(i, r.Connections),
	}
}

var dialer net.Dialer

func (c *connection) dial() error {
	conn, err := dialer.DialContext(c.run.ctx, "tcp", c.run.Address)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.run.ctx.Err(); err != nil { // the load ended during the dial, so the method "abort" could not close this connection
		conn.Close()
		return err
	}
	c.conn = conn
	c.in.reset(conn)
	return nil
}

func (c *connection) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.conn != nil {
		c.conn.Close()
		c.conn = nil
	}
}

// past is a deadline that has passed, so it ends a read or write at once.
var past = time.Unix(1, 0)

// abort ends the connection's reads and writes.
func (c *connection) abort() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.conn != nil {
		_ = c.conn.SetDeadline(past)
	}
}

// expired is the value of [connection.sent] for a request that timed out.
const expired = -1

// expire interrupts the request that began at the given time. It does nothing if that request has ended.
func (c *connection) expire(sent int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.sent.CompareAndSwap(sent, expired) && c.conn != nil {
		_ = c.conn.SetDeadline(past)
	}
}

// answered ends the current request. If the request has expired, answered closes the connection, because the
// connection's deadline would also stop the next request.
func (c *connection) answered() {
	if c.sent.Swap(0) == expired {
		c.close()
	}
}

// send sends requests until no more are due or the server has gone.
func (c *connection) send() {
	r := c.run
	defer c.close()
	if r.together != nil {
		defer r.together.Leave()
	}
	free := r.begin
	for r.ctx.Err() == nil {
		k, waited, ok := r.number()
		if !ok {
			return
		}
		free += waited
		start := free
		if r.Rate > 0 {
			start = r.dueAt(k)
			c.late.Record(now() - max(start, free))
		} else if start >= r.end {
			return
		}
		c.begun++
		why := c.reopen()
		gone := why != nil
		if why == nil {
			c.sent.Store(now())
			why = c.exchange(k)
			c.answered()
		}
		free = now()
		switch {
		case why == nil:
			c.ok++
			c.latency.Record(free - start)
			continue
		case r.ctx.Err() != nil:
			c.begun-- // the load was interrupted, so the failure is not the server's fault
			return
		}
		c.latency.Record(free - start) // failed requests count too; otherwise a failing server would look fast
		c.count(why)
		if gone {
			return
		}
	}
}

// reopen connects again if the connection was lost. It makes several attempts, and returns the failure
// of the last one.
func (c *connection) reopen() *failure {
	if c.conn != nil {
		return nil
	}
	var err error
	for range redials {
		if err = c.dial(); err == nil {
			return nil
		}
		select {
		case <-time.After(redialWait):
		case <-c.run.ctx.Done():
			return &failure{Connect, c.run.ctx.Err()}
		}
	}
	return &failure{Connect, err}
}

// failure says why a request did not get the expected answer.
type failure struct {
	kind Kind
	err  error
}

// exchange sends the request with number k and reads its answer.
func (c *connection) exchange(k int64) *failure {
	i := k
	if n := int64(len(c.run.texts)); i >= n {
		i %= n
	}
	if _, err := c.conn.Write(c.run.texts[i]); err != nil {
		return c.broken(err)
	}
	status, body, err := c.in.next()
	if err != nil {
		return c.broken(err)
	}
	if !c.in.keep {
		c.close()
	}
	want := &c.run.Requests[i]
	if status != http.StatusOK {
		c.statuses[status]++
		return &failure{Status, fmt.Errorf("GET %s: status %d: %.200q", want.Target, status, body)}
	}
	c.ok200++
	if want.Body != nil && !bytes.Equal(body, want.Body) {
		return &failure{Body, fmt.Errorf("GET %s: answer %.200q, expected %.200q", want.Target, body, want.Body)}
	}
	if c.run.Check != nil {
		if err := c.run.Check(k, body); err != nil {
			return &failure{Body, fmt.Errorf("GET %s: %w", want.Target, err)}
		}
	}
	return nil
}

// broken closes the connection after err, and turns err into a failure.
func (c *connection) broken(err error) *failure {
	c.close()
	kind := Lost
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		kind, err = Timeout, fmt.Errorf("no complete answer within %v", c.run.Timeout)
	case errors.Is(err, errMalformed):
		kind = Malformed
	}
	return &failure{kind, err}
}

func (c *connection) count(f *failure) {
	e := &c.errors[slices.Index(kinds[:], f.kind)]
	e.Count++
	if e.First == "" {
		e.First = f.err.Error()
	}
}
