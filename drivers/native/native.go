// Package native calls SQLite with as little Go code as possible. Reports compare every other
// driver with it. Its own C code (native.c) binds and steps many rows in one cgo call, and packs
// many rows of a result into one page. SQLite itself is the amalgamation in
// github.com/mattn/go-sqlite3, compiled with that module's flags. The package uses none of that
// module's Go code.
//
// Connections are opened with SQLITE_OPEN_NOMUTEX, because one goroutine at a time uses a
// connection. All other settings have SQLite's defaults.
package native

/*
#cgo CFLAGS: -O2 -Wall -Wextra -std=gnu11
#cgo noescape native_open
#cgo nocallback native_open
#cgo nocallback native_close
#cgo nocallback native_script
#include <stdlib.h>
#include "native.h"
*/
import "C"

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"sync/atomic"
	"unsafe"

	_ "github.com/mattn/go-sqlite3" // links SQLite, whose C code (the amalgamation) is in this module

	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/driver/connpool"
)

//go:embed driver.json
var info []byte

// New returns the driver.
func New() driver.Driver { return driver.New(driver.MustInfo(info), open) }

func open(ctx context.Context, path string, s driver.Settings) (driver.DB, error) {
	return connpool.Open(ctx, s, func(number int) (connpool.ClosingConn, error) { return dial(path, s, number) })
}

func dial(path string, s driver.Settings, number int) (*conn, error) {
	c := &conn{number: number}
	uri := C.CString(s.URI(path, nil))
	defer C.free(unsafe.Pointer(uri))
	if err := c.err(C.native_open(uri, &c.c)); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", path, err), c.Close())
	}
	return c, nil
}

type conn struct {
	number int
	c      *C.native_conn
	run    []frequent // statements that the method Run has executed; there are only a few
	kept   []*stmt    // statements that stay prepared until Close: the statements of Run, and pooled statements
}

// frequent is a statement without parameters. It is executed with less code than a [stmt], because
// statements such as BEGIN take so little time that the code of a stmt would matter.
type frequent struct {
	sql    string
	handle C.native_handle
}

// err returns the error for the result code of the connection's last call.
func (c *conn) err(rc C.int) error {
	if rc == C.SQLITE_OK {
		return nil
	}
	text := C.GoString(C.native_message(c.c, rc))
	return &driver.Error{Code: int(rc), Err: fmt.Errorf("%s (%d)", text, int(rc))}
}

func (c *conn) Number() int { return c.number }

// Guard interrupts SQLite when ctx ends. It also stops the loops in C that execute a statement many
// times.
func (c *conn) Guard(ctx context.Context) (release func()) {
	if ctx.Done() == nil {
		return func() {}
	}
	stop := connpool.Interrupt(ctx, c.interrupt)
	return func() {
		stop()
		atomic.StoreInt32((*int32)(&c.c.cancelled), 0)
	}
}

func (c *conn) interrupt() {
	atomic.StoreInt32((*int32)(&c.c.cancelled), 1)
	C.sqlite3_interrupt(c.c.db)
}

func (c *conn) Script(sql string) error {
	s := C.CString(sql)
	defer C.free(unsafe.Pointer(s))
	return c.err(C.native_script(c.c, s))
}

func (c *conn) Run(sql string) error {
	for i := range c.run {
		if r := &c.run[i]; r.sql == sql {
			return c.err(C.native_exec(r.handle))
		}
	}
	s, err := prepare(c, driver.Statement{SQL: sql})
	if err != nil {
		return err
	}
	c.kept = append(c.kept, s)
	if err := s.in.set(nil, 0, 0); err != nil { // set checks that the statement has no parameters
		return err
	}
	c.run = append(c.run, frequent{sql, s.handle()})
	return c.Run(sql)
}

func (c *conn) Prepare(st driver.Statement, pooled bool) (connpool.Stmt, error) {
	s, err := prepare(c, st)
	if err != nil {
		return nil, err
	}
	if pooled {
		c.kept = append(c.kept, s)
	}
	return s, nil
}

func (c *conn) InTransaction() bool { return C.sqlite3_get_autocommit(c.c.db) == 0 }

func (c *conn) LimitAttached(most int) (before int, err error) {
	return int(C.sqlite3_limit(c.c.db, driver.SQLiteLimitAttached, C.int(most))), nil
}

func (c *conn) RowsAffected() (int64, error) { return int64(C.sqlite3_changes(c.c.db)), nil }

func (c *conn) LastInsertId() (int64, error) {
	return int64(C.sqlite3_last_insert_rowid(c.c.db)), nil
}

func (c *conn) Close() error {
	if c.c == nil {
		return nil
	}
	var errs []error
	for _, s := range c.kept {
		errs = append(errs, s.Close())
	}
	rc := C.native_close(c.c)
	c.c = nil
	if rc != C.SQLITE_OK {
		errs = append(errs, &driver.Error{Code: int(rc), Err: errors.New("closed with statements left open")})
	}
	return errors.Join(errs...)
}
