package drivertest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sqlite3perf/sqlite3perf/worker/driver"
)

func errorChecks() []Check {
	list := []Check{{Name: "errors/bad SQL", Test: inEveryWay(nil, "", badSQL)}}
	for _, e := range []struct {
		name, sql string
		code      int
	}{
		{"SQLITE_CONSTRAINT_PRIMARYKEY", "INSERT INTO c (id, u, n) VALUES (1, 9, 9)", 1555},
		{"SQLITE_CONSTRAINT_UNIQUE", "INSERT INTO c (id, u, n) VALUES (9, 1, 9)", 2067},
		{"SQLITE_CONSTRAINT_NOTNULL", "INSERT INTO c (id, u, n) VALUES (9, 9, NULL)", 1299},
		{"SQLITE_CONSTRAINT_FOREIGNKEY", "INSERT INTO c (id, u, n, f) VALUES (9, 9, 9, 99)", 787},
		{"SQLITE_CONSTRAINT_CHECK", "INSERT INTO c (id, u, n) VALUES (9, 9, -9)", 275},
	} {
		list = append(list, Check{Name: "errors/" + e.name, Key: "codes=extended", Test: constraint(e.sql, e.code)})
	}
	return append(list, Check{Name: "errors/SQLITE_READONLY", Key: "connection=state", Test: on(nil, intTable, queryOnly)})
}

const constraints = `DROP TABLE IF EXISTS c; CREATE TABLE c (
	id INTEGER PRIMARY KEY, u INTEGER UNIQUE, n INTEGER NOT NULL CHECK (n > 0), f INTEGER REFERENCES c (id));
	INSERT INTO c VALUES (1, 1, 1, 1)`

func constraint(sql string, code int) func(context.Context, driver.Driver, string) error {
	return inEveryWay(driver.Settings{"foreign_keys": "on"}, constraints, func(ctx context.Context, r driver.Runner, adHoc bool) error {
		st := driver.Statement{SQL: sql, AdHoc: adHoc}
		err := withStmt(ctx, r, st, func(s driver.Stmt) error {
			return wantCode("statement", s.Exec(ctx, nil, 0, 0), code)
		})
		if err != nil {
			return err
		}
		if err := wantCode("script", r.Script(ctx, sql), code); err != nil {
			return err
		}
		// The same as a query, which fails while stepping. It does not use
		// RETURNING, which SQLite has only since 3.35.
		return withStmt(ctx, r, st, func(s driver.Stmt) error {
			_, err := collect(ctx, s, nil, nil, 0)
			return wantCode("query", err, code)
		})
	})
}

func badSQL(ctx context.Context, r driver.Runner, adHoc bool) error {
	for _, sql := range []string{"SELEC 1", "SELECT absent FROM sqlite_schema", "SELECT 'unterminated"} {
		_, err := query(ctx, r, driver.Statement{SQL: sql, Columns: columns(driver.Int), AdHoc: adHoc}, nil, 0)
		if err := wantCode(sql, err, 1); err != nil {
			return err
		}
	}
	return want(ctx, r, "SELECT 1", 1)
}

func queryOnly(ctx context.Context, x *db) error {
	return withConn(ctx, x, func(c driver.Conn) error {
		if err := c.Script(ctx, "PRAGMA query_only=1"); err != nil {
			return err
		}
		return wantCode("writing", exec(ctx, c, "INSERT INTO t VALUES (1, 1)", nil), 8)
	})
}

// endless takes more than a second at best, so that only a cancellation ends it
// sooner. It does end, so that without one the check fails instead of hanging.
const endless = 5_000_000

func cancelChecks() []Check {
	reads := driver.Statement{SQL: numbers(endless), Columns: columns(driver.Int)}
	inserts := driver.Statement{SQL: "INSERT INTO t (n) " + numbers(endless)}
	return []Check{
		{Name: "cancel/a query that gives rows", Key: "context=rows", Test: onceCancelled(reads, cancelVisited)},
		{Name: "cancel/a query that gives none", Key: "context=query", Test: onceCancelled(inserts, cancelSilent)},
		{Name: "cancel/a statement", Key: "context=exec", Test: onceCancelled(inserts, cancelExec)},
	}
}

// cancelled returns an error unless err reports a cancellation.
func cancelled(what string, err error) error {
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return wantCode(what, err, driver.CodeInterrupt)
}

// cancelVisited cancels while a row is visited.
func cancelVisited(ctx context.Context, s driver.Stmt, cancel func()) error {
	return s.Query(ctx, nil, 0, func(driver.Row) error {
		cancel()
		return nil
	})
}

// cancelSilent cancels a statement that runs as a query but returns no rows. The
// statement inserts, which shows whether it ran to its end nevertheless.
func cancelSilent(ctx context.Context, s driver.Stmt, cancel func()) error {
	go later(cancel)
	return s.Query(ctx, nil, 0, func(driver.Row) error { return nil })
}

func cancelExec(ctx context.Context, s driver.Stmt, cancel func()) error {
	go later(cancel)
	return s.Exec(ctx, nil, 0, 0)
}

// onceCancelled runs a statement through run, which cancels it, and then checks
// whether the statement and the connection can still be used.
func onceCancelled(st driver.Statement, run func(ctx context.Context, s driver.Stmt, cancel func()) error) func(context.Context, driver.Driver, string) error {
	return inEveryWay(nil, newTable, func(ctx context.Context, r driver.Runner, adHoc bool) error {
		st.AdHoc = adHoc
		err := withStmt(ctx, r, st, func(s driver.Stmt) error {
			short, cancel := context.WithCancel(ctx)
			defer cancel()
			return cancelled("the cancelled statement", run(short, s, cancel))
		})
		if err != nil {
			return err
		}
		if err := want(ctx, r, "SELECT count(*) FROM t", 0); err != nil {
			return fmt.Errorf("it ran to its end: %w", err)
		}
		if err := r.Script(ctx, "INSERT INTO t VALUES (1, 1)"); err != nil {
			return fmt.Errorf("after the cancellation: %w", err)
		}
		return nil
	})
}

// later cancels when the statement has most likely started. SQLite cannot interrupt
// one that has not.
func later(cancel func()) {
	time.Sleep(100 * time.Millisecond)
	cancel()
}
