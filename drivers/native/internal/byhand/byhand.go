// Package byhand has the hand-written code with which package addedcost compares the driver native.
// It is C for one table, and Go calls it once for many rows. The driver's own C can use any table.
// The code is not in a test file, because test files cannot use cgo.
package byhand

/*
#cgo CFLAGS: -O2 -Wall -Wextra -std=gnu11
#cgo noescape byhand_insert
#cgo nocallback byhand_insert
#cgo noescape byhand_page
#cgo nocallback byhand_page
#cgo noescape byhand_read
#cgo nocallback byhand_read
#cgo noescape byhand_run
#cgo nocallback byhand_run
#include <stdlib.h>
#include "byhand.h"
*/
import "C"

import (
	"errors"
	"fmt"
	"time"
	"unsafe"

	_ "github.com/mattn/go-sqlite3" // links SQLite, whose C code (the amalgamation) is in this module

	"github.com/sqlite3perf/sqlite3perf/worker"
	"github.com/sqlite3perf/sqlite3perf/worker/byhand"
)

const (
	pageRows   = 1024
	emailBytes = 64 // maximum number of bytes of one email
)

// hand has a connection with its statements. A channel with one connection serves as the pool.
type hand struct{ free chan *conn }

type conn struct {
	db                          *C.sqlite3
	begin, commit, read, update *C.sqlite3_stmt
	users                       [pageRows]C.byhand_user
	emails                      [pageRows * emailBytes]byte
}

// Open opens a database.
func Open(path string) (byhand.Database, error) {
	name := C.CString(path)
	defer C.free(unsafe.Pointer(name))
	c := &conn{}
	if err := c.err(C.byhand_open(name, &c.db)); err != nil {
		return nil, errors.Join(err, c.close())
	}
	h := &hand{make(chan *conn, 1)}
	h.free <- c
	return h, nil
}

// err returns the error for a result code.
func (c *conn) err(rc C.int) error {
	switch rc {
	case C.SQLITE_OK, C.SQLITE_ROW, C.SQLITE_DONE:
		return nil
	}
	return fmt.Errorf("%s (%d)", C.GoString(C.sqlite3_errmsg(c.db)), int(rc))
}

func (c *conn) exec(sql string) error {
	text := C.CString(sql)
	defer C.free(unsafe.Pointer(text))
	return c.err(C.byhand_exec(c.db, text))
}

func (c *conn) prepare(sql string) (stmt *C.sqlite3_stmt, err error) {
	text := C.CString(sql)
	defer C.free(unsafe.Pointer(text))
	err = c.err(C.byhand_prepare(c.db, text, &stmt))
	return stmt, err
}

func (c *conn) close() error {
	for _, stmt := range []*C.sqlite3_stmt{c.begin, c.commit, c.read, c.update} {
		C.sqlite3_finalize(stmt)
	}
	return c.err(C.sqlite3_close(c.db))
}

// The method "on" runs f on the connection in the channel. It waits until the connection is free.
func (h *hand) on(f func(*conn) error) error {
	c := <-h.free
	defer func() { h.free <- c }()
	return f(c)
}

func (h *hand) Close() error { return h.on((*conn).close) }

func (h *hand) Read(sql string, columns int, see func(row []string) error) error {
	return h.on(func(c *conn) error {
		stmt, err := c.prepare(sql)
		if err != nil {
			return err
		}
		defer C.sqlite3_finalize(stmt)
		row := make([]string, columns)
		for {
			if rc := C.sqlite3_step(stmt); rc != C.SQLITE_ROW {
				return c.err(rc)
			}
			for i := range row {
				text := C.sqlite3_value_text(C.sqlite3_column_value(stmt, C.int(i)))
				row[i] = C.GoString((*C.char)(unsafe.Pointer(text)))
			}
			if err := see(row); err != nil {
				return err
			}
		}
	})
}

// prepareAll prepares the statements that the connection keeps.
func (c *conn) prepareAll() (err error) {
	if c.begin != nil {
		return nil
	}
	for _, s := range []struct {
		stmt **C.sqlite3_stmt
		sql  string
	}{{&c.begin, "BEGIN"}, {&c.commit, "COMMIT"}, {&c.read, byhand.SelectUser}, {&c.update, byhand.UpdateUser}} {
		if *s.stmt, err = c.prepare(s.sql); err != nil {
			return err
		}
	}
	return nil
}

