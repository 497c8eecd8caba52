package drivertest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/sqlite3perf/sqlite3perf/worker/driver"
)

func waitingChecks() []Check {
	return []Check{
		{Name: "cancel/what waits for a lock", Key: "context=lock", Test: cancelWaiting(waitLocked, endsWaiting)},
		{Name: "cancel/a COMMIT that waits for a reader", Key: "context=commit", Test: cancelWaiting(waitCommit, endsWaiting)},
		{Name: "cancel/what waited leaves its connection clean", Needs: "transactions=reads", Test: cancelWaiting(slices.Concat(waitLocked, waitCommit), endsAnyhow)},
		{Name: "cancel/a statement as it ends", Test: on(unsynced, intTable, cancelAsItEnds)},
	}
}

// unsynced has the settings for a rollback journal without waiting for the disk.
var unsynced = rollbackMode.With(driver.Settings{"synchronous": "off"})

// waiter is an operation that waits for a lock. A second [driver.DB] of the same file holds the
// lock.
type waiter struct {
	name string
	hold string // the SQL with which the second DB takes the lock
	over driver.Settings
	run  func(r runner)
}

// holdAll is SQL that takes a lock. While the lock is held, no other connection can read or write.
const holdAll = "BEGIN EXCLUSIVE; INSERT INTO t (n) VALUES (1)"

var waitLocked = []waiter{
	{"a statement", holdAll, nil, func(r runner) { r.exec("INSERT INTO t (n) VALUES (2)", nil) }},
	{"a query", holdAll, nil, func(r runner) {
		r.query(driver.Statement{SQL: "SELECT id FROM t", Columns: columns(driver.Int)}, nil)
	}},
	{"a script", holdAll, nil, func(r runner) { r.script("INSERT INTO t (n) VALUES (3)") }},
	{"a transaction that begins", holdAll, driver.Settings{"txlock": "immediate"}, func(r runner) { must(r.begin().Rollback(r.ctx)) }},
	{"a statement of a transaction", holdAll, nil, func(r runner) { insertInTx(r, driver.Tx.Rollback) }},
}

var waitCommit = []waiter{
	{"a COMMIT", "BEGIN; SELECT count(*) FROM t", nil, func(r runner) { insertInTx(r, commitOrRollback) }},
}

func commitOrRollback(t driver.Tx, ctx context.Context) error {
	err := t.Commit(ctx)
	if err != nil {
		err = errors.Join(err, t.Rollback(ctx))
	}
	return err
}

func insertInTx(r runner, end func(driver.Tx, context.Context) error) {
	r.prepare(driver.Statement{SQL: "INSERT INTO t (n) VALUES (4)"}, func(s stmt) {
		must(end(r.beginWith(s, nil, 0, 0), r.ctx))
	})
}

// ending is how an operation ended: with the error err, or with nil.
type ending struct{ err error }

// endsWaiting checks that an operation that waits for a lock ends soon after its context has ended,
// although the lock is still held.
func endsWaiting(got <-chan ending, release func() error) error {
	// Libraries that obey the context need a thousandth of this time.
	const soon = 2 * time.Second
	select {
	case e := <-got:
		return errors.Join(try(func() { wantCancelled("the cancelled operation", e.err) }), release())
	case <-time.After(soon):
	}
	err := release()
	<-got
	return errors.Join(fmt.Errorf("it still waited for the lock %v after its context had ended", soon), err)
}

// endsAnyhow waits until an operation that waited for a lock has ended. Any end is accepted, even if
// the operation ends only after the lock was released.
func endsAnyhow(got <-chan ending, release func() error) error {
	select {
	case <-got:
		return release()
	case <-time.After(100 * time.Millisecond):
	}
	err := release()
	<-got
	return err
}

// cancelWaiting runs each operation of the list, first on a pool of one connection and then on that
// connection. A second DB holds the lock for which the operation waits. While the operation waits,
// cancelWaiting cancels its context and calls the function "check". The channel "got" delivers the
// error of the operation, or nil. The function "release" releases the lock. After that, the next
// borrower of the connection must be able to use it as usual.
func cancelWaiting(list []waiter, check func(got <-chan ending, release func() error) error) testFunc {
	return alone(func(t test) {
		t.open(unsynced, intTable, func(holder *db) {
			cancel := func(r runner, w waiter) {
				r.want("SELECT count(*) FROM t", 0) // this also reads the schema before the lock is taken
				holder.script(w.hold)
				short, cancel := context.WithCancel(r.ctx)
				defer cancel()
				got := make(chan ending, 1)
				go func() { got <- ending{try(func() { w.run(runner{r.Runner, short, r.adHoc}) })} }()
				later(cancel)
				must(check(got, func() error { return holder.Script(t.ctx, "ROLLBACK") }))
			}
			for _, w := range list {
				within(w.name, func() {
					t.open(unsynced.With(longWait).With(w.over), "", func(x *db) {
						for _, adHoc := range []bool{false, true} {
							r := runner{x.pool, t.ctx, adHoc}
							within(fmt.Sprint("on the pool, ad hoc ", adHoc), func() {
								cancel(r, w)
								clean(x)
							})
							within(fmt.Sprint("on a connection, ad hoc ", adHoc), func() {
								x.connFor(r, func(c runner) { cancel(c, w) })
								clean(x)
							})
						}
					})
				})
			}
		})
	})
}

// The function "clean" takes the pool's only connection and empties the table t. It fails if the
// connection is still within a transaction, or if it receives an interrupt that was meant for an
// earlier borrower.
func clean(x *db) {
	within("the next borrower of the connection", func() {
		x.conn(func(c runner) {
			c.script("BEGIN; COMMIT") // BEGIN fails within a transaction
			const n = 50_000          // so many rows that an interrupt that comes late arrives during the query
			c.want("SELECT count(*) FROM ("+numbers(n)+")", n)
			c.exec("DELETE FROM t", nil)
		})
		insertInTx(x.runner, driver.Tx.Commit)
		x.script("DELETE FROM t")
	})
}

// cancelAsItEnds cancels statements and transactions at about the time when they end by themselves.
// The next statement on the connection must not be interrupted.
func cancelAsItEnds(x *db) {
	cancelEach(x.runner)
	x.conn(cancelEach)
	clean(x)
}

func cancelEach(r runner) {
	const n = 100
	r.prepare(driver.Statement{SQL: "INSERT INTO t (n) " + numbers(2000)}, func(s stmt) {
		for i := range n {
			short, cancel := context.WithCancel(r.ctx)
			go func() {
				time.Sleep(time.Duration(i) * 20 * time.Microsecond)
				cancel()
			}()
			err := try(func() {
				s := stmt{s.Stmt, short, nil}
				if i%2 == 0 {
					s.once()
				} else {
					must(commitOrRollback(runner{r.Runner, short, false}.beginWith(s, nil, 0, 0), short))
				}
			})
			cancel()
			if err != nil && !errors.Is(err, context.Canceled) {
				wantPrimary("a cancelled statement", driver.CodeInterrupt, func() { must(err) })
			}
			within(fmt.Sprintf("after statement %d of %d that was cancelled as it ended", i+1, n), func() {
				insertInTx(r, driver.Tx.Commit)
			})
		}
	})
}
