package drivertest

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/sqlite3perf/sqlite3perf/worker/driver"
)

func transactionChecks() []Check {
	return []Check{
		{Name: "transactions/commit", Key: "transactions=reads", Test: inTransaction(func(ctx context.Context, x *db, r driver.Runner, t driver.Tx) error {
			if err := t.Commit(ctx); err != nil {
				return err
			}
			if err := t.Rollback(ctx); err != nil {
				return fmt.Errorf("rollback after commit: %w", err)
			}
			return want(ctx, r, "SELECT count(*) FROM t", 2)
		})},
		{Name: "transactions/rollback", Key: "transactions=reads", Test: inTransaction(func(ctx context.Context, x *db, r driver.Runner, t driver.Tx) error {
			if err := t.Rollback(ctx); err != nil {
				return err
			}
			if err := t.Rollback(ctx); err != nil {
				return fmt.Errorf("rollback after rollback: %w", err)
			}
			return want(ctx, r, "SELECT count(*) FROM t", 0)
		})},
		{Name: "transactions/not seen before commit", Key: "transactions=reads", Test: inTransaction(func(ctx context.Context, x *db, r driver.Runner, t driver.Tx) error {
			seen := with(ctx, x.driver, filepath.Dir(x.path), nil, "", func(y *db) error { return want(ctx, y, "SELECT count(*) FROM t", 0) })
			return errors.Join(seen, t.Rollback(ctx))
		})},
		{Name: "transactions/that only writes", Test: inEveryWay(nil, newTable, onlyWrites)},
		{Name: "transactions/one after the other", Test: inEveryWay(nil, newTable, oneAfterTheOther)},
		{Name: "transactions/commit that fails", Key: "transactions=reads", Test: failedCommit},
		{Name: "transactions/close after a commit that failed", Key: closeAfterFailure, Needs: "transactions=reads", Test: on(rollbackMode, intTable, closeAfterFailedCommit)},
	}
}

// rollbackMode has no write-ahead log, so that readers keep writers from committing.
var rollbackMode = driver.Settings{"journal_mode": "delete"}

// inTransaction begins a transaction on the pool and on a connection. Prepared and
// ad hoc statements insert and read two rows in it. f ends the transaction.
func inTransaction(f func(context.Context, *db, driver.Runner, driver.Tx) error) func(context.Context, driver.Driver, string) error {
	return on(nil, intTable, func(ctx context.Context, x *db) error {
		return everyWay(ctx, x, func(ctx context.Context, r driver.Runner, adHoc bool) error {
			if err := r.Script(ctx, "DELETE FROM t"); err != nil {
				return err
			}
			in := driver.Statement{SQL: insertPair.SQL, Params: intPair, AdHoc: adHoc}
			out := driver.Statement{SQL: "SELECT id, n FROM t ORDER BY id", Columns: columns(intPair...), AdHoc: adHoc}
			return withStmt(ctx, r, in, func(insert driver.Stmt) error {
				return withStmt(ctx, r, out, func(all driver.Stmt) error {
					list := pairs(2)
					t, err := begin(ctx, r, insert, batch(intPair, list...), 0, 2)
					if err != nil {
						return err
					}
					inside, err := t.Stmt(ctx, all)
					if err == nil {
						err = wantResult(ctx, inside, out.Columns, nil, 0, list)
					}
					if err != nil {
						return errors.Join(err, t.Rollback(ctx))
					}
					return f(ctx, x, r, t)
				})
			})
		})
	})
}

// onlyWrites has transactions that read nothing. What they write is not seen before COMMIT,
// and if one of its statements fails, sooner or later, none of it is ever seen.
func onlyWrites(ctx context.Context, r driver.Runner, adHoc bool) error {
	b := batch(intPair, pairs(4)...)
	insert := driver.Statement{SQL: insertPair.SQL, Params: intPair, AdHoc: adHoc}
	return withStmt(ctx, r, insert, func(s driver.Stmt) error {
		for i, end := range []func(driver.Tx, context.Context) error{driver.Tx.Rollback, driver.Tx.Commit} {
			t, err := begin(ctx, r, s, b, 0, 2)
			if err != nil {
				return err
			}
			if err := end(t, ctx); err != nil {
				return err
			}
			if err := want(ctx, r, "SELECT count(*) FROM t", int64(2*i)); err != nil {
				return err
			}
		}
		t, err := begin(ctx, r, s, b, 2, 4)
		if err != nil {
			return err
		}
		in, err := t.Stmt(ctx, s)
		if err == nil {
			err = in.Exec(ctx, b, 0, 1) // is there
		}
		if err == nil {
			err = t.Commit(ctx)
		}
		if err := errors.Join(wantPrimary("a row that is there already", err, driver.CodeConstraint), t.Rollback(ctx)); err != nil {
			return err
		}
		return want(ctx, r, "SELECT count(*) FROM t", 2)
	})
}

func oneAfterTheOther(ctx context.Context, r driver.Runner, adHoc bool) error {
	b := batch(intPair, pairs(10)...)
	insert := driver.Statement{SQL: insertPair.SQL, Params: intPair, AdHoc: adHoc}
	err := withStmt(ctx, r, insert, func(s driver.Stmt) error {
		for i := range 10 {
			t, err := begin(ctx, r, s, b, i, i+1)
			if err != nil {
				return err
			}
			end := t.Commit
			if i%2 == 1 {
				end = t.Rollback
			}
			if err := end(ctx); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return want(ctx, r, "SELECT sum(id) FROM t", 0+2+4+6+8)
}

// failedCommit has a reader prevent a commit, in rollback mode. It expects that after
// Rollback the transaction is gone and the connection can be used.
func failedCommit(ctx context.Context, d driver.Driver, dir string) error {
	return inEveryWay(rollbackMode, newTable, func(ctx context.Context, r driver.Runner, adHoc bool) error {
		err := with(ctx, d, dir, rollbackMode, "", func(reader *db) error { return failToCommit(ctx, r, adHoc, reader) })
		if err != nil {
			return err
		}
		if err := want(ctx, r, "SELECT count(*) FROM t", 0); err != nil {
			return fmt.Errorf("after the failed commit: %w", err)
		}
		t, err := r.Begin(ctx)
		if err != nil {
			return fmt.Errorf("after the failed commit: %w", err)
		}
		return t.Commit(ctx)
	})(ctx, d, dir)
}

func closeAfterFailedCommit(ctx context.Context, reader *db) error {
	x, err := open(ctx, reader.driver, filepath.Dir(reader.path), rollbackMode, "")
	if err != nil {
		return err
	}
	return errors.Join(failToCommit(ctx, x, false, reader), x.Close())
}

// failToCommit inserts in a transaction that a reader prevents from committing.
func failToCommit(ctx context.Context, r driver.Runner, adHoc bool, reader *db) error {
	return withStmt(ctx, r, driver.Statement{SQL: "INSERT INTO t VALUES (1, 1)", AdHoc: adHoc}, func(s driver.Stmt) error {
		if err := reader.Script(ctx, "BEGIN; SELECT count(*) FROM t"); err != nil {
			return err
		}
		t, err := begin(ctx, r, s, nil, 0, 0)
		if err == nil {
			err = errors.Join(wantCode("commit while another reads", t.Commit(ctx), driver.CodeBusy), t.Rollback(ctx))
		}
		return errors.Join(err, reader.Script(ctx, "ROLLBACK"))
	})
}
