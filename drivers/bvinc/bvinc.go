// Package bvinc adapts github.com/bvinc/go-sqlite-lite: connections of our own pool,
// each with statements prepared once, since the library has neither a pool nor a
// statement cache. Values are bound through its Bind and read by its typed
// Column calls.
package bvinc

import (
	"context"
	_ "embed"
	"errors"

	"github.com/bvinc/go-sqlite-lite/sqlite3"

	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/driver/connpool"
)

//go:embed driver.json
var info []byte

// New returns the driver.
func New() driver.Driver { return driver.WithDSN(driver.New(driver.MustInfo(info), open), openName) }

func open(ctx context.Context, path string, s driver.Settings) (driver.DB, error) {
	return openName(ctx, s.URI(path, nil), s)
}

func openName(ctx context.Context, name string, s driver.Settings) (driver.DB, error) {
	return connpool.Open(ctx, s, func(number int) (connpool.ClosingConn, error) {
		lib, err := sqlite3.Open(name)
		if err != nil {
			return nil, wrap(err)
		}
		return &conn{Conn: lib, number: number, cache: make(map[string]*sqlite3.Stmt)}, nil
	})
}

// wrap adds the result code to an error of the library.
func wrap(err error) error {
	if err == nil {
		return nil
	}
	if e, ok := errors.AsType[*sqlite3.Error](err); ok {
		return &driver.Error{Code: e.Code(), Err: err}
	}
	return err
}

type conn struct {
	*sqlite3.Conn
	number int
	cache  map[string]*sqlite3.Stmt // of pooled statements, by their SQL
}

func (c *conn) Number() int             { return c.number }
func (c *conn) InTransaction() bool     { return !c.AutoCommit() }
func (c *conn) Script(sql string) error { return wrap(c.Exec(sql)) }
func (c *conn) Run(sql string) error    { return wrap(c.Exec(sql)) }

// LimitAttached implements [connpool.Limiter].
func (c *conn) LimitAttached(most int) (before int, err error) {
	return c.Limit(sqlite3.LIMIT_ATTACHED, most), nil
}

// RowsAffected implements [driver.Result].
func (c *conn) RowsAffected() (int64, error) { return int64(c.Changes()), nil }

// LastInsertId implements [driver.Result].
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

// Close finalizes the cached statements and closes the connection.
func (c *conn) Close() error {
	var errs []error
	for _, q := range c.cache {
		errs = append(errs, wrap(q.Close()))
	}
	return errors.Join(append(errs, wrap(c.Conn.Close()))...)
}
