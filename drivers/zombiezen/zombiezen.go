// Package zombiezen adapts zombiezen.com/go/sqlite: its pool, its cache of prepared statements on
// each connection, and its typed Bind and Column calls.
package zombiezen

import (
	"context"
	_ "embed"
	"strings"
	"time"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

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
	return newPool(ctx, s.URI(path, nil), sqlite.OpenReadWrite|sqlite.OpenCreate|sqlite.OpenURI, s)
}

func openName(ctx context.Context, name string, s driver.Settings) (driver.DB, error) {
	return newPool(ctx, name, 0, s)
}

func newPool(ctx context.Context, name string, flags sqlite.OpenFlags, s driver.Settings) (driver.DB, error) {
	lib, err := sqlitex.NewPool(name, sqlitex.PoolOptions{Flags: flags, PoolSize: s.PoolSize()})
	if err != nil {
		return nil, wrap(err)
	}
	p := &pool{Pool: lib, conns: make(map[*sqlite.Conn]*conn), queue: connpool.NewQueue(s.PoolSize())}
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
	return &driver.Error{Code: int(sqlite.ErrCode(err)), Err: err}
}

// pool is the library's pool, with a number for each connection, which package connpool needs.
type pool struct {
	*sqlitex.Pool
	conns map[*sqlite.Conn]*conn // maps a connection of the library to the conn that contains it; the method "prepare" fills the map
	queue *connpool.Queue
}

// prepare takes every connection from the library's pool once, numbers it, and applies the
// settings.
func (p *pool) prepare(ctx context.Context, s driver.Settings) error {
	for n := range s.PoolSize() {
		lib, err := p.Pool.Take(ctx)
		if err != nil {
			return err
		}
		defer p.Pool.Put(lib)
		c := &conn{Conn: lib, number: n}
		p.conns[lib] = c
		if err := connpool.Apply(ctx, c, s); err != nil {
			return err
		}
	}
	return nil
}

func (p *pool) Take(ctx context.Context) (connpool.Conn, error) {
	began := p.queue.Enter()
	lib, err := p.Pool.Take(ctx)
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
	p.Pool.Put(c.(*conn).Conn)
}

func (p *pool) Waited() (callers int64, total time.Duration) { return p.queue.Waited() }

type conn struct {
	*sqlite.Conn
	number int
	done   <-chan struct{} // the connection is interrupted when this channel is closed
}

func (c *conn) Number() int         { return c.number }
func (c *conn) InTransaction() bool { return !c.AutocommitEnabled() }

func (c *conn) LimitAttached(most int) (before int, err error) {
	return int(c.Limit(sqlite.LimitAttached, int32(most))), nil
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

// Script does not use sqlitex.ExecuteScript, which runs the script in a savepoint, where
// journal_mode, VACUUM and BEGIN fail.
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
	s := &stmt{conn: c.Conn, st: st}
	s.setColumns(connpool.Kinds(st.Columns))
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
