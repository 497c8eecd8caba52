package native

/*
#include "native.h"
*/
import "C"

import (
	"fmt"
	"runtime"
	"unsafe"

	"github.com/sqlite3perf/sqlite3perf/worker/driver"
)

// parameters passes rows of a batch to C. It copies the rows if they are few and small. Otherwise
// it pins the batch's own memory.
type parameters struct {
	rows   *C.native_rows    // the rows of the next execution, in C's memory
	count  int               // number of the statement's parameters
	pinned []C.native_column // columns in C's memory that point to Go's memory
	copied []C.native_column // columns in C's memory with copied values
	pinner runtime.Pinner
	pins   int       // number of columns that hold pinned pointers
	recent [4]memory // the last four objects that were pinned; the oldest is overwritten first
	turn   int

	// values, nulls and bytes are the memory to which the columns in the field "copied" point.
	values [][]uint64
	nulls  [][]bool
	bytes  []byte
}

// memory is the address range of one object. The field "end" is the address after the object's last
// byte.
type memory struct{ first, end uintptr }

func (p *parameters) init(c *C.native_stmt, count int) {
	p.rows, p.count = &c.in, count
	if count == 0 {
		return
	}
	p.pinned = unsafe.Slice(c.pinned, count)
	p.copied = unsafe.Slice(c.copied, min(count, C.NATIVE_COPY_COLUMNS))
	for _, k := range p.copied {
		p.values = append(p.values, unsafe.Slice((*uint64)(unsafe.Pointer(k.ints)), C.NATIVE_COPY_ROWS))
		p.nulls = append(p.nulls, unsafe.Slice((*bool)(k.nulls), C.NATIVE_COPY_ROWS))
	}
	p.bytes = unsafe.Slice((*byte)(unsafe.Pointer(p.copied[0].data)), C.NATIVE_COPY_BYTES)
}

// set prepares the rows lo ≤ r < hi of b for one call of C. The caller must call unset afterwards.
func (p *parameters) set(b *driver.Batch, lo, hi int) error {
	if b == nil {
		if p.count > 0 {
			return fmt.Errorf("statement has %d parameters, but there are no values", p.count)
		}
		return nil
	}
	n, per := len(b.Columns), b.PerExec
	if per < 1 || n*per != p.count || (hi-lo)%per != 0 {
		return fmt.Errorf("statement has %d parameters, but there are %d rows of %d values, %d per execution",
			p.count, hi-lo, n, per)
	}
	if n == 0 {
		return nil
	}
	if hi == lo+1 {
		if key, ok := b.Key(lo); ok {
			p.copied[0].kind, p.values[0][0], p.nulls[0][0] = C.NATIVE_INT, uint64(key), false
			*p.rows = C.native_rows{columns: &p.copied[0], count: 1, hi: 1, per: 1}
			return nil
		}
	}
	*p.rows = C.native_rows{count: C.int(n), lo: C.int64_t(lo), hi: C.int64_t(hi), per: C.int64_t(per)}
	if p.copy(b.Columns, lo, hi) {
		p.rows.columns, p.rows.lo, p.rows.hi = &p.copied[0], 0, C.int64_t(hi-lo)
		return nil
	}
	p.rows.columns = &p.pinned[0]
	return p.pin(b.Columns, hi)
}

// The method "copy" copies the rows into C's memory, and reports whether there was room for them.
func (p *parameters) copy(columns []driver.Column, lo, hi int) bool {
	if hi-lo > C.NATIVE_COPY_ROWS || len(columns) > len(p.copied) {
		return false
	}
	used := 0
	for i := range columns {
		c := &columns[i]
		values, nulls := p.values[i], p.nulls[i]
		for r := lo; r < hi; r++ {
			nulls[r-lo] = c.Null(r)
		}
		switch c.Type {
		case driver.Real:
			p.copied[i].kind = C.NATIVE_REAL
			for j, v := range c.Reals[lo:hi] {
				*(*float64)(unsafe.Pointer(&values[j])) = v
			}
		case driver.Text, driver.Blob:
			p.copied[i].kind = kind(c.Type)
			for j := range c.Spans[lo:hi] {
				v := c.Bytes(lo + j)
				if len(v) > len(p.bytes)-used {
					return false
				}
				copy(p.bytes[used:], v)
				*(*driver.Span)(unsafe.Pointer(&values[j])) = driver.Span{Off: uint32(used), Len: uint32(len(v))}
				used += len(v)
			}
		default:
			p.copied[i].kind = C.NATIVE_INT
			for j, v := range c.Ints[lo:hi] {
				values[j] = uint64(v)
			}
		}
	}
	return true
}

func (p *parameters) pin(columns []driver.Column, hi int) error {
	for i := range columns {
		c, k := &columns[i], &p.pinned[i]
		p.pins = i + 1
		k.kind = kind(c.Type)
		var rows int
		switch c.Type {
		case driver.Real:
			rows = len(c.Reals)
			k.reals = (*C.double)(pin(p, c.Reals))
		case driver.Text, driver.Blob:
			rows = len(c.Spans)
			k.spans = (*C.native_span)(pin(p, c.Spans))
			k.data = (*C.char)(pin(p, c.Data))
			k.size = C.uint64_t(len(c.Data))
		default:
			rows = len(c.Ints)
			k.ints = (*C.int64_t)(pin(p, c.Ints))
		}
		if c.Nulls != nil {
			rows = min(rows, len(c.Nulls))
			k.nulls = (*C.bool)(pin(p, c.Nulls))
		}
		if rows < hi {
			return fmt.Errorf("column %d has %d rows, but row %d is asked for", i, rows, hi-1)
		}
	}
	return nil
}

// pin pins the object that contains s, unless it is one of the objects most recently pinned. The
// columns of an INSERT of many rows share one object, and pinning it again would take the
// runtime longer than SQLite needs for a parameter.
func pin[T any](p *parameters, s []T) unsafe.Pointer {
	if cap(s) == 0 {
		return nil
	}
	d := unsafe.SliceData(s)
	first := uintptr(unsafe.Pointer(d))
	for _, m := range p.recent {
		if m.first <= first && first < m.end {
			return unsafe.Pointer(d)
		}
	}
	p.pinner.Pin(d)
	p.recent[p.turn%len(p.recent)] = memory{first, first + uintptr(cap(s))*unsafe.Sizeof(*d)}
	p.turn++
	return unsafe.Pointer(d)
}

// unset removes the pinned pointers from C's memory and unpins them.
func (p *parameters) unset() {
	if p.pins > 0 {
		clear(p.pinned[:p.pins])
		p.pins = 0
		p.pinner.Unpin()
		clear(p.recent[:])
	}
}

func kind(t driver.Type) C.int {
	switch t {
	case driver.Real:
		return C.NATIVE_REAL
	case driver.Text:
		return C.NATIVE_TEXT
	case driver.Blob:
		return C.NATIVE_BLOB
	default:
		return C.NATIVE_INT
	}
}
