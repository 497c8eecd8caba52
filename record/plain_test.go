package record_test

import (
	"context"
	"database/sql/driver"
)

// plainConnector opens connections of the fake library, without recording them.
type plainConnector struct{}

func (plainConnector) Connect(context.Context) (driver.Conn, error) { return &libraryConn{}, nil }
func (plainConnector) Driver() driver.Driver                        { return library{} }
