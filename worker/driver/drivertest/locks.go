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
		{Name: "locks/COMMIT beside a reader", Needs: "transactions=reads", Test: commitAtOnce},
		{Name: "locks/COMMIT waits for a reader", Key: "busy_timeout=60000", Test: commitWaits},
		{Name: "locks/SQLITE_BUSY_SNAPSHOT", Key: "codes=extended", Test: busySnapshot},
	}
}

// txlock begins a transaction, and checks which locks it holds by the result codes
// that another database gets when it writes and reads; 0: no error.
func txlock(lock string, writing, reading int) Check {
	key := "txlock=" + lock
	return Check{Name: "locks/" + key, Key: key, Test: func(ctx context.Context, d driver.Driver, dir string) error {
		// Both databases are in rollback mode, since some libraries' default is WAL.
		over := rollbackMode.With(driver.Settings{"txlock": lock})
		return with(ctx, d, dir, over, intTable, func(x *db) error {
			return with(ctx, d, dir, rollbackMode, "", func(other *db) error {
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
// ends that transaction unless f has. Without a write-ahead log a COMMIT waits
// for readers too. A connection that tries repeatedly to write is a reader for a
// moment each time, so the writer's busy timeout is long.
func besideWriter(ctx context.Context, d driver.Driver, dir string, over driver.Settings, f func(x *db, commit func() error) error) error {
	return with(ctx, d, dir, longWait, intTable, func(writer *db) error {
		return with(ctx, d, dir, over, "", func(x *db) error {
			if err := writer.Script(ctx, "BEGIN IMMEDIATE; INSERT INTO t VALUES (1, 1)"); err != nil {
				return err
			}
			done := false
			commit := func() error {
				done = true
				err := writer.Script(ctx, "COMMIT")
				if err != nil { // otherwise somebody would wait for it in vain
					err = errors.Join(fmt.Errorf("COMMIT: %w", err), writer.Script(ctx, "ROLLBACK"))
				}
				return err
			}
			err := f(x, commit)
			if !done {
				err = errors.Join(err, commit())
			}
			return err
		})
	})
}

var longWait = driver.Settings{"busy_timeout": "60000"}

// besideReader runs f while x has written in a transaction, and another
// database reads in a transaction until f calls stop.
func besideReader(ctx context.Context, d driver.Driver, dir string, over driver.Settings, f func(x *db, stop func() error) error) error {
	return with(ctx, d, dir, rollbackMode.With(over), intTable, func(x *db) error {
		return with(ctx, d, dir, rollbackMode, "", func(reader *db) error {
			err := errors.Join(
				x.Script(ctx, "BEGIN IMMEDIATE; INSERT INTO t VALUES (1, 1)"),
				reader.Script(ctx, "BEGIN; SELECT count(*) FROM t"),
			)
			if err != nil {
				return err
			}
			if err := f(x, func() error { return reader.Script(ctx, "ROLLBACK") }); err != nil {
				return err
			}
			return want(ctx, reader, "SELECT count(*) FROM t", 1)
		})
	})
}

// commitAtOnce checks that a COMMIT that found a reader leaves its transaction
// open, and that it succeeds after the reader has gone.
func commitAtOnce(ctx context.Context, d driver.Driver, dir string) error {
	return besideReader(ctx, d, dir, nil, func(x *db, stop func() error) error {
		err := wantCode("COMMIT beside a reader", x.Script(ctx, "COMMIT"), driver.CodeBusy)
		return errors.Join(err, stop(), x.Script(ctx, "COMMIT"))
	})
}

func commitWaits(ctx context.Context, d driver.Driver, dir string) error {
	return besideReader(ctx, d, dir, longWait, func(x *db, stop func() error) error {
		return mustWait("COMMIT beside a reader", func() error { return x.Script(ctx, "COMMIT") }, stop)
	})
}

// mustWait expects f to wait until release is called, a little after f has started.
func mustWait(what string, f, release func() error) error {
	got := make(chan error, 1)
	started := make(chan struct{})
	go func() {
		close(started)
		got <- f()
	}()
	<-started
	select {
	case err := <-got:
		return errors.Join(fmt.Errorf("%s did not wait: %w", what, err), release())
	case <-time.After(100 * time.Millisecond):
	}
	return errors.Join(release(), <-got)
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

func busyWaits(ctx context.Context, d driver.Driver, dir string) error {
	return besideWriter(ctx, d, dir, longWait, func(x *db, commit func() error) error {
		write := func() error { return exec(ctx, x, "INSERT INTO t VALUES (2, 2)", nil) }
		if err := mustWait("writing beside a writer", write, commit); err != nil {
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
