package drivertest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/sqlite3perf/sqlite3perf/worker/driver"
)

func poolChecks() []Check {
	return []Check{
		{Name: "pool/holds its connections", Key: "connection=state", Test: on(driver.Settings{"pool_size": "4"}, intTable, keepsConnections)},
		{Name: "pool/closes idle connections", Key: "pool_idle", Test: closesIdle},
		{Name: "pool/waits while all are taken", Test: on(driver.Settings{"pool_size": "2"}, intTable, waits)},
		{Name: "pool/counts who waits", Key: "pool=waits", Test: on(driver.Settings{"pool_size": "2"}, intTable, countsWaits)},
		{Name: "pool/one connection by default", Test: on(nil, intTable, oneByDefault)},
		{Name: "close/leaves no file open", Test: closesFiles},
	}
}

// keepsConnections marks each connection of the pool with a temporary table
// and expects the marks, and no others, after the connections were idle.
func keepsConnections(ctx context.Context, x *db) error {
	const n = 4
	const mark = "CREATE TEMP TABLE mark (id INTEGER)" // fails if there is one
	if err := onAll(ctx, x, n, func(c driver.Conn) error { return c.Script(ctx, mark) }); err != nil {
		return fmt.Errorf("%d connections: %w", n, err)
	}
	for range n {
		if err := want(ctx, x, "SELECT count(*) FROM t", 0); err != nil {
			return err
		}
	}
	if err := onAll(ctx, x, n, func(c driver.Conn) error { return want(ctx, c, "SELECT count(*) FROM temp.mark", 0) }); err != nil {
		return fmt.Errorf("a connection was closed while idle: %w", err)
	}
	return nil
}

// closesIdle marks each connection in the same way, and expects as many marks as
// pool_idle keeps connections open.
func closesIdle(ctx context.Context, d driver.Driver, dir string) error {
	const n = 4
	for idle := range n + 2 {
		dir := filepath.Join(dir, strconv.Itoa(idle))
		if err := os.Mkdir(dir, 0o755); err != nil {
			return err
		}
		err := with(ctx, d, dir, driver.Settings{"pool_size": "4", "pool_idle": strconv.Itoa(idle)}, "", func(x *db) error {
			err := onAll(ctx, x, n, func(c driver.Conn) error { return c.Script(ctx, "CREATE TEMP TABLE mark (id INTEGER)") })
			if err != nil {
				return err
			}
			kept := int64(0)
			err = onAll(ctx, x, n, func(c driver.Conn) error {
				marks, err := number(ctx, c, "SELECT count(*) FROM sqlite_temp_master WHERE name = 'mark'")
				kept += marks
				return err
			})
			if err == nil && kept != int64(min(idle, n)) {
				err = fmt.Errorf("%d of %d connections stayed open", kept, n)
			}
			return err
		})
		if err != nil {
			return fmt.Errorf("pool_idle=%d: %w", idle, err)
		}
	}
	return nil
}

func waits(ctx context.Context, x *db) error {
	return withConn(ctx, x, func(driver.Conn) error {
		second, err := x.Conn(ctx)
		if err != nil {
			return err
		}
		err = notAtOnce(ctx, x)
		third := make(chan error)
		go func() {
			third <- withConn(ctx, x, func(c driver.Conn) error { return want(ctx, c, "SELECT count(*) FROM t", 0) })
		}()
		err = errors.Join(err, second.Close())
		if got := <-third; got != nil {
			err = errors.Join(err, fmt.Errorf("one who waits, after a connection was given back: %w", got))
		}
		return err
	})
}

// countsWaits expects a pool to count a caller that waits while all connections are taken,
// and none that finds one.
func countsWaits(ctx context.Context, x *db) error {
	c, ok := x.DB.(driver.WaitCounter)
	if !ok {
		return errors.New("the pool does not tell who waited: it is no driver.WaitCounter")
	}
	before, total := c.Waited()
	err := withConn(ctx, x, func(driver.Conn) error {
		if err := want(ctx, x, "SELECT count(*) FROM t", 0); err != nil {
			return err
		}
		if n, d := c.Waited(); n != before || d != total {
			return fmt.Errorf("%d callers waited %v, although a connection was free", n-before, d-total)
		}
		return withConn(ctx, x, func(driver.Conn) error { return notAtOnce(ctx, x) })
	})
	if err != nil {
		return err
	}
	if n, d := c.Waited(); n != before+1 || d <= total {
		return fmt.Errorf("%d callers waited %v in all, want 1 and the time until it gave up", n-before, d-total)
	}
	return nil
}

// notAtOnce expects that a pool lends no connection while all are taken.
func notAtOnce(ctx context.Context, x driver.DB) error {
	short, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
	defer cancel()
	c, err := x.Conn(short)
	if err == nil {
		return errors.Join(errors.New("the pool gave out more connections than pool_size"), c.Close())
	}
	if short.Err() == nil {
		return fmt.Errorf("all connections taken: got %w, want to wait until the context ends", err)
	}
	return nil
}

func oneByDefault(ctx context.Context, x *db) error {
	return withConn(ctx, x, func(driver.Conn) error { return notAtOnce(ctx, x) })
}

// closesFiles checks the open files of the process, if the system lists them, and
// the files that are left next to the database.
func closesFiles(ctx context.Context, d driver.Driver, dir string) error {
	over := driver.Settings{"pool_size": "3", "journal_mode": "wal"}
	err := with(ctx, d, dir, over, intTable, func(x *db) error {
		return onAll(ctx, x, 3, func(c driver.Conn) error { return exec(ctx, c, "INSERT INTO t (n) VALUES (1)", nil) })
	})
	if err != nil {
		return err
	}
	left, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, f := range left {
		if f.Name() != "test.db" {
			return fmt.Errorf("%s is left after Close", f.Name())
		}
	}
	const fds = "/proc/self/fd"
	list, err := os.ReadDir(fds)
	if errors.Is(err, os.ErrNotExist) {
		return nil // this system has no such list
	}
	for _, fd := range list {
		if target, err := os.Readlink(filepath.Join(fds, fd.Name())); err == nil && strings.HasPrefix(target, dir) {
			return fmt.Errorf("%s is open after Close", target)
		}
	}
	return err
}
