package drivertest

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/sqlite3perf/sqlite3perf/worker/driver"
)

// failure is the value of a panic that ends a check. The function "try" turns it into an error.
type failure struct{ err error }

// The function "must" ends the check if err is not nil.
func must(err error) {
	if err != nil {
		panic(failure{err})
	}
}

func fatalf(format string, args ...any) { must(fmt.Errorf(format, args...)) }

// The function "try" calls f. It returns the failure that ended f, or nil if f returned.
func try(f func()) (err error) {
	defer func() {
		switch p := recover().(type) {
		case nil:
		case failure:
			err = p.err
		default:
			panic(p)
		}
	}()
	f()
	return nil
}

// The function "finally" calls the function f and then, even if f fails, the function "last". It
// fails with the errors of both functions.
func finally(f func(), last func() error) { must(errors.Join(try(f), last())) }

// The function "within" calls the function f. If f fails, the error message begins with the
// parameter "where".
func within(where string, f func()) {
	if err := try(f); err != nil {
		fatalf("%s: %w", where, err)
	}
}

type testFunc = func(ctx context.Context, d driver.Driver, dir string) error

// test is the state of a running check.
type test struct {
	ctx    context.Context
	driver driver.Driver
	dir    string
}

func alone(f func(t test)) testFunc {
	return func(ctx context.Context, d driver.Driver, dir string) error {
		return try(func() { f(test{ctx, d, dir}) })
	}
}

// The function "on" returns a test that opens one database, runs the script on it, and calls f.
func on(over driver.Settings, script string, f func(x *db)) testFunc {
	return alone(func(t test) { t.open(over, script, f) })
}

// inEveryWay returns a test that opens one database. In each way of [db.everyWay], the test runs
// the script and then f on this database. So the script must begin by dropping its table.
func inEveryWay(over driver.Settings, script string, f func(r runner)) testFunc {
	return on(over, "", func(x *db) {
		x.everyWay(func(r runner) {
			within("script", func() { r.script(script) })
			f(r)
		})
	})
}

// noWait has the settings with which checks open databases, unless a check sets others. With these
// settings, statements do not wait for locks, so no check hangs.
var noWait = driver.Settings{"busy_timeout": "0"}

// closeAfterFailure is the key of a check that closes a database after a failed BEGIN or
// COMMIT.
const closeAfterFailure = "close=failed transaction"

func (t test) path() string { return filepath.Join(t.dir, "test.db") }

// open opens the database test.db, runs the script on it, calls f, and closes it.
func (t test) open(over driver.Settings, script string, f func(x *db)) {
	opened, err := t.driver.Open(t.ctx, t.path(), noWait.With(over))
	if err != nil {
		fatalf("open with %v: %w", over, err)
	}
	x := &db{runner{opened, t.ctx, false}, opened, t}
	finally(func() {
		if script != "" {
			within("script", func() { x.script(script) })
		}
		f(x)
	}, func() error {
		err := opened.Close()
		if _, limited := t.driver.Info().Limits[closeAfterFailure]; limited {
			return nil // a separate check tests Close after a failed BEGIN or COMMIT
		}
		return err
	})
}

func (t test) use(over driver.Settings, script string) { t.open(over, script, func(*db) {}) }

type db struct {
	runner // runs statements on the pool
	pool   driver.DB
	test   test
}

// conn takes a connection for f and returns it afterward.
func (x *db) conn(f func(c runner)) { x.connFor(x.runner, f) }

// connFor is like the method "conn", but takes the context from r, and makes ad hoc statements if r
// does.
func (x *db) connFor(r runner, f func(c runner)) {
	c, err := x.pool.Conn(r.ctx)
	if err != nil {
		fatalf("take a connection: %w", err)
	}
	finally(func() { f(runner{c, r.ctx, r.adHoc}) }, c.Close)
}

// onAll takes n connections, runs f on each connection, and returns them to the pool.
func (x *db) onAll(n int, f func(c runner)) {
	if n == 0 {
		return
	}
	x.conn(func(c runner) {
		x.onAll(n-1, f)
		within(fmt.Sprint("connection ", n), func() { f(c) })
	})
}

// everyWay runs the function f in every combination of three choices: on the pool or on a
// connection, with prepared or ad hoc statements, and with a context that can be canceled or one
// that cannot.
func (x *db) everyWay(f func(r runner)) {
	for _, adHoc := range []bool{false, true} {
		for _, ctx := range []context.Context{x.ctx, context.WithoutCancel(x.ctx)} {
			how := fmt.Sprintf("ad hoc %v, cancellable %v", adHoc, ctx.Done() != nil)
			r := runner{x.pool, ctx, adHoc}
			within("on the pool, "+how, func() { f(r) })
			within("on a connection, "+how, func() { x.connFor(r, f) })
		}
	}
}

