// Package crawshaw adapts crawshaw.io/sqlite: its pool, its cache of prepared statements on each
// connection, and its typed Bind and Column calls.
package crawshaw

import (
	"context"
	_ "embed"
	"errors"
	"strings"
	"time"

	"crawshaw.io/sqlite"
	"crawshaw.io/sqlite/sqlitex"

	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/driver/connpool"
)

//go:embed driver.json
var info []byte

// New returns the driver.
func New() driver.Driver { return driver.WithDSN(driver.New(driver.MustInfo(info), open), openName) }

func open(ctx context.Context, path string, s driver.Settings) (driver.DB, error) {
	// The library's default is WAL. Its flag for WAL writes the file's header before page_size and
	// auto_vacuum are set, and then these settings have no effect. So open sets the PRAGMA instead.
	if _, ok := s["journal_mode"]; !ok && s["mode"] != "ro" && s["mode"] != "memory" {
		s = s.With(driver.Settings{"journal_mode": "wal"})
	}
	return newPool(ctx, s.URI(path, nil),
		sqlite.SQLITE_OPEN_READWRITE|sqlite.SQLITE_OPEN_CREATE|sqlite.SQLITE_OPEN_URI|sqlite.SQLITE_OPEN_NOMUTEX, s)
}

func openName(ctx context.Context, name string, s driver.Settings) (driver.DB, error) {
	return newPool(ctx, name, 0, s)
}

func newPool(ctx context.Context, name string, flags sqlite.OpenFlags, s driver.Settings) (driver.DB, error) {
	lib, err := sqlitex.Open(name, flags, s.PoolSize())
	if err != nil {
		return nil, wrap(err)
	}
	p := &pool{lib: lib, conns: make(map[*sqlite.Conn]*conn), queue: connpool.NewQueue(s.PoolSize())}
	if err := p.prepare(ctx, s); err != nil {
		lib.Close()
		return nil, err
	}
	return connpool.New(p, s.PoolSize(), s.Begin()), nil
}

func wrap(err error) error {
	if err == nil {
		return nil
	}
	if e, ok := errors.AsType[sqlite.Error](err); ok {
		return &driver.Error{Code: int(e.Code), Err: err}
	}
	return err
}

// pool is the library's pool, with a number for each connection, which package connpool needs.
type pool struct {
	lib   *sqlitex.Pool
	conns map[*sqlite.Conn]*conn // maps a connection of the library to the conn that contains it; the method "prepare" fills the map
	queue *connpool.Queue
}

// prepare takes every connection from the library's pool once, numbers it, and applies the
// settings.
func (p *pool) prepare(ctx context.Context, s driver.Settings) error {
	for n := range s.PoolSize() {
		lib, err := p.get(ctx)
		if err != nil {
			return err
		}
		defer p.lib.Put(lib)
		c := &conn{Conn: lib, number: n}
		p.conns[lib] = c
		if err := connpool.Apply(ctx, c, s); err != nil {
			return err
		}
	}
	return nil
}

// get passes nil to the library's pool if the context cannot end, as the examples in the library's
// documentation do. With any other context, the library starts a task of runtime/trace for each
// statement.
func (p *pool) get(ctx context.Context) (*sqlite.Conn, error) {
	var end context.Context
	if ctx.Done() != nil {
		end = ctx
	}
	if lib := p.lib.Get(end); lib != nil {
		return lib, nil
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return nil, errors.New("pool is closed")
}

func (p *pool) Take(ctx context.Context) (connpool.Conn, error) {
	began := p.queue.Enter()
	lib, err := p.get(ctx)
	p.queue.Leave(began, err == nil)
	if err != nil {
		return nil, err
	}
	c := p.conns[lib]
	c.done = ctx.Done() // the library's pool has set this channel as the interrupt
	return c, nil
}

func (p *pool) Put(c connpool.Conn) {
	p.queue.Return()
	p.lib.Put(c.(*conn).Conn)
}

func (p *pool) Waited() (callers int64, total time.Duration) { return p.queue.Waited() }

// Close closes the connections one by one. The library's pool interrupts each connection that is
// returned to it, and SQLite does not checkpoint the WAL when it closes an interrupted
// connection. Running another statement ends the interruption.
func (p *pool) Close() error {
	var errs []error
	for range p.conns {
		lib, err := p.get(context.Background())
		if err != nil {
			return errors.Join(append(errs, err)...)
		}
		errs = append(errs, p.conns[lib].Run("SELECT 1"), wrap(lib.Close()))
	}
	return errors.Join(errs...)
}

type conn struct {
	*sqlite.Conn
	number int
	done   <-chan struct{} // the connection is interrupted when this channel is closed
}

func (c *conn) Number() int         { return c.number }
func (c *conn) InTransaction() bool { return !c.GetAutocommit() }

func (c *conn) LimitAttached(most int) (before int, err error) {
	return c.Limit(sqlite.SQLITE_LIMIT_ATTACHED, most), nil
}

func (c *conn) RowsAffected() (int64, error) { return int64(c.Changes()), nil }
func (c *conn) LastInsertId() (int64, error) { return c.LastInsertRowID(), nil }

// Guard makes the library interrupt the connection when ctx ends. It tells the library only if ctx
// differs from the previous context, because telling the library costs time, and many executions
// share a context.
func (c *conn) Guard(ctx context.Context) (release func()) {
	if done := ctx.Done(); done != c.done {
		c.SetInterrupt(done)
		c.done = done
	}
	return func() {}
}

// Script does not use sqlitex.ExecScript, which steps each statement only once and runs the
// script in a savepoint, where journal_mode, VACUUM and BEGIN fail.
func (c *conn) Script(sql string) error {
	for sql = driver.TrimScript(sql); sql != ""; sql = driver.TrimScript(sql) {
		q, trailing, err := c.PrepareTransient(sql)
		if err != nil {
			return wrap(err)
		}
		err = run(q)
		q.Finalize() // Finalize returns the same error as run
		if err != nil {
			return wrap(err)
		}
		sql = sql[len(sql)-trailing:]
	}
	return nil
}

func (c *conn) Run(sql string) error {
	q, err := c.Conn.Prepare(sql)
	if err != nil {
		return wrap(err)
	}
	return wrap(run(q))
}

func (c *conn) Prepare(st driver.Statement, pooled bool) (connpool.Stmt, error) {
	n := len(st.Columns)
	s := &stmt{conn: c.Conn, st: st, row: make(driver.Row, n), kinds: connpool.Kinds(st.Columns), blobs: make([][]byte, n)}
	switch {
	case st.AdHoc:
		return s, nil
	case st.Transient && !pooled:
		return s, s.prepareTransient()
	}
	q, err := s.prepare()
	if err != nil {
		return nil, err
	}
	if !pooled {
		s.held = q
	}
	return s, nil
}

func (c *conn) Ask(q driver.Question, visit func([]any) error) (driver.Reply, error) {
	s, _, err := c.PrepareTransient(strings.TrimSpace(q.SQL))
	if err != nil {
		return driver.Reply{}, wrap(err)
	}
	return connpool.AskStepped[sqlite.ColumnType](c, s, q, visit, wrap)
}
