package drivertest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sqlite3perf/sqlite3perf/worker/driver"
)

func waitingChecks() []Check {
	return []Check{
		{Name: "cancel/what waits for a lock", Key: "context=lock", Test: endsWaiting(waitLocked)},
		{Name: "cancel/a COMMIT that waits for a reader", Key: "context=commit", Test: endsWaiting(waitCommit)},
		{Name: "cancel/what waited leaves its connection clean", Needs: "transactions=reads", Test: leavesClean},
		{Name: "cancel/a statement as it ends", Test: on(unsynced, intTable, cancelAsItEnds)},
	}
}

// unsynced is a rollback journal that does not wait for the disk.
var unsynced = rollbackMode.With(driver.Settings{"synchronous": "off"})

// waiter is an operation that waits for what another database holds.
type waiter struct {
	name string
	hold string // the SQL with which the other one takes it
	over driver.Settings
	run  func(ctx context.Context, r driver.Runner, adHoc bool) error
}

// holdAll lets nobody else read or write.
const holdAll = "BEGIN EXCLUSIVE; INSERT INTO t (n) VALUES (1)"

var waitLocked = []waiter{
	{"a statement", holdAll, nil, func(ctx context.Context, r driver.Runner, adHoc bool) error {
		st := driver.Statement{SQL: "INSERT INTO t (n) VALUES (2)", AdHoc: adHoc}
		return withStmt(ctx, r, st, func(s driver.Stmt) error { return s.Exec(ctx, nil, 0, 0) })
	}},
	{"a query", holdAll, nil, func(ctx context.Context, r driver.Runner, adHoc bool) error {
		st := driver.Statement{SQL: "SELECT id FROM t", Columns: columns(driver.Int), AdHoc: adHoc}
		_, err := query(ctx, r, st, nil, 0)
		return err
	}},
	{"a script", holdAll, nil, func(ctx context.Context, r driver.Runner, _ bool) error {
		return r.Script(ctx, "INSERT INTO t (n) VALUES (3)")
	}},
	{"a transaction that begins", holdAll, driver.Settings{"txlock": "immediate"}, func(ctx context.Context, r driver.Runner, _ bool) error {
		t, err := r.Begin(ctx)
		if err == nil {
			err = t.Rollback(ctx)
		}
		return err
	}},
	{"a statement of a transaction", holdAll, nil, func(ctx context.Context, r driver.Runner, adHoc bool) error {
		return insertInTx(ctx, r, adHoc, driver.Tx.Rollback)
	}},
}

var waitCommit = []waiter{
	{"a COMMIT", "BEGIN; SELECT count(*) FROM t", nil, func(ctx context.Context, r driver.Runner, adHoc bool) error {
		return insertInTx(ctx, r, adHoc, func(t driver.Tx, ctx context.Context) error {
			err := t.Commit(ctx)
			if err != nil {
				err = errors.Join(err, t.Rollback(ctx))
			}
			return err
		})
	}},
}

// insertInTx inserts a row in a transaction, and ends the transaction with end.
func insertInTx(ctx context.Context, r driver.Runner, adHoc bool, end func(driver.Tx, context.Context) error) error {
	st := driver.Statement{SQL: "INSERT INTO t (n) VALUES (4)", AdHoc: adHoc}
	return withStmt(ctx, r, st, func(s driver.Stmt) error {
		t, err := begin(ctx, r, s, nil, 0, 0)
		if err == nil {
			err = end(t, ctx)
		}
		return err
	})
}

// ending is how an operation ended.
type ending struct{ err error }

// endsWaiting ends the context of each operation while it waits, and expects that the
// operation then ends although the lock is still held.
func endsWaiting(list []waiter) func(context.Context, driver.Driver, string) error {
	// Who heeds the context at all is a thousand times as fast.
	const soon = 2 * time.Second
	return cancelWaiting(list, func(got <-chan ending, release func() error) error {
		select {
		case e := <-got:
			return errors.Join(cancelled("the cancelled operation", e.err), release())
		case <-time.After(soon):
		}
		err := release()
		<-got
		return errors.Join(fmt.Errorf("it still waited for the lock %v after its context had ended", soon), err)
	})
}

// leavesClean ends the context of each operation while it waits. However the operation
// ends, if only after the lock is free, its connection must be clean.
func leavesClean(ctx context.Context, d driver.Driver, dir string) error {
	return cancelWaiting(append(waitLocked, waitCommit...), func(got <-chan ending, release func() error) error {
		select {
		case <-got:
			return release()
		case <-time.After(100 * time.Millisecond):
		}
		err := release()
		<-got
		return err
	})(ctx, d, dir)
}

