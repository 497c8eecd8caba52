package worker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// openDSNs runs a job that opens data source names, and returns what it observes in each opened
// database.
func openDSNs(ctx context.Context, d driver.Driver, req *protocol.Request, out *answers) (res *protocol.JobResult, err error) {
	opener, ok := d.(driver.DSNOpener)
	if !ok {
		return nil, failf(protocol.CodeUnsupported, "%s cannot be given a data source name", d.Info().Name)
	}
	proof, err := proveNew(ctx, d, filepath.Join(req.Path, "proof.db"), nil, req.Settings.PoolSize(), req)
	if err != nil {
		return nil, err
	}
	if err := out.send(protocol.Response{Type: protocol.TypeReady, Protocol: protocol.Version, Proof: proof}); err != nil {
		return nil, err
	}
	home, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.Chdir(home)) }()
	res = &protocol.JobResult{}
	for i, o := range req.Job.DSN.Openings {
		r, err := openAlone(ctx, opener, filepath.Join(req.Path, strconv.Itoa(i)), o)
		if err = cmp.Or(err, ctx.Err()); err != nil {
			return nil, err
		}
		res.DSN = append(res.DSN, *r)
	}
	return res, nil
}

// openAlone opens a data source name in its own directory. If opening fails and the name means a file,
// it creates the file and tries again, because names with mode=ro need an existing file. Errors of
// the library are in the result. An error of openAlone itself means that the directory or the file
// could not be created, or that the directory could not be read.
func openAlone(ctx context.Context, d driver.DSNOpener, dir string, o protocol.Opening) (*protocol.Opened, error) {
	if err := enter(dir); err != nil {
		return nil, err
	}
	r := &protocol.Opened{}
	err := open(ctx, d, o, r)
	if err != nil && o.File != "" {
		if err := enter(dir); err != nil {
			return nil, err
		}
		if err := createFile(ctx, d, filepath.Join(dir, o.File)); err != nil {
			return nil, err
		}
		r = &protocol.Opened{Existing: true}
		err = open(ctx, d, o, r)
	}
	if err != nil {
		return &protocol.Opened{Failed: shorten(err.Error())}, nil
	}
	r.Files, err = databases(dir)
	return r, err
}

// enter creates dir as an empty directory and makes it the working directory.
func enter(dir string) error {
	err := os.Chdir(filepath.Dir(dir))
	if err == nil {
		err = os.RemoveAll(dir)
	}
	if err == nil {
		err = os.Mkdir(dir, 0o700)
	}
	if err == nil {
		err = os.Chdir(dir)
	}
	return err
}

// createFile creates a database in rollback mode with one table.
func createFile(ctx context.Context, d driver.Driver, path string) error {
	db, err := d.Open(ctx, path, driver.Settings{"journal_mode": "delete"})
	if err != nil {
		return fmt.Errorf("making a database to open: %w", err)
	}
	return errors.Join(db.Script(ctx, "CREATE TABLE sqlite3perf_existing(x)"), db.Close())
}

// databases returns the names of the database files in dir. It leaves out the journals, WAL files
// and lock files of databases.
func databases(dir string) (names []string, err error) {
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		if !slices.ContainsFunc([]string{"-journal", "-wal", "-shm", ".lock"}, func(suffix string) bool { return strings.HasSuffix(e.Name(), suffix) }) {
			names = append(names, e.Name())
		}
	}
	return names, err
}

// openLimit is the time limit for opening a database and observing it. Some libraries wait for
// a lock until they are interrupted.
const openLimit = 30 * time.Second

// secondLimit is the time limit for opening the second connection, which may wait for a lock
// that the first connection never releases.
const secondLimit = 2 * time.Second

