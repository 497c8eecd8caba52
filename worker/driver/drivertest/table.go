package drivertest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/sqlite3perf/sqlite3perf/worker/driver"
)

// noWait has the settings of a check that is not about settings. It does not wait
// for locks, so that nothing hangs.
var noWait = driver.Settings{"busy_timeout": "0"}

// db is a database in a check, and its path.
type db struct {
	driver.DB
	driver driver.Driver
	path   string
}

// open opens dir/test.db and runs the script on it.
func open(ctx context.Context, d driver.Driver, dir string, over driver.Settings, script string) (*db, error) {
	path := filepath.Join(dir, "test.db")
	x, err := d.Open(ctx, path, noWait.With(over))
	if err != nil {
		return nil, fmt.Errorf("open with %v: %w", over, err)
	}
	if script != "" {
		if err := x.Script(ctx, script); err != nil {
			return nil, errors.Join(fmt.Errorf("script: %w", err), x.Close())
		}
	}
	return &db{x, d, path}, nil
}

// with opens a database for f and closes it afterward.
func with(ctx context.Context, d driver.Driver, dir string, over driver.Settings, script string, f func(*db) error) error {
	x, err := open(ctx, d, dir, over, script)
	if err != nil {
		return err
	}
	err = f(x)
	closing := x.Close()
	if _, limited := d.Info().Limits[closeAfterFailure]; limited {
		closing = nil // a separate check is for that
	}
	return errors.Join(err, closing)
}

// on returns the test of a check that uses one database. It opens the database, runs
// the script on it, and calls f.
func on(over driver.Settings, script string, f func(context.Context, *db) error) func(context.Context, driver.Driver, string) error {
	return func(ctx context.Context, d driver.Driver, dir string) error {
		return with(ctx, d, dir, over, script, func(x *db) error { return f(ctx, x) })
	}
}

// inEveryWay is like on, but runs the script and calls f in every way to run a
// statement, as [everyWay] does. So the script begins with dropping its table.
func inEveryWay(over driver.Settings, script string, f func(context.Context, driver.Runner, bool) error) func(context.Context, driver.Driver, string) error {
	return on(over, "", func(ctx context.Context, x *db) error {
		return everyWay(ctx, x, func(ctx context.Context, r driver.Runner, adHoc bool) error {
			if err := r.Script(ctx, script); err != nil {
				return fmt.Errorf("script: %w", err)
			}
			return f(ctx, r, adHoc)
		})
	})
}

// closeAfterFailure is the key of closing after a BEGIN or COMMIT that failed.
const closeAfterFailure = "close=failed transaction"

// withConn takes a connection for f and returns it afterward.
func withConn(ctx context.Context, x driver.DB, f func(driver.Conn) error) error {
	c, err := x.Conn(ctx)
	if err != nil {
		return fmt.Errorf("take a connection: %w", err)
	}
	return errors.Join(f(c), c.Close())
}

// withStmt prepares a statement for f and closes it afterward.
func withStmt(ctx context.Context, r driver.Runner, st driver.Statement, f func(driver.Stmt) error) error {
	s, err := r.Prepare(ctx, st)
	if err != nil {
		return err
	}
	return errors.Join(f(s), s.Close())
}

// batch makes parameters from Go values: nil, int64, float64, string, []byte,
// bool or time.Time, depending on the type.
func batch(types []driver.Type, rows ...[]any) *driver.Batch {
	b := &driver.Batch{Columns: make([]driver.Column, len(types)), PerExec: 1}
	for i, t := range types {
		c := &b.Columns[i]
		c.Type = t
		if slices.ContainsFunc(rows, func(row []any) bool { return row[i] == nil }) {
			c.Nulls = make([]bool, len(rows))
		}
		for r, row := range rows {
			add(c, r, row[i])
		}
	}
	return b
}

func add(c *driver.Column, r int, v any) {
	if v == nil {
		c.Nulls[r] = true
		v = zeros[c.Type]
	}
	switch v := v.(type) {
	case int64:
		c.Ints = append(c.Ints, v)
	case bool:
		n := int64(0)
		if v {
			n = 1
		}
		c.Ints = append(c.Ints, n)
	case time.Time:
		c.Ints = append(c.Ints, v.UnixMilli())
	case float64:
		c.Reals = append(c.Reals, v)
	case string:
		c.Spans = append(c.Spans, driver.Span{Off: uint32(len(c.Data)), Len: uint32(len(v))})
		c.Data = append(c.Data, v...)
	case []byte:
		add(c, r, string(v))
	}
}

// zeros has what is stored where a value is NULL.
var zeros = [...]any{
	driver.Int: int64(0), driver.Bool: int64(0), driver.Time: int64(0), driver.Real: 0.0, driver.Text: "", driver.Blob: "",
}

func columns(types ...driver.Type) []driver.ColumnType {
	list := make([]driver.ColumnType, len(types))
	for i, t := range types {
		list[i].Type = t
	}
	return list
}

// begin begins a transaction and runs a statement in it.
func begin(ctx context.Context, r driver.Runner, st driver.Stmt, b *driver.Batch, lo, hi int) (driver.Tx, error) {
	t, err := r.Begin(ctx)
	if err != nil {
		return nil, err
	}
	in, err := t.Stmt(ctx, st)
	if err == nil {
		err = in.Exec(ctx, b, lo, hi)
	}
	if err != nil {
		return nil, errors.Join(err, t.Rollback(ctx))
	}
	return t, nil
}

// exec prepares and runs a statement once, for all rows of b.
func exec(ctx context.Context, r driver.Runner, sql string, b *driver.Batch) error {
	st := driver.Statement{SQL: sql}
	n := 0
	if b != nil {
		for range b.PerExec {
			for i := range b.Columns {
				st.Params = append(st.Params, b.Columns[i].Type)
				n = rowCount(&b.Columns[i])
			}
		}
	}
	return withStmt(ctx, r, st, func(s driver.Stmt) error { return s.Exec(ctx, b, 0, n) })
}