// runner runs statements on a pool or on a connection. Methods that return no error end the
// check if something fails.
type runner struct {
	driver.Runner
	ctx   context.Context
	adHoc bool // set if the method "prepare" makes statements with the field AdHoc set
}

func (r runner) script(sql string) { must(r.Script(r.ctx, sql)) }

func (r runner) prepare(st driver.Statement, f func(s stmt)) {
	st.AdHoc = r.adHoc
	s, err := r.Prepare(r.ctx, st)
	must(err)
	finally(func() { f(stmt{s, r.ctx, st.Columns}) }, s.Close)
}

func (r runner) exec(sql string, b *driver.Batch) {
	st := driver.Statement{SQL: sql}
	n := 0
	if b != nil {
		n = b.Columns[0].Rows()
		for range b.PerExec {
			for i := range b.Columns {
				st.Params = append(st.Params, b.Columns[i].Type)
			}
		}
	}
	r.prepare(st, func(s stmt) { s.exec(b, 0, n) })
}

func (r runner) query(st driver.Statement, b *driver.Batch) (list [][]any) {
	r.prepare(st, func(s stmt) { list = s.query(b, 0) })
	return list
}

// rows returns the result of a query without parameters. It prepares the query even if r.adHoc is set.
func (r runner) rows(sql string, types ...driver.ColumnType) [][]any {
	r.adHoc = false
	return r.query(driver.Statement{SQL: sql, Columns: types}, nil)
}

// wantRows fails unless the query returns the rows in "list".
func (r runner) wantRows(st driver.Statement, b *driver.Batch, row int, list [][]any) {
	r.prepare(st, func(s stmt) { s.wantRows(b, row, list) })
}

func (r runner) number(sql string) int64 {
	list := r.rows(sql, driver.ColumnType{Type: driver.Int})
	if len(list) != 1 {
		fatalf("%d rows, want 1", len(list))
	}
	return list[0][0].(int64)
}

func (r runner) want(sql string, n int64) {
	within(sql, func() {
		if got := r.number(sql); got != n {
			fatalf("got %d, want %d", got, n)
		}
	})
}

func (r runner) begin() driver.Tx {
	t, err := r.Begin(r.ctx)
	must(err)
	return t
}

// beginWith begins a transaction and executes a statement in it.
func (r runner) beginWith(s stmt, b *driver.Batch, lo, hi int) driver.Tx {
	t := r.begin()
	if err := try(func() { s.in(t).exec(b, lo, hi) }); err != nil {
		must(errors.Join(err, t.Rollback(r.ctx)))
	}
	return t
}

func (r runner) rollback(t driver.Tx, f func()) {
	finally(f, func() error { return t.Rollback(r.ctx) })
}

// stmt is a prepared statement. Methods that return no error end the check if something fails.
type stmt struct {
	driver.Stmt
	ctx     context.Context
	columns []driver.ColumnType
}

func (s stmt) in(t driver.Tx) stmt {
	in, err := t.Stmt(s.ctx, s.Stmt)
	must(err)
	return stmt{in, s.ctx, s.columns}
}

func (s stmt) exec(b *driver.Batch, lo, hi int) { must(s.Exec(s.ctx, b, lo, hi)) }
func (s stmt) once()                            { s.exec(nil, 0, 0) }

// query runs the statement with a row of b, and returns the result as Go values.
func (s stmt) query(b *driver.Batch, row int) (list [][]any) {
	must(s.Query(s.ctx, b, row, func(row driver.Row) error {
		values, err := unpack(row, s.columns)
		list = append(list, values)
		return err
	}))
	return list
}

// wantRows fails unless the statement returns the rows in "list".
func (s stmt) wantRows(b *driver.Batch, row int, list [][]any) { must(diff(s.query(b, row), list)) }

func (s stmt) result(b *driver.Batch, row int) driver.Result {
	result, err := s.ExecResult(s.ctx, b, row)
	must(err)
	if result == nil {
		fatalf("the execution has no driver.Result")
	}
	return result
}

// ignore is the function "visit" of queries whose rows do not matter.
func ignore(driver.Row) error { return nil }

// wantPrimary fails unless the function f fails with an error whose primary result code is the
// parameter "code".
func wantPrimary(what string, code int, f func()) {
	err := try(f)
	if driver.PrimaryCode(err) != code {
		fatalf("%s: got %v, want an error with primary code %d", what, err, code)
	}
}

// wantCode fails unless the function f fails with an error whose extended result code is the
// parameter "code".
func wantCode(what string, code int, f func()) {
	err := try(f)
	if e, ok := errors.AsType[*driver.Error](err); !ok || e.Code != code {
		fatalf("%s: got %v, want an error with code %d", what, err, code)
	}
}
