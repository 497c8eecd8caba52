package drivertest

import (
	"context"
	"errors"
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

func constraint(sql string, code int) testFunc {
	return inEveryWay(driver.Settings{"foreign_keys": "on"}, constraints, func(r runner) {
		st := driver.Statement{SQL: sql}
		r.prepare(st, func(s stmt) { wantCode("statement", code, s.once) })
		wantCode("script", code, func() { r.script(sql) })
		// The statement must fail in the same way when it runs as a query, while the library reads
		// rows. The statement has no RETURNING clause, because SQLite has this clause only since
		// version 3.35.
		r.prepare(st, func(s stmt) { wantCode("query", code, func() { s.query(nil, 0) }) })
	})
}

func badSQL(r runner) {
	for _, sql := range []string{"SELEC 1", "SELECT absent FROM sqlite_schema", "SELECT 'unterminated"} {
		st := driver.Statement{SQL: sql, Columns: columns(driver.Int)}
		wantCode(sql, driver.CodeError, func() { r.query(st, nil) })
	}
	r.want("SELECT 1", 1)
}

func queryOnly(x *db) {
	x.conn(func(c runner) {
		c.script("PRAGMA query_only=1")
		wantCode("writing", driver.CodeReadonly, func() { c.exec("INSERT INTO t VALUES (1, 1)", nil) })
	})
}

// The constant "endless" is a number of rows for which a query needs more than a second. The query ends
// even if it is not canceled, so that the check fails instead of hanging.
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

func wantCancelled(what string, err error) {
	if !errors.Is(err, context.Canceled) {
		wantCode(what, driver.CodeInterrupt, func() { must(err) })
	}
}

func cancelVisited(ctx context.Context, s driver.Stmt, cancel func()) error {
	return s.Query(ctx, nil, 0, func(driver.Row) error {
		cancel()
		return nil
	})
}

// cancelSilent cancels a statement that runs as a query but returns no rows. The statement
// inserts rows, so that the check can see whether the statement ran to its end in spite of the
// cancellation.
func cancelSilent(ctx context.Context, s driver.Stmt, cancel func()) error {
	go later(cancel)
	return s.Query(ctx, nil, 0, ignore)
}

func cancelExec(ctx context.Context, s driver.Stmt, cancel func()) error {
	go later(cancel)
	return s.Exec(ctx, nil, 0, 0)
}

// onceCancelled returns a test that passes a statement to the function "run", which executes and
// cancels it. The test then checks that the statement did not run to its end, and that SQL still
// runs.
func onceCancelled(st driver.Statement, run func(ctx context.Context, s driver.Stmt, cancel func()) error) testFunc {
	return inEveryWay(nil, newTable, func(r runner) {
		r.prepare(st, func(s stmt) {
			short, cancel := context.WithCancel(r.ctx)
			defer cancel()
			wantCancelled("the cancelled statement", run(short, s.Stmt, cancel))
		})
		within("it ran to its end", func() { r.want("SELECT count(*) FROM t", 0) })
		within("after the cancellation", func() { r.script("INSERT INTO t VALUES (1, 1)") })
	})
}

// The function "later" cancels a statement after a pause. By then the statement has most likely
// begun. SQLite cannot interrupt a statement before it begins.
func later(cancel func()) {
	time.Sleep(100 * time.Millisecond)
	cancel()
}
