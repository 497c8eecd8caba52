package drivertest

import (
	"context"
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
		{Name: "locks/busy_timeout=0", Key: "busy_timeout=0", Test: busyAtOnce},
		{Name: "locks/busy_timeout waits", Key: "busy_timeout=60000", Test: busyWaits},
		{Name: "locks/SQLITE_BUSY_SNAPSHOT", Key: "codes=extended", Test: busySnapshot},
	}
}

// txlock begins a transaction and sees which locks it holds by the codes that
// another database gets when it writes and reads; 0: none.
func txlock(lock string, writing, reading int) Check {
	key := "txlock=" + lock
	return Check{Name: "locks/" + key, Key: key, Test: func(ctx context.Context, d driver.Driver, dir string) error {
		journal := driver.Settings{"journal_mode": "delete"} // both: some libraries' default is WAL
		over := journal.With(driver.Settings{"txlock": lock})
		return with(ctx, d, dir, over, intTable, func(x *db) error {
			return with(ctx, d, dir, journal, "", func(other *db) error {
				return everyWay(ctx, x, func(ctx context.Context, r driver.Runner, _ bool) error {
					t, err := r.Begin(ctx)
					if err != nil {
						return err
					}
					err = errors.Join(
						locked("writing", other.Script(ctx, "INSERT INTO t (n) VALUES (1)"), writing),
						locked("reading", other.Script(ctx, "SELECT count(*) FROM t"), reading),
					)
					return errors.Join(err, t.Rollback(ctx))
				})
			})
		})
	}}
}

func locked(what string, err error, code int) error {
	if code != 0 {
		return wantCode(what+" beside the transaction", err, code)
	}
	if err != nil {
		return fmt.Errorf("%s beside the transaction: %w", what, err)
	}
	return nil
}

// besideWriter runs f while another database's transaction has written, then
// ends that transaction unless f has.
func besideWriter(ctx context.Context, d driver.Driver, dir string, over driver.Settings, f func(x *db, commit func() error) error) error {
	return with(ctx, d, dir, nil, intTable, func(writer *db) error {
		return with(ctx, d, dir, over, "", func(x *db) error {
			if err := writer.Script(ctx, "BEGIN IMMEDIATE; INSERT INTO t VALUES (1, 1)"); err != nil {
				return err
			}
			done := false
			commit := func() error {
				done = true
				return writer.Script(ctx, "COMMIT")
			}
			err := f(x, commit)
			if !done {
				err = errors.Join(err, commit())
			}
			return err
		})
	})
}

func busyAtOnce(ctx context.Context, d driver.Driver, dir string) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	return besideWriter(ctx, d, dir, driver.Settings{"busy_timeout": "0", "txlock": "immediate"}, func(x *db, _ func() error) error {
		if err := wantCode("writing", exec(ctx, x, "INSERT INTO t VALUES (2, 2)", nil), driver.CodeBusy); err != nil {
			return err
		}
		if _, limited := d.Info().Limit("txlock", "immediate"); limited {
			return nil
		}
		t, err := x.Begin(ctx)
		if err == nil {
			err = t.Rollback(ctx)
		}
		return wantCode("beginning to write", err, driver.CodeBusy)
	})
}

// busyWaits ends the lock a little after the waiter has started.
func busyWaits(ctx context.Context, d driver.Driver, dir string) error {
	return besideWriter(ctx, d, dir, driver.Settings{"busy_timeout": "60000"}, func(x *db, commit func() error) error {
		got := make(chan error)
		started := make(chan struct{})
		go func() {
			close(started)
			got <- exec(ctx, x, "INSERT INTO t VALUES (2, 2)", nil)
		}()
		<-started
		select {
		case err := <-got:
			return fmt.Errorf("writing beside a writer did not wait: %w", err)
		case <-time.After(100 * time.Millisecond):
		}
		if err := errors.Join(commit(), <-got); err != nil {
			return err
		}
		return want(ctx, x, "SELECT count(*) FROM t", 2)
	})
}

func busySnapshot(ctx context.Context, d driver.Driver, dir string) error {
	over := driver.Settings{"journal_mode": "wal", "busy_timeout": "100"}
	return with(ctx, d, dir, over, intTable, func(x *db) error {
		return with(ctx, d, dir, over, "", func(other *db) error {
			return withConn(ctx, x, func(c driver.Conn) error {
				if err := c.Script(ctx, "BEGIN; SELECT count(*) FROM t"); err != nil {
					return err
				}
				err := exec(ctx, other, "INSERT INTO t VALUES (1, 1)", nil)
				if err == nil {
					err = wantCode("writing on an old snapshot", exec(ctx, c, "INSERT INTO t VALUES (2, 2)", nil), 517)
				}
				return errors.Join(err, c.Script(ctx, "ROLLBACK"))
			})
		})
	})
}
