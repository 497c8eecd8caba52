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

// mixChunk is the number of operations for which a client generates parameters at a time.
const mixChunk = 1 << 13

// mixClient is one client of a mix. Operation number k of the phase is done by the client whose id
// is k modulo the number of clients. The i-th execution of an operation by a client has the number
// id + i*clients, which decides its parameters. So neither the client nor the parameters of an
// execution depend on timing.
type mixClient struct {
	gen     *plan.Gen
	mix     *plan.Mix
	stream  string
	id      int64 // number of the client, from 0
	clients int64
	borrows bool // another client owns the statements and closes them
	runner  driver.Runner
	reader  driver.Runner // the runner of operations that only read
	conns   []driver.Conn // the client's own connections; empty if each operation takes a connection from a pool
	ops     []mixOp

	order []uint8 // the operations of the current chunk (see mixChunk), as indexes into ops
	took  []int64 // latency in ns of each operation that has ended in the current chunk
	next  int64   // number of the client's operations up to the end of the chunk

	mutex   *sync.Mutex // the application's mutex, which all clients share
	writing bool        // true if the client must hold the mutex around each operation that may write
	retries int64

	atMutex, backedOff protocol.Wait

	state *clientState // what the client is doing, for runPatiently; nil if the mix's PatienceMS is 0
	turn  *clientTurn  // pauses the mix after each slice (a part of the mix), so that other trials can run; nil if the mix is measured in one piece

	elapsed int64 // time in ns from the beginning to the end of the last operation, without the time for generating parameters
	user    int64 // CPU time in ns for generating parameters, outside the kernel
	system  int64 // CPU time in ns for generating parameters, in the kernel
	counted count // instructions executed for generating parameters
	counter *counter
	rows    int64
	count   func(driver.Row) error // adds 1 to the field rows; made once, because a closure per operation would be an allocation
	err     error

	// Counts of operations that ended with an error, by the error's code. The field "errors" counts
	// the operations that failed. The field "results" counts the operations that declare the error
	// as their result.
	errors, results protocol.ErrorCounts
	primaryOnly     bool // the driver reports primary codes only
}

// maxHistograms is the maximum number of histograms that the clients of a phase have together.
const maxHistograms = 256

// mixOp is an operation of the mix as one client runs it, with the parameters of one chunk of
// operations (see [mixChunk]). The fields that an execution needs come first, so that they share
// few cache lines (see [mixCall]).
type mixOp struct {
	runner  driver.Runner // the runner that prepared the statements
	query   *mixCall      // the only statement, if the operation is a query without transaction, mutex, timeout or IfEmpty; otherwise nil
	calls   []mixCall
	row     int   // number of the row of parameters that the next execution takes
	done    int64 // executions so far, however they ended
	plainTx bool  // true if the operation is a transaction without mutex or timeout
	mutex   bool  // true if the client must hold the mutex around each attempt at the operation
	early   int64 // executions that ended early because a statement returned no rows
	failed  int64
	chunk   int // executions of the operation in the current chunk
	latency latency.Recorder
	made    int64 // executions whose parameters have been generated, including the executions of this chunk
	*plan.Operation
}

// mixCall is a statement of an operation as one client runs it. The fields that an execution needs
// are next to each other, so that they share few cache lines. While SQLite runs, it pushes most of
// the worker's data out of the processor's fastest cache.
type mixCall struct {
	stmt      driver.Stmt
	batch     *driver.Batch     // the parameters of all executions in the current chunk; nil if the statement has none
	types     *driver.TypeCheck // checks the types of results; set only during verification
	reads     bool              // the statement returns rows
	another   bool              // the statement runs outside the operation's transaction, on another connection
	exclusive bool              // the client holds the mutex around the statement
	ends      bool              // the operation ends if the statement returns no rows
	want      int64             // expected number of rows; -1 if not known
	*plan.MixCall
}

// mixClient returns a client that has no connection, no statements and no operations yet.
func (t *trial) mixClient(p *plan.Phase, m *plan.Mix) *mixClient {
	_, primaryOnly := t.drv.Info().Limit("codes", "extended")
	return &mixClient{gen: t.gen, mix: m, stream: p.Name, clients: 1, errors: protocol.ErrorCounts{}, results: protocol.ErrorCounts{}, primaryOnly: primaryOnly,
		writing: t.req.Settings["write_mutex"] == "on"}
}

func (t *trial) mix(ctx context.Context, p *plan.Phase, s *protocol.Sample, w *Stopwatch) (err error) {
	m := p.Mix
	if s.Checksum, err = t.beforeMix(ctx, p); err != nil {
		return err
	}
	processes := t.req.Settings.Processes()
	clients, latencies, err := t.mixClients(ctx, p)
	defer func() {
		for _, c := range clients {
			err = errors.Join(err, c.close())
		}
	}()
	if err != nil {
		return err
	}
	var states []*clientState
	var names []string
	if m.PatienceMS > 0 {
		for _, c := range clients {
			c.state = &clientState{}
			states = append(states, c.state)
		}
		for i := range m.Operations {
			names = append(names, m.Operations[i].Name)
		}
	}

	if m.GOMAXPROCS > 0 {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(m.GOMAXPROCS))
	}
	if t.wal && t.req.Process == 0 {
		log := watchWAL(t.req.Path)
		defer func() { s.WALRestarts = log.restarts() }()
	}
	if processes > 1 {
		w.prepare() // prepare the stopwatch before the order to begin, because after the order other processes may already use the database
		if err := t.meet(ctx, p.Name, protocol.TypePrepared, protocol.TypeBegin); err != nil {
			return err
		}
	}
	var turns *clientTurns
	if processes == 1 && m.Rate == 0 {
		turns = newClientTurns(ctx, t.slicing(p, w), len(clients))
	}
	for _, c := range clients {
		c.turn = turns.client(-1)
	}
	all := clients
	forConnections := t.countWaits()
	w.Start()
	if processes > 1 {
		s.BeganUS = time.Now().UnixMicro()
	}
	begin := now()
	if turns != nil {
		turns.began = begin
	}
	if err := runClients(len(all), func(i int) { all[i].err = all[i].run(ctx, begin) }, states, names, begin, m.PatienceMS); err != nil {
		clients = nil // the clients still run, so they cannot be closed
		return err
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
	if turns != nil {
		s.ColdNS = turns.cold()
	}
	if err := collect(clients, latencies, s); err != nil {
		return err
	}
	if processes > 1 {
		// Until all processes have done their shares of the mix, the statements after the mix could
		// fail because of locks. So this process waits for the order to stop.
		return t.meet(ctx, p.Name, protocol.TypeShared, protocol.TypeStop)
	}
	if s.Operations == s.Failed {
		return failf(protocol.CodeNoOperation, "not one operation of the mix succeeded: %v", s.Errors)
	}
	return nil
}

