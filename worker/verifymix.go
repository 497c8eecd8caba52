package worker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/plan"
)

// mixVerified is the maximum number of operations that are run before the clock starts, to verify
// their answers.
const mixVerified = 1000

// verifyMix runs the first operations of a mix one after another and rolls back their changes. It
// returns the hash of all values that the operations return, and of the marks of operations that end
// early (see [plan.Hash]). If the mix has no operation whose answers can be verified, it runs nothing.
func (t *trial) verifyMix(ctx context.Context, p *plan.Phase) (sum string, err error) {
	var h plan.Hash
	if !slices.ContainsFunc(p.Mix.Operations, tells) {
		return h.Sum(), nil
	}
	once := *p.Mix
	once.Count = mixVerified
	if p.Mix.Count > 0 {
		once.Count = min(once.Count, p.Mix.Count)
	}
	conn, err := t.db.Conn(ctx)
	if err != nil {
		return "", err
	}
	c := t.mixClient(p, &once)
	c.runner, c.reader, c.conns = conn, conn, []driver.Conn{conn}
	defer func() { err = errors.Join(err, c.close()) }()
	if err := c.prepare(ctx, nil, verified); err != nil {
		return "", err
	}
	if err := c.fill(); err != nil {
		return "", err
	}
	save := &savepoint{}
	if slices.ContainsFunc(c.ops, undone) {
		if err := save.prepare(ctx, conn); err != nil {
			return "", err
		}
		defer func() { err = errors.Join(err, save.close()) }()
	}
	if !t.req.TypesKnown {
		if err := c.checkTypes(ctx); err != nil {
			return "", err
		}
	}
	tx, err := t.undoing(ctx, conn)
	if err != nil {
		return "", err
	}
	// If there already is an error, Rollback's error is ignored, because SQLite may already have
	// rolled back.
	defer func() { err = cmp.Or(err, tx.Rollback(ctx)) }()
	for _, i := range c.order {
		op := &c.ops[i]
		if err := c.verify(ctx, tx, save, op, &h); err != nil {
			return "", fmt.Errorf("verifying %w", &operationError{op.Name, err})
		}
		op.row++
	}
	return h.Sum(), nil
}

// The method "undoing" begins the transaction in which all operations are verified. The transaction
// is rolled back at the end. If the library's transactions cannot read, the method returns a
// substitute whose Rollback restores the current state of the database.
func (t *trial) undoing(ctx context.Context, conn driver.Conn) (driver.Tx, error) {
	r, ok := t.db.(driver.Restorer)
	if _, limited := t.drv.Info().Limit("transactions", "reads"); !ok || !limited {
		return conn.Begin(ctx)
	}
	restore, err := r.Keep(ctx)
	return restoring{restore}, err
}

// restoring is a substitute for a transaction. Its statements take effect at once, and Rollback
// restores the database.
type restoring struct {
	restore func(ctx context.Context) error
}

func (restoring) Stmt(_ context.Context, st driver.Stmt) (driver.Stmt, error) { return st, nil }
func (restoring) Commit(context.Context) error                                { return nil }
func (r restoring) Rollback(ctx context.Context) error                        { return r.restore(ctx) }

// checkTypes makes the method "verify" also check the types of the values that the operations
// return.
func (c *mixClient) checkTypes(ctx context.Context) (err error) {
	for i := range c.ops {
		for j := range c.ops[i].calls {
			call := &c.ops[i].calls[j]
			if !call.reads {
				continue
			}
			if call.types, err = driver.NewTypeCheck(ctx, c.ops[i].runner, statement(&call.Call)); err != nil {
				return err
			}
		}
	}
	return nil
}

// The function "tells" reports whether an operation has an answer that can be verified: rows, or an
// error that it declares as a result.
func tells(o plan.Operation) bool {
	return len(o.Results) > 0 || slices.ContainsFunc(o.Calls, func(c plan.MixCall) bool { return len(c.Columns) > 0 })
}

