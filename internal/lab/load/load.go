// Package load puts load on an HTTP/1.1 server and measures the server. It sends requests over connections
// that are kept alive, in closed loop or at a fixed rate, and checks the status and the body of every answer.
// A request costs the load generator little CPU time, so the generator can run on the server's machine. Its
// ceiling is the rate that it reaches with a server that does nothing.
package load

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sqlite3perf/sqlite3perf/worker/barrier"
	"github.com/sqlite3perf/sqlite3perf/worker/latency"
)

// Request is a GET request. Its expected answer has status 200.
type Request struct {
	Target string // path and query, such as /?id=7
	Body   []byte // expected body; nil: any
}

// Load describes the requests to send to one server.
type Load struct {
	Address  string    // host:port of the server
	Requests []Request // sent in this order, over and over

	Connections int // number of connections, each with at most one request at a time

	// Only one of the next two fields is set. Count is the number of requests, and Duration is the time in
	// which requests begin.
	Count    int64
	Duration time.Duration

	// Rate is the number of requests per second that fall due, whether or not earlier requests have been
	// answered (open loop). The first free connection sends a due request, and the latency counts from the
	// time when the request was due. If Rate is 0, each connection sends a request as soon as its previous
	// request has been answered (closed loop), as the program hey does.
	Rate float64

	// Timeout is how long the complete answer may take; 0: 10 s.
	Timeout time.Duration

	// If Slice is not 0, all connections pause together whenever that number of requests has been sent.
	// Each connection first waits for the answer to its last request. Then one of the connections calls
	// Pause with the duration of the load so far, without pauses. An error of Pause ends the load. A load
	// at a fixed rate has no slices.
	Slice int64
	Pause func(time.Duration) error

	// Check, if not nil, is called with each answer of status 200, and with the number of its request. It must
	// not keep the body. Several connections may call it at once. If it returns an error, the request counts
	// as failed with the kind Body.
	Check func(request int64, body []byte) error
}

// Kind is the way in which a request failed.
type Kind string

// Kinds of failures of a request.
const (
	Connect   Kind = "connect"   // no connection to the server could be opened
	Lost      Kind = "lost"      // the connection broke before the answer was complete
	Timeout   Kind = "timeout"   // the complete answer did not arrive in time
	Malformed Kind = "malformed" // the bytes received are not an HTTP/1.1 response
	Status    Kind = "status"    // the status is not 200
	Body      Kind = "body"      // the body differs from the expected body
)

var kinds = [...]Kind{Connect, Lost, Timeout, Malformed, Status, Body}

// Errors counts the requests that failed with one Kind.
type Errors struct {
	Kind  Kind
	Count int64
	First string // one line about the first failed request, as an example
}

// Outcome is the result of a load.
type Outcome struct {
	Wall     time.Duration // from the start of the first request to the end of the last, without pauses
	Sent     int64         // requests begun
	OK       int64         // number of requests that were answered as expected
	Statuses map[int]int64 // number of responses by status
	Errors   []Errors      // one entry for each kind that occurred

	// Unsent is how many of Count requests were not begun, because every connection was lost
	// and the server accepted no new one.
	Unsent int64

	// Latency holds the latencies of all requests in ns, including failed ones. At a fixed
	// rate a latency counts from the time when the request was due.
	Latency *latency.Histogram

	// Late has the delays in ns that the generator itself causes at a fixed rate. A delay begins when a
	// request is due or, if that is later, when a connection is free. It ends when the request is sent. The
	// latency of the request includes the delay.
	Late *latency.Histogram
}

// Rate returns the requests sent per second, including failed ones.
func (o *Outcome) Rate() float64 {
	if o.Wall <= 0 {
		return 0
	}
	return float64(o.Sent) / o.Wall.Seconds()
}

// Failed returns the number of requests that failed.
func (o *Outcome) Failed() int64 {
	n := int64(0)
	for _, e := range o.Errors {
		n += e.Count
	}
	return n
}

