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
	pooled bool // statements come from the pool and must be bound to tx
}

// Stmt returns a statement of a Conn unchanged: database/sql runs it on the
// Conn, which has the transaction. Tx.StmtContext would prepare it again. If ctx has ended,
// database/sql rolls back, and the statement would run outside of the transaction.
func (t *tx) Stmt(ctx context.Context, st contract.Stmt) (contract.Stmt, error) {
	if !t.pooled {
		return st, ctx.Err()
	}
	s := st.(*stmt)
	if s.prepared == nil {
		return &stmt{lib: s.lib, shape: s.shape, text: t.tx}, nil
	}
	return &stmt{lib: s.lib, shape: s.shape, prepared: t.tx.StmtContext(t.lib.prepared(ctx), s.prepared)}, nil
}

func (t *tx) Commit(ctx context.Context) error { return t.lib.wrapIn(ctx, t.tx.Commit()) }

// Rollback has nothing left to do after a failed Commit, because database/sql then
// treats the transaction as ended.
func (t *tx) Rollback(context.Context) error {
	if err := t.tx.Rollback(); err != nil && !errors.Is(err, sql.ErrTxDone) {
		return t.lib.wrap(err)
	}
	return nil
}
