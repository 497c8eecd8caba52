package record

import (
	"context"
	"database/sql/driver"
	"errors"
	"io"
)

// The wrappers of a library's types implement every optional interface of database/sql. If the
// library does not implement one of them, the wrapper's methods return values that make
// database/sql act as it would without that interface. For the interface ColumnConverter there is
// no such value, so only the wrapper convertingStmt implements it.

type recordedDriver struct {
	rec *Recorder
	driver.Driver
}

func (d *recordedDriver) Open(name string) (driver.Conn, error) {
	c, err := d.Driver.Open(name)
	if err != nil {
		return nil, err
	}
	return d.rec.wrap(c), nil
}

func (d *recordedDriver) OpenConnector(name string) (driver.Connector, error) {
	var inner driver.Connector = &named{d.Driver, name}
	if with, ok := d.Driver.(driver.DriverContext); ok {
		var err error
		if inner, err = with.OpenConnector(name); err != nil {
			return nil, err
		}
	}
	return &connector{inner, d.rec, d}, nil
}

// named is the connector for a driver that does not have its own connectors. The field "name" is
// the data source name.
type named struct {
	driver driver.Driver
	name   string
}

func (n *named) Connect(context.Context) (driver.Conn, error) { return n.driver.Open(n.name) }
func (n *named) Driver() driver.Driver                        { return n.driver }

type connector struct {
	driver.Connector
	rec    *Recorder
	driver driver.Driver
}

func (c *connector) Driver() driver.Driver { return c.driver }

func (c *connector) Connect(ctx context.Context) (driver.Conn, error) {
	dc, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return c.rec.wrap(dc), nil
}

func (c *connector) Close() error {
	if with, ok := c.Connector.(io.Closer); ok {
		return with.Close()
	}
	return nil
}

// Unwrap returns the library's own connection if driverConn is a recorded connection, such as
// [database/sql.Conn.Raw] passes to its function. It returns other values unchanged.
func Unwrap(driverConn any) any {
	if c, ok := driverConn.(*conn); ok {
		return c.Conn
	}
	return driverConn
}

// conn is a recorded connection. One goroutine at a time uses it.
type conn struct {
	driver.Conn
	rec     *Recorder
	number  int64
	tx      int64  // number of the open transaction, or 0
	skipped string // last SQL that the library refused to run directly, so that database/sql prepares it
	line    []byte

	beginning  bool // set if the current statement begins a transaction
	savepoints savepoints
}

func (r *Recorder) wrap(c driver.Conn) driver.Conn {
	return &conn{Conn: c, rec: r, number: r.connections.Add(1)}
}

func (c *conn) Prepare(sql string) (driver.Stmt, error) {
	return c.PrepareContext(context.Background(), sql)
}

func (c *conn) PrepareContext(ctx context.Context, sql string) (driver.Stmt, error) {
	prepared := c.skipped != sql
	c.skipped = ""
	at := c.rec.now()
	var s driver.Stmt
	var err error
	if with, ok := c.Conn.(driver.ConnPrepareContext); ok {
		s, err = with.PrepareContext(ctx, sql)
	} else if s, err = c.Conn.Prepare(sql); err == nil && ctx.Err() != nil {
		err = errors.Join(ctx.Err(), s.Close())
	}
	if err != nil {
		c.record(event{at: at, statement: c.rec.statement(sql, prepared)}, nil, err)
		return nil, err
	}
	st := &stmt{Stmt: s, conn: c, statement: c.rec.statement(sql, prepared)}
	if converter, ok := s.(driver.ColumnConverter); ok { //nolint:staticcheck // database/sql uses it too
		return &convertingStmt{st, converter}, nil
	}
	return st, nil
}

func (c *conn) ExecContext(ctx context.Context, sql string, args []driver.NamedValue) (driver.Result, error) {
	at := c.rec.now()
	var res driver.Result
	err := driver.ErrSkip
	switch with := c.Conn.(type) {
	case driver.ExecerContext:
		res, err = with.ExecContext(ctx, sql, args)
	case driver.Execer: //nolint:staticcheck // database/sql uses it too
		res, err = withValues(ctx, args, func(v []driver.Value) (driver.Result, error) { return with.Exec(sql, v) })
	}
	if errors.Is(err, driver.ErrSkip) {
		c.skipped = sql
		return nil, err
	}
	return c.executed(at, c.rec.statement(sql, false), args, res, err)
}

