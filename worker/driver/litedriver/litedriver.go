// Package litedriver adapts go-sqlite-lite and its forks, which have the same methods. These libraries
// have neither a pool nor a cache of statements. So the package uses the pool of package connpool, and
// each connection prepares a statement once. Values are bound by the libraries' method Bind and read by
// their typed methods, such as ColumnInt64.
//
// The libraries are called through interfaces. Each call of a library goes through cgo, which takes much
// longer than calling a method of an interface. So the interfaces make no difference in
// drivertest.BenchmarkRead.
package litedriver

import (
	"context"
	"errors"

	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/driver/connpool"
)

// Conn is a connection of go-sqlite-lite or of one of its forks.
type Conn interface {
	// Prepare returns nil if sql has no statement. Each driver implements this method itself, because
	// the library's own method returns the library's type of statements.
	Prepare(sql string) (Stmt, error)

	Exec(sql string, args ...any) error
	Begin() error
	BeginImmediate() error
	BeginExclusive() error
	Commit() error
	Rollback() error
	AutoCommit() bool
	Changes() int
	LastInsertRowID() int64
	Interrupt()
	Limit(id, value int) int
	Close() error
}

// Stmt is a prepared statement of go-sqlite-lite or of one of its forks.
type Stmt interface {
	// ColumnRawBytes returns the bytes of a column in SQLite's own memory. Each driver implements
	// this method itself, because the library's own method returns the library's type of bytes.
	ColumnRawBytes(i int) ([]byte, error)

	Bind(args ...any) error
	Exec(args ...any) error
	Step() (bool, error)
	Scan(dst ...any) error
	Reset() error
	Close() error
	ColumnCount() int
	ColumnNames() []string
	DeclTypes() []string
	ColumnType(i int) byte
	ColumnInt64(i int) (v int64, ok bool, err error)
	ColumnDouble(i int) (v float64, ok bool, err error)
	ColumnText(i int) (v string, ok bool, err error)
}

// New returns a driver. The parameter "info" is the content of the driver's driver.json. The
// function "open" opens a connection by a path or a URI.
func New(info []byte, open func(name string) (Conn, error)) driver.Driver {
	openName := func(ctx context.Context, name string, s driver.Settings) (driver.DB, error) {
		return connpool.Open(ctx, s, func(number int) (connpool.ClosingConn, error) {
			lib, err := open(name)
			if err != nil {
				return nil, wrap(err)
			}
			return &conn{Conn: lib, number: number, cache: make(map[string]Stmt)}, nil
		})
	}
	openPath := func(ctx context.Context, path string, s driver.Settings) (driver.DB, error) {
		return openName(ctx, s.URI(path, nil), s)
	}
	return driver.WithDSN(driver.New(driver.MustInfo(info), openPath), openName)
}

type coded interface {
	error
	Code() int
}

func wrap(err error) error {
	if err == nil {
		return nil
	}
	return withCode(err)
}

// withCode is a separate function, so that wrap is small enough for the compiler to inline it.
func withCode(err error) error {
	if e, ok := errors.AsType[coded](err); ok {
		return &driver.Error{Code: e.Code(), Err: err}
	}
	return err
}

type conn struct {
	Conn
	number int
	cache  map[string]Stmt // statements prepared for the pool, by their SQL
}

func (c *conn) Number() int             { return c.number }
func (c *conn) InTransaction() bool     { return !c.AutoCommit() }
func (c *conn) Script(sql string) error { return wrap(c.Exec(sql)) }

// Run begins and ends transactions by the library's own calls, as its users do.
func (c *conn) Run(sql string) error {
	var err error
	switch sql {
	case "BEGIN", "BEGIN DEFERRED":
		err = c.Begin()
	case "BEGIN IMMEDIATE":
		err = c.BeginImmediate()
	case "BEGIN EXCLUSIVE":
		err = c.BeginExclusive()
	case "COMMIT":
		err = c.Commit()
	case "ROLLBACK":
		err = c.Rollback()
	default:
		err = c.Exec(sql)
	}
	return wrap(err)
}

func (c *conn) LimitAttached(most int) (before int, err error) {
	return c.Limit(driver.SQLiteLimitAttached, most), nil
}

func (c *conn) RowsAffected() (int64, error) { return int64(c.Changes()), nil }
func (c *conn) LastInsertId() (int64, error) { return c.LastInsertRowID(), nil }

func (c *conn) Guard(ctx context.Context) (release func()) {
	return connpool.Interrupt(ctx, c.Interrupt)
}

func (c *conn) Prepare(st driver.Statement, pooled bool) (connpool.Stmt, error) {
	s := &stmt{
		conn:  c.Conn,
		st:    st,
		args:  make([]any, 0, len(st.Params)),
		row:   make(driver.Row, len(st.Columns)),
		kinds: connpool.Kinds(st.Columns),
		blobs: make([][]byte, len(st.Columns)),
	}
	if st.AdHoc {
		return s, nil
	}
	if pooled {
		s.held = c.cache[st.SQL]
	}
	if s.held == nil {
		var err error
		if s.held, err = compile(c.Conn, st.SQL); err != nil {
			return nil, err
		}
	}
	if pooled {
		c.cache[st.SQL] = s.held
	}
	if err := s.checkColumns(s.held.ColumnCount()); err != nil {
		if !pooled {
			err = errors.Join(err, wrap(s.held.Close()))
		}
		return nil, err
	}
	return s, nil
}

func (c *conn) Close() (err error) {
	for _, q := range c.cache {
		err = errors.Join(err, wrap(q.Close()))
	}
	return errors.Join(err, wrap(c.Conn.Close()))
}
