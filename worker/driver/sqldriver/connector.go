package sqldriver

import (
	"context"
	"database/sql/driver"
	"fmt"
)

// Connector opens each connection by a data source name and runs the
// statements of init on it, in order: for the settings for which a library's
// data source name has no option, or applies it out of order.
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
		if err := run(ctx, conn, sql); err != nil {
			_ = conn.Close()
			return nil, fmt.Errorf("%s: %w", sql, err)
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

// run executes a statement without parameters.
func run(ctx context.Context, conn driver.Conn, sql string) error {
	if e, ok := conn.(driver.ExecerContext); ok {
		_, err := e.ExecContext(ctx, sql, nil)
		return err
	}
	st, err := conn.Prepare(sql)
	if err != nil {
		return err
	}
	defer st.Close()
	_, err = st.Exec(nil) //nolint:staticcheck // what every library has
	return err
}
