// Package sqldriver adapts SQLite libraries that register with database/sql to
// the contract of package driver. It does what a careful user of database/sql would
// write by hand: it keeps prepared statements, boxes parameters once per execution,
// and uses one set of scan destinations per query.
package sqldriver

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"time"

	contract "github.com/sqlite3perf/sqlite3perf/worker/driver"
)

// Library describes a library to the adapter.
type Library struct {
	Info contract.Info

	// Connector returns a connector that opens connections to the database at path with every
	// setting of s, except pool_size and pool_idle, which the adapter applies. For most
	// libraries, it calls the function [Connector].
	Connector func(path string, s contract.Settings) (driver.Connector, error)

	// Registered is the library's name in database/sql. If it is set, the driver is a
	// [contract.DSNOpener].
	Registered string

	// Code returns SQLite's extended result code if err is, or wraps, an error of the library's own
	// type. For any other error it returns 0.
	Code func(err error) int

	// Script runs many statements on one connection, for a library whose ExecContext runs only one
	// statement. It is nil for other libraries. A long script arrives in pieces: see
	// [contract.ScriptPieces].
	Script func(ctx context.Context, conn driver.Conn, sql string) error

	// LimitAttached sets SQLITE_LIMIT_ATTACHED of a connection of the library and returns the
	// previous value. If the library cannot do that, LimitAttached is nil, and the driver
	// declares the limit [contract.LimitFiles].
	LimitAttached func(conn driver.Conn, most int) (before int, err error)

	// Prepared converts the context with which a statement is prepared. It is for libraries that
	// otherwise assume that a statement is used only once. For other libraries it is nil. Prepared
	// also converts the contexts of executions, because database/sql prepares a statement of a pool
	// again on each connection that executes it.
	Prepared func(context.Context) context.Context

	// Cancellable converts a context that can end. It is for libraries that ignore the end of a
	// context unless the context is converted. For other libraries it is nil.
	Cancellable func(context.Context) context.Context

	// DirtyCommit is set if a failed Commit leaves the transaction open. database/sql would then
	// use the connection again within this transaction. So the adapter wraps the library's
	// connections, and rolls back after a failed Commit.
	DirtyCommit bool
}

// New returns a [contract.Driver] for a library.
func New(l Library) contract.Driver {
	d := contract.New(l.Info, l.open)
	if l.Registered == "" {
		return d
	}
	return contract.WithDSN(d, l.openDSN)
}

func (l *Library) open(ctx context.Context, path string, s contract.Settings) (contract.DB, error) {
	c, err := l.Connector(path, s)
	if err != nil {
		return nil, l.wrap(err)
	}
	if l.LimitAttached != nil && !contract.FilesAllowed(ctx) {
		c = &checked{c, l.withoutAttach}
	}
	if l.DirtyCommit {
		c = &checked{c, wrapConn}
	}
	return l.pool(ctx, sql.OpenDB(c), s)
}

func (l *Library) openDSN(ctx context.Context, dsn string, s contract.Settings) (contract.DB, error) {
	db, err := sql.Open(l.Registered, dsn)
	if err != nil {
		return nil, l.wrap(err)
	}
	return l.pool(ctx, db, s)
}

// pool applies the pool sizes in s to db, and opens the first connection of db.
func (l *Library) pool(ctx context.Context, db *sql.DB, s contract.Settings) (contract.DB, error) {
	db.SetMaxOpenConns(s.PoolSize())
	db.SetMaxIdleConns(s.PoolIdle())
	if err := db.PingContext(ctx); err != nil {
		return nil, l.wrap(errors.Join(err, db.Close()))
	}
	return &pool{runner{l, db}, db}, nil
}

func (l *Library) wrap(err error) error {
	if err == nil {
		return nil
	}
	if code := l.Code(err); code != 0 {
		return &contract.Error{Code: code, Err: err}
	}
	return err
}

// wrapIn adds the result code to err, like the method "wrap". If err has no result code and ctx has
// ended, it adds the error of ctx. Without the error of ctx, the cause would be unknown: when the
// context of a transaction ends, database/sql rolls back, and its error only says that the
// transaction is over or that its statement is closed.
func (l *Library) wrapIn(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil && l.Code(err) == 0 {
		return fmt.Errorf("%w: %w", ctx.Err(), err)
	}
	return l.wrap(err)
}

func (l *Library) context(ctx context.Context) context.Context {
	if l.Cancellable != nil && ctx.Done() != nil {
		return l.Cancellable(ctx)
	}
	return ctx
}

func (l *Library) prepared(ctx context.Context) context.Context {
	if l.Prepared != nil {
		ctx = l.Prepared(ctx)
	}
	return l.context(ctx)
}

// session has the methods that *sql.DB and *sql.Conn share.
type session interface {
	textRunner
	PrepareContext(ctx context.Context, query string) (*sql.Stmt, error)
}

