package sqldriver

import (
	"context"
	"database/sql"
	"errors"
	"time"

	contract "github.com/sqlite3perf/sqlite3perf/worker/driver"
)

type tx struct {
	lib *Library
	tx  *sql.Tx
	on  *conn // nil if the transaction began on the pool; statements must then be bound with tx.Stmt

	// cancel ends the transaction's own context. It is nil if that context cannot end.
	cancel context.CancelFunc
	over   bool // set if the transaction's own context has ended

	first [2]stmt // memory for the first two results of Stmt, so that they need no separate allocations
	stmts int     // how many elements of the array "first" are in use
}

// Stmt returns a statement of a Conn unchanged, because database/sql runs it on the Conn,
// which has the transaction. Tx.StmtContext would prepare it again.
func (t *tx) Stmt(ctx context.Context, st contract.Stmt) (contract.Stmt, error) {
	if t.on != nil {
		return st, nil
	}
	s, ok := st.(*stmt)
	if !ok {
		return nil, contract.InTransaction(st)
	}
	bound := t.next()
	bound.lib, bound.shape = s.lib, s.shape
	if s.prepared == nil {
		bound.text = t.tx
	} else {
		bound.prepared = t.tx.StmtContext(s.converted(ctx), s.prepared)
	}
	return bound, nil
}

// next returns an element of t.first that is not in use. If all elements are in use, it returns a new
// stmt.
func (t *tx) next() *stmt {
	if t.stmts == len(t.first) {
		return new(stmt)
	}
	t.stmts++
	return &t.first[t.stmts-1]
}

// Commit fails if ctx has ended, as database/sql's Commit does in a transaction that began on the
// pool.
func (t *tx) Commit(ctx context.Context) error {
	if t.on == nil {
		return t.lib.wrapIn(ctx, t.tx.Commit())
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return t.while(ctx, t.tx.Commit)
}

// Rollback does nothing after a failed Commit, because for database/sql the transaction has
// ended.
func (t *tx) Rollback(context.Context) error {
	if err := t.tx.Rollback(); err != nil && !errors.Is(err, sql.ErrTxDone) {
		return t.lib.wrap(err)
	}
	return nil
}

// The method "while" runs the function "do", which begins or commits the transaction. If ctx ends
// before "do" returns, the transaction's own context ends too. In that case the method sets t.over,
// and waits until the transaction is over. It returns the errors of "do" and of the rollback, or
// nil if there are none.
func (t *tx) while(ctx context.Context, do func() error) error {
	if t.cancel == nil {
		return t.lib.wrapIn(ctx, do())
	}
	unlink := context.AfterFunc(ctx, t.cancel)
	err := t.lib.wrapIn(ctx, do())
	if unlink() {
		return err
	}
	t.over = true
	t.cancel()
	if t.tx == nil {
		return err
	}
	return errors.Join(err, t.rolledBack())
}

// rolledBack waits until the transaction is over, because database/sql may still be rolling it
// back in another goroutine. It runs BEGIN until that succeeds, because BEGIN fails within a
// transaction.
func (t *tx) rolledBack() error {
	if err := t.tx.Rollback(); !errors.Is(err, sql.ErrTxDone) {
		return err
	}
	for {
		_, err := t.on.c.ExecContext(context.Background(), "BEGIN")
		if err == nil {
			_, err = t.on.c.ExecContext(context.Background(), "ROLLBACK")
		}
		if err == nil || t.lib.Code(err)&0xff != contract.CodeError {
			return err
		}
		time.Sleep(10 * time.Microsecond)
	}
}
