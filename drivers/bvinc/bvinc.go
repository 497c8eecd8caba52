// Package bvinc adapts github.com/bvinc/go-sqlite-lite. It uses package litedriver,
// which adapts go-sqlite-lite and its forks.
package bvinc

import (
	_ "embed"

	"github.com/bvinc/go-sqlite-lite/sqlite3"

	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/driver/litedriver"
)

//go:embed driver.json
var info []byte

// New returns the driver.
func New() driver.Driver {
	return litedriver.New(info, func(name string) (litedriver.Conn, error) {
		c, err := sqlite3.Open(name)
		return conn{c}, err
	})
}

type conn struct{ *sqlite3.Conn }

func (c conn) Prepare(sql string) (litedriver.Stmt, error) {
	s, err := c.Conn.Prepare(sql)
	if s == nil {
		return nil, err
	}
	return stmt{s}, err
}

type stmt struct{ *sqlite3.Stmt }

func (s stmt) ColumnRawBytes(i int) ([]byte, error) { return s.Stmt.ColumnRawBytes(i) }