type runner struct {
	lib *Library
	sq  session
}

func (p *pool) Prepare(ctx context.Context, st contract.Statement) (contract.Stmt, error) {
	return p.prepare(ctx, st, p.Script)
}

func (c *conn) Prepare(ctx context.Context, st contract.Statement) (contract.Stmt, error) {
	return c.prepare(ctx, st, c.Script)
}

// prepare does the work of the method Prepare of pools and connections. The function "script" is
// the method Script of the same pool or connection.
func (r *runner) prepare(
	ctx context.Context, st contract.Statement, script func(context.Context, string) error,
) (contract.Stmt, error) {
	if _, ok := contract.PlainVacuum(st.SQL); ok {
		return contract.VacuumStmt(st.SQL, script), nil
	}
	s := newStmt(r.lib, st)
	if st.AdHoc {
		s.text = r.sq
		return s, nil
	}
	var err error
	s.prepared, err = r.sq.PrepareContext(r.lib.prepared(ctx), st.SQL)
	if err != nil {
		return nil, r.lib.wrap(err)
	}
	return s, nil
}

type pool struct {
	runner
	db *sql.DB
}

func (p *pool) Conn(ctx context.Context) (contract.Conn, error) {
	c, err := p.db.Conn(ctx)
	if err != nil {
		return nil, p.lib.wrap(err)
	}
	return &conn{runner{p.lib, c}, c}, nil
}

// Script runs all pieces of a script on one connection, because one piece may begin a transaction
// that another piece ends.
func (p *pool) Script(ctx context.Context, sql string) error {
	c, err := p.Conn(ctx)
	if err != nil {
		return err
	}
	return errors.Join(c.Script(ctx, sql), c.Close())
}

func (p *pool) Begin(ctx context.Context) (contract.Tx, error) {
	t, err := p.db.BeginTx(p.lib.context(ctx), nil)
	if err != nil {
		return nil, p.lib.wrap(err)
	}
	return &tx{lib: p.lib, tx: t}, nil
}

func (p *pool) Close() error { return p.lib.wrap(p.db.Close()) }

func (p *pool) Waited() (callers int64, total time.Duration) {
	s := p.db.Stats()
	return s.WaitCount, s.WaitDuration
}

type conn struct {
	runner
	c *sql.Conn
}

func (c *conn) Script(ctx context.Context, sql string) error {
	ctx = c.lib.context(ctx)
	for piece := range contract.ScriptPieces(sql) {
		run := c.script
		if text, ok := contract.PlainVacuum(piece); ok && c.lib.LimitAttached != nil {
			piece, run = text, c.vacuum
		}
		if err := run(ctx, piece); err != nil {
			return c.lib.wrap(err)
		}
	}
	return nil
}

func (c *conn) vacuum(ctx context.Context, sql string) error {
	return contract.RunVacuum(func(most int) (before int, err error) {
		err = c.c.Raw(func(dc any) error {
			before, err = c.lib.LimitAttached(unwrap(dc.(driver.Conn)), most)
			return err
		})
		return before, err
	}, func() error { return c.script(ctx, sql) })
}

func (c *conn) script(ctx context.Context, sql string) error {
	if c.lib.Script == nil {
		_, err := c.c.ExecContext(ctx, sql)
		return err
	}
	return c.c.Raw(func(dc any) error { return c.lib.Script(ctx, unwrap(dc.(driver.Conn)), sql) })
}

// Begin lets ctx end the wait for a lock, but not the transaction. When a transaction's context
// ends, database/sql rolls back in another goroutine, which could end a later transaction of the
// connection's owner. database/sql also closes the connection, unless the method "kept" returns
// true. So if "kept" returns false, the transaction begins with a context that cannot end.
func (c *conn) Begin(ctx context.Context) (contract.Tx, error) {
	t := &tx{lib: c.lib, on: c}
	until := ctx
	if ctx.Done() != nil {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		until = context.WithoutCancel(ctx)
		if c.kept() {
			until, t.cancel = context.WithCancel(until)
		}
	}
	err := t.while(ctx, func() (err error) {
		t.tx, err = c.c.BeginTx(c.lib.context(until), nil)
		return err
	})
	if t.over {
		err = errors.Join(ctx.Err(), err)
	}
	if err != nil {
		return nil, err
	}
	return t, nil
}

// kept reports whether database/sql keeps the connection when the context of a transaction
// ends.
func (c *conn) kept() (kept bool) {
	err := c.c.Raw(func(dc any) error {
		_, resets := dc.(driver.SessionResetter)
		_, validates := dc.(driver.Validator)
		kept = resets && validates
		return nil
	})
	return kept && err == nil
}

func (c *conn) Close() error { return c.lib.wrap(c.c.Close()) }
