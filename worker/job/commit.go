package job

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/plan"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

func (c commit) mayWrite(ctx context.Context, r driver.Runner) error {
	return mustBeNew(ctx, r, "transactions are committed to a new one")
}

func (c commit) run(ctx context.Context, d *Database, tell func(protocol.Progress), r *protocol.JobResult) (err error) {
	if err := c.mayWrite(ctx, d.DB); err != nil {
		return err
	}
	gen, err := plan.NewGenerator(d.Seed, c.Plan)
	if err != nil {
		return &Error{protocol.CodePlan, err}
	}
	w := newWork(gen, c.Plan, c.Transactions)
	if err := w.plan(); err != nil {
		return err
	}
	r.Commit = &protocol.Committed{}
	k := &committing{commit: c, db: d.DB, of: d, work: w, number: setNumber(), random: rand.New(rand.NewPCG(d.Seed, 0)), out: r.Commit, tell: tell}
	if k.conn, err = k.db.Conn(ctx); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, k.close()) }()
	if err := k.setUp(ctx); err != nil {
		return err
	}
	if c.AwaitOthers {
		if err := k.awaitOthers(ctx); err != nil {
			return err
		}
	}
	for i := range w.units {
		more, err := k.transaction(ctx, i+1, &w.units[i])
		if err != nil || !more {
			return err
		}
	}
	return nil
}

// committing is a running job of the kind "commit".
type committing struct {
	commit
	db       driver.DB
	of       *Database
	conn     driver.Conn
	work     *work
	number   *step // the statement that sets the number of the last transaction
	prepared []*statement
	filling  time.Duration // time spent on generating values in the current attempt
	random   *rand.Rand
	out      *protocol.Committed
	tell     func(protocol.Progress)
}

// close closes the prepared statements and returns the connection to the pool. If a transaction has
// failed, it returns no error, because some libraries report the error of a statement again when
// the statement is closed.
func (k *committing) close() (err error) {
	for _, s := range k.prepared {
		err = errors.Join(err, s.stmt.Close())
		s.stmt = nil
	}
	k.prepared = nil
	err = errors.Join(err, k.conn.Close())
	if len(k.out.Failures) > 0 {
		return nil
	}
	return err
}

// setNumber returns the step that stores its parameter as the number of the last transaction.
func setNumber() *step {
	return &step{statement: &statement{Statement: driver.Statement{
		SQL: "UPDATE " + protocol.CommitsTable + " SET number = ?", Params: []driver.Type{driver.Int},
	}}}
}

// setUp creates the schema and runs the phases that come before the first transaction. Then it
// acknowledges transaction 0, which stands for this work.
func (k *committing) setUp(ctx context.Context) error {
	if k.Plan.Schema != "" {
		if err := k.conn.Script(ctx, k.Plan.Schema); err != nil {
			return fmt.Errorf("schema: %w", err)
		}
	}
	if err := k.conn.Script(ctx, "CREATE TABLE "+protocol.CommitsTable+"(number INTEGER NOT NULL)"); err != nil {
		return err
	}
	for _, ph := range k.work.first {
		if err := k.carryOut(ctx, ph); err != nil {
			return fmt.Errorf("phase %s: %w", ph.Name, err)
		}
	}
	if err := k.attach(ctx); err != nil {
		return err
	}
	if err := k.moveTables(ctx); err != nil {
		return err
	}
	if err := k.settle(ctx); err != nil {
		return err
	}
	// The number of the last transaction is inserted at the end of the setup. So a database without
	// this number is not completely set up. In WAL mode, the checkpoint writes the loaded rows to the
	// database file. A server makes its own checkpoints, and its driver does not support this PRAGMA.
	if err := k.conn.Script(ctx, "INSERT INTO "+protocol.CommitsTable+" VALUES (0)"); err != nil {
		return err
	}
	if err := k.conn.Script(ctx, "PRAGMA wal_checkpoint"); err != nil {
		if _, unsupported := errors.AsType[*driver.UnsupportedError](err); !unsupported {
			return err
		}
	}
	return k.acknowledge(ctx, 0)
}

// settle waits until all acknowledged transactions are in the database. Only some databases need
// this (see [driver.Settler]).
func (k *committing) settle(ctx context.Context) error {
	if s, ok := k.db.(driver.Settler); ok {
		return s.Settle(ctx)
	}
	return nil
}

