package worker

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/latency"
	"github.com/sqlite3perf/sqlite3perf/worker/plan"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// mixChunk is the number of operations for which a client makes parameters at a time.
const mixChunk = 1 << 13

// mixClient is one client of a mix. Client k mod clients does operation number k of
// the phase, and the client's i-th execution of an operation has the number
// id + i*clients. So neither depends on timing.
type mixClient struct {
	gen     *plan.Gen
	mix     *plan.Mix
	stream  string
	id      int64 // from 0
	clients int64
	borrows bool // the statements are another client's
	runner  driver.Runner
	reader  driver.Runner // for operations that only read
	conns   []driver.Conn // none if each operation takes one from a pool
	ops     []mixOp

	order []uint8 // the chunk's operations, as indexes of ops
	took  []int64 // latency in ns of each of the chunk's operations so far
	next  int64   // number, among the client's operations, of the first one after the chunk

	mutex   *sync.Mutex // the application's, shared by all clients
	writing bool        // the mutex is held around each operation that may write
	retries int64

	atMutex, backedOff waits

	state *clientState // nil unless there is a limit to patience

	elapsed int64 // time in ns from the beginning to the last operation, without making parameters
	user    int64 // CPU time in ns that making parameters took meanwhile
	system  int64 // likewise
	counted count // instructions, likewise
	counter *counter
	rows    int64
	count   func(driver.Row) error // made once, since a closure per operation would be an allocation
	err     error

	// Operations that ended with an error, by its code: those that failed, and
	// those that declare the error as their result.
	errors, results protocol.ErrorCounts
	primaryOnly     bool // the driver reports primary codes only
}

// maxHistograms is how many histograms the clients of a phase have in total.
const maxHistograms = 256

// mixOp is one of the weighted operations with the parameters of a chunk.
type mixOp struct {
	*plan.Operation
	runner  driver.Runner // prepared its statements
	mutex   bool          // is held around each attempt
	query   *mixCall      // set if the operation is only this query, with nothing around it
	calls   []mixCall
	row     int // the row of the next execution within the chunk
	chunk   int // executions in the chunk
	latency latency.Recorder
	failed  int64
	done    int64 // executions, however they ended
	early   int64 // executions ended by a statement without rows
	made    int64 // executions whose parameters have been made, including this chunk's
}

// mixCall keeps side by side what an execution needs. After SQLite has run, the
// nearest cache holds little else, and every cache line counts.
type mixCall struct {
	stmt      driver.Stmt
	batch     *driver.Batch     // nil if there are no parameters
	types     *driver.TypeCheck // set during verification
	reads     bool              // the result has columns
	exclusive bool              // runs under the mutex
	ends      bool              // ends the operation if it returns no rows
	want      int64             // expected rows; -1 if not known
	*plan.MixCall
}

// mixClient returns a client without a connection, statements and operations.
func (t *trial) mixClient(p *plan.Phase, m *plan.Mix) *mixClient {
	_, primaryOnly := t.drv.Info().Limit("codes", "extended")
	return &mixClient{gen: t.gen, mix: m, stream: p.Name, clients: 1, errors: protocol.ErrorCounts{}, results: protocol.ErrorCounts{}, primaryOnly: primaryOnly,
		writing: t.req.Settings["write_mutex"] == "on"}
}

