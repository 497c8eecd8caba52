package sqldriver

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
)

// cleanConnector opens connections on which a failed Commit leaves no open transaction.
type cleanConnector struct{ driver.Connector }

func (c *cleanConnector) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	clean, err := wrapConn(conn)
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return clean, nil
}

// The methods that a library's connection must have, and those that it may have. A wrapper
// must have the same methods, because database/sql looks for them.
type (
	requiredConn interface {
		driver.Conn
		driver.ConnPrepareContext
		driver.ConnBeginTx
	}
	executingConn interface {
		requiredConn
		driver.ExecerContext
		driver.QueryerContext
		driver.Pinger
	}
)

// wrapConn wraps a connection. It returns an error if database/sql knows a method of the
// connection that the wrapper would hide.
func wrapConn(c driver.Conn) (driver.Conn, error) {
	required, ok := c.(requiredConn)
	if !ok {
		return nil, fmt.Errorf("DirtyCommit: a %T has no PrepareContext or no BeginTx", c)
	}
	switch c.(type) {
	case driver.SessionResetter, driver.Validator, driver.NamedValueChecker:
		return nil, fmt.Errorf("DirtyCommit: a %T implements an interface of database/sql that sqldriver does not pass on", c)
	}
	if full, ok := c.(executingConn); ok {
		return &cleanExecutingConn{executingConn: full}, nil
	}
	switch c.(type) {
	case driver.ExecerContext, driver.QueryerContext, driver.Pinger:
		return nil, fmt.Errorf("DirtyCommit: a %T has some of ExecContext, QueryContext and Ping, but not all", c)
	}
	return &cleanConn{requiredConn: required}, nil
}

// unwrap returns the library's own connection.
func unwrap(c driver.Conn) driver.Conn {
	switch c := c.(type) {
	case *cleanConn:
		return c.requiredConn
	case *cleanExecutingConn:
		return c.executingConn
	}
	return c
}

type cleanConn struct {
	requiredConn
	tx cleanTx
}

func (c *cleanConn) BeginTx(ctx context.Context, opts driver.TxOptions) (driver.Tx, error) {
	return c.tx.begin(ctx, c.requiredConn, opts)
}

type cleanExecutingConn struct {
	executingConn
	tx cleanTx
}

func (c *cleanExecutingConn) BeginTx(ctx context.Context, opts driver.TxOptions) (driver.Tx, error) {
	return c.tx.begin(ctx, c.executingConn, opts)
}

// cleanTx is the transaction of a connection, which has one at a time.
type cleanTx struct {
	driver.Tx
	conn requiredConn
}

func (t *cleanTx) begin(ctx context.Context, c requiredConn, opts driver.TxOptions) (_ driver.Tx, err error) {
	t.conn = c
	t.Tx, err = c.BeginTx(ctx, opts)
	return t, err
}

func (t *cleanTx) Commit() error {
	err := t.Tx.Commit()
	if err != nil {
		t.rollback()
	}
	return err
}

// rollback runs SQL, because the library believes that the transaction has ended. An error
// means that SQLite has ended the transaction by itself.
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
