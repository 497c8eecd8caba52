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
		{Name: "pool/closes idle connections", Key: "pool_idle", Test: alone(closesIdle)},
		{Name: "pool/waits while all are taken", Test: on(driver.Settings{"pool_size": "2"}, intTable, waits)},
		{Name: "pool/counts who waits", Key: "pool=waits", Test: on(driver.Settings{"pool_size": "2"}, intTable, countsWaits)},
		{Name: "pool/one connection by default", Test: on(nil, intTable, func(x *db) { x.conn(func(runner) { notAtOnce(x) }) })},
		{Name: "close/leaves no file open", Test: alone(closesFiles)},
	}
}

// markConn is a script that marks a connection. It fails if the connection is already marked.
const markConn = "CREATE TEMP TABLE mark (id INTEGER)"

// keepsConnections marks each connection of the pool with a temporary table. It checks that the
// connections still have this table after they were idle.
func keepsConnections(x *db) {
	const n = 4
	within(fmt.Sprint(n, " connections"), func() { x.onAll(n, func(c runner) { c.script(markConn) }) })
	for range n {
		x.want("SELECT count(*) FROM t", 0)
	}
	within("a connection was closed while idle", func() {
		x.onAll(n, func(c runner) { c.want("SELECT count(*) FROM temp.mark", 0) })
	})
}

// closesIdle marks each connection with a temporary table and returns it to the pool. After that, as
// many marked connections must stay open as the setting pool_idle says. If the pool has fewer
// connections, all must stay open.
func closesIdle(t test) {
	const n = 4
	for idle := range n + 2 {
		in := test{t.ctx, t.driver, filepath.Join(t.dir, strconv.Itoa(idle))}
		must(os.Mkdir(in.dir, 0o755))
		within(fmt.Sprint("pool_idle=", idle), func() {
			in.open(driver.Settings{"pool_size": "4", "pool_idle": strconv.Itoa(idle)}, "", func(x *db) {
				x.onAll(n, func(c runner) { c.script(markConn) })
				kept := int64(0)
				x.onAll(n, func(c runner) { kept += c.number("SELECT count(*) FROM sqlite_temp_master WHERE name = 'mark'") })
				if kept != int64(min(idle, n)) {
					fatalf("%d of %d connections stayed open", kept, n)
				}
			})
		})
	}
}

func waits(x *db) {
	x.conn(func(runner) {
		second, err := x.pool.Conn(x.ctx)
		must(err)
		err = try(func() { notAtOnce(x) })
		third := make(chan error)
		go func() {
			third <- try(func() { x.conn(func(c runner) { c.want("SELECT count(*) FROM t", 0) }) })
		}()
		must(errors.Join(err, second.Close(), try(func() {
			within("the caller that waits, after a connection was returned", func() { must(<-third) })
		})))
	})
}

// countsWaits expects the pool to count only callers that wait because all connections are
// taken.
func countsWaits(x *db) {
	c, ok := x.pool.(driver.WaitCounter)
	if !ok {
		fatalf("the pool is not a driver.WaitCounter: it does not count callers that wait")
	}
	before, total := c.Waited()
	x.conn(func(runner) {
		x.want("SELECT count(*) FROM t", 0)
		if n, d := c.Waited(); n != before || d != total {
			fatalf("%d callers waited %v, although a connection was free", n-before, d-total)
		}
		x.conn(func(runner) { notAtOnce(x) })
	})
	if n, d := c.Waited(); n != before+1 || d <= total {
		fatalf("%d callers waited %v in all, want 1 and the time until it gave up", n-before, d-total)
	}
}

// notAtOnce checks that a pool lends no connection while all its connections are taken.
func notAtOnce(x *db) {
	short, cancel := context.WithTimeout(x.ctx, 50*time.Millisecond)
	defer cancel()
	c, err := x.pool.Conn(short)
	if err == nil {
		must(errors.Join(errors.New("the pool gave out more connections than pool_size"), c.Close()))
	}
	if short.Err() == nil {
		fatalf("all connections taken: got %w, want to wait until the context ends", err)
	}
}

// closesFiles fails if Close leaves files next to the database, or leaves files open in the
// process. It checks for open files only on systems that list them.
func closesFiles(t test) {
	t.open(driver.Settings{"pool_size": "3", "journal_mode": "wal"}, intTable, func(x *db) {
		x.onAll(3, func(c runner) { c.exec("INSERT INTO t (n) VALUES (1)", nil) })
	})
	left, err := os.ReadDir(t.dir)
	must(err)
	for _, f := range left {
		if f.Name() != "test.db" {
			fatalf("%s is left after Close", f.Name())
		}
	}
	const fds = "/proc/self/fd"
	list, err := os.ReadDir(fds)
	if errors.Is(err, os.ErrNotExist) {
		return // this system does not list open files
	}
	must(err)
	for _, fd := range list {
		if target, err := os.Readlink(filepath.Join(fds, fd.Name())); err == nil && strings.HasPrefix(target, t.dir) {
			fatalf("%s is open after Close", target)
		}
	}
}