func (t *trial) mix(ctx context.Context, p *plan.Phase, s *protocol.Sample, w *Stopwatch) (err error) {
	m := p.Mix
	if err := t.canRun(m); err != nil {
		return err
	}
	if t.req.Process == 0 {
		if s.Checksum, err = t.verifyMix(ctx, p); err != nil {
			return err
		}
	}
	processes := t.req.Settings.Processes()
	first, end := m.Share(t.req.Process, processes)
	latencies := make([]*latency.Shared, len(m.Operations))
	for i := range latencies {
		latencies[i] = latency.NewShared(end-first, max(1, maxHistograms/len(latencies)))
	}
	clients := make([]*mixClient, 0, end-first)
	defer func() {
		for _, c := range clients {
			err = errors.Join(err, c.close())
		}
	}()
	var mutex sync.Mutex
	var shared []mixOp
	for id := first; id < end; id++ {
		c := t.mixClient(p, m)
		c.id, c.clients, c.mutex = int64(id), int64(m.Clients), &mutex
		c.borrows = shared != nil
		c.counter = t.counter
		c.count = func(driver.Row) error { c.rows++; return nil }
		clients = append(clients, c)
		if c.runner, err = c.from(ctx, t.db); err != nil {
			return err
		}
		c.reader = c.runner
		if t.readers != nil {
			if c.reader, err = c.from(ctx, t.readers); err != nil {
				return err
			}
		}
		if err = c.prepare(ctx, shared, statement); err != nil {
			return err
		}
		for j := range c.ops {
			c.ops[j].latency = latencies[j].Recorder(id-first, end-first)
		}
		if !m.OwnConn {
			shared = c.ops
		}
		if err = c.fill(); err != nil {
			return err
		}
	}

	if m.GOMAXPROCS > 0 {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(m.GOMAXPROCS))
	}
	var wg sync.WaitGroup
	if t.wal && t.req.Process == 0 {
		log := watchWAL(t.req.Path)
		defer func() { s.WALRestarts = log.restarts() }()
	}
	if processes > 1 {
		if err := t.meet(ctx, p.Name, protocol.TypePrepared, protocol.TypeBegin); err != nil {
			return err
		}
	}
	forConnections := t.countWaits()
	w.Start()
	if processes > 1 {
		s.BeganUS = time.Now().UnixMicro()
	}
	begin := now()
	if m.PatienceMS > 0 {
		var states []*clientState
		for _, c := range clients {
			c.state = &clientState{}
			states = append(states, c.state)
		}
		var names []string
		for i := range m.Operations {
			names = append(names, m.Operations[i].Name)
		}
		all := clients
		one := func(i int) { all[i].err = all[i].run(ctx, begin) }
		if err := runPatiently(states, one, names, begin, time.Duration(m.PatienceMS)*time.Millisecond); err != nil {
			clients = nil // they still run
			return err
		}
	} else {
		for _, c := range clients[1:] {
			wg.Go(func() { c.err = c.run(ctx, begin) })
		}
		clients[0].err = clients[0].run(ctx, begin)
		wg.Wait()
	}
	w.Stop()
	s.Waits = forConnections()
	w.wall = 0
	for _, c := range clients {
		w.wall = max(w.wall, c.elapsed)
		w.user -= c.user
		w.system -= c.system
		w.counted.subtract(c.counted)
	}
	if err := collect(clients, latencies, s); err != nil {
		return err
	}
	if processes > 1 {
		// Until all have done their shares, locks could fail what follows.
		return t.meet(ctx, p.Name, protocol.TypeShared, protocol.TypeStop)
	}
	if s.Operations == s.Failed {
		return failf(protocol.CodeNoOperation, "not one operation of the mix succeeded: %v", s.Errors)
	}
	return nil
}

// canRun refuses a mix that reads in transactions, if the driver's cannot read.
func (t *trial) canRun(m *plan.Mix) error {
	why, limited := t.drv.Info().Limit("transactions", "reads")
	for i := range m.Operations {
		o := &m.Operations[i]
		if limited && o.Transaction && slices.ContainsFunc(o.Calls, func(c plan.MixCall) bool { return len(c.Columns) > 0 || c.IfEmpty != "" }) {
			return failf(protocol.CodeUnsupported, "operation %s reads in a transaction, and %s", o.Name, why)
		}
	}
	return nil
}

// from returns what runs statements in a pool: the pool itself or, if the client keeps its
// connections, one of them.
func (c *mixClient) from(ctx context.Context, pool driver.DB) (driver.Runner, error) {
	if !c.mix.OwnConn {
		return pool, nil
	}
	conn, err := pool.Conn(ctx)
	if err == nil {
		c.conns = append(c.conns, conn)
	}
	return conn, err
}

