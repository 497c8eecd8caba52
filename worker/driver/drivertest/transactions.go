package drivertest

import (
	"context"

	"github.com/sqlite3perf/sqlite3perf/worker/driver"
)

func transactionChecks() []Check {
	return []Check{
		{Name: "transactions/commit", Key: "transactions=reads", Test: inTransaction(func(x *db, r runner, t driver.Tx) {
			must(t.Commit(r.ctx))
			within("rollback after commit", func() { must(t.Rollback(r.ctx)) })
			r.want("SELECT count(*) FROM t", 2)
		})},
		{Name: "transactions/rollback", Key: "transactions=reads", Test: inTransaction(func(x *db, r runner, t driver.Tx) {
			must(t.Rollback(r.ctx))
			within("rollback after rollback", func() { must(t.Rollback(r.ctx)) })
			r.want("SELECT count(*) FROM t", 0)
		})},
		{Name: "transactions/not seen before commit", Key: "transactions=reads", Test: inTransaction(func(x *db, r runner, t driver.Tx) {
			r.rollback(t, func() {
				x.test.open(nil, "", func(other *db) { other.want("SELECT count(*) FROM t", 0) })
			})
		})},
		{Name: "transactions/that only writes", Test: inEveryWay(nil, newTable, onlyWrites)},
		{Name: "transactions/one after the other", Test: inEveryWay(nil, newTable, oneAfterTheOther)},
		{Name: "transactions/commit that fails", Key: "transactions=reads", Test: on(rollbackMode, "", failedCommit)},
		{Name: "transactions/close after a commit that failed", Key: closeAfterFailure, Needs: "transactions=reads", Test: on(rollbackMode, intTable, closeAfterFailedCommit)},
	}
}

// rollbackMode turns off the write-ahead log. In this mode, an open transaction that has read
// prevents other connections from committing.
var rollbackMode = driver.Settings{"journal_mode": "delete"}

// inTransaction returns a test that inserts and reads two rows in a transaction, in each way of
// [db.everyWay]. The function f must end the transaction.
func inTransaction(f func(x *db, r runner, t driver.Tx)) testFunc {
	return on(nil, intTable, func(x *db) {
		x.everyWay(func(r runner) {
			r.script("DELETE FROM t")
			r.prepare(insertPair, func(insert stmt) {
				r.prepare(allPairs, func(all stmt) {
					list := pairs(2)
					t := r.beginWith(insert, batch(intPair, list...), 0, 2)
					if err := try(func() { all.in(t).wantRows(nil, 0, list) }); err != nil {
						r.rollback(t, func() { must(err) })
					}
					f(x, r, t)
				})
			})
		})
	})
}

// onlyWrites checks that the rows of a transaction are visible only after COMMIT, and never if a
// statement of the transaction fails. A driver may report the failure at the statement or at
// COMMIT.
func onlyWrites(r runner) {
	b := batch(intPair, pairs(4)...)
	r.prepare(insertPair, func(s stmt) {
		for i, end := range []func(driver.Tx, context.Context) error{driver.Tx.Rollback, driver.Tx.Commit} {
			must(end(r.beginWith(s, b, 0, 2), r.ctx))
			r.want("SELECT count(*) FROM t", int64(2*i))
		}
		t := r.beginWith(s, b, 2, 4)
		r.rollback(t, func() {
			wantPrimary("a row that is there already", driver.CodeConstraint, func() {
				s.in(t).exec(b, 0, 1)
				must(t.Commit(r.ctx))
			})
		})
		r.want("SELECT count(*) FROM t", 2)
	})
}

func oneAfterTheOther(r runner) {
	b := batch(intPair, pairs(10)...)
	r.prepare(insertPair, func(s stmt) {
		for i := range 10 {
			t := r.beginWith(s, b, i, i+1)
			if i%2 == 0 {
				must(t.Commit(r.ctx))
			} else {
				must(t.Rollback(r.ctx))
			}
		}
	})
	r.want("SELECT sum(id) FROM t", 0+2+4+6+8)
}

// failedCommit lets a reader prevent a commit. After Rollback the transaction must be gone and
// the connection usable.
func failedCommit(x *db) {
	x.everyWay(func(r runner) {
		r.script(newTable)
		x.test.open(rollbackMode, "", func(reader *db) { failToCommit(r, reader) })
		within("after the failed commit", func() {
			r.want("SELECT count(*) FROM t", 0)
			must(r.begin().Commit(r.ctx))
		})
	})
}

func closeAfterFailedCommit(reader *db) {
	x, err := reader.test.driver.Open(reader.ctx, reader.test.path(), noWait.With(rollbackMode))
	if err != nil {
		fatalf("open with %v: %w", rollbackMode, err)
	}
	finally(func() { failToCommit(runner{x, reader.ctx, false}, reader) }, x.Close)
}

func failToCommit(r runner, reader *db) {
	r.prepare(driver.Statement{SQL: "INSERT INTO t VALUES (1, 1)"}, func(s stmt) {
		reader.script("BEGIN; SELECT count(*) FROM t")
		finally(func() {
			t := r.beginWith(s, nil, 0, 0)
			r.rollback(t, func() {
				wantCode("commit while another reads", driver.CodeBusy, func() { must(t.Commit(r.ctx)) })
			})
		}, func() error { return reader.Script(reader.ctx, "ROLLBACK") })
	})
}