// beforeMix verifies the operations of a mix and empties the caches if they must be cold. It must
// be called before the clients take connections. It returns the checksum of the operations'
// results.
func (t *trial) beforeMix(ctx context.Context, p *plan.Phase) (checksum string, err error) {
	if err := t.canRun(p.Mix); err != nil {
		return "", err
	}
	if t.req.Process == 0 {
		if checksum, err = t.verifyMix(ctx, p); err != nil {
			return "", err
		}
	}
	return checksum, t.forget(ctx, p)
}

// mixClients returns this process's clients, ready to run, and the latencies of each operation.
// The caller must close the clients, even after an error.
func (t *trial) mixClients(ctx context.Context, p *plan.Phase) (clients []*mixClient, latencies []*latency.Shared, err error) {
	m := p.Mix
	first, end := m.Share(t.req.Process, t.req.Settings.Processes())
	for range m.Operations {
		latencies = append(latencies, latency.NewShared(end-first, maxHistograms/len(m.Operations)))
	}
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
			return clients, nil, err
		}
		c.reader = c.runner
		if t.readers != nil {
			if c.reader, err = c.from(ctx, t.readers); err != nil {
				return clients, nil, err
			}
		}
		if err = c.prepare(ctx, shared, statement); err != nil {
			return clients, nil, err
		}
		for j := range c.ops {
			c.ops[j].latency = latencies[j].Recorder(id-first, end-first)
		}
		if !m.OwnConn {
			shared = c.ops
		}
		if err = c.fill(); err != nil {
			return clients, nil, err
		}
	}
	return clients, latencies, nil
}

// canRun returns an error if the mix reads in transactions and the driver's transactions cannot
// read.
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

// The method "from" returns the [driver.Runner] that runs the client's statements on a pool. If the
// client keeps its connections, the runner is a connection of the pool. Otherwise it is the pool
// itself.
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

// collect adds up the measurements of all clients. It writes the sums to s.
func collect(clients []*mixClient, latencies []*latency.Shared, s *protocol.Sample) error {
	failed, results := protocol.ErrorCounts{}, protocol.ErrorCounts{}
	atMutex, backedOff := protocol.Wait{For: protocol.WaitMutex}, protocol.Wait{For: protocol.WaitRetry}
	for _, c := range clients {
		if c.err != nil {
			return c.err
		}
		s.Rows += c.rows
		s.Retries += c.retries
		atMutex.Add(c.atMutex.Count, c.atMutex.WaitNS)
		backedOff.Add(c.backedOff.Count, c.backedOff.WaitNS)
		failed.Merge(c.errors)
		results.Merge(c.results)
		if c.mix.DurationMS > 0 {
			s.Clients = append(s.Clients, c.succeeded())
		}
	}
	s.Errors, s.Results = failed.List(), results.List()
	if clients[0].locks() {
		s.Waits = append(s.Waits, atMutex)
	}
	if clients[0].mix.Retry != nil {
		s.Waits = append(s.Waits, backedOff)
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

// prepare fills c.ops. If the parameter "shared" is nil, it prepares the statements. Otherwise it
// uses the statements of "shared", which are the operations of another client on the same pool.
func (c *mixClient) prepare(ctx context.Context, shared []mixOp, as func(*plan.Call) driver.Statement) error {
	for i := range c.mix.Operations {
		o := &c.mix.Operations[i]
		c.ops = append(c.ops, mixOp{Operation: o, runner: c.runner, mutex: c.mix.Mutex || o.Mutex || c.writing && !o.Reads})
		op := &c.ops[i]
		if o.Reads {
			op.runner = c.reader
		}
		for j := range o.Calls {
			call := mixCall{MixCall: &o.Calls[j], reads: len(o.Calls[j].Columns) > 0, want: o.Calls[j].Rows, another: o.Calls[j].Another, exclusive: o.Calls[j].Mutex, ends: o.Calls[j].IfEmpty != ""}
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
		op.plainTx = op.Transaction && !op.mutex && op.TimeoutMS == 0
		if call := &op.calls[0]; len(op.calls) == 1 && call.reads && !call.ends && op.TimeoutMS == 0 && !op.Transaction && !op.mutex && !call.exclusive {
			op.query = call
		}
	}
	return nil
}

func (c *mixClient) close() (err error) {
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

// number returns the number of the client's operation j among all operations of the phase. The
// parameter j and the result are counted from 0.
func (c *mixClient) number(j int64) int64 { return c.id + j*c.clients }

// fill chooses the operations of the next chunk and generates their parameters.
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
