package worker

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/latency"
	"github.com/sqlite3perf/sqlite3perf/worker/plan"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// queryClient is one goroutine of a query phase. It has its own connection.
type queryClient struct {
	conn    driver.Conn
	stmt    driver.Stmt
	rows    int64
	latency *latency.Recorder // nil if there is only one execution
	turn    *clientTurn       // pauses the phase after each slice (a part of the phase), so that other trials can run; nil if the phase is measured in one piece
	byRow   *rowTurns         // divides single executions into slices; nil if there are several executions or clients
	err     error
}

// statement converts a call of the plan to a statement for the driver.
func statement(c *plan.Call) driver.Statement {
	st := driver.Statement{SQL: c.SQL, Columns: c.Columns, AdHoc: c.AdHoc}
	for _, p := range c.Parameters {
		st.Params = append(st.Params, p.Type)
	}
	return st
}

// verified returns the statement that is prepared to verify a call. It declares all columns as
// nullable, because otherwise only some drivers would detect a NULL in a column that the call
// declares as not nullable.
func verified(c *plan.Call) driver.Statement {
	st := statement(c)
	st.Columns = slices.Clone(st.Columns)
	for i := range st.Columns {
		st.Columns[i].Nullable = true
	}
	return st
}

func (t *trial) query(ctx context.Context, p *plan.Phase, s *protocol.Sample, w *Stopwatch) (err error) {
	q := p.Query
	batch, n, err := t.queryParameters(p)
	if err != nil {
		return err
	}
	clients := make([]*queryClient, 0, q.Clients)
	defer func() {
		for _, c := range clients {
			if c.stmt != nil {
				err = errors.Join(err, c.stmt.Close())
			}
			err = errors.Join(err, c.conn.Close())
		}
	}()
	all := latency.NewShared(q.Clients, maxHistograms)
	for i := range q.Clients {
		conn, err := t.db.Conn(ctx)
		if err != nil {
			return err
		}
		c := &queryClient{conn: conn}
		clients = append(clients, c)
		if c.stmt, err = conn.Prepare(ctx, statement(&q.Call)); err != nil {
			return fmt.Errorf("preparing the query: %w", err)
		}
		if int64(n)*q.Repeat > 1 {
			r := all.Recorder(i, q.Clients)
			c.latency = &r
		}
	}

	single := int64(n)*q.Repeat == 1
	var turns *clientTurns
	var rows *rowTurns
	switch {
	case !single:
		turns = newClientTurns(ctx, t.slicing(p, w), q.Clients)
	case q.Clients == 1:
		rows = newRowTurns(ctx, t.slicing(p, w))
		rows.watch, clients[0].byRow = w, rows
	}
	repeats := int64(1)
	if single && t.req.Alternate {
		repeats = max(1, t.req.Repeats[p.Name])
	}
	var executions slicing
	if repeats > 1 && (rows == nil || rows.size == 0) {
		executions = t.executionSlicing(p, w, repeats)
	}
	for _, c := range clients {
		c.turn = turns.client(-1)
	}
	once := func() {
		var wg sync.WaitGroup
		for _, c := range clients[1:] {
			wg.Go(func() { c.err = c.run(ctx, q, batch, n) })
		}
		clients[0].err = clients[0].run(ctx, q, batch, n)
		wg.Wait()
	}
	w.Start()
	executions.began = w.wall0
	if turns != nil {
		turns.began = w.wall0
	}
	for i := range repeats {
		ends := executions.left == 0 && repeats-i < executions.size // the remaining executions are too few for another slice
		if !ends && executions.count() {
			if err := executions.pause(ctx, w.wall+now()-w.wall0); err != nil {
				return err
			}
		}
		once()
		if slices.ContainsFunc(clients, func(c *queryClient) bool { return c.err != nil }) {
			break
		}
	}
	w.Stop()
	w.divide(repeats)
	if turns != nil {
		s.ColdNS = turns.cold()
	}
	if rows != nil {
		s.ColdNS, s.FirstRowNS = rows.cold()/repeats, rows.firstRow
	}
	if repeats > 1 {
		s.Executions = repeats
	}
	if executions.size > 0 {
		s.ColdNS = executions.cold() / repeats
	}

	for _, c := range clients {
		if c.err != nil {
			return typeError(ctx, c.conn, &q.Call, batch, n, c.err)
		}
		s.Rows += c.rows / repeats
	}
	s.Operations = int64(n) * q.Repeat * int64(q.Clients)
	if clients[0].latency != nil {
		h := all.Histogram()
		s.Latency = []protocol.Latency{{Operation: "query", Count: h.Count(), Histogram: h.Encode()}}
	}
	return nil
}

