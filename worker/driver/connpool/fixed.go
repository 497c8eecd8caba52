package connpool

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/sqlite3perf/sqlite3perf/worker/driver"
)

// ClosingConn is a connection that its pool can close.
type ClosingConn interface {
	Conn
	io.Closer
}

// Fixed is a pool of a fixed number of connections, for a library without a pool. All connections
// stay open until Close. Like database/sql, it lends the connection that was returned last, whose
// caches are warm. It passes a returned connection to the caller that has waited longest;
// database/sql passes it to any caller that waits.
type Fixed struct {
	size int

	mu      sync.Mutex
	closed  bool
	idle    []ClosingConn      // the last element is lent first
	waiting []chan ClosingConn // a channel for each waiting caller, in order of arrival
	spare   []chan ClosingConn // empty channels for future callers that have to wait

	waits  int64 // callers that had to wait so far
	waited time.Duration
}

// Open returns a database with a [Fixed] pool of s.PoolSize() connections. It opens each connection
// with the function "open", and then calls [Apply] on it.
func Open(ctx context.Context, s driver.Settings, open func(number int) (ClosingConn, error)) (driver.DB, error) {
	p, err := NewFixed(ctx, s.PoolSize(), func(number int) (ClosingConn, error) {
		c, err := open(number)
		if err != nil {
			return nil, err
		}
		release := c.Guard(ctx)
		err = Apply(ctx, c, s)
		release()
		if err != nil {
			return nil, errors.Join(err, c.Close())
		}
		return c, nil
	})
	if err != nil {
		return nil, err
	}
	return New(p, s.PoolSize(), s.Begin()), nil
}

// Apply applies the settings that are PRAGMAs to a connection. If c is a [Limiter], it first
// makes SQLite refuse to attach databases, unless ctx allows files (see [driver.AllowFiles]).
func Apply(ctx context.Context, c Conn, s driver.Settings) error {
	if l, ok := c.(Limiter); ok && !driver.FilesAllowed(ctx) {
		if _, err := l.LimitAttached(0); err != nil {
			return fmt.Errorf("limiting ATTACH: %w", err)
		}
	}
	for _, pragma := range s.Pragmas() {
		if err := c.Script(pragma); err != nil {
			return fmt.Errorf("%s: %w", pragma, err)
		}
	}
	return nil
}

// NewFixed opens the connections of a pool one after the other. If a connection cannot be opened
// or ctx ends, NewFixed closes the connections that are already open. It checks ctx before
// each connection, because a pool may have thousands of connections.
func NewFixed(ctx context.Context, size int, open func(number int) (ClosingConn, error)) (*Fixed, error) {
	p := &Fixed{size: size, idle: make([]ClosingConn, 0, size)}
	for i := range size {
		var c ClosingConn
		err := ctx.Err()
		if err == nil {
			c, err = open(i)
		}
		if err != nil {
			p.size = i
			return nil, errors.Join(fmt.Errorf("connection %d of %d: %w", i+1, size, err), p.Close())
		}
		p.idle = append(p.idle, c)
	}
	return p, nil
}

// Take takes a connection. It waits while all connections are taken.
func (p *Fixed) Take(ctx context.Context) (Conn, error) {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return nil, errors.New("pool is closed")
	}
	if last := len(p.idle) - 1; last >= 0 {
		c := p.idle[last]
		p.idle = p.idle[:last]
		p.mu.Unlock()
		return c, nil
	}
	return p.wait(ctx)
}

// wait does the work of Take if all connections are taken. The caller has locked p.mu, and wait
// unlocks it.
func (p *Fixed) wait(ctx context.Context) (Conn, error) {
	var given chan ClosingConn
	if last := len(p.spare) - 1; last >= 0 {
		given, p.spare = p.spare[last], p.spare[:last]
	} else {
		given = make(chan ClosingConn, 1)
	}
	p.waiting = append(p.waiting, given)
	p.waits++
	p.mu.Unlock()
	began := time.Now()

	var c ClosingConn
	select {
	case c = <-given:
	case <-ctx.Done():
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.waited += time.Since(began)
	if c == nil {
		if i := slices.Index(p.waiting, given); i >= 0 {
			p.waiting = slices.Delete(p.waiting, i, i+1)
		} else {
			p.put(<-given) // ctx ended, but a caller has just given us a connection: return it
		}
	}
	p.spare = append(p.spare, given)
	if c == nil {
		return nil, ctx.Err()
	}
	return c, nil
}

// Waited implements [driver.WaitCounter].
func (p *Fixed) Waited() (callers int64, total time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.waits, p.waited
}

// Put returns a connection to the pool.
func (p *Fixed) Put(c Conn) {
	p.mu.Lock()
	p.put(c.(ClosingConn))
	p.mu.Unlock()
}

func (p *Fixed) put(c ClosingConn) {
	if len(p.waiting) == 0 {
		p.idle = append(p.idle, c)
		return
	}
	given := p.waiting[0]
	p.waiting = p.waiting[1:]
	given <- c
}

// Close closes the connections that are in the pool. If callers have not returned all
// connections, it returns an error.
func (p *Fixed) Close() (err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return errors.New("pool is already closed")
	}
	for _, c := range p.idle {
		err = errors.Join(err, c.Close())
	}
	if n := p.size - len(p.idle); n > 0 {
		err = errors.Join(err, fmt.Errorf("%d of %d connections are still in use", n, p.size))
	}
	p.closed = true
	return err
}
