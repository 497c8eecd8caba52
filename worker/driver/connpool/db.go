// Package connpool makes a [driver.DB] of a library's own connections, for
// libraries whose users hold connections themselves instead of going through
// database/sql. An adapter brings its library's [Conn] and [Stmt], and the
// library's [Pool] or, where it has none, a [Fixed] one; whatever a batch costs
// is spent in the adapter, not here.
package connpool

import (
	"context"
	"errors"

	"github.com/sqlite3perf/sqlite3perf/worker/driver"
)

// Conn is one of a library's connections. One goroutine at a time uses it. Its
// errors, and those of its statements, are a [*driver.Error] where SQLite gave
// a code.
type Conn interface {
	// Number tells apart the connections of a pool: from 0, less than its size.
	Number() int

	// Guard lets the end of ctx interrupt what runs on the connection, at
	// least until release is called and at most until the next Guard.
	Guard(ctx context.Context) (release func())

	// Script runs the statements of sql one after the other, discarding rows.
	Script(sql string) error

	// Run runs one statement that takes nothing, gives nothing and comes
	// often, such as COMMIT.
	Run(sql string) error

	// Prepare makes a statement ready. A pooled one is run on whatever
	// connection is at hand: one whose library caches statements asks the
	// cache for it at each execution, as the library's users then do.
	Prepare(st driver.Statement, pooled bool) (Stmt, error)

	// InTransaction reports whether a transaction is under way.
	InTransaction() bool
}

// Stmt is a statement ready on one connection; its methods do what those of
// [driver.Stmt] do. A Stmt of a pooled statement is not closed: what it holds
// goes with the connection.
type Stmt interface {
	Exec(b *driver.Batch, lo, hi int) error
	Query(b *driver.Batch, r int, visit func(driver.Row) error) error
	Close() error
}

// Pool lends connections out.
type Pool interface {
	// Take takes a connection, waiting while all are taken.
	Take(ctx context.Context) (Conn, error)
	Put(c Conn)
	Close() error
}

// New returns the database that pool, of the given size, has its connections
// to. Transactions begin with the statement begin.
func New(pool Pool, size int, begin string) driver.DB {
	return &db{pool, size, begin}
}

type db struct {
	pool  Pool
	size  int
	begin string
}

// with runs f on a connection of the pool.
func (d *db) with(ctx context.Context, f func(Conn) error) error {
	c, err := d.pool.Take(ctx)
	if err != nil {
		return err
	}
	defer d.pool.Put(c)
	return guarded(ctx, c, func() error { return f(c) })
}

// guarded runs f while the end of ctx interrupts c.
func guarded(ctx context.Context, c Conn, f func() error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	defer c.Guard(ctx)()
	return f()
}

func (d *db) Script(ctx context.Context, sql string) error {
	return d.with(ctx, func(c Conn) error { return c.Script(sql) })
}

func (d *db) Prepare(ctx context.Context, st driver.Statement) (driver.Stmt, error) {
	s := &pooledStmt{db: d, st: st, on: make([]*stmt, d.size)}
	return s, d.with(ctx, func(c Conn) error {
		_, err := s.find(c)
		return err
	})
}

func (d *db) Begin(ctx context.Context) (driver.Tx, error) {
	c, err := d.pool.Take(ctx)
	if err != nil {
		return nil, err
	}
	if err := guarded(ctx, c, func() error { return c.Run(d.begin) }); err != nil {
		d.pool.Put(c)
		return nil, err
	}
	return &tx{db: d, c: c, owned: true}, nil
}

func (d *db) Conn(ctx context.Context) (driver.Conn, error) {
	c, err := d.pool.Take(ctx)
	if err != nil {
		return nil, err
	}
	return &conn{db: d, c: c}, nil
}

func (d *db) Close() error { return d.pool.Close() }

// conn is a connection out of its pool.
type conn struct {
	db     *db
	c      Conn
	closed bool
}

func (c *conn) Script(ctx context.Context, sql string) error {
	return guarded(ctx, c.c, func() error { return c.c.Script(sql) })
}