const (
	defaultTimeout = 10 * time.Second

	// If a connection is lost, up to redials attempts are made to open it again, with a pause of redialWait
	// after each failed attempt.
	redials    = 3
	redialWait = 20 * time.Millisecond

	// histograms is the largest number of histograms of latencies. If there are more connections than that,
	// several connections share a histogram.
	histograms = 64
)

// possible returns an error if the load's settings are invalid.
func (l *Load) possible() error {
	switch {
	case len(l.Requests) == 0:
		return errors.New("load: no requests to send")
	case l.Connections < 1:
		return fmt.Errorf("load: %d connections: want at least 1", l.Connections)
	case (l.Count > 0) == (l.Duration > 0) || l.Count < 0 || l.Duration < 0:
		return errors.New("load: want either a count or a duration above 0")
	case l.Slice < 0 || l.Slice > 0 && (l.Rate > 0 || l.Pause == nil):
		return fmt.Errorf("load: slices of %d requests: want at least 0, and with slices a function Pause and no rate", l.Slice)
	case !(l.Rate >= 0 && l.Rate <= 1e9):
		return fmt.Errorf("load: rate of %v requests per second: want one from 0 to 1e9", l.Rate)
	}
	return nil
}

// Run opens the connections, sends the requests and waits for their answers. Failures of the server are in
// the outcome. Run returns an error only if the load could not begin, or if ctx ended before the load was
// complete. In the second case, it also returns the outcome up to that moment.
func (l *Load) Run(ctx context.Context) (*Outcome, error) {
	if err := l.possible(); err != nil {
		return nil, err
	}
	r := newRun(l)
	if r.Timeout <= 0 {
		r.Timeout = defaultTimeout
	}
	r.ctx, r.cancel = context.WithCancel(ctx)
	defer r.cancel()
	for i := range l.Connections {
		c := newConnection(r, i)
		if err := c.dial(); err != nil {
			for _, c := range r.connections {
				c.close()
			}
			if ctx.Err() != nil {
				return nil, context.Cause(ctx)
			}
			return nil, fmt.Errorf("load: connection %d of %d: %w", len(r.connections)+1, l.Connections, err)
		}
		r.connections = append(r.connections, c)
	}
	defer context.AfterFunc(r.ctx, func() {
		for _, c := range r.connections {
			c.abort()
		}
	})()
	go r.watch()
	o := r.measure()
	if ctx.Err() != nil {
		return o, context.Cause(ctx)
	}
	return o, nil
}

// texts returns the bytes to send for each of l.Requests.
func (l *Load) texts() [][]byte {
	list := make([][]byte, len(l.Requests))
	for i := range l.Requests {
		list[i] = fmt.Appendf(nil, "GET %s HTTP/1.1\r\nHost: %s\r\n\r\n", l.Requests[i].Target, l.Address)
	}
	return list
}

// run is the state of a running load.
type run struct {
	Load
	texts       [][]byte
	ctx         context.Context
	cancel      context.CancelFunc
	connections []*connection
	latency     *latency.Shared
	late        *latency.Shared
	next        atomic.Int64 // number of the next request in closed loop
	due         chan int64   // numbers of the requests that are due at a fixed rate
	begin       int64        // time when the load began, on the clock of now()
	end         int64        // time after which no request begins, on the clock of now()

	together *barrier.Barrier // lets the connections pause together; nil if there are no slices
	slice    atomic.Int64     // number of the first request after the current slice
	paused   int64            // duration of all pauses, in ns
}

func newRun(l *Load) *run {
	r := &run{
		Load: *l, texts: l.texts(), due: make(chan int64, 1024),
		latency: latency.NewShared(l.Connections, histograms), late: latency.NewShared(1, 1),
	}
	if l.Rate > 0 {
		r.late = latency.NewShared(l.Connections, histograms)
	}
	if l.Slice > 0 {
		r.together = barrier.New(l.Connections, r.pause)
		r.slice.Store(l.Slice)
	}
	return r
}