// The function "undone" reports whether an operation needs a savepoint, because its transaction may
// be rolled back, or because an error may roll back more than its statement.
func undone(op mixOp) bool {
	return len(op.Results) > 0 || slices.ContainsFunc(op.calls, func(c mixCall) bool { return c.IfEmpty == plan.EmptyRollback })
}

// verify runs an operation within tx, the transaction around all operations, and adds its answers
// to h. If the operation's own transaction would be rolled back, verify rolls back to a savepoint.
func (c *mixClient) verify(ctx context.Context, tx driver.Tx, save *savepoint, op *mixOp, h *plan.Hash) error {
	within := undone(*op)
	if within {
		if err := save.run(ctx, tx, save.begin); err != nil {
			return err
		}
	}
	back := false
	last, err := op.verify(ctx, tx, h)
	var e *driver.Error
	switch {
	case errors.As(err, &e) && op.IsResult(e.Code, c.primaryOnly):
		h.Result(e.Code)
		back = op.Transaction
	case err != nil:
		return undeclared(err)
	case last != nil:
		h.Stopped()
		back = last.IfEmpty == plan.EmptyRollback
	}
	if !within {
		return nil
	}
	err = nil
	if back {
		err = save.run(ctx, tx, save.back)
	}
	if err == nil {
		err = save.run(ctx, tx, save.end)
	}
	if err != nil {
		err = fmt.Errorf("%w: a statement rolled back the whole transaction, as OR ROLLBACK and RAISE(ROLLBACK) do: write OR ABORT or RAISE(ABORT)", err)
	}
	return err
}

// verify runs the statements of an operation and hashes the rows that they return. If a
// statement ended the operation because it returned no rows, verify returns that statement.
func (op *mixOp) verify(ctx context.Context, tx driver.Tx, h *plan.Hash) (last *mixCall, err error) {
	for j := range op.calls {
		call := &op.calls[j]
		rows, err := call.verify(ctx, tx, op.row, h)
		if err != nil {
			return nil, err
		}
		if call.ends && rows == 0 {
			return call, nil
		}
	}
	return nil, nil
}

func (c *mixCall) verify(ctx context.Context, tx driver.Tx, r int, h *plan.Hash) (rows int64, err error) {
	stmt, err := tx.Stmt(ctx, c.stmt)
	if err != nil {
		return 0, err
	}
	if !c.reads {
		return 0, stmt.Exec(ctx, c.batch, r, r+1)
	}
	if c.types != nil {
		if err := c.types.Check(ctx, tx, c.batch, r); err != nil {
			return 0, err
		}
	}
	err = stmt.Query(ctx, c.batch, r, func(row driver.Row) error {
		rows++
		h.Row(row, c.Columns)
		return nil
	})
	if err == nil {
		err = c.check(rows)
	}
	return rows, err
}

// savepoint has the prepared statements that begin, roll back to and end a savepoint.
type savepoint struct{ begin, back, end driver.Stmt }

func (s *savepoint) prepare(ctx context.Context, conn driver.Conn) error {
	for _, x := range []struct {
		stmt *driver.Stmt
		sql  string
	}{{&s.begin, "SAVEPOINT sqlite3perf"}, {&s.back, "ROLLBACK TO sqlite3perf"}, {&s.end, "RELEASE sqlite3perf"}} {
		var err error
		if *x.stmt, err = conn.Prepare(ctx, driver.Statement{SQL: x.sql}); err != nil {
			return errors.Join(err, s.close())
		}
	}
	return nil
}

func (s *savepoint) run(ctx context.Context, tx driver.Tx, stmt driver.Stmt) error {
	stmt, err := tx.Stmt(ctx, stmt)
	if err != nil {
		return err
	}
	return stmt.Exec(ctx, nil, 0, 1)
}

func (s *savepoint) close() (err error) {
	for _, stmt := range []driver.Stmt{s.begin, s.back, s.end} {
		if stmt != nil {
			err = errors.Join(err, stmt.Close())
		}
	}
	return err
}