func (c *conn) QueryContext(ctx context.Context, sql string, args []driver.NamedValue) (driver.Rows, error) {
	at := c.rec.now()
	var rows driver.Rows
	err := driver.ErrSkip
	switch with := c.Conn.(type) {
	case driver.QueryerContext:
		rows, err = with.QueryContext(ctx, sql, args)
	case driver.Queryer: //nolint:staticcheck // database/sql uses it too
		rows, err = withValues(ctx, args, func(v []driver.Value) (driver.Rows, error) { return with.Query(sql, v) })
	}
	if errors.Is(err, driver.ErrSkip) {
		c.skipped = sql
		return nil, err
	}
	return c.queried(at, c.rec.statement(sql, false), args, rows, err)
}

// withValues passes the values of the SQL parameters to the function "run", which is a method that
// has no parameter for a context. If an SQL parameter has a name, or the context has ended,
// withValues returns an error instead of calling "run".
func withValues[T any](ctx context.Context, args []driver.NamedValue, run func([]driver.Value) (T, error)) (none T, err error) {
	values := make([]driver.Value, len(args))
	for i, a := range args {
		if a.Name != "" {
			return none, errors.New("sql: driver does not support the use of Named Parameters")
		}
		values[i] = a.Value
	}
	if err := ctx.Err(); err != nil {
		return none, err
	}
	return run(values)
}

func (c *conn) Begin() (driver.Tx, error) {
	return c.BeginTx(context.Background(), driver.TxOptions{})
}

func (c *conn) BeginTx(ctx context.Context, o driver.TxOptions) (driver.Tx, error) {
	number := c.rec.transactions.Add(1)
	at := c.rec.now()
	t, err := begin(ctx, c.Conn, o)
	c.record(event{at: at, tx: number, do: Begin}, nil, err)
	if err != nil {
		return nil, err
	}
	c.tx, c.savepoints = number, savepoints{""}
	return &tx{t, c, number}, nil
}

func begin(ctx context.Context, c driver.Conn, o driver.TxOptions) (driver.Tx, error) {
	if with, ok := c.(driver.ConnBeginTx); ok {
		return with.BeginTx(ctx, o)
	}
	switch {
	case o.Isolation != 0:
		return nil, errors.New("sql: driver does not support non-default isolation level")
	case o.ReadOnly:
		return nil, errors.New("sql: driver does not support read-only transactions")
	}
	t, err := c.Begin() //nolint:staticcheck // database/sql uses it too
	if err == nil && ctx.Err() != nil {
		return nil, errors.Join(ctx.Err(), t.Rollback())
	}
	return t, err
}

func (c *conn) Ping(ctx context.Context) error {
	if with, ok := c.Conn.(driver.Pinger); ok {
		return with.Ping(ctx)
	}
	return nil
}

func (c *conn) ResetSession(ctx context.Context) error {
	if with, ok := c.Conn.(driver.SessionResetter); ok {
		return with.ResetSession(ctx)
	}
	return nil
}

func (c *conn) IsValid() bool {
	if with, ok := c.Conn.(driver.Validator); ok {
		return with.IsValid()
	}
	return true
}

func (c *conn) CheckNamedValue(v *driver.NamedValue) error {
	if with, ok := c.Conn.(driver.NamedValueChecker); ok {
		return with.CheckNamedValue(v)
	}
	return driver.ErrSkip
}

// tx is a transaction that BeginTx has begun.
type tx struct {
	driver.Tx
	conn   *conn
	number int64
}

func (t *tx) Commit() error   { return t.end(Commit, t.Tx.Commit) }
func (t *tx) Rollback() error { return t.end(Rollback, t.Tx.Rollback) }

func (t *tx) end(do Action, end func() error) error {
	at := t.conn.rec.now()
	err := end()
	t.conn.record(event{at: at, tx: t.number, do: do}, nil, err)
	t.conn.tx, t.conn.savepoints = 0, nil
	return err
}

type stmt struct {
	driver.Stmt
	conn *conn
	statement
}

// convertingStmt is a statement of a library that implements the interface ColumnConverter.
type convertingStmt struct {
	*stmt
	converter driver.ColumnConverter //nolint:staticcheck // database/sql uses it too
}

func (s *convertingStmt) ColumnConverter(i int) driver.ValueConverter {
	return s.converter.ColumnConverter(i)
}

func (s *stmt) CheckNamedValue(v *driver.NamedValue) error {
	if with, ok := s.Stmt.(driver.NamedValueChecker); ok {
		return with.CheckNamedValue(v)
	}
	return s.conn.CheckNamedValue(v)
}

func (s *stmt) Exec(values []driver.Value) (driver.Result, error) {
	return s.ExecContext(context.Background(), ordinal(values))
}