// collect adds up what the clients have measured.
func collect(clients []*mixClient, latencies []*latency.Shared, s *protocol.Sample) error {
	failed, results := protocol.ErrorCounts{}, protocol.ErrorCounts{}
	var atMutex, backedOff waits
	for _, c := range clients {
		if c.err != nil {
			return c.err
		}
		s.Rows += c.rows
		s.Retries += c.retries
		atMutex.merge(c.atMutex)
		backedOff.merge(c.backedOff)
		failed.Merge(c.errors)
		results.Merge(c.results)
		if c.mix.DurationMS > 0 {
			s.Clients = append(s.Clients, c.succeeded())
		}
	}
	s.Errors, s.Results = failed.List(), results.List()
	if clients[0].locks() {
		s.Waits = append(s.Waits, protocol.Wait{For: protocol.WaitMutex, Count: atMutex.count, WaitNS: atMutex.ns})
	}
	if clients[0].mix.Retry != nil {
		s.Waits = append(s.Waits, protocol.Wait{For: protocol.WaitRetry, Count: backedOff.count, WaitNS: backedOff.ns})
	}
	for i, op := range clients[0].ops {
		for _, c := range clients[1:] {
			op.failed += c.ops[i].failed
			op.early += c.ops[i].early
		}
		h := latencies[i].Histogram()
		l := protocol.Latency{Operation: op.Name, Count: h.Count(), Failed: op.failed, EndedEarly: op.early, Histogram: h.Encode()}
		s.Latency = append(s.Latency, l)
		s.Operations += l.Count
		s.Failed += l.Failed
	}
	return nil
}

// succeeded returns how many operations of the client did not fail.
func (c *mixClient) succeeded() (n int64) {
	for i := range c.ops {
		n += c.ops[i].done - c.ops[i].failed
	}
	return n
}

// prepare prepares the statements, or takes them from a client that uses the same
// pool.
func (c *mixClient) prepare(ctx context.Context, shared []mixOp, as func(*plan.Call) driver.Statement) error {
	for i := range c.mix.Operations {
		o := &c.mix.Operations[i]
		c.ops = append(c.ops, mixOp{Operation: o, runner: c.runner, mutex: c.mix.Mutex || o.Mutex || c.writing && !o.Reads})
		op := &c.ops[i]
		if o.Reads && c.reader != nil {
			op.runner = c.reader
		}
		for j := range o.Calls {
			call := mixCall{MixCall: &o.Calls[j], reads: len(o.Calls[j].Columns) > 0, want: o.Calls[j].Rows, exclusive: o.Calls[j].Mutex, ends: o.Calls[j].IfEmpty != ""}
			if len(call.Parameters) > 0 {
				call.batch = &driver.Batch{PerExec: 1}
			}
			if shared != nil {
				call.stmt = shared[i].calls[j].stmt
			} else {
				var err error
				if call.stmt, err = op.runner.Prepare(ctx, as(&call.Call)); err != nil {
					return fmt.Errorf("preparing %w", &operationError{o.Name, err})
				}
			}
			op.calls = append(op.calls, call)
		}
		if call := &op.calls[0]; len(op.calls) == 1 && call.reads && !call.ends && op.TimeoutMS == 0 && !op.Transaction && !op.mutex && !call.exclusive {
			op.query = call
		}
	}
	return nil
}

func (c *mixClient) close() error {
	var err error
	if !c.borrows {
		for _, op := range c.ops {
			for _, call := range op.calls {
				if call.types != nil {
					err = errors.Join(err, call.types.Close())
				}
				err = errors.Join(err, call.stmt.Close())
			}
		}
	}
	for _, conn := range c.conns {
		err = errors.Join(err, conn.Close())
	}
	return err
}

// number returns the number within the phase of the client's j-th operation.
func (c *mixClient) number(j int64) int64 { return c.id + j*c.clients }

// fill chooses the operations of the next chunk and makes their parameters.
func (c *mixClient) fill() error {
	n := int64(mixChunk)
	if c.mix.Count > 0 {
		own := (c.mix.Count - c.id + c.clients - 1) / c.clients
		n = max(min(n, own-c.next), 0)
	}
	c.order = c.gen.Order(c.order[:0], c.stream, c.mix.Operations, c.number(c.next), c.clients, int(n))
	c.next += n
	c.took = slices.Grow(c.took, len(c.order))
	for i := range c.ops {
		c.ops[i].chunk, c.ops[i].row = 0, 0
	}
	for _, i := range c.order {
		c.ops[i].chunk++
	}
	for i := range c.ops {
		op := &c.ops[i]
		first := c.number(op.made)
		op.made += int64(op.chunk)
		for j := range op.calls {
			call := &op.calls[j]
			if call.batch == nil {
				continue
			}
			if err := c.gen.FillParameters(call.batch, c.stream+"."+op.Name, call.Parameters, "", first, c.clients, op.chunk); err != nil {
				return &failure{protocol.CodePlan, err}
			}
		}
	}
	return nil
}

