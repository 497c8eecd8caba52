package sqldriver

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
)

// Connector returns a connector that opens connections by a data source name and runs the SQL
// statements in the list "init" on each connection, in order. The list is for settings that have no
// option in the library's data source name, and for settings whose options the library applies in
// the wrong order. If the list is not empty, the library's connections must implement
// [driver.ExecerContext].
func Connector(d driver.Driver, dsn string, init []string) driver.Connector {
	return &connector{d, dsn, init}
}

type connector struct {
	driver driver.Driver
	dsn    string
	init   []string
}

func (c *connector) Driver() driver.Driver { return c.driver }

func (c *connector) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := c.open(ctx)
	if err != nil {
		return nil, err
	}
	for _, sql := range c.init {
		if _, err := conn.(driver.ExecerContext).ExecContext(ctx, sql, nil); err != nil {
			return nil, errors.Join(fmt.Errorf("%s: %w", sql, err), conn.Close())
		}
	}
	return conn, nil
}

func (c *connector) open(ctx context.Context) (driver.Conn, error) {
	d, ok := c.driver.(driver.DriverContext)
	if !ok {
		return c.driver.Open(c.dsn)
	}
	connector, err := d.OpenConnector(c.dsn)
	if err != nil {
		return nil, err
	}
	return connector.Connect(ctx)
}

// checked is a connector that passes each new connection to the function "check", and uses the
// connection that "check" returns.
type checked struct {
	driver.Connector
	check func(driver.Conn) (driver.Conn, error)
}

func (c *checked) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	ready, err := c.check(conn)
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return ready, nil
}