// pause is called between two slices, when no connection has a request.
func (r *run) pause() error {
	began := now()
	err := r.Pause(time.Duration(began - r.begin - r.paused))
	if err != nil {
		r.cancel()
	}
	paused := now() - began
	r.paused += paused
	if r.Duration > 0 {
		r.end += paused
	}
	r.slice.Add(r.Slice)
	return err
}

var epoch = time.Now()

// now returns the monotonic time in ns since the process started.
func now() int64 { return int64(time.Since(epoch)) }

func (r *run) measure() *Outcome {
	r.begin = now()
	r.end = int64(1<<63 - 1)
	if r.Duration > 0 {
		r.end = r.begin + int64(r.Duration)
	}
	var pacing, sending sync.WaitGroup
	if r.Rate > 0 {
		pacing.Go(r.pace)
	}
	for _, c := range r.connections {
		sending.Go(c.send)
	}
	sending.Wait()
	end := now()
	r.cancel()
	pacing.Wait()
	return r.outcome(end)
}

// number returns the number of the next request to send. At a fixed rate it waits until a request is due. It
// also waits until the slice of the request begins. The result "waited" is the length of this second wait, in
// ns. The result "ok" is false if there are no more requests.
func (r *run) number() (k, waited int64, ok bool) {
	if r.Rate > 0 {
		k, ok = <-r.due
		return k, 0, ok
	}
	k = r.next.Add(1) - 1
	if r.Count > 0 && k >= r.Count {
		return k, 0, false
	}
	if r.together == nil || k < r.slice.Load() {
		return k, 0, true
	}
	began := now()
	for k >= r.slice.Load() {
		if r.together.Wait() != nil {
			return k, 0, false
		}
	}
	return k, now() - began, true
}

// dueAt returns the time, as now() counts it, when request k falls due.
func (r *run) dueAt(k int64) int64 { return r.begin + int64(float64(k)/r.Rate*1e9) }

// pace sends the numbers of requests to the channel r.due at the fixed rate.
func (r *run) pace() {
	defer close(r.due)
	p := newPacer(r.ctx.Done())
	for k := int64(0); r.Count == 0 || k < r.Count; k++ {
		at := r.dueAt(k)
		if at >= r.end {
			return
		}
		p.until(at)
		select {
		case r.due <- k: // blocks while all connections are busy and the queue is full
		case <-r.ctx.Done():
			return
		}
	}
}

// watch interrupts requests that take longer than Timeout. It exists because setting a deadline for each
// request would take longer than everything else that the request needs.
func (r *run) watch() {
	t := time.NewTicker(max(r.Timeout/10, time.Millisecond))
	defer t.Stop()
	for {
		select {
		case <-r.ctx.Done():
			return
		case <-t.C:
			before := now() - int64(r.Timeout)
			for _, c := range r.connections {
				if sent := c.sent.Load(); sent > 0 && sent < before {
					c.expire(sent)
				}
			}
		}
	}
}

func (r *run) outcome(end int64) *Outcome {
	o := &Outcome{Wall: time.Duration(end - r.begin - r.paused), Statuses: map[int]int64{}, Latency: r.latency.Histogram()}
	if r.Rate > 0 {
		o.Late = r.late.Histogram()
	}
	var errs [len(kinds)]Errors
	for _, c := range r.connections {
		o.Sent += c.begun
		o.OK += c.ok
		if c.ok200 > 0 {
			o.Statuses[http.StatusOK] += c.ok200
		}
		for status, n := range c.statuses {
			o.Statuses[status] += n
		}
		for i, e := range c.errors {
			errs[i].Count += e.Count
			if errs[i].First == "" {
				errs[i].First = e.First
			}
		}
	}
	for i, e := range errs {
		if e.Count > 0 {
			e.Kind = kinds[i]
			o.Errors = append(o.Errors, e)
		}
	}
	if r.Count > 0 {
		o.Unsent = r.Count - o.Sent
	}
	return o
}
