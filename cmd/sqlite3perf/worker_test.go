package main

import (
	"context"
	sqldriver "database/sql/driver"
	"errors"
	"fmt"
	"os"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/sqlite3perf/sqlite3perf/worker"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	adapter "github.com/sqlite3perf/sqlite3perf/worker/driver/sqldriver"
)

// workers are commands that the scripts find in their directory. They are real workers that use the
// SQLite library of the store. The workers good and better are correct. Each of the others has one
// fault.
var workers = map[string]func(){}

func init() {
	for _, fault := range []string{"good", "better", "killed", "complains", "sleeps", "wrong", "ignores", "wal", "slow"} {
		workers[fault] = func() { worker.Main(&spoiled{honest(), fault}) }
	}
	workers["dies"] = func() { os.Exit(3) }
}

// honest returns a driver without defects.
func honest() driver.Driver {
	return adapter.New(adapter.Library{
		Info:      driver.Info{Name: "test", About: "A driver for tests.", Module: "modernc.org/sqlite", Kind: driver.Transpiled, Interface: driver.DatabaseSQL},
		Connector: connector,
		Code:      code, LimitAttached: limit,
	})
}

func connector(path string, s driver.Settings) (sqldriver.Connector, error) {
	dsn := s.URI(path, nil)
	if v, ok := s["txlock"]; ok {
		dsn = s.URI(path, map[string][]string{"_txlock": {v}})
	}
	return adapter.Connector(&sqlite.Driver{}, dsn, s.Pragmas()), nil
}

var limit = adapter.TranspiledLimitAttached(sqlite3.Xsqlite3_limit)

func code(err error) int {
	var e *sqlite.Error
	if errors.As(err, &e) {
		return e.Code()
	}
	return 0
}

type spoiled struct {
	driver.Driver
	fault string
}

func (d *spoiled) Open(ctx context.Context, path string, s driver.Settings) (driver.DB, error) {
	if d.fault == "ignores" {
		s = s.With(driver.Settings{"synchronous": "off"})
	}
	if _, asked := s["journal_mode"]; d.fault == "wal" && !asked {
		s = s.With(driver.Settings{"journal_mode": "wal"}) // the drivers zombiezen and crawshaw set WAL by default, too
	}
	db, err := d.Driver.Open(ctx, path, s)
	if err != nil {
		return nil, err
	}
	return &wrappedDB{db, wrappedRunner{db, func(inner driver.Stmt, st driver.Statement) driver.Stmt {
		return &spoiledStmt{inner, st, d.fault}
	}}}, nil
}

// wrappedRunner runs statements that the function "wrap" has wrapped.
type wrappedRunner struct {
	driver.Runner
	wrap func(driver.Stmt, driver.Statement) driver.Stmt
}

func (r wrappedRunner) Prepare(ctx context.Context, st driver.Statement) (driver.Stmt, error) {
	s, err := r.Runner.Prepare(ctx, st)
	if err != nil {
		return nil, err
	}
	return &wrappedStmt{r.wrap(s, st), s, st}, nil
}

func (r wrappedRunner) Begin(ctx context.Context) (driver.Tx, error) {
	tx, err := r.Runner.Begin(ctx)
	if err != nil {
		return nil, err
	}
	return &wrappedTx{tx, r.wrap}, nil
}

type wrappedDB struct {
	db driver.DB
	wrappedRunner
}

func (d *wrappedDB) Close() error { return d.db.Close() }

func (d *wrappedDB) Conn(ctx context.Context) (driver.Conn, error) {
	c, err := d.db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	return &wrappedConn{c, wrappedRunner{c, d.wrap}}, nil
}

type wrappedConn struct {
	conn driver.Conn
	wrappedRunner
}

func (c *wrappedConn) Close() error { return c.conn.Close() }

type wrappedTx struct {
	driver.Tx
	wrap func(driver.Stmt, driver.Statement) driver.Stmt
}

func (t *wrappedTx) Stmt(ctx context.Context, st driver.Stmt) (driver.Stmt, error) {
	s := st.(*wrappedStmt)
	inner, err := t.Tx.Stmt(ctx, s.inner)
	return &wrappedStmt{t.wrap(inner, s.st), inner, s.st}, err
}

// wrappedStmt is a wrapped statement. The field "inner" has the statement that it wraps.
type wrappedStmt struct {
	driver.Stmt
	inner driver.Stmt
	st    driver.Statement
}

type spoiledStmt struct {
	driver.Stmt
	st    driver.Statement
	fault string
}

// Query shows the worker's fault when it reads one of two kinds of rows: rows of the workload,
// which have two columns, or rows of a job's table, which have three.
func (s *spoiledStmt) Query(ctx context.Context, b *driver.Batch, r int, visit func(driver.Row) error) error {
	if len(s.st.Columns) > 1 && s.st.Columns[0].Type == driver.Int {
		switch s.fault {
		case "killed":
			if self, err := os.FindProcess(os.Getpid()); err == nil {
				_ = self.Kill() // if the kill fails, the worker sleeps until the trial's time limit
			}
			time.Sleep(time.Hour)
		case "complains":
			fmt.Fprintf(os.Stderr, "opening\n\x1b[31mreading\nno space left\n")
			os.Exit(3)
		case "sleeps":
			_ = os.WriteFile("asleep", nil, 0o644) // if writing fails, the test notices that the file is missing
			time.Sleep(time.Hour)
		case "slow":
			time.Sleep(100 * time.Millisecond)
		case "wrong":
			spoil := visit
			visit = func(row driver.Row) error {
				if row[0].Int == 7 {
					row[0].Int = 8
				}
				return spoil(row)
			}
		}
	}
	return s.Stmt.Query(ctx, b, r, visit)
}
