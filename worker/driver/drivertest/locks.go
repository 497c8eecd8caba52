package drivertest

import (
	"errors"
	"fmt"
	"time"

	"github.com/sqlite3perf/sqlite3perf/worker/driver"
)

func lockChecks() []Check {
	return []Check{
		txlock("deferred", 0, 0),
		txlock("immediate", driver.CodeBusy, 0),
		txlock("exclusive", driver.CodeBusy, driver.CodeBusy),
		{Name: "locks/busy_timeout=0", Key: "busy_timeout=0", Test: alone(busyAtOnce)},
		{Name: "locks/busy_timeout waits", Key: "busy_timeout=60000", Test: alone(busyWaits)},
		{Name: "locks/COMMIT beside a reader", Needs: "transactions=reads", Test: alone(commitAtOnce)},
		{Name: "locks/COMMIT waits for a reader", Key: "busy_timeout=60000", Test: alone(commitWaits)},
		{Name: "locks/SQLITE_BUSY_SNAPSHOT", Key: "codes=extended", Test: alone(busySnapshot)},
	}
}

// txlock returns a check that begins a transaction with the setting txlock set to the parameter
// "lock". While the transaction is open, a second DB of the same file writes and reads, which shows
// the locks that the transaction holds. The write must end with the result code in the parameter
// "writing", and the read with the result code in the parameter "reading". 0 means no error.
func txlock(lock string, writing, reading int) Check {
	key := "txlock=" + lock
	return Check{Name: "locks/" + key, Key: key, Test: alone(func(t test) {
		// Both DBs set a rollback journal, because the default of some libraries is WAL.
		t.open(rollbackMode.With(driver.Settings{"txlock": lock}), intTable, func(x *db) {
			t.open(rollbackMode, "", func(other *db) {
				x.everyWay(func(r runner) {
					r.rollback(r.begin(), func() {
						locked(other, "writing", "INSERT INTO t (n) VALUES (1)", writing)
						locked(other, "reading", "SELECT count(*) FROM t", reading)
					})
				})
			})
		})
	})}
}

func locked(other *db, what, sql string, code int) {
	what += " beside the transaction"
	if code != 0 {
		wantCode(what, code, func() { other.script(sql) })
	} else {
		within(what, func() { other.script(sql) })
	}
}

// besideWriter calls the function f while a second DB of the same file has an open transaction that
// has written. f may end that transaction by calling "commit". Otherwise besideWriter ends it after
// f. The second DB has a long busy_timeout, because without a write-ahead log its COMMIT must wait
// for readers. A connection that keeps trying to write is such a reader for short moments.
func besideWriter(t test, over driver.Settings, f func(x *db, commit func())) {
	t.open(longWait, intTable, func(writer *db) {
		t.open(over, "", func(x *db) {
			writer.script("BEGIN IMMEDIATE; INSERT INTO t VALUES (1, 1)")
			done := false
			commit := func() {
				done = true
				if err := writer.Script(t.ctx, "COMMIT"); err != nil { // if COMMIT fails, roll back, because otherwise x would wait until its timeout
					must(errors.Join(fmt.Errorf("COMMIT: %w", err), writer.Script(t.ctx, "ROLLBACK")))
				}
			}
			finally(func() { f(x, commit) }, func() error {
				if done {
					return nil
				}
				return try(commit)
			})
		})
	})
}

var longWait = driver.Settings{"busy_timeout": "60000"}

// besideReader calls the function f while two transactions are open. The transaction of x has
// inserted a row. The transaction of the reader, a second DB of the same file, has read. The
// reader's transaction ends when f calls "stop". f must commit the transaction of x. After f, the
// reader must see the row.
func besideReader(t test, over driver.Settings, f func(x *db, stop func())) {
	t.open(rollbackMode.With(over), intTable, func(x *db) {
		t.open(rollbackMode, "", func(reader *db) {
			x.script("BEGIN IMMEDIATE; INSERT INTO t VALUES (1, 1)")
			reader.script("BEGIN; SELECT count(*) FROM t")
			f(x, func() { reader.script("ROLLBACK") })
			reader.want("SELECT count(*) FROM t", 1)
		})
	})
}

// commitAtOnce commits while another connection reads. The COMMIT must fail and leave its
// transaction open. A second COMMIT must succeed after the reader's transaction has ended.
func commitAtOnce(t test) {
	besideReader(t, nil, func(x *db, stop func()) {
		finally(func() {
			wantCode("COMMIT beside a reader", driver.CodeBusy, func() { x.script("COMMIT") })
		}, func() error { return try(stop) })
		x.script("COMMIT")
	})
}

func commitWaits(t test) {
	besideReader(t, longWait, func(x *db, stop func()) {
		mustWait("COMMIT beside a reader", func() { x.script("COMMIT") }, stop)
	})
}

// mustWait calls the function f and, a little later, the function "release". It fails if f returns
// before "release" is called.
func mustWait(what string, f, release func()) {
	got := make(chan error, 1)
	started := make(chan struct{})
	go func() {
		close(started)
		got <- try(f)
	}()
	<-started
	select {
	case err := <-got:
		must(errors.Join(fmt.Errorf("%s did not wait: %w", what, err), try(release)))
	case <-time.After(100 * time.Millisecond):
	}
	must(errors.Join(try(release), <-got))
}

func busyAtOnce(t test) {
	besideWriter(t, driver.Settings{"busy_timeout": "0", "txlock": "immediate"}, func(x *db, _ func()) {
		wantCode("writing", driver.CodeBusy, func() { x.exec("INSERT INTO t VALUES (2, 2)", nil) })
		if _, limited := t.driver.Info().Limit("txlock", "immediate"); !limited {
			wantCode("beginning to write", driver.CodeBusy, func() { x.rollback(x.begin(), func() {}) })
		}
	})
}

func busyWaits(t test) {
	besideWriter(t, longWait, func(x *db, commit func()) {
		mustWait("writing beside a writer", func() { x.exec("INSERT INTO t VALUES (2, 2)", nil) }, commit)
		x.want("SELECT count(*) FROM t", 2)
	})
}

func busySnapshot(t test) {
	over := driver.Settings{"journal_mode": "wal", "busy_timeout": "100"}
	t.open(over, intTable, func(x *db) {
		t.open(over, "", func(other *db) {
			x.conn(func(c runner) {
				c.script("BEGIN; SELECT count(*) FROM t")
				finally(func() {
					other.exec("INSERT INTO t VALUES (1, 1)", nil)
					wantCode("writing on an old snapshot", 517, func() { c.exec("INSERT INTO t VALUES (2, 2)", nil) })
				}, func() error { return c.Script(c.ctx, "ROLLBACK") })
			})
		})
	})
}