// awaitOthers waits until another process has inserted a row into the table [protocol.OthersTable].
func (k *committing) awaitOthers(ctx context.Context) error {
	for ctx.Err() == nil {
		n, err := RowsOf(ctx, k.conn, protocol.OthersTable)
		switch {
		case err == nil && n > 0:
			return nil
		case err != nil && !driver.IsLock(driver.PrimaryCode(err)):
			return err
		}
		pause(ctx, lookAgain)
	}
	return ctx.Err()
}

// lookAgain is how long awaitOthers waits before it looks for the other process's row again.
const lookAgain = time.Millisecond

// carryOut runs one of the phases that come before the first transaction. Rows are inserted in as
// few transactions as memory allows.
func (k *committing) carryOut(ctx context.Context, ph *plan.Phase) error {
	if ph.Insert == nil {
		return k.conn.Script(ctx, ph.Script)
	}
	for _, name := range ph.Insert.Sets {
		set, err := k.work.set(name)
		if err != nil {
			return err
		}
		for _, s := range k.work.rows(set, 0, set.Total, ph.Insert.RowsPerStatement) {
			if err := k.attempt(ctx, 0, &unit{steps: []step{s}}); err != nil {
				return err
			}
		}
	}
	return nil
}

// transaction commits one transaction and acknowledges it. It reports false if all attempts failed.
func (k *committing) transaction(ctx context.Context, n int, u *unit) (more bool, err error) {
	unsure := false // the last attempt failed, and the worker could not read whether it took effect
	for i := range k.Attempts {
		if !unsure {
			k.filling = 0
			began := time.Now()
			canceled := i == 0 && k.CancelNS > 0
			err := k.try(ctx, n, u, canceled)
			if err == nil {
				k.out.CommitNS = append(k.out.CommitNS, max(1, (time.Since(began)-k.filling).Nanoseconds()))
				return true, k.acknowledge(ctx, n)
			}
			if ctx.Err() != nil {
				return false, ctx.Err()
			}
			if e, ok := errors.AsType[*Error](err); ok {
				return false, e
			}
			k.out.Failures = described(k.out.Failures, n, "", err)
			if canceled {
				if err := k.borrowAgain(ctx, n); err != nil {
					return false, err
				}
			}
		}
		last, err := k.last(ctx)
		if unsure = err != nil; !unsure && last == int64(n) {
			return true, k.acknowledge(ctx, n)
		}
	}
	k.out.GaveUp = true
	return false, nil
}

// The method "try" runs transaction n. If the parameter "canceled" is true, the transaction's
// context ends at a random time.
func (k *committing) try(ctx context.Context, n int, u *unit, canceled bool) error {
	if canceled {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Duration(k.random.Int64N(k.CancelNS)))
		defer cancel()
	}
	return k.attempt(ctx, n, u)
}

// borrowAgain returns the connection of a canceled attempt at transaction n to the pool, and borrows a
// connection again. If the canceled attempt still has an effect on that connection, borrowAgain reports
// it in k.out.Disturbed.
func (k *committing) borrowAgain(ctx context.Context, n int) (err error) {
	_ = k.close() // an error is ignored, because it may again say that the attempt was canceled
	if k.conn, err = k.db.Conn(ctx); err != nil {
		return fmt.Errorf("borrowing a connection after transaction %d was canceled: %w", n, err)
	}
	if err := k.attach(ctx); err != nil {
		k.out.Disturbed = described(k.out.Disturbed, n, "a database can't be attached: ", err)
	}
	if _, err := LastTransaction(ctx, k.conn); err != nil {
		k.out.Disturbed = described(k.out.Disturbed, n, "a read fails: ", err)
	}
	if err := k.conn.Script(ctx, "BEGIN; ROLLBACK"); err != nil {
		k.out.Disturbed = described(k.out.Disturbed, n, "a transaction can't begin: ", err)
		_ = k.conn.Script(ctx, "ROLLBACK") // so that the next attempt can begin a transaction
	}
	return nil
}

// mostFailures is the maximum number of failures that a result describes.
const mostFailures = 1000

// described adds an error of transaction n to a list of failures, unless the list is full.
func described(list []protocol.CommitFailure, n int, what string, err error) []protocol.CommitFailure {
	if len(list) == mostFailures {
		return list
	}
	f := protocol.CommitFailure{Transaction: n, Message: what + err.Error()}
	if e, ok := errors.AsType[*driver.Error](err); ok {
		f.Code = e.Code
	}
	return append(list, f)
}

// The method "last" returns the number of the last transaction that took effect. It reads the
// number in a new transaction. If the transaction of a failed attempt is still open, the connection
// would return a number that is not committed. In that case the new transaction can't begin, and
// the method returns an error.
func (k *committing) last(ctx context.Context) (int64, error) {
	tx, err := k.conn.Begin(ctx)
	if err != nil {
		return 0, err
	}
	n, err := LastTransaction(ctx, k.conn)
	return n, errors.Join(err, tx.Rollback(context.WithoutCancel(ctx)))
}

