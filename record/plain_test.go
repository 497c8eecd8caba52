package record_test

import (
	"context"
	"database/sql/driver"
)

// plainConnector connects to the library without recording.
type plainConnector struct{}

func (plainConnector) Connect(context.Context) (driver.Conn, error) { return &libraryConn{}, nil }
func (plainConnector) Driver() driver.Driver                        { return library{} }
