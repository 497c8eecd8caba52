package connpool

import (
	"context"
	"errors"
	"fmt"
	"io"
)

// ClosingConn is a connection that its pool closes.
type ClosingConn interface {
	Conn
	io.Closer
}

// Fixed is a pool of a fixed number of connections, for a library that has no
// pool of its own. All are open from first to last.
type Fixed struct {
	size int
	free chan ClosingConn
}

// NewFixed opens a pool of size connections, one after the other.
func NewFixed(size int, open func(number int) (ClosingConn, error)) (*Fixed, error) {
	p := &Fixed{size, make(chan ClosingConn, size)}
	for i := range size {
		c, err := open(i)
		if err != nil {
			p.size = i
			return nil, errors.Join(fmt.Errorf("connection %d of %d: %w", i+1, size, err), p.Close())
		}
		p.free <- c
	}
	return p, nil
}

// Take takes a connection, waiting while all are taken.
func (p *Fixed) Take(ctx context.Context) (Conn, error) {
	select {
	case c, ok := <-p.free:
		if !ok {
			return nil, errors.New("pool is closed")
		}
		return c, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Put gives a connection back.
func (p *Fixed) Put(c Conn) { p.free <- c.(ClosingConn) }

// Close closes all connections, which must have been given back.
func (p *Fixed) Close() error {
	var errs []error
	for i := range p.size {
		select {
		case c, ok := <-p.free:
			if !ok {
				return errors.New("pool is already closed")
			}
			errs = append(errs, c.Close())
		default:
			return errors.Join(append(errs, fmt.Errorf("%d of %d connections are still in use", p.size-i, p.size))...)
		}
	}
	close(p.free)
	return errors.Join(errs...)
}
