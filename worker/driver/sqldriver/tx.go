package sqldriver

import (
	"context"
	"database/sql"
	"errors"

	contract "github.com/sqlite3perf/sqlite3perf/worker/driver"
)

type tx struct {
	lib    *Library
	tx     *sql.Tx
	pooled bool  // statements come from the pool and must be bound to tx
	conn   *conn // on which it was begun; nil where database/sql chose it
}

// Stmt returns a statement of a Conn as it is: database/sql runs it on the
// Conn, which is where the transaction is. To bind it with Tx.StmtContext
// would prepare it anew.
func (t *tx) Stmt(ctx context.Context, st contract.Stmt) (contract.Stmt, error) {
	if !t.pooled {
		return st, nil
	}
	s := st.(*stmt)
	if s.prepared == nil {
		return &stmt{lib: s.lib, shape: s.shape, text: t.tx}, nil
	}
	return &stmt{lib: s.lib, shape: s.shape, prepared: t.tx.StmtContext(t.lib.context(ctx), s.prepared)}, nil
}

func (t *tx) Commit(ctx context.Context) error {
	err := t.tx.Commit()
	if err != nil && t.conn != nil && t.lib.DirtyCommit {
		// Fails where SQLite has ended the transaction by itself.
		_, _ = t.conn.c.ExecContext(context.WithoutCancel(ctx), "ROLLBACK")
	}
	return t.lib.wrap(err)
}

// Rollback after a Commit that failed has nothing left to do: database/sql
// holds the transaction for ended then.
func (t *tx) Rollback(context.Context) error {
	if err := t.tx.Rollback(); err != nil && !errors.Is(err, sql.ErrTxDone) {
		return t.lib.wrap(err)
	}
	return nil
}

// heldTx is a pool's transaction on a connection that the adapter took out.
type heldTx struct {
	*tx
	held *conn // nil once given back
}

func (t *heldTx) giveBack(err error) error {
	if t.held == nil {
		return err
	}
	c := t.held
	t.held = nil
	return errors.Join(err, c.Close())
}

func (t *heldTx) Commit(ctx context.Context) error { return t.giveBack(t.tx.Commit(ctx)) }

func (t *heldTx) Rollback(ctx context.Context) error { return t.giveBack(t.tx.Rollback(ctx)) }
