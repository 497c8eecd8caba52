// Package delay has a TCP proxy that delivers every byte a fixed time after reading it, like a
// longer network line. The proxy can also stop all bytes, as if the line were cut. It connects the
// nodes of a cluster on one machine, to show the effects of distance and partitions.
package delay

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"
)

// Config says what a proxy does.
type Config struct {
	Listen string        // the address to listen on; "" is a free port of 127.0.0.1
	Target string        // the address that connections are forwarded to
	Delay  time.Duration // how long each byte is delayed, in each direction

	// From returns the name of the process that dialed a connection from an address. The proxy calls
	// From only between [Proxy.CutFrom] and [Proxy.Heal], and remembers the name for the connection. If
	// From returned "", the proxy calls it again for the same connection later. If From is nil, no
	// process has a name.
	From func(dialer net.Addr) string
}

// Proxy forwards connections in both directions until it is closed.
//
// A proxy delays bytes but does not throttle a connection. It reads while earlier bytes wait,
// up to [Window] bytes in each direction of a connection. Opening a connection is not delayed.
type Proxy struct {
	config   Config
	listener net.Listener
	clock    clock

	mu      sync.Mutex
	all     bool            // every connection is cut
	from    map[string]bool // names of the processes whose connections are cut
	changed chan struct{}   // closed when the field "all" or the field "from" changes
	held    int64           // bytes that have been read but not delivered
	passed  int64

	closed  context.Context // ends when Close is called
	stop    context.CancelFunc
	running sync.WaitGroup
}

// Window is how many undelivered bytes a proxy keeps for each direction of a connection. When
// there are more, the sender waits, as with a full window of TCP.
const Window = 4 << 20

// chunkSize is the maximum number of bytes that are read at once.
const chunkSize = 32 << 10

// clock is the clock that a proxy reads. Tests replace it.
type clock interface {
	Now() time.Time
	Until(t time.Time) (reached <-chan time.Time, stop func())
}

type realClock struct{}

func (realClock) Now() time.Time { return time.Now() }

func (realClock) Until(t time.Time) (<-chan time.Time, func()) {
	timer := time.NewTimer(time.Until(t))
	return timer.C, func() { timer.Stop() }
}

// Start starts a proxy.
func Start(c Config) (*Proxy, error) { return start(c, realClock{}) }

func start(c Config, clock clock) (*Proxy, error) {
	if c.Delay < 0 {
		return nil, fmt.Errorf("delay %v: want 0 or more", c.Delay)
	}
	if c.Listen == "" {
		c.Listen = "127.0.0.1:0"
	}
	l, err := net.Listen("tcp", c.Listen)
	if err != nil {
		return nil, err
	}
	p := &Proxy{config: c, listener: l, clock: clock, from: map[string]bool{}, changed: make(chan struct{})}
	p.closed, p.stop = context.WithCancel(context.Background())
	p.running.Go(p.accept)
	return p, nil
}

// Addr returns the address that the proxy listens on.
func (p *Proxy) Addr() string { return p.listener.Addr().String() }

// Target returns the address that connections are forwarded to.
func (p *Proxy) Target() string { return p.config.Target }

// Delay returns how long each byte is delayed in each direction.
func (p *Proxy) Delay() time.Duration { return p.config.Delay }

// Cut stops all bytes in both directions, including bytes that wait in the proxy. Connections stay open
// and new connections are accepted, because a network line that is cut signals nothing. Heal delivers
// the bytes that were sent during the cut.
func (p *Proxy) Cut() { p.change(func() { p.all = true }) }

// CutFrom cuts connections in the same way as Cut, but only connections that one process has dialed
// or will dial. The name of the process is the one that Config.From returns.
func (p *Proxy) CutFrom(name string) { p.change(func() { p.from[name] = true }) }

// Heal ends every Cut and CutFrom.
func (p *Proxy) Heal() {
	p.change(func() {
		p.all = false
		clear(p.from)
	})
}

func (p *Proxy) change(f func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f()
	close(p.changed)
	p.changed = make(chan struct{})
}

// Held returns how many bytes the proxy has read but not delivered. Passed returns how many bytes
// it has delivered.
func (p *Proxy) Held() int64   { return p.count(&p.held) }
func (p *Proxy) Passed() int64 { return p.count(&p.passed) }

func (p *Proxy) count(n *int64) int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return *n
}

// Close closes the proxy and its connections. Undelivered bytes are lost.
func (p *Proxy) Close() error {
	p.stop()
	err := p.listener.Close()
	p.running.Wait()
	if errors.Is(err, net.ErrClosed) { // Close was called before
		return nil
	}
	return err
}

var errClosed = errors.New("the proxy is closed")

// dialer is the process that has dialed a connection.
type dialer struct {
	from func(net.Addr) string
	addr net.Addr

	mu   sync.Mutex
	name string // "" until From has returned a name
}

