// Package connpool makes a [driver.DB] from a library's own connections, for libraries whose users hold
// connections themselves instead of using database/sql. An adapter provides its library's [Conn] and
// [Stmt]. It also provides the library's [Pool], or a [Fixed] pool if the library has none. The adapter,
// not this package, executes batches.
package connpool

import (
	"context"
	"errors"
	"time"

	"github.com/sqlite3perf/sqlite3perf/worker/driver"
)

// Conn is a connection of the library. One goroutine at a time uses it. The errors of a Conn and of
// its statements are of the type [*driver.Error] if SQLite gave a code. If the library returns how
// many rows a statement has changed, the Conn also implements [driver.Result], whose methods
// report on the last execution.
type Conn interface {
	// Number returns the connection's number in its pool, which counts from 0.
	Number() int

	// Guard makes the end of ctx interrupt the connection until the function "release" is called.
	// After that, ctx may still interrupt it, but only until the next call of Guard, or until the
	// connection is returned to the pool. Guard does nothing if ctx cannot end.
	Guard(ctx context.Context) (release func())

	// Script runs the statements of sql in order, and discards rows. A long script arrives in
	// pieces: see [driver.ScriptPieces].
	Script(sql string) error

	// Run runs a frequent statement that has neither parameters nor a result, such as COMMIT.
	Run(sql string) error

	// Prepare prepares a statement. A pooled statement is prepared on each connection that runs
	// it. If the library caches statements, the adapter asks the cache at each execution, as the
	// library's users do.
	Prepare(st driver.Statement, pooled bool) (Stmt, error)

	// InTransaction reports whether a transaction is open.
	InTransaction() bool
}

// Limiter is a [Conn] of a library that can set SQLITE_LIMIT_ATTACHED. Other drivers declare the
// limit [driver.LimitFiles].
type Limiter interface {
	// LimitAttached has the contract of [driver.LimitAttached].
	LimitAttached(most int) (before int, err error)
}

// Stmt is a statement prepared on one connection. Its methods have the same contracts as the
// methods of [driver.Stmt]. A pooled Stmt is never closed by itself: its resources are released
// when its connection is closed.
type Stmt interface {
	Exec(b *driver.Batch, lo, hi int) error
	Query(b *driver.Batch, r int, visit func(driver.Row) error) error
	Close() error
}

// Pool lends connections. It is the library's own pool, or a [Fixed] pool.
type Pool interface {
	// Take takes a connection. It waits while all connections are taken.
	Take(ctx context.Context) (Conn, error)
	Put(c Conn)
	Close() error

	// Waited has the same contract as in [driver.WaitCounter]. For a library's own pool, the
	// adapter implements it with a [Queue].
	Waited() (callers int64, total time.Duration)
}

// New returns a database that lends the connections of the parameter "pool". The parameter "size"
// is the number of these connections, and "begin" is the SQL statement that begins a transaction.
func New(pool Pool, size int, begin string) driver.WaitCounter {
	d := &db{pool, begin, make([]session, size)}
	for i := range d.sessions {
		d.sessions[i].number = i
	}
	return d
}

type db struct {
	pool     Pool
	begin    string
	sessions []session // indexed by the connection's number
}

// session is a connection that is taken out of the pool. It remembers the context that may
// interrupt it, so that many executions with the same context call [Conn].Guard only once.
type session struct {
	Conn
	number  int
	done    <-chan struct{} // Done channel of the context that was last passed to Guard
	release func()          // function that the last call of Guard returned; nil after that function was called
}