func (s *stmt) Query(values []driver.Value) (driver.Rows, error) {
	return s.QueryContext(context.Background(), ordinal(values))
}

func ordinal(values []driver.Value) []driver.NamedValue {
	list := make([]driver.NamedValue, len(values))
	for i, v := range values {
		list[i] = driver.NamedValue{Ordinal: i + 1, Value: v}
	}
	return list
}

func (s *stmt) ExecContext(ctx context.Context, args []driver.NamedValue) (driver.Result, error) {
	at := s.conn.rec.now()
	var res driver.Result
	var err error
	if with, ok := s.Stmt.(driver.StmtExecContext); ok {
		res, err = with.ExecContext(ctx, args)
	} else {
		res, err = withValues(ctx, args, s.Stmt.Exec) //nolint:staticcheck // database/sql uses it too
	}
	return s.conn.executed(at, s.statement, args, res, err)
}

func (s *stmt) QueryContext(ctx context.Context, args []driver.NamedValue) (driver.Rows, error) {
	at := s.conn.rec.now()
	var rows driver.Rows
	var err error
	if with, ok := s.Stmt.(driver.StmtQueryContext); ok {
		rows, err = with.QueryContext(ctx, args)
	} else {
		rows, err = withValues(ctx, args, s.Stmt.Query) //nolint:staticcheck // database/sql uses it too
	}
	return s.conn.queried(at, s.statement, args, rows, err)
}

// executed records an execution that returns no rows. If [Options.Values] is set, it returns a result
// that records the inserted ID when the application asks for the ID.
func (c *conn) executed(at int64, s statement, args []driver.NamedValue, res driver.Result, err error) (driver.Result, error) {
	e := event{at: at, statement: s, tx: c.before(s), affected: -1}
	if err == nil && res != nil {
		if n, err := res.RowsAffected(); err == nil {
			e.affected = n
		}
	}
	c.record(e, args, err)
	c.after(s, err)
	if err != nil || res == nil || !c.rec.options.Values {
		return res, err
	}
	return &result{Result: res, conn: c, at: at}, nil
}

type result struct {
	driver.Result
	conn  *conn
	at    int64
	asked bool
}

// LastInsertId records the ID once. The ID has a meaning only after an INSERT. LastInsertId does not
// check that, because applications do not ask for the ID after other statements. No other goroutine
// uses r.conn meanwhile, because database/sql has locked it.
func (r *result) LastInsertId() (int64, error) {
	id, err := r.Result.LastInsertId()
	if err == nil && !r.asked {
		r.asked = true
		c := r.conn
		c.line = appendInserted(c.line[:0], c.number, r.at, id)
		c.rec.add(c.line)
	}
	return id, err
}

// queried records a query if it failed. Otherwise it returns rows that record the query when
// they are closed.
func (c *conn) queried(at int64, s statement, args []driver.NamedValue, inner driver.Rows, err error) (driver.Rows, error) {
	e := event{at: at, statement: s, tx: c.before(s), query: true}
	if err != nil {
		c.record(e, args, err)
		return nil, err
	}
	c.after(s, nil)
	// The arguments are encoded now, because the application may change a []byte before the rows are
	// closed.
	return &rows{Rows: inner, conn: c, event: e, args: c.rec.appendArgs(nil, args)}, nil
}

// before returns the number of the transaction in which the statement s runs, or 0. If s begins a
// transaction, before returns a new number.
func (c *conn) before(s statement) int64 {
	if c.tx == 0 && (s.control == controlBegin || s.control == controlSavepoint) {
		c.tx, c.beginning = c.rec.transactions.Add(1), true
	}
	return c.tx
}

// after clears c.tx if the statement s ended the transaction, or if s failed to begin a transaction. err
// is the error of s.
func (c *conn) after(s statement, err error) {
	switch {
	case c.beginning && err != nil,
		s.control == controlEnd && err == nil,
		err == nil && c.savepoints.after(s.control, s.savepoint):
		c.tx, c.savepoints = 0, nil
	}
	c.beginning = false
}

// record writes an event that began at e.at and ends now. If err is driver.ErrBadConn, it writes
// nothing.
func (c *conn) record(e event, args []driver.NamedValue, err error) {
	if errors.Is(err, driver.ErrBadConn) {
		return // the statement did not run; database/sql tries another connection
	}
	c.write(&e, args, nil, err)
}

func (c *conn) write(e *event, args []driver.NamedValue, written []byte, err error) {
	e.took = c.rec.now() - e.at
	c.line = c.rec.appendEvent(c.line[:0], c.number, e, args, written, err)
	c.rec.add(c.line)
}