// run does the client's operations, beginning at the time begin. Its time is stopped
// while it makes parameters: begin, and what depends on it, moves forward.
func (c *mixClient) run(ctx context.Context, begin int64) error {
	deadline := int64(1<<63 - 1)
	if c.mix.DurationMS > 0 {
		deadline = begin + c.mix.DurationMS*1e6
	}
	rate, j := c.mix.Rate, int64(0)
	start := begin
	for len(c.order) > 0 {
		for _, i := range c.order {
			if rate > 0 {
				start = begin + int64(float64(c.number(j))/rate*1e9)
				if start < deadline {
					waitUntil(start)
				}
			}
			if start >= deadline {
				c.record()
				return nil
			}
			op := &c.ops[i]
			var err error
			var early bool
			if c.state != nil {
				c.state.begins(int(i), start)
			}
			if q := op.query; q != nil { // avoids a stack frame that would be cold when SQLite returns
				before := c.rows
				if err = q.stmt.Query(ctx, q.batch, op.row, c.count); err == nil && q.want >= 0 && c.rows-before != q.want {
					err = q.mismatch(c.rows - before)
				}
			} else if op.TimeoutMS > 0 {
				early, err = c.limited(ctx, op, op.row)
			} else {
				early, err = c.attempt(ctx, op, op.row)
			}
			if err != nil && c.mix.Retry != nil && op.TimeoutMS == 0 {
				early, err = c.retry(ctx, op, op.row, err)
			}
			end := now()
			if c.state != nil {
				c.state.ends(end)
			}
			c.elapsed = end - begin
			op.row++
			op.done++
			j++
			took := end - start
			switch {
			case err != nil:
				if err := c.ended(op, err, took); err != nil {
					return &operationError{op.Name, err}
				}
			case early:
				op.early++
			}
			c.took = append(c.took, took)
			start = end
		}
		if err := c.refill(); err != nil {
			return err
		}
		pause := now() - start
		start += pause
		begin += pause
		if c.mix.DurationMS > 0 {
			deadline += pause
		}
	}
	return nil
}

// refill does the work between two chunks. It notes the CPU time and the instructions
// that this takes, if the system reports them.
func (c *mixClient) refill() error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	user, system := threadCPU()
	counted := c.counter.thread()
	c.record()
	err := c.fill()
	c.counted.add(counted())
	u, s := threadCPU()
	c.user += u - user
	c.system += s - system
	return err
}

// record moves the latencies of the chunk to the histograms, while the client's
// time is stopped.
func (c *mixClient) record() {
	for i, ns := range c.took {
		c.ops[c.order[i]].latency.Record(ns)
	}
	c.took = c.took[:0]
}

// attempt does an operation with row r of its parameters, under the mutex if the
// mix or the operation asks for it. It reports whether a statement without rows
// ended the operation.
func (c *mixClient) attempt(ctx context.Context, op *mixOp, r int) (early bool, err error) {
	if op.mutex {
		c.lock()
	}
	if op.Transaction {
		early, err = c.transaction(ctx, op, r)
	} else {
		var last *mixCall
		last, err = c.calls(ctx, op, nil, r)
		early = last != nil
	}
	if op.mutex {
		c.mutex.Unlock()
	}
	return early, err
}

// limited does an operation whose context ends after its timeout. It is canceled if it ends
// with the context's error, or if a lock fails it after its timeout: some libraries end the
// wait as if it had been in vain.
func (c *mixClient) limited(ctx context.Context, op *mixOp, r int) (early bool, err error) {
	timeout := time.Duration(op.TimeoutMS) * time.Millisecond
	began := now()
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	early, err = c.attempt(ctx, op, r)
	if err != nil && c.mix.Retry != nil {
		early, err = c.retry(ctx, op, r, err)
	}
	if err != nil && (canceled(err) || locked(err) && now()-began >= int64(timeout)) {
		err = &driver.Error{Code: driver.CodeCanceled, Err: err}
	}
	return early, err
}

// canceled reports whether an error says that something was ended before its time.
func canceled(err error) bool {
	e, ok := errors.AsType[*driver.Error](err)
	return ok && e.Primary() == driver.CodeInterrupt || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)
}

// locked reports whether a lock explains an error.
func locked(err error) bool {
	code, _ := lockCode(err)
	return code != 0
}