func rowCount(c *driver.Column) int { return max(len(c.Ints), len(c.Reals), len(c.Spans)) }

// rows runs a query without parameters and returns its result as Go values.
func rows(ctx context.Context, r driver.Runner, sql string, types ...driver.ColumnType) ([][]any, error) {
	return query(ctx, r, driver.Statement{SQL: sql, Columns: types}, nil, 0)
}

// query prepares, runs and closes a query.
func query(ctx context.Context, r driver.Runner, st driver.Statement, b *driver.Batch, row int) (list [][]any, err error) {
	err = withStmt(ctx, r, st, func(s driver.Stmt) (err error) {
		list, err = collect(ctx, s, st.Columns, b, row)
		return err
	})
	return list, err
}

// wantRows returns an error unless the query returns these rows.
func wantRows(ctx context.Context, r driver.Runner, st driver.Statement, b *driver.Batch, row int, list [][]any) error {
	return withStmt(ctx, r, st, func(s driver.Stmt) error { return wantResult(ctx, s, st.Columns, b, row, list) })
}

// wantResult is wantRows of a statement that is prepared.
func wantResult(ctx context.Context, s driver.Stmt, types []driver.ColumnType, b *driver.Batch, row int, list [][]any) error {
	got, err := collect(ctx, s, types, b, row)
	if err != nil {
		return err
	}
	return diff(got, list)
}

func collect(ctx context.Context, s driver.Stmt, types []driver.ColumnType, b *driver.Batch, r int) ([][]any, error) {
	var list [][]any
	err := s.Query(ctx, b, r, func(row driver.Row) error {
		values, err := unpack(row, types)
		list = append(list, values)
		return err
	})
	return list, err
}

// unpack returns a row's values from their cells. It copies only Blobs.
func unpack(row driver.Row, types []driver.ColumnType) ([]any, error) {
	if len(row) != len(types) {
		return nil, fmt.Errorf("row of %d columns, want %d", len(row), len(types))
	}
	values := make([]any, len(row))
	for i, c := range row {
		if c.Null {
			if !types[i].Nullable {
				return nil, fmt.Errorf("column %d: NULL in a column that cannot be NULL", i)
			}
			continue
		}
		switch types[i].Type {
		case driver.Int:
			values[i] = c.Int
		case driver.Real:
			values[i] = c.Real
		case driver.Text:
			values[i] = c.Text
		case driver.Blob:
			values[i] = append([]byte{}, c.Blob...)
		case driver.Bool:
			values[i] = c.Bool
		case driver.Time:
			values[i] = c.Time
		}
	}
	return values, nil
}

// number runs a query that returns one integer.
func number(ctx context.Context, r driver.Runner, sql string) (int64, error) {
	list, err := rows(ctx, r, sql, driver.ColumnType{Type: driver.Int})
	if err != nil {
		return 0, err
	}
	if len(list) != 1 {
		return 0, fmt.Errorf("%s: %d rows, want 1", sql, len(list))
	}
	return list[0][0].(int64), nil
}

// want returns an error unless the query returns the number n.
func want(ctx context.Context, r driver.Runner, sql string, n int64) error {
	got, err := number(ctx, r, sql)
	if err != nil {
		return fmt.Errorf("%s: %w", sql, err)
	}
	if got != n {
		return fmt.Errorf("%s: got %d, want %d", sql, got, n)
	}
	return nil
}

// diff returns an error that says where two results differ.
func diff(got, want [][]any) error {
	if len(got) != len(want) {
		return fmt.Errorf("%d rows, want %d", len(got), len(want))
	}
	for r := range want {
		for c := range want[r] {
			if !same(got[r][c], want[r][c]) {
				return fmt.Errorf("row %d, column %d: got %s, want %s", r, c, show(got[r][c]), show(want[r][c]))
			}
		}
	}
	return nil
}

// same compares two values. It distinguishes -0 from 0, and compares times as
// instants.
func same(a, b any) bool {
	switch b := b.(type) {
	case float64:
		a, ok := a.(float64)
		return ok && math.Float64bits(a) == math.Float64bits(b)
	case []byte:
		a, ok := a.([]byte)
		return ok && string(a) == string(b)
	case time.Time:
		a, ok := a.(time.Time)
		return ok && a.Equal(b)
	}
	return a == b
}

func show(v any) string {
	switch v := v.(type) {
	case nil:
		return "NULL"
	case string:
		if len(v) > 40 {
			return strconv.Itoa(len(v)) + " bytes of text"
		}
		return strconv.Quote(v)
	case []byte:
		if len(v) > 20 {
			return strconv.Itoa(len(v)) + " bytes"
		}
		return fmt.Sprintf("x'%x'", v)
	}
	return fmt.Sprintf("%T(%v)", v, v)
}

// wantPrimary returns an error unless err has the primary result code.
func wantPrimary(what string, err error, code int) error {
	if e, ok := errors.AsType[*driver.Error](err); !ok || e.Primary() != code {
		return fmt.Errorf("%s: got %v, want an error with primary code %d", what, err, code)
	}
	return nil
}

// wantCode returns an error unless err has the extended result code.
func wantCode(what string, err error, code int) error {
	e, ok := errors.AsType[*driver.Error](err)
	if !ok {
		return fmt.Errorf("%s: got %v, want an error with code %d", what, err, code)
	}
	if e.Code != code {
		return fmt.Errorf("%s: got code %d (%w), want %d", what, e.Code, err, code)
	}
	return nil
}
