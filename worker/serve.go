package worker

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"

	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/httpserver"
	"github.com/sqlite3perf/sqlite3perf/worker/plan"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// errGone is the error of a trial whose input has ended, which means that the lab (the program that
// started the worker) has exited.
var errGone = errors.New("the lab has gone")

// shutdownGrace is how long pending requests may take when a server stops.
const shutdownGrace = 5 * time.Second

// obey runs a trial that waits for orders of the lab. It reads the orders from the reader "in", one
// per line. The end of the input means that the lab has exited, so obey then gives up the trial.
func (t *trial) obey(ctx context.Context, in *bufio.Reader, abandon func()) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	orders := make(chan string)
	t.orders = orders
	go func() {
		defer close(orders)
		for {
			line, err := in.ReadBytes('\n')
			if err != nil {
				t.giveUp(err, cancel, abandon)
				return
			}
			var req protocol.Request
			if err := json.Unmarshal(line, &req); err != nil {
				req.Type = string(line)
			}
			select {
			case orders <- req.Type:
			case <-ctx.Done():
				return
			}
		}
	}()
	return t.serve(ctx)
}

// giveUp ends a trial because its input has ended with err, which means that the lab has gone. It
// cancels the trial's context. If the driver is a [driver.Leaver], it calls Leave. Unless the trial
// has ended already, it also removes the database and calls the function "abandon".
func (t *trial) giveUp(err error, cancel context.CancelCauseFunc, abandon func()) {
	cancel(fmt.Errorf("%w: %w", errGone, errors.Join(err, io.EOF)))
	if l, ok := t.drv.(driver.Leaver); ok {
		if err := l.Leave(); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
	}
	if t.disown(true) {
		abandon()
	}
}

// order waits for the next order of the lab. It returns an error if the type of the order is not
// the one in the parameter "want".
func (t *trial) order(ctx context.Context, want string) error {
	select {
	case got, ok := <-t.orders:
		switch {
		case !ok:
			return errGone
		case got != want:
			return failf(protocol.CodeProtocol, "order %.40q: want %s", got, want)
		}
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// meet sends the lab a response about a mix in several processes. The parameter "at" is the type of
// the response. Then meet waits for the lab's order, which must have the type in the parameter
// "order".
func (t *trial) meet(ctx context.Context, phase, at, order string) error {
	if err := t.out.send(protocol.Response{Type: at, Phase: phase}); err != nil {
		return err
	}
	return t.order(ctx, order)
}

// typedRequests is the maximum number of requests of an http phase that are executed before the
// load begins, to check the types of their answers.
const typedRequests = 1000

// checkRequests checks the types of the answers to the first requests of an http phase.
func (t *trial) checkRequests(ctx context.Context, p *plan.Phase) error {
	if t.req.TypesKnown {
		return nil
	}
	h, n := p.HTTP, typedRequests
	if h.Count > 0 {
		n = int(min(h.Count, typedRequests))
	}
	if len(h.Parameters) == 0 {
		n = 1 // all requests are the same
	}
	b, err := t.parameters(p, h.Parameters, "", n)
	if err != nil {
		return err
	}
	return checkTypes(ctx, t.db, &h.Call, b, n)
}

// http runs the server of one http phase. It measures the resources that the server uses
// between the orders to begin and to stop. The clients, in the lab, measure the latencies.
func (t *trial) http(ctx context.Context, p *plan.Phase, s *protocol.Sample, w *Stopwatch) (err error) {
	def := p.HTTP
	var stmt driver.Stmt
	if def.SQL != "" {
		if stmt, err = t.db.Prepare(ctx, statement(&def.Call)); err != nil {
			return fmt.Errorf("preparing: %w", err)
		}
		defer func() { err = errors.Join(err, stmt.Close()) }()
		if err := t.checkRequests(ctx, p); err != nil {
			return err
		}
	}
	if err := t.forget(ctx, p); err != nil {
		return err
	}
	own := context.WithoutCancel(ctx)
	if p.Context == "cancellable" {
		own = nil
	}
	handler := httpserver.New(own, def, stmt)
	l, err := httpserver.Listen(cmp.Or(t.req.Listen, httpserver.Anywhere))
	if err != nil {
		return failf(protocol.CodeListen, "%w", err)
	}
	server := &http.Server{Handler: handler}
	served := make(chan error, 1)
	go func() { served <- server.Serve(l) }()
	defer func() {
		ctx, cancel := context.WithTimeout(context.Background(), shutdownGrace)
		defer cancel()
		if serr := server.Shutdown(ctx); serr != nil {
			server.Close()
			if err == nil {
				err = failf(protocol.CodeHTTP, "requests under way %v after the load had ended", shutdownGrace)
			}
		}
		if serr := <-served; !errors.Is(serr, http.ErrServerClosed) && err == nil {
			err = failf(protocol.CodeHTTP, "%w", serr)
		}
	}()
	if err := t.out.send(protocol.Response{Type: protocol.TypeListening, Phase: p.Name, Address: l.Addr().String()}); err != nil {
		return err
	}
	if err := t.order(ctx, protocol.TypeBegin); err != nil {
		return err
	}
	handler.Reset()
	w.Start()
	if err := t.out.send(protocol.Response{Type: protocol.TypeBegun, Phase: p.Name}); err != nil {
		return err
	}
	if err := t.order(ctx, protocol.TypeStop); err != nil {
		return err
	}
	w.Stop()
	s.Operations, s.Rows, s.Errors = handler.Counts()
	for _, e := range s.Errors {
		s.Failed += e.Count
	}
	if s.Operations == 0 {
		return failf(protocol.CodeNoOperation, "no request came between the orders to begin and to stop")
	}
	return nil
}