func (d *dialer) is() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.name == "" && d.from != nil {
		d.name = d.from(d.addr)
	}
	return d.name
}

// The method "open" waits while the dialer's connection is cut. It returns an error if the channel
// "gone" is closed first.
func (p *Proxy) open(who *dialer, gone <-chan struct{}) error {
	for {
		p.mu.Lock()
		cut, some, changed := p.all, len(p.from) > 0, p.changed
		p.mu.Unlock()
		if !cut && some {
			name := who.is()
			p.mu.Lock()
			cut = p.from[name]
			p.mu.Unlock()
		}
		if !cut {
			return nil
		}
		select {
		case <-changed:
		case <-gone:
			return errClosed
		}
	}
}

func (p *Proxy) accept() {
	for {
		c, err := p.listener.Accept()
		if err != nil {
			// Accept fails if the proxy is closed, and after an error such as too many open files.
			later, _ := p.clock.Until(p.clock.Now().Add(10 * time.Millisecond))
			select {
			case <-p.closed.Done():
				return
			case <-later:
			}
			continue
		}
		p.running.Go(func() { p.forward(c) })
	}
}

// forward connects a client with the target until both have stopped sending, or until one of the two
// connections fails.
func (p *Proxy) forward(client net.Conn) {
	who := &dialer{from: p.config.From, addr: client.RemoteAddr()}
	// While the client's connection is cut, the target must not be dialed.
	if p.open(who, p.closed.Done()) != nil {
		client.Close()
		return
	}
	target, err := net.DialTimeout("tcp", p.config.Target, 10*time.Second)
	if err != nil {
		client.Close() // the client sees the same as if the target did not listen
		return
	}
	gone := make(chan struct{})
	end := sync.OnceFunc(func() {
		close(gone)
		client.Close()
		target.Close()
	})
	var both sync.WaitGroup
	for _, way := range [][2]net.Conn{{client, target}, {target, client}} {
		both.Go(func() {
			if p.pump(who, way[0], way[1], gone) != nil {
				end()
			}
		})
	}
	unlink := context.AfterFunc(p.closed, end)
	both.Wait()
	unlink()
	end()
}

// pump copies bytes between two connections: from the connection "from" to the connection "to". At
// the end of the input, pump closes "to" for writing.
func (p *Proxy) pump(who *dialer, from, to net.Conn, gone <-chan struct{}) error {
	q := newQueue()
	var readErr error
	var reader sync.WaitGroup
	reader.Go(func() { readErr = p.fill(q, from) })
	err := p.deliver(who, q, to, gone)
	if err != nil {
		from.Close()
	}
	q.close()
	reader.Wait()
	for _, c := range q.chunks {
		p.add(-int64(len(c.bytes)), 0)
	}
	return errors.Join(err, readErr)
}

// fill reads bytes and puts them into the queue. It stops when there are no more bytes, or when the
// queue is closed.
func (p *Proxy) fill(q *queue, from io.Reader) error {
	buf := make([]byte, chunkSize)
	for {
		n, err := from.Read(buf)
		due := p.clock.Now().Add(p.config.Delay)
		if n > 0 {
			p.add(int64(n), 0)
			if !q.put(chunk{bytes.Clone(buf[:n]), due}) {
				p.add(-int64(n), 0)
				return nil
			}
		}
		if err != nil {
			q.put(chunk{due: due})
			if errors.Is(err, io.EOF) {
				err = nil
			}
			return err
		}
	}
}

// deliver writes each chunk of the queue when it is due and the connection is not cut. After the
// last chunk it closes the destination for writing.
func (p *Proxy) deliver(who *dialer, q *queue, to net.Conn, gone <-chan struct{}) error {
	for {
		c := q.take() // take returns even if the connections are closed, because the method "fill" then adds a last chunk to the queue
		err := p.wait(c.due, gone)
		if err == nil {
			err = p.open(who, gone)
		}
		if err == nil && c.bytes == nil {
			return closeWrite(to)
		}
		if err == nil {
			_, err = to.Write(c.bytes)
		}
		if err != nil {
			p.add(-int64(len(c.bytes)), 0)
			return err
		}
		p.add(-int64(len(c.bytes)), int64(len(c.bytes)))
	}
}

func (p *Proxy) wait(due time.Time, gone <-chan struct{}) error {
	if !p.clock.Now().Before(due) {
		return nil
	}
	reached, stop := p.clock.Until(due)
	defer stop()
	select {
	case <-reached:
		return nil
	case <-gone:
		return errClosed
	}
}

func (p *Proxy) add(held, passed int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.held += held
	p.passed += passed
}

func closeWrite(c net.Conn) error {
	if t, ok := c.(*net.TCPConn); ok {
		return t.CloseWrite()
	}
	return c.Close()
}