func (c *conn) Prepare(ctx context.Context, st driver.Statement) (driver.Stmt, error) {
	s := &stmt{c: c.c}
	err := guarded(ctx, c.c, func() (err error) {
		s.Stmt, err = c.c.Prepare(st, false)
		return err
	})
	if err != nil {
		return nil, err
	}
	return s, nil
}

func (c *conn) Begin(ctx context.Context) (driver.Tx, error) {
	if err := guarded(ctx, c.c, func() error { return c.c.Run(c.db.begin) }); err != nil {
		return nil, err
	}
	return &tx{db: c.db, c: c.c}, nil
}

func (c *conn) Close() error {
	if c.closed {
		return errors.New("connection is already back in its pool")
	}
	c.closed = true
	c.db.pool.Put(c.c)
	return nil
}

// stmt is a statement on one connection.
type stmt struct {
	Stmt
	c Conn
}

func (s *stmt) Exec(ctx context.Context, b *driver.Batch, lo, hi int) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	release := s.c.Guard(ctx)
	err := s.Stmt.Exec(b, lo, hi)
	release()
	return err
}

func (s *stmt) Query(ctx context.Context, b *driver.Batch, r int, visit func(driver.Row) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	release := s.c.Guard(ctx)
	err := s.Stmt.Query(b, r, visit)
	release()
	return err
}

// pooledStmt is a statement on any connection. Whoever has taken connection i
// has on[i] to himself.
type pooledStmt struct {
	db *db
	st driver.Statement
	on []*stmt
}

// find returns the statement on c, made ready there at its first use.
func (s *pooledStmt) find(c Conn) (*stmt, error) {
	if st := s.on[c.Number()]; st != nil {
		return st, nil
	}
	inner, err := c.Prepare(s.st, true)
	if err != nil {
		return nil, err
	}
	st := &stmt{inner, c}
	s.on[c.Number()] = st
	return st, nil
}

func (s *pooledStmt) Exec(ctx context.Context, b *driver.Batch, lo, hi int) error {
	c, err := s.db.pool.Take(ctx)
	if err != nil {
		return err
	}
	st, err := s.find(c)
	if err == nil {
		err = st.Exec(ctx, b, lo, hi)
	}
	s.db.pool.Put(c)
	return err
}

func (s *pooledStmt) Query(ctx context.Context, b *driver.Batch, r int, visit func(driver.Row) error) error {
	c, err := s.db.pool.Take(ctx)
	if err != nil {
		return err
	}
	defer s.db.pool.Put(c)
	st, err := s.find(c)
	if err != nil {
		return err
	}
	return st.Query(ctx, b, r, visit)
}

func (s *pooledStmt) Close() error { return nil }

// tx is a transaction; one that was begun on the pool owns its connection.
type tx struct {
	db    *db
	c     Conn
	owned bool
	ended bool
}

func (t *tx) Stmt(_ context.Context, st driver.Stmt) (driver.Stmt, error) {
	switch s := st.(type) {
	case *stmt:
		if s.c == t.c {
			return s, nil
		}
	case *pooledStmt:
		if s.db == t.db {
			return s.find(t.c)
		}
	}
	return nil, errors.New("statement was not prepared by what began the transaction")
}

func (t *tx) Commit(ctx context.Context) error {
	if t.ended {
		return errors.New("transaction has already ended")
	}
	err := guarded(ctx, t.c, func() error { return t.c.Run("COMMIT") })
	if err == nil || !t.c.InTransaction() {
		t.end()
	}
	return err
}

// Rollback goes through however ctx stands, so as to leave the connection fit
// for use.
func (t *tx) Rollback(context.Context) error {
	if t.ended {
		return nil
	}
	defer t.end()
	if !t.c.InTransaction() {
		return nil // SQLite has rolled back by itself
	}
	return guarded(context.Background(), t.c, func() error { return t.c.Run("ROLLBACK") })
}

func (t *tx) end() {
	t.ended = true
	if t.owned {
		t.db.pool.Put(t.c)
	}
}
