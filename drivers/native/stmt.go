package native

/*
#cgo noescape native_prepare
#cgo nocallback native_prepare
#cgo nocallback native_exec
#cgo nocallback native_finalize
#include "native.h"
*/
import "C"

import (
	"errors"
	"fmt"
	"unsafe"

	"github.com/sqlite3perf/sqlite3perf/worker/driver"
)

type stmt struct {
	conn *conn
	st   driver.Statement
	c    *C.native_stmt
	in   parameters
	out  result
}

func prepare(c *conn, st driver.Statement) (*stmt, error) {
	s := &stmt{conn: c, st: st}
	sql := unsafe.StringData(st.SQL)
	if len(st.SQL) == 0 {
		sql = new(byte)
	}
	columns := len(st.Columns)
	if st.AnyColumns {
		columns = -1
	}
	rc := C.native_prepare(c.c, (*C.char)(unsafe.Pointer(sql)), C.int(len(st.SQL)), C.bool(st.AdHoc),
		C.int(len(st.Params)), C.int(columns), &s.c)
	if rc == C.SQLITE_MISUSE {
		return nil, fmt.Errorf("not a statement with the %d columns that are declared: %s", len(st.Columns), st.SQL)
	}
	if err := c.err(rc); err != nil {
		return nil, fmt.Errorf("%w: %s", err, st.SQL)
	}
	s.in.init(s.c, len(st.Params))
	s.out.init(s.c, &st)
	return s, nil
}

// recompiled returns how often SQLite has compiled the statement again. Only a test uses it.
func (s *stmt) recompiled() int {
	return int(C.sqlite3_stmt_status(s.c.stmt, C.SQLITE_STMTSTATUS_REPREPARE, 0))
}

// ready returns an error if the statement is closed, or if its result is being visited.
func (s *stmt) ready() error {
	switch {
	case s.c == nil:
		return errors.New("statement is closed")
	case s.out.busy:
		return errors.New("statement is still running: its result is being visited")
	}
	return nil
}

func (s *stmt) Exec(b *driver.Batch, lo, hi int) error {
	if err := s.ready(); err != nil {
		return err
	}
	if b != nil && lo == hi {
		return nil
	}
	err := s.in.set(b, lo, hi)
	if err == nil {
		err = s.conn.err(C.native_exec(s.handle()))
	}
	s.in.unset()
	return err
}

func (s *stmt) handle() C.native_handle { return C.native_handle(uintptr(unsafe.Pointer(s.c))) }

// Close ignores the result code of finalize, which repeats the error of the last execution.
func (s *stmt) Close() error {
	if s.c != nil {
		C.native_finalize(s.c)
		s.c = nil
	}
	return nil
}