// retry repeats an operation as long as it fails because of a lock, its context has not
// ended, and the policy has attempts left.
func (c *mixClient) retry(ctx context.Context, op *mixOp, r int, err error) (early bool, _ error) {
	backoff := time.Duration(c.mix.Retry.BackoffUS) * time.Microsecond
	for range c.mix.Retry.Attempts - 1 {
		if !locked(err) {
			return false, err
		}
		began, in := now(), true
		if op.TimeoutMS == 0 {
			time.Sleep(backoff)
		} else {
			in = sleep(ctx, backoff)
		}
		c.backedOff.add(now() - began)
		if !in {
			return false, err
		}
		backoff = min(2*backoff, time.Hour)
		c.retries++
		if early, err = c.attempt(ctx, op, r); err == nil {
			return early, nil
		}
	}
	return false, err
}

// sleep sleeps for d. It reports whether the deadline of ctx has not come by then.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		deadline, _ := ctx.Deadline()
		return time.Now().Before(deadline)
	case <-ctx.Done():
		return false
	}
}

// ended counts an operation that ended with an error. It counts as failed if a lock
// explains the error or its timeout does, and as a success if the operation declares the error as a
// result. Any other error is returned.
func (c *mixClient) ended(op *mixOp, err error, took int64) error {
	var e *driver.Error
	switch {
	case !errors.As(err, &e):
		return err
	case locked(err), e.Code == driver.CodeCanceled:
		op.failed++
		c.errors.Add(e.Code, 1, took)
	case op.IsResult(e.Code, c.primaryOnly):
		c.results.Add(e.Code, 1, took)
	default:
		return undeclared(err)
	}
	return nil
}

// undeclared adds, to an error that could be a result of an operation, how to declare
// it.
func undeclared(err error) error {
	if e, ok := errors.AsType[*driver.Error](err); ok && driver.MayBeResult(e.Code) {
		return fmt.Errorf("%w (an operation that may end so declares it: results: [%s])", err, driver.CodeName(e.Code))
	}
	return err
}

func (c *mixClient) transaction(ctx context.Context, op *mixOp, r int) (early bool, err error) {
	tx, err := op.runner.Begin(ctx)
	if err != nil {
		return false, err
	}
	last, err := c.calls(ctx, op, tx, r)
	switch {
	case err != nil:
		_ = tx.Rollback(ctx) // SQLite may have rolled back already; err says why
		return false, err
	case last != nil && last.IfEmpty == plan.EmptyRollback:
		return true, tx.Rollback(ctx)
	}
	if err := tx.Commit(ctx); err != nil {
		_ = tx.Rollback(ctx)
		return false, err
	}
	return last != nil, nil
}

// calls runs an operation's statements, within tx unless that is nil. If a statement
// ended the operation early, because it returned no rows, calls returns it.
func (c *mixClient) calls(ctx context.Context, op *mixOp, tx driver.Tx, r int) (last *mixCall, err error) {
	for i := range op.calls {
		call := &op.calls[i]
		stmt := call.stmt
		if tx != nil && !call.Another {
			var err error
			if stmt, err = tx.Stmt(ctx, stmt); err != nil {
				return nil, err
			}
		}
		before := c.rows
		if call.exclusive {
			c.lock()
		}
		err := c.call(ctx, call, stmt, r)
		if call.exclusive {
			c.mutex.Unlock()
		}
		if err != nil {
			return nil, err
		}
		if call.ends && c.rows == before {
			return call, nil
		}
	}
	return nil, nil
}

// call runs one statement with row r of its parameters. stmt is the statement as it
// was prepared where it runs.
func (c *mixClient) call(ctx context.Context, call *mixCall, stmt driver.Stmt, r int) error {
	if !call.reads {
		return stmt.Exec(ctx, call.batch, r, r+1)
	}
	before := c.rows
	err := stmt.Query(ctx, call.batch, r, c.count)
	if err == nil {
		err = call.check(c.rows - before)
	}
	return err
}

// check compares the number of rows with the expected number. No rows are correct too
// if that ends the operation.
func (c *mixCall) check(rows int64) error {
	if c.want < 0 || rows == c.want || c.ends && rows == 0 {
		return nil
	}
	return c.mismatch(rows)
}

func (c *mixCall) mismatch(rows int64) error {
	return failf(protocol.CodeRows, "%s returned %d rows, expected %d", c.SQL, rows, c.Rows)
}
