package sqldriver

import (
	"context"
	"database/sql/driver"
	"fmt"
)

// A library's connection must implement the interface "preparing", and may implement the interface
// "executing". A wrapper must implement the same interfaces as the connection that it wraps,
// because database/sql looks for them.
type (
	preparing interface {
		driver.Conn
		driver.ConnPrepareContext
	}
	executing interface {
		driver.ExecerContext
		driver.QueryerContext
		driver.Pinger
	}
)

// wrapConn wraps a connection, so that a failed Commit leaves no open transaction. It returns an
// error if the connection lacks a method that the wrapper needs, or has a method that database/sql
// uses and the wrapper would hide.
func wrapConn(c driver.Conn) (driver.Conn, error) {
	p, prepares := c.(preparing)
	b, begins := c.(driver.ConnBeginTx)
	if !prepares || !begins {
		return nil, fmt.Errorf("DirtyCommit: a %T has no PrepareContext or no BeginTx", c)
	}
	switch c.(type) {
	case driver.SessionResetter, driver.Validator, driver.NamedValueChecker:
		return nil, fmt.Errorf("DirtyCommit: a %T implements an interface of database/sql that sqldriver does not pass on", c)
	}
	clean := cleanConn{preparing: p, beginner: b}
	if e, ok := c.(executing); ok {
		return &cleanExecutingConn{clean, e}, nil
	}
	switch c.(type) {
	case driver.ExecerContext, driver.QueryerContext, driver.Pinger:
		return nil, fmt.Errorf("DirtyCommit: a %T has some of ExecContext, QueryContext and Ping, but not all", c)
	}
	return &clean, nil
}

// unwrap returns the library's own connection. If c is a wrapper, that is the connection within c.
// Otherwise it is c.
func unwrap(c driver.Conn) driver.Conn {
	switch c := c.(type) {
	case *cleanConn:
		return c.preparing
	case *cleanExecutingConn:
		return c.preparing
	}
	return c
}

type cleanConn struct {
	preparing
	beginner driver.ConnBeginTx
	tx       cleanTx
}

type cleanExecutingConn struct {
	cleanConn
	executing
}

// If BeginTx fails, it leaves c.tx unchanged. It may fail because another transaction is already
// open, and that transaction still uses c.tx.
func (c *cleanConn) BeginTx(ctx context.Context, opts driver.TxOptions) (driver.Tx, error) {
	tx, err := c.beginner.BeginTx(ctx, opts)
	if err != nil {
		return nil, err
	}
	c.tx = cleanTx{tx, c.preparing}
	return &c.tx, nil
}

// cleanTx is the transaction of a cleanConn. A connection has only one transaction at a time, so
// the cleanTx is reused.
type cleanTx struct {
	driver.Tx
	conn preparing
}

func (t *cleanTx) Commit() error {
	err := t.Tx.Commit()
	if err != nil {
		t.rollback()
	}
	return err
}

// rollback runs the SQL statement ROLLBACK, because the library believes that the transaction has
// ended. It ignores errors, because they mean that SQLite has already ended the transaction.
func (t *cleanTx) rollback() {
	ctx := context.Background()
	s, err := t.conn.PrepareContext(ctx, "ROLLBACK")
	if err != nil {
		return
	}
	if e, ok := s.(driver.StmtExecContext); ok {
		_, _ = e.ExecContext(ctx, nil)
	}
	_ = s.Close()
}
