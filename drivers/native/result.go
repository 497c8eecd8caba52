package native

/*
#cgo noescape native_query
#cgo nocallback native_query
#cgo noescape native_next
#cgo nocallback native_next
#cgo nocallback native_bytes
#cgo nocallback native_stop
#include "native.h"
*/
import "C"

import (
	"math"
	"slices"
	"time"
	"unsafe"

	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/driver/connpool"
)

const orNull = connpool.OrNull

// The sizes of a page, which is the buffer into which C packs rows of a result. A page begins
// small, so that the first row comes soon and a query of few rows is cheap. It grows to a size that
// fits a processor's cache well.
const (
	firstRows, mostRows   = 16, 1024
	firstBytes, mostBytes = 1 << 10, 64 << 10
	growth                = 4
)

type result struct {
	columns []driver.ColumnType
	decode  []driver.Type // type of each column, plus orNull if it may be NULL: see connpool.Kinds
	texts   bool          // set if some columns may be texts
	page    C.native_page
	cells   []C.native_cell
	arena   []byte
	row     driver.Row
	busy    bool // a query is running
}

func (o *result) init(c *C.native_stmt, st *driver.Statement) {
	columns := st.Columns
	o.columns, o.decode = columns, connpool.Kinds(columns)
	if st.AnyColumns {
		columns = make([]driver.ColumnType, int(c.columns))
		o.columns, o.decode, o.texts = columns, slices.Repeat([]driver.Type{connpool.AnyKind}, len(columns)), true
	}
	kinds := unsafe.Slice((*byte)(unsafe.Pointer(c.kinds)), len(columns))
	for i, t := range columns {
		kinds[i] = byte(kind(t.Type))
		if st.AnyColumns {
			kinds[i] = C.NATIVE_ANY
		}
		o.texts = o.texts || t.Type == driver.Text
	}
	o.row = make(driver.Row, len(columns))
	o.cells = make([]C.native_cell, firstRows*max(len(columns), 1))
	o.arena = make([]byte, firstBytes)
}

func (s *stmt) Query(b *driver.Batch, r int, visit func(driver.Row) error) error {
	o := &s.out
	if err := s.ready(); err != nil {
		return err
	}
	defer s.in.unset()
	if err := s.in.set(b, r, r+1); err != nil {
		return err
	}
	o.busy = true
	defer func() { o.busy = false }()

	rows := firstRows
	o.page.max_rows, o.page.size = C.int32_t(rows), C.int32_t(len(o.arena))
	rc := C.native_query(s.handle(), &o.page, &o.cells[0], (*C.char)(unsafe.Pointer(&o.arena[0])))
	for {
		if err := s.conn.err(rc); err != nil {
			return err
		}
		if err := s.visit(visit); err != nil {
			if !o.page.done {
				C.native_stop(s.c)
			}
			return err
		}
		if o.page.done {
			return nil
		}
		rows = min(rows*growth, mostRows)
		o.grow(rows)
		o.page.max_rows, o.page.size = C.int32_t(rows), C.int32_t(len(o.arena))
		rc = C.native_next(s.c, &o.page, &o.cells[0], (*C.char)(unsafe.Pointer(&o.arena[0])))
	}
}

// grow makes room for the number of rows, and for more bytes if the last page was full.
func (o *result) grow(rows int) {
	if n := rows * len(o.columns); n > len(o.cells) {
		o.cells = make([]C.native_cell, n)
	}
	if o.page.full && len(o.arena) < mostBytes {
		o.arena = make([]byte, len(o.arena)*growth)
	}
}

// visit decodes the page row by row, and calls the parameter "visit" for each row. All texts of a page are
// parts of one string.
func (s *stmt) visit(visit func(driver.Row) error) error {
	o := &s.out
	if o.page.large {
		return s.visitLarge(visit)
	}
	var texts string
	if o.texts {
		texts = string(o.arena[:o.page.texts])
	}
	cells := o.cells
	row := o.row[:len(o.decode)]
	for range o.page.rows {
		for i, kind := range o.decode {
			v, cell := &cells[i], &row[i]
			if v.null != 0 && kind == connpool.AnyKind {
				if kind = anyType(cell, v); kind == 0 {
					continue
				}
			} else if v.null != 0 {
				if err := null(cell, i, o.columns[i]); err != nil {
					return err
				}
				continue
			}
			cell.Null = false
			switch kind {
			case driver.Int, orNull + driver.Int:
				cell.Int = int64(v.value)
			case driver.Real, orNull + driver.Real:
				cell.Real = math.Float64frombits(uint64(v.value))
			case driver.Text, orNull + driver.Text:
				cell.Text = texts[v.value:][:v.len]
			case driver.Blob, orNull + driver.Blob:
				cell.Blob = o.arena[v.value:][:v.len:v.len]
			case driver.Bool, orNull + driver.Bool:
				cell.Bool = v.value != 0
			case driver.Time, orNull + driver.Time:
				cell.Time = time.UnixMilli(int64(v.value))
			}
		}
		cells = cells[len(o.columns):]
		if err := visit(o.row); err != nil {
			return err
		}
	}
	return nil
}

// visitLarge decodes a row that is larger than a page, directly from SQLite's memory.
func (s *stmt) visitLarge(visit func(driver.Row) error) error {
	for i, t := range s.out.columns {
		v, cell := &s.out.cells[i], &s.out.row[i]
		if v.null != 0 && s.out.decode[i] == connpool.AnyKind {
			if t.Type = anyType(cell, v); t.Type == 0 {
				continue
			}
		} else if v.null != 0 {
			if err := null(cell, i, t); err != nil {
				return err
			}
			continue
		}
		cell.Null = false
		if t.Type != driver.Text && t.Type != driver.Blob {
			number(cell, t.Type, int64(v.value))
			continue
		}
		value := []byte{}
		if v.len > 0 {
			value = unsafe.Slice((*byte)(C.native_bytes(s.c, C.int(i))), int(v.len))
		}
		if t.Type == driver.Text {
			cell.Text = string(value)
		} else {
			cell.Blob = value
		}
	}
	return visit(s.out.row)
}

// anyType returns the type of a value in a column without a declared type, or 0 for NULL.
func anyType(cell *driver.Cell, v *C.native_cell) driver.Type {
	t := driver.Type(v.null >> C.NATIVE_TYPE_SHIFT)
	if cell.Null = t == connpool.NullCode; cell.Null {
		return 0
	}
	cell.Type = t
	return t
}

func null(cell *driver.Cell, i int, t driver.ColumnType) error {
	if !t.Nullable {
		return &driver.TypeError{Column: i + 1, Declared: t, Got: "null"}
	}
	cell.Null = true
	return nil
}

func number(cell *driver.Cell, t driver.Type, v int64) {
	switch t {
	case driver.Int:
		cell.Int = v
	case driver.Real:
		cell.Real = math.Float64frombits(uint64(v))
	case driver.Bool:
		cell.Bool = v != 0
	case driver.Time:
		cell.Time = time.UnixMilli(v)
	}
}