// queryParameters returns the parameters of all executions of a query, and the number of
// executions.
func (t *trial) queryParameters(p *plan.Phase) (*driver.Batch, int, error) {
	q, n := p.Query, 1
	if q.ForEach != "" {
		n = int(t.plan.DataSet(q.ForEach).Total)
	}
	b, err := t.parameters(p, q.Parameters, q.ForEach, n)
	return b, n, err
}

// parameters generates the parameters of the first n executions of a phase's statement. It returns
// nil if the statement has no parameters.
func (t *trial) parameters(p *plan.Phase, params []plan.Parameter, forEach string, n int) (*driver.Batch, error) {
	if len(params) == 0 {
		return nil, nil
	}
	b := &driver.Batch{PerExec: 1}
	if err := t.gen.FillParameters(b, p.Name, params, forEach, 0, 1, n); err != nil {
		return nil, &failure{protocol.CodePlan, err}
	}
	return b, nil
}

// run executes the query once for each of the n rows of parameters. It does so q.Repeat times, and
// counts the returned rows in c.rows.
func (c *queryClient) run(ctx context.Context, q *plan.Query, b *driver.Batch, n int) error {
	count := func(driver.Row) error { c.rows++; return nil }
	if c.byRow != nil {
		c.byRow.execution()
		count = func(driver.Row) error { c.rows++; return c.byRow.row() }
	}
	var last int64
	if c.latency != nil {
		last = now()
	}
	begin := last
	if c.turn != nil {
		defer c.turn.together.Leave()
	}
	for range q.Repeat {
		for r := range n {
			if c.turn != nil {
				waited, err := c.turn.operation(last - begin)
				if err != nil {
					return err
				}
				last += waited.all
				begin += waited.pause
			}
			before := c.rows
			if err := c.stmt.Query(ctx, b, r, count); err != nil {
				return execution(r, n, inRow(err, c.rows-before+1))
			}
			if q.Rows >= 0 && c.rows-before != q.Rows {
				return failf(protocol.CodeRows, "execution %d of the query returned %d rows, expected %d", r, c.rows-before, q.Rows)
			}
			if c.latency != nil {
				t := now()
				c.latency.Record(t - last)
				last = t
			}
		}
	}
	return nil
}

// execution adds the number r of the execution to err if there are several executions (n > 1).
func execution(r, n int, err error) error {
	if n > 1 {
		return fmt.Errorf("execution %d of the query: %w", r, err)
	}
	return err
}

// inRow adds the number of the row to err if err is a [driver.TypeError] without a row number.
func inRow(err error, row int64) error {
	if e, ok := errors.AsType[*driver.TypeError](err); ok && e.Row == 0 {
		e.Row = row
	}
	return err
}

// checkTypes asks SQLite for the type of every value that the first n executions of a call return.
// It does not rely on the library, because libraries differ: if a value does not have its column's
// type, some libraries convert the value, and others return an error.
func checkTypes(ctx context.Context, on driver.Runner, c *plan.Call, b *driver.Batch, n int) (err error) {
	check, err := driver.NewTypeCheck(ctx, on, statement(c))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, check.Close()) }()
	for r := range n {
		if err := check.Check(ctx, nil, b, r); err != nil {
			return execution(r, n, err)
		}
	}
	return nil
}

// typeError returns a more exact error if err says that a library could not convert a value. It
// asks SQLite for the type of the value, because libraries do not distinguish all types of SQLite.
func typeError(ctx context.Context, on driver.Runner, c *plan.Call, b *driver.Batch, n int, err error) error {
	var told, found *driver.TypeError
	if errors.As(err, &told) {
		if checked := checkTypes(ctx, on, c, b, n); errors.As(checked, &found) {
			return checked
		}
	}
	return err
}

// verifyQuery checks the types of the results. Then it runs every execution once more, untimed,
// and returns the hash of all values in order.
func (t *trial) verifyQuery(ctx context.Context, p *plan.Phase) (sum string, err error) {
	q := p.Query
	batch, n, err := t.queryParameters(p)
	if err != nil {
		return "", err
	}
	if !t.req.TypesKnown {
		if err := checkTypes(ctx, t.db, &q.Call, batch, n); err != nil {
			return "", err
		}
	}
	stmt, err := t.db.Prepare(ctx, verified(&q.Call))
	if err != nil {
		return "", fmt.Errorf("preparing the query: %w", err)
	}
	defer func() { err = errors.Join(err, stmt.Close()) }()
	var h plan.Hash
	for r := range n {
		if err := stmt.Query(ctx, batch, r, func(row driver.Row) error { h.Row(row, q.Columns); return nil }); err != nil {
			return "", fmt.Errorf("verifying execution %d of the query: %w", r, err)
		}
	}
	return h.Sum(), nil
}