// open opens a database and records in r what it observes. It returns only errors of the library.
func open(ctx context.Context, d driver.DSNOpener, o protocol.Opening, r *protocol.Opened) error {
	ctx, cancel := context.WithTimeout(ctx, openLimit)
	defer cancel()
	limits := []time.Duration{openLimit, secondLimit} // the time limit for each connection
	db, err := d.OpenDSN(ctx, o.DSN, driver.Settings{"pool_size": "2"})
	if err != nil {
		// Some libraries open both connections at once, and the first connection may have locked the
		// file. So open tries again with a pool of one connection.
		both := err
		limits = limits[:1]
		if db, err = d.OpenDSN(ctx, o.DSN, driver.Settings{"pool_size": "1"}); err != nil {
			return err
		}
		r.Second = shorten(both.Error())
	}
	defer db.Close() // the observations are valid even if closing fails
	var conns []driver.Conn
	defer func() {
		for _, c := range conns {
			c.Close()
		}
	}()
	for i, limit := range limits {
		c, got, err := connect(ctx, db, o, limit)
		if err != nil && i == 0 {
			return err
		}
		if err != nil {
			r.Second = shorten(err.Error())
			break
		}
		conns, r.Connections = append(conns, c), append(r.Connections, *got)
	}
	observe(ctx, conns, o, r)
	return nil
}

// connect takes a connection from the pool, runs the statements in o.Init on it, and reads back its
// settings and the pragmas in o.Pragmas.
func connect(ctx context.Context, db driver.DB, o protocol.Opening, limit time.Duration) (driver.Conn, *protocol.OpenedConn, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	c, err := db.Conn(ctx)
	if err != nil {
		return nil, nil, err
	}
	got := &protocol.OpenedConn{Pragmas: map[string]string{}}
	for _, sql := range o.Init {
		if err := c.Script(ctx, sql); err != nil {
			return nil, nil, errors.Join(fmt.Errorf("%s: %w", sql, err), c.Close())
		}
	}
	if got.Settings, err = readSettings(ctx, c); err != nil {
		return nil, nil, errors.Join(err, c.Close())
	}
	for _, name := range o.Pragmas {
		if value, ok := readPragma(ctx, c, name); ok {
			got.Pragmas[name] = value
		}
	}
	return c, got, nil
}

// readPragma reads a pragma. The result "ok" is false if the pragma does not exist, or does not
// return one row of one column.
func readPragma(ctx context.Context, c driver.Conn, name string) (value string, ok bool) {
	sql := "PRAGMA " + name
	if name == "case_sensitive_like" { // this pragma returns no row
		sql = "SELECT CASE WHEN 'a' LIKE 'A' THEN 0 ELSE 1 END"
	}
	list, err := driver.Texts(ctx, c, sql)
	if err != nil || len(list) != 1 {
		return "", false
	}
	return list[0], true
}

// observe adds to r.Seen the settings that no PRAGMA reports: mode, cache and txlock. It leaves out
// settings that it cannot observe. It sets r.Own if each connection has its own database.
func observe(ctx context.Context, conns []driver.Conn, o protocol.Opening, r *protocol.Opened) {
	r.Seen = driver.Settings{}
	if mode := observeMode(ctx, conns[0], r); mode != "" {
		r.Seen["mode"] = mode
	}
	if len(conns) < 2 || r.Seen["mode"] == "" || r.Seen["mode"] == "ro" {
		return
	}
	limited, cancel := context.WithTimeout(ctx, secondLimit)
	defer cancel()
	if _, err := driver.Number(limited, conns[1], "SELECT count(*) FROM sqlite3perf_probe"); err != nil {
		r.Own = driver.PrimaryCode(err) == driver.CodeError // if there is no such table, the second connection has another database
		return
	}
	if err := observeLocks(ctx, conns[0], conns[1], r); err == nil && !r.NoLocks {
		observeBegin(ctx, conns[0], conns[1], o, r)
	}
}

// observeMode creates a table to find the mode in which the file was opened. If SQLite cannot create
// it because the database is read-only, the mode is "ro". After any other error observeMode returns
// "".
func observeMode(ctx context.Context, c driver.Conn, r *protocol.Opened) string {
	queryOnly, _ := readPragma(ctx, c, "query_only")
	if err := c.Script(ctx, "CREATE TABLE sqlite3perf_probe(x)"); err != nil {
		if driver.PrimaryCode(err) == driver.CodeReadonly && queryOnly != "1" {
			return "ro"
		}
		return ""
	}
	names, err := databases(".")
	switch {
	case err != nil:
		return ""
	case len(names) == 0:
		return "memory"
	case r.Existing:
		return "rw"
	}
	return "rwc"
}

