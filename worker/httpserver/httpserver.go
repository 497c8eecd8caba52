// Package httpserver answers HTTP requests from a database, like a small web service in Go: with
// net/http, one prepared statement and the driver's pool. Clients in another process put load on
// this server.
package httpserver

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/plan"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// Anywhere is an address with any free port, for clients on the same machine.
const Anywhere = "127.0.0.1:0"

// Listen listens at an address. If the port is in use, the error says so.
func Listen(address string) (net.Listener, error) {
	l, err := net.Listen("tcp", address)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("the port of %s is in use: name another one, or %s for any that is free", address, Anywhere)
	}
	return l, err
}

// Handler runs a statement for each request. The status codes of its answers are
//
//	200  the row, as a JSON object
//	400  a parameter is missing or is not of its type
//	404  the statement returned no row, or the path is not /
//	405  the method is not GET
//	500  the statement returned several rows, or any other error of the driver
//	503  the statement failed because of a lock; Counts includes it
type Handler struct {
	def     *plan.HTTP
	stmt    driver.Stmt // nil if every answer is {}
	ctx     context.Context
	scratch sync.Pool

	requests, rows atomic.Int64

	mu     sync.Mutex
	locked protocol.ErrorCounts // requests that failed because of a lock
}

// New returns a handler that runs stmt with the context ctx. def describes the parameters and
// columns of stmt. If ctx is nil, the handler runs stmt with the context of each request, which
// ends when the client goes away.
func New(ctx context.Context, def *plan.HTTP, stmt driver.Stmt) *Handler {
	h := &Handler{def: def, stmt: stmt, ctx: ctx, locked: protocol.ErrorCounts{}}
	h.scratch.New = func() any { return newScratch(def) }
	return h
}

// Reset sets the counts that [Handler.Counts] returns to zero.
func (h *Handler) Reset() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.requests.Store(0)
	h.rows.Store(0)
	clear(h.locked)
}

// Counts returns how many requests came, how many of them were answered with a row, and how
// many failed because of a lock.
func (h *Handler) Counts() (requests, rows int64, locked []protocol.ErrorCount) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.requests.Load(), h.rows.Load(), h.locked.List()
}

// scratch holds the buffers for answering one request.
type scratch struct {
	batch driver.Batch
	body  []byte
	rows  int
	visit func(driver.Row) error
}

func newScratch(def *plan.HTTP) *scratch {
	s := &scratch{batch: driver.Batch{PerExec: 1, Columns: make([]driver.Column, len(def.Parameters))}}
	for i, p := range def.Parameters {
		s.batch.Columns[i].Type = p.Type
	}
	s.visit = func(r driver.Row) error {
		if s.rows++; s.rows == 1 {
			s.body = AppendRow(s.body[:0], def.Names, def.Columns, r)
		}
		return nil
	}
	return s
}

// contentType is shared by all HTTP responses, to save an allocation for each response.
var contentType = []string{"application/json"}

var nothing = []byte("{}")

func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.requests.Add(1)
	switch {
	case r.URL.Path != "/":
		http.Error(w, "no such page: want /", http.StatusNotFound)
		return
	case r.Method != http.MethodGet:
		http.Error(w, "want GET", http.StatusMethodNotAllowed)
		return
	case h.stmt == nil:
		w.Header()["Content-Type"] = contentType
		_, _ = w.Write(nothing)
		return
	}
	s := h.scratch.Get().(*scratch)
	defer h.scratch.Put(s)
	if err := s.parameters(r, h.def.Parameters); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	ctx := h.ctx
	if ctx == nil {
		ctx = r.Context()
	}
	batch := &s.batch
	if len(batch.Columns) == 0 {
		batch = nil
	}
	s.rows = 0
	begin := time.Now()
	switch err := h.stmt.Query(ctx, batch, 0, s.visit); {
	case err != nil:
		h.failed(w, err, time.Since(begin))
	case s.rows == 0:
		http.Error(w, "no row", http.StatusNotFound)
	case s.rows > 1:
		http.Error(w, fmt.Sprintf("%d rows, expected 1", s.rows), http.StatusInternalServerError)
	default:
		h.rows.Add(1)
		w.Header()["Content-Type"] = contentType
		_, _ = w.Write(s.body) // an error only means that the client has gone
	}
}

func (h *Handler) failed(w http.ResponseWriter, err error, waited time.Duration) {
	var e *driver.Error
	if !errors.As(err, &e) || !driver.IsLock(e.Code) {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	h.mu.Lock()
	h.locked.Add(e.Code, 1, int64(waited))
	h.mu.Unlock()
	http.Error(w, err.Error(), http.StatusServiceUnavailable)
}

// parameters reads the values of the statement's parameters from the request's URL.
func (s *scratch) parameters(r *http.Request, params []plan.Parameter) error {
	if len(params) == 0 {
		return nil
	}
	query := r.URL.Query()
	for i, p := range params {
		c := &s.batch.Columns[i]
		if !query.Has(p.Name) {
			return fmt.Errorf("no parameter %s: want /?%s=…", p.Name, p.Name)
		}
		if err := setValue(c, query.Get(p.Name)); err != nil {
			return fmt.Errorf("parameter %s: %w", p.Name, err)
		}
	}
	return nil
}

// setValue parses text and makes it the only value of a column.
func setValue(c *driver.Column, text string) error {
	switch c.Type {
	case driver.Text:
		c.Data = append(c.Data[:0], text...)
		c.Spans = append(c.Spans[:0], driver.Span{Len: uint32(len(text))})
		return nil
	case driver.Real:
		x, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return fmt.Errorf("bad number %q", text)
		}
		c.Reals = append(c.Reals[:0], x)
		return nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return fmt.Errorf("bad whole number %q", text)
	}
	c.Ints = append(c.Ints[:0], n)
	return nil
}
