package record_test

import (
	"context"
	"database/sql/driver"
	"errors"
	"io"
)

// library is a driver that stores nothing. Each query returns the rows 1, 2, 3.
type library struct{}

func (library) Open(string) (driver.Conn, error) { return &libraryConn{}, nil }

// libraryError is an error like those of many libraries.
type libraryError struct{ code int }

func (e *libraryError) Error() string { return "UNIQUE constraint failed: users.email" }
func (e *libraryError) Code() int     { return e.code }

type libraryConn struct{ reset int }

func (c *libraryConn) Prepare(string) (driver.Stmt, error) { return libraryStmt{}, nil }
func (c *libraryConn) Close() error                        { return nil }
func (c *libraryConn) Begin() (driver.Tx, error)           { return libraryTx{}, nil }

func (c *libraryConn) BeginTx(context.Context, driver.TxOptions) (driver.Tx, error) {
	return libraryTx{}, nil
}

func (c *libraryConn) ExecContext(_ context.Context, sql string, _ []driver.NamedValue) (driver.Result, error) {
	if sql == "INSERT twice" {
		return nil, &libraryError{2067}
	}
	if sql == "CREATE TABLE t (n)" {
		return driver.ResultNoRows, nil
	}
	if sql == "INSERT INTO t DEFAULT VALUES" {
		return libraryResult{57}, nil
	}
	return driver.RowsAffected(1), nil
}

type libraryResult struct{ id int64 }

func (r libraryResult) LastInsertId() (int64, error) { return r.id, nil }
func (r libraryResult) RowsAffected() (int64, error) { return 1, nil }

func (c *libraryConn) QueryContext(_ context.Context, sql string, _ []driver.NamedValue) (driver.Rows, error) {
	return &libraryRows{breaks: sql == "SELECT broken"}, nil
}

func (c *libraryConn) ResetSession(context.Context) error { c.reset++; return nil }

type libraryTx struct{}

func (libraryTx) Commit() error   { return nil }
func (libraryTx) Rollback() error { return nil }

type libraryStmt struct{}

func (libraryStmt) Close() error                               { return nil }
func (libraryStmt) NumInput() int                              { return -1 }
func (libraryStmt) Exec([]driver.Value) (driver.Result, error) { return driver.RowsAffected(1), nil }
func (libraryStmt) Query([]driver.Value) (driver.Rows, error)  { return &libraryRows{}, nil }

type libraryRows struct {
	n      int64
	breaks bool
}

func (r *libraryRows) Columns() []string { return []string{"n"} }
func (r *libraryRows) Close() error      { return nil }

func (r *libraryRows) Next(dest []driver.Value) error {
	if r.n == 2 && r.breaks {
		return &libraryError{266}
	}
	if r.n == 3 {
		return io.EOF
	}
	r.n++
	dest[0] = r.n
	return nil
}

// bare is a driver whose connections have only the required methods.
type bare struct{}

func (bare) Open(string) (driver.Conn, error) { return bareConn{}, nil }

type bareConn struct{}

func (bareConn) Prepare(string) (driver.Stmt, error) { return bareStmt{}, nil }
func (bareConn) Close() error                        { return nil }
func (bareConn) Begin() (driver.Tx, error)           { return libraryTx{}, nil }

// bareStmt implements the interface ColumnConverter, which converts each parameter of a statement.
type bareStmt struct{ libraryStmt }

func (bareStmt) NumInput() int { return 1 }

func (bareStmt) ColumnConverter(int) driver.ValueConverter { return doubled{} }

type doubled struct{}

func (doubled) ConvertValue(v any) (driver.Value, error) {
	n, ok := v.(int)
	if !ok {
		return nil, errors.New("not an int")
	}
	return int64(2 * n), nil
}