// observeLocks begins a write transaction on the connection "first", and tries to begin another one
// on the connection "second". From the error of the second transaction it derives the setting
// "cache", r.NoLocks and r.Waits.
func observeLocks(ctx context.Context, first, second driver.Conn, r *protocol.Opened) (err error) {
	if err := first.Script(ctx, "BEGIN IMMEDIATE"); err != nil {
		return err
	}
	release := sync.OnceValue(func() error { return first.Script(ctx, "ROLLBACK") })
	defer func() { err = errors.Join(err, release()) }()
	if r.Connections[1].Settings["busy_timeout"] != "0" {
		if err := second.Script(ctx, "PRAGMA busy_timeout=0"); err != nil {
			return err
		}
	}
	begin := now()
	code, gaveUp, err := tryHeld(ctx, second, "BEGIN IMMEDIATE", release)
	if err != nil {
		return err
	}
	if code == driver.CodeLocked && !gaveUp && now()-begin >= patience.Nanoseconds() {
		// The library has waited although the busy timeout is 0. Either its own busy handler waits,
		// or it waits for the other connection of a shared cache. PRAGMA busy_timeout replaces a
		// busy handler. So if a second attempt fails with SQLITE_BUSY, it was the busy handler that
		// waited during the first attempt.
		if err := second.Script(ctx, "PRAGMA busy_timeout=0"); err != nil {
			return err
		}
		if code, _, err = tryHeld(ctx, second, "BEGIN IMMEDIATE", release); err != nil {
			return err
		}
		r.Waits = code == driver.CodeBusy
	}
	switch code {
	case 0:
		r.NoLocks = true
		return second.Script(ctx, "ROLLBACK")
	case driver.CodeLocked:
		r.Seen["cache"] = "shared"
	default:
		r.Seen["cache"] = "private"
	}
	return nil
}

// tryHeld calls [tryLock] while another connection holds the lock. The function "release" makes
// that connection release the lock. Some libraries wait for the other connection of a shared cache
// even after the context has ended. In that case tryHeld calls "release" and returns gaveUp = true.
func tryHeld(ctx context.Context, c driver.Conn, sql string, release func() error) (code int, gaveUp bool, err error) {
	tried := make(chan struct{})
	go func() {
		defer close(tried)
		code, err = tryLock(ctx, c, sql)
	}()
	select {
	case <-tried:
		return code, false, err
	case <-time.After(4 * patience):
	}
	rerr := release()
	<-tried
	_ = c.Script(ctx, "ROLLBACK") // after the call of "release", the statement may have got the lock
	return driver.CodeLocked, true, rerr
}

// observeBegin begins a transaction on the connection "first", and observes from the connection
// "second" which lock the transaction holds. It adds the result to r.Seen as the setting txlock.
func observeBegin(ctx context.Context, first, second driver.Conn, o protocol.Opening, r *protocol.Opened) {
	rollback := func() error { return first.Script(ctx, "ROLLBACK") }
	var err error
	if o.Begin != "" {
		err = first.Script(ctx, o.Begin)
	} else {
		var tx driver.Tx
		if tx, err = first.Begin(ctx); err == nil {
			rollback = func() error { return tx.Rollback(ctx) }
		}
	}
	if err != nil {
		return
	}
	release := sync.OnceValue(rollback)
	defer func() { _ = release() }() // an error does not matter: the database is closed next
	code, gaveUp, err := tryHeld(ctx, second, "BEGIN IMMEDIATE", release)
	switch {
	case err != nil:
	case code == 0:
		r.Seen["txlock"] = "deferred"
		_ = second.Script(ctx, "ROLLBACK")
	case r.Connections[0].Settings["journal_mode"] == "wal": // in WAL mode, exclusive and immediate transactions take the same lock
		r.Seen["txlock"] = "immediate"
	case !gaveUp: // if tryHeld gave up, the lock has been released, so immediate and exclusive cannot be distinguished
		r.Seen["txlock"] = "immediate"
		code, _, err := tryHeld(ctx, second, "SELECT count(*) FROM sqlite_master", release)
		if err == nil && code != 0 {
			r.Seen["txlock"] = "exclusive"
		}
	}
}