// RowsOf returns how many rows one of sqlite3perf's own tables has, or -1 if the table does not exist.
func RowsOf(ctx context.Context, r driver.Runner, table string) (int64, error) {
	n, err := driver.Number(ctx, r, "SELECT count(*) FROM sqlite_master WHERE name = '"+table+"'")
	if err != nil || n == 0 {
		return -1, err
	}
	return driver.Number(ctx, r, "SELECT count(*) FROM "+table)
}

// LastTransaction returns the number of the last transaction in a database.
func LastTransaction(ctx context.Context, r driver.Runner) (int64, error) {
	return driver.Number(ctx, r, "SELECT number FROM "+protocol.CommitsTable)
}

// acknowledge reports that transaction n is committed, unless that was reported before.
func (k *committing) acknowledge(ctx context.Context, n int) error {
	if n == 0 || k.out.Acknowledged < n {
		k.say(n)
	}
	if k.Digests {
		if err := k.settle(ctx); err != nil {
			return err
		}
		d, err := Digest(ctx, k.conn)
		if err != nil {
			return err
		}
		k.out.Digests = append(k.out.Digests, d)
	}
	return nil
}

func (k *committing) say(n int) {
	k.out.Acknowledged = n
	k.tell(protocol.Progress{Stage: protocol.StageCommit, Rows: int64(n)})
}

// attempt runs transaction n. If n is 0, it does not change the number of the last transaction in
// the database.
func (k *committing) attempt(ctx context.Context, n int, u *unit) error {
	tx, err := k.conn.Begin(ctx)
	if err != nil {
		return err
	}
	undo, err := k.statements(ctx, tx, u)
	if undo {
		if err := tx.Rollback(ctx); err != nil {
			return err
		}
		return k.attempt(ctx, n, &unit{}) // this transaction changes only the number of the last transaction
	}
	if err == nil && n > 0 {
		_, err = k.execute(ctx, tx, k.number, &driver.Batch{Columns: []driver.Column{{Type: driver.Int, Ints: []int64{int64(n)}}}, PerExec: 1}, 1)
	}
	if err == nil && k.Early && k.out.Acknowledged < n {
		k.say(n)
	}
	if err == nil && n > 0 && k.Hang {
		<-ctx.Done()
		err = ctx.Err()
	}
	if err == nil {
		err = tx.Commit(ctx)
	}
	if err != nil {
		// The error of Rollback is ignored, because a failed Commit may already have rolled back.
		_ = tx.Rollback(context.WithoutCancel(ctx))
	}
	return err
}

// The method "statements" runs the statements of a transaction. It returns undo = true if the
// transaction must be rolled back: a statement ended with an error that the operation declares as a
// result, or a statement with [plan.EmptyRollback] returned no rows.
func (k *committing) statements(ctx context.Context, tx driver.Tx, u *unit) (undo bool, err error) {
	for i := range u.steps {
		s := &u.steps[i]
		var b *driver.Batch
		if s.fill != nil {
			began := time.Now()
			b = &driver.Batch{}
			if err := s.fill(b); err != nil {
				return false, &Error{protocol.CodePlan, err}
			}
			b.PerExec = s.perExec
			k.filling += time.Since(began)
		}
		rows, err := k.execute(ctx, tx, s, b, s.rows)
		if err != nil {
			e, ok := errors.AsType[*driver.Error](err)
			if ok && u.operation != nil && u.operation.IsResult(e.Code, true) {
				return true, nil
			}
			return false, err
		}
		if s.ifEmpty != "" && rows == 0 {
			return s.ifEmpty == plan.EmptyRollback, nil
		}
	}
	return false, nil
}

// execute runs one statement, with the first n rows of b, and returns how many rows the statement
// has returned.
func (k *committing) execute(ctx context.Context, tx driver.Tx, s *step, b *driver.Batch, n int) (rows int64, err error) {
	if s.stmt == nil {
		st, err := k.conn.Prepare(ctx, s.Statement)
		if err != nil {
			return 0, err
		}
		s.stmt = st
		k.prepared = append(k.prepared, s.statement)
	}
	st, err := tx.Stmt(ctx, s.stmt)
	if err != nil {
		return 0, err
	}
	if len(s.Columns) > 0 {
		err = st.Query(ctx, b, 0, func(driver.Row) error { rows++; return nil })
		return rows, err
	}
	return 0, st.Exec(ctx, b, 0, n)
}