// guard lets ctx, and no other context, interrupt the connection from now on. It returns the
// error of ctx if ctx has ended.
func (s *session) guard(ctx context.Context) error {
	done := ctx.Done()
	if done == s.done {
		if done == nil {
			return nil // a context without a Done channel never ends
		}
		return ctx.Err()
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	s.unguard()
	s.release, s.done = s.Guard(ctx), done
	return nil
}

func (s *session) unguard() {
	if s.release != nil {
		s.release()
		s.release, s.done = nil, nil
	}
}

func (s *session) script(sql string) error {
	for piece := range driver.ScriptPieces(sql) {
		var err error
		l, limits := s.Conn.(Limiter)
		if text, ok := driver.PlainVacuum(piece); ok && limits {
			err = driver.RunVacuum(l.LimitAttached, func() error { return s.Script(text) })
		} else {
			err = s.Script(piece)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (d *db) take(ctx context.Context) (*session, error) {
	c, err := d.pool.Take(ctx)
	if err != nil {
		return nil, err
	}
	s := &d.sessions[c.Number()]
	s.Conn = c
	if err := s.guard(ctx); err != nil {
		d.put(s)
		return nil, err
	}
	return s, nil
}

func (d *db) put(s *session) {
	s.unguard()
	d.pool.Put(s.Conn)
}

func (d *db) with(ctx context.Context, f func(*session) error) error {
	s, err := d.take(ctx)
	if err != nil {
		return err
	}
	defer d.put(s)
	return f(s)
}

func (d *db) Script(ctx context.Context, sql string) error {
	return d.with(ctx, func(s *session) error { return s.script(sql) })
}

func (d *db) Prepare(ctx context.Context, st driver.Statement) (driver.Stmt, error) {
	if _, ok := driver.PlainVacuum(st.SQL); ok {
		return driver.VacuumStmt(st.SQL, d.Script), nil
	}
	p := &pooledStmt{db: d, st: st, on: make([]*stmt, len(d.sessions))}
	return p, d.with(ctx, func(s *session) error {
		_, err := p.find(s)
		return err
	})
}

func (d *db) Begin(ctx context.Context) (driver.Tx, error) {
	s, err := d.take(ctx)
	if err != nil {
		return nil, err
	}
	t, err := d.start(s, true)
	if err != nil {
		d.put(s)
		return nil, err
	}
	return t, nil
}

// start begins a transaction on s. If the parameter "owned" is true, s returns to the pool when the
// transaction ends.
func (d *db) start(s *session, owned bool) (driver.Tx, error) {
	if err := s.Run(d.begin); err != nil {
		return nil, err
	}
	return &tx{db: d, on: s, owned: owned}, nil
}

func (d *db) Conn(ctx context.Context) (driver.Conn, error) {
	s, err := d.take(ctx)
	if err != nil {
		return nil, err
	}
	c := &conn{db: d, on: s}
	if _, ok := s.Conn.(Asker); ok {
		return askingConn{c}, nil
	}
	return c, nil
}

func (d *db) Close() error                                 { return d.pool.Close() }
func (d *db) Waited() (callers int64, total time.Duration) { return d.pool.Waited() }

type conn struct {
	db     *db
	on     *session
	closed bool
}

func (c *conn) Script(ctx context.Context, sql string) error {
	if err := c.on.guard(ctx); err != nil {
		return err
	}
	return c.on.script(sql)
}

func (c *conn) Prepare(ctx context.Context, st driver.Statement) (driver.Stmt, error) {
	if _, ok := driver.PlainVacuum(st.SQL); ok {
		return driver.VacuumStmt(st.SQL, c.Script), nil
	}
	if err := c.on.guard(ctx); err != nil {
		return nil, err
	}
	inner, err := c.on.Prepare(st, false)
	if err != nil {
		return nil, err
	}
	return &stmt{inner, c.on}, nil
}

func (c *conn) Begin(ctx context.Context) (driver.Tx, error) {
	if err := c.on.guard(ctx); err != nil {
		return nil, err
	}
	return c.db.start(c.on, false)
}

func (c *conn) Close() error {
	if c.closed {
		return errors.New("connection is already back in its pool")
	}
	c.closed = true
	c.db.put(c.on)
	return nil
}

type stmt struct {
	Stmt
	on *session
}

func (s *stmt) Exec(ctx context.Context, b *driver.Batch, lo, hi int) error {
	if err := s.on.guard(ctx); err != nil {
		return err
	}
	return s.Stmt.Exec(b, lo, hi)
}

func (s *stmt) ExecResult(ctx context.Context, b *driver.Batch, r int) (driver.Result, error) {
	if err := s.Exec(ctx, b, r, after(b, r)); err != nil {
		return nil, err
	}
	result, _ := s.on.Conn.(driver.Result)
	return result, nil
}

// The function "after" returns the row with which the next execution begins. The current execution
// begins at row r.
func after(b *driver.Batch, r int) int {
	if b == nil {
		return r
	}
	return r + b.PerExec
}

func (s *stmt) Query(ctx context.Context, b *driver.Batch, r int, visit func(driver.Row) error) error {
	if err := s.on.guard(ctx); err != nil {
		return err
	}
	return s.Stmt.Query(b, r, visit)
}

// pooledStmt is a statement that runs on any connection. on[i] is the statement prepared on
// connection number i. Only the caller that has taken a connection uses that connection's
// statement.
type pooledStmt struct {
	db *db
	st driver.Statement
	on []*stmt
}

// find returns the statement prepared on the connection c. It prepares the statement if c runs it
// for the first time.
func (s *pooledStmt) find(c *session) (*stmt, error) {
	if st := s.on[c.number]; st != nil {
		return st, nil
	}
	inner, err := c.Prepare(s.st, true)
	if err != nil {
		return nil, err
	}
	st := &stmt{inner, c}
	s.on[c.number] = st
	return st, nil
}

func (s *pooledStmt) Exec(ctx context.Context, b *driver.Batch, lo, hi int) error {
	c, err := s.db.take(ctx)
	if err != nil {
		return err
	}
	st, err := s.find(c)
	if err == nil {
		err = st.Stmt.Exec(b, lo, hi)
	}
	s.db.put(c)
	return err
}

// ExecResult copies the library's result before it returns, because afterwards other callers may
// use the connection.
func (s *pooledStmt) ExecResult(ctx context.Context, b *driver.Batch, r int) (driver.Result, error) {
	c, err := s.db.take(ctx)
	if err != nil {
		return nil, err
	}
	defer s.db.put(c)
	st, err := s.find(c)
	if err != nil {
		return nil, err
	}
	result, err := st.ExecResult(ctx, b, r)
	if err != nil || result == nil {
		return nil, err
	}
	var t told
	t.rows, t.err = result.RowsAffected()
	t.id, t.idErr = result.LastInsertId()
	return t, nil
}

type told struct {
	rows, id   int64
	err, idErr error
}

func (t told) RowsAffected() (int64, error) { return t.rows, t.err }
func (t told) LastInsertId() (int64, error) { return t.id, t.idErr }

func (s *pooledStmt) Query(ctx context.Context, b *driver.Batch, r int, visit func(driver.Row) error) error {
	c, err := s.db.take(ctx)
	if err != nil {
		return err
	}
	defer s.db.put(c)
	st, err := s.find(c)
	if err != nil {
		return err
	}
	return st.Stmt.Query(b, r, visit)
}

func (s *pooledStmt) Close() error { return nil }

type tx struct {
	db    *db
	on    *session
	owned bool
	ended bool
}

func (t *tx) Stmt(_ context.Context, st driver.Stmt) (driver.Stmt, error) {
	switch s := st.(type) {
	case *stmt:
		if s.on == t.on {
			return s, nil
		}
	case *pooledStmt:
		if s.db == t.db {
			return s.find(t.on)
		}
	}
	if err := driver.InTransaction(st); err != nil {
		return nil, err
	}
	return nil, errors.New("statement was not prepared by what began the transaction")
}

func (t *tx) Commit(ctx context.Context) error {
	if t.ended {
		return errors.New("transaction has already ended")
	}
	if err := t.on.guard(ctx); err != nil {
		return err
	}
	err := t.on.Run("COMMIT")
	if err == nil || !t.on.InTransaction() {
		t.end()
	}
	return err
}

// Rollback runs even if the context has ended, because the connection will be used again.
func (t *tx) Rollback(context.Context) error {
	if t.ended {
		return nil
	}
	defer t.end()
	if !t.on.InTransaction() {
		return nil // SQLite has already rolled back the transaction
	}
	if err := t.on.guard(context.Background()); err != nil {
		return err
	}
	return t.on.Run("ROLLBACK")
}

func (t *tx) end() {
	t.ended = true
	if t.owned {
		t.db.put(t.on)
	}
}