// transaction runs f in a transaction.
func (c *conn) transaction(f func() error) error {
	if err := c.err(C.byhand_run(c.begin, 0)); err != nil {
		return err
	}
	if err := f(); err != nil {
		return errors.Join(err, c.exec("ROLLBACK"))
	}
	return c.err(C.byhand_run(c.commit, 0))
}

// Insert converts the users to the form that C takes. It does so before the stopwatch starts,
// because package worker also prepares its values before it starts the stopwatch.
func (h *hand) Insert(w *worker.Stopwatch, blog *byhand.Blog) error {
	flat := make([]C.byhand_user, len(blog.Users))
	var emails []byte
	for i, u := range blog.Users {
		flat[i] = C.byhand_user{
			id: C.int64_t(u.ID), created: C.int64_t(u.Created.UnixMilli()),
			off: C.uint32_t(len(emails)), len: C.uint32_t(len(u.Email)),
		}
		if u.Active {
			flat[i].active = 1
		}
		emails = append(emails, u.Email...)
	}
	return h.on(func(c *conn) error {
		if err := c.prepareAll(); err != nil {
			return err
		}
		w.Start()
		defer w.Stop()
		return c.transaction(func() error {
			stmt, err := c.prepare(byhand.InsertUser)
			if err != nil {
				return err
			}
			defer C.sqlite3_finalize(stmt)
			return c.err(C.byhand_insert(stmt, &flat[0], C.int64_t(len(flat)), (*C.char)(unsafe.Pointer(&emails[0]))))
		})
	})
}

func (h *hand) Users(w *worker.Stopwatch, see func(*byhand.User)) (n int64, err error) {
	err = h.on(func(c *conn) error {
		stmt, err := c.prepare(byhand.SelectUsers)
		if err != nil {
			return err
		}
		defer C.sqlite3_finalize(stmt)
		w.Start()
		defer w.Stop()
		for {
			var rows C.int
			rc := C.byhand_page(stmt, &c.users[0], pageRows, (*C.char)(unsafe.Pointer(&c.emails[0])), &rows)
			if err := c.err(rc); err != nil {
				return err
			}
			c.visit(int(rows), see)
			n += int64(rows)
			if rc == C.SQLITE_DONE {
				return nil
			}
		}
	})
	return n, err
}

// visit calls the function "see" with each of the first n users that C has returned. Their emails are parts
// of one string.
func (c *conn) visit(n int, see func(*byhand.User)) {
	if n == 0 {
		return
	}
	last := &c.users[n-1]
	emails := string(c.emails[:last.off+last.len])
	var u byhand.User
	for i := range c.users[:n] {
		r := &c.users[i]
		u.ID = int64(r.id)
		u.Created = time.UnixMilli(int64(r.created))
		u.Email = emails[r.off:][:r.len]
		u.Active = r.active != 0
		if see != nil {
			see(&u)
		}
	}
}

func (c *conn) readKey(id int64, see func(*byhand.User)) (int64, error) {
	var n C.int
	rc := C.byhand_read(c.read, C.int64_t(id), &c.users[0], (*C.char)(unsafe.Pointer(&c.emails[0])), &n)
	if err := c.err(rc); err != nil {
		return 0, err
	}
	c.visit(int(n), see)
	return int64(n), nil
}

func (h *hand) Mix(w *worker.Stopwatch, ids []int64, see func(*byhand.User)) (n int64, err error) {
	err = h.on(func(c *conn) error {
		w.Start()
		defer w.Stop()
		for _, id := range ids {
			rows, err := c.readKey(id, see)
			if err != nil {
				return err
			}
			n += rows
		}
		return nil
	})
	return n, err
}

func (h *hand) Transactions(w *worker.Stopwatch, ids []int64, see func(*byhand.User)) (n int64, err error) {
	w.Start()
	defer w.Stop()
	for _, id := range ids {
		err := h.on(func(c *conn) error {
			return c.transaction(func() error {
				rows, err := c.readKey(id, see)
				if err != nil {
					return err
				}
				n += rows
				return c.err(C.byhand_run(c.update, C.int64_t(id)))
			})
		})
		if err != nil {
			return n, err
		}
	}
	return n, nil
}