// cancelWaiting runs each operation on a pool of one connection and on a connection of it,
// while another database holds what it waits for, and ends its context. It calls check with
// what will have the operation's ending, and with what releases the lock. After that, the next
// borrower of the connection must find it clean.
func cancelWaiting(list []waiter, check func(got <-chan ending, release func() error) error) func(context.Context, driver.Driver, string) error {
	return func(ctx context.Context, d driver.Driver, dir string) error {
		return with(ctx, d, dir, unsynced, intTable, func(holder *db) error {
			for _, w := range list {
				over := unsynced.With(longWait).With(w.over)
				err := with(ctx, d, dir, over, "", func(x *db) error {
					cancel := func(r driver.Runner, adHoc bool) error {
						if err := want(ctx, r, "SELECT count(*) FROM t", 0); err != nil { // reads the schema too
							return err
						}
						if err := holder.Script(ctx, w.hold); err != nil {
							return err
						}
						short, cancel := context.WithCancel(ctx)
						defer cancel()
						got := make(chan ending, 1)
						go func() { got <- ending{w.run(short, r, adHoc)} }()
						later(cancel)
						return check(got, func() error { return holder.Script(ctx, "ROLLBACK") })
					}
					for _, adHoc := range []bool{false, true} {
						err := cancel(x.DB, adHoc)
						if err == nil {
							err = clean(ctx, x)
						}
						if err != nil {
							return fmt.Errorf("on the pool, ad hoc %v: %w", adHoc, err)
						}
						err = withConn(ctx, x, func(c driver.Conn) error { return cancel(c, adHoc) })
						if err == nil {
							err = clean(ctx, x)
						}
						if err != nil {
							return fmt.Errorf("on a connection, ad hoc %v: %w", adHoc, err)
						}
					}
					return nil
				})
				if err != nil {
					return fmt.Errorf("%s: %w", w.name, err)
				}
			}
			return nil
		})
	}
}

// clean empties the table, in the way of one who borrows the connection next. It expects no
// open transaction, and no interrupt from one who borrowed it before.
func clean(ctx context.Context, x driver.DB) error {
	err := withConn(ctx, x, func(c driver.Conn) error {
		if err := c.Script(ctx, "BEGIN; COMMIT"); err != nil { // fails within a transaction
			return err
		}
		const n = 50_000 // enough for an interrupt that comes late
		if err := want(ctx, c, "SELECT count(*) FROM ("+numbers(n)+")", n); err != nil {
			return err
		}
		return exec(ctx, c, "DELETE FROM t", nil)
	})
	if err == nil {
		err = insertInTx(ctx, x, false, driver.Tx.Commit)
	}
	if err == nil {
		err = x.Script(ctx, "DELETE FROM t")
	}
	if err != nil {
		return fmt.Errorf("the next borrower of the connection: %w", err)
	}
	return nil
}

// cancelAsItEnds ends the contexts of statements and transactions at about the time when
// they end by themselves. What comes after on the same connection must not be interrupted.
func cancelAsItEnds(ctx context.Context, x *db) error {
	insert := driver.Statement{SQL: "INSERT INTO t (n) " + numbers(2000)}
	return errors.Join(
		cancelEach(ctx, x, insert),
		withConn(ctx, x, func(c driver.Conn) error { return cancelEach(ctx, c, insert) }),
		clean(ctx, x),
	)
}

func cancelEach(ctx context.Context, r driver.Runner, insert driver.Statement) error {
	const n = 100
	return withStmt(ctx, r, insert, func(s driver.Stmt) error {
		for i := range n {
			short, cancel := context.WithCancel(ctx)
			go func() {
				time.Sleep(time.Duration(i) * 20 * time.Microsecond)
				cancel()
			}()
			var err error
			if i%2 == 0 {
				err = s.Exec(short, nil, 0, 0)
			} else {
				var t driver.Tx
				if t, err = begin(short, r, s, nil, 0, 0); err == nil {
					if err = t.Commit(short); err != nil {
						err = errors.Join(err, t.Rollback(short))
					}
				}
			}
			cancel()
			if err != nil && !errors.Is(err, context.Canceled) {
				if err := wantPrimary("a cancelled statement", err, driver.CodeInterrupt); err != nil {
					return err
				}
			}
			if err := insertInTx(ctx, r, false, driver.Tx.Commit); err != nil {
				return fmt.Errorf("after statement %d of %d that was cancelled as it ended: %w", i+1, n, err)
			}
		}
		return nil
	})
}
