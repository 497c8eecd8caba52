package plan

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash"
	"math"

	"github.com/sqlite3perf/sqlite3perf/worker/driver"
)

// Hash is the checksum of a result: SHA-256 over every value in order. Each
// value is one byte for its type, followed by its content:
//
//	'N'  NULL
//	'I'  int, bool (0 or 1), time (ms since the Unix epoch): 8 bytes, little-endian
//	'R'  real: the bits of the IEEE 754 double, 8 bytes, little-endian
//	'T'  text: the number of bytes, 8 bytes, little-endian, and the UTF-8 bytes
//	'B'  blob: like text
//
// An operation of a mix that ends before its last statement has returned its rows
// leaves a mark:
//
//	'E'  the operation ended with an error that it declares as a result: the primary code in 8 bytes
//	'S'  a statement that returned no rows ended the operation
//
// The zero Hash is ready for use.
type Hash struct {
	sum hash.Hash
	buf []byte
}

// flushAt is the size in bytes at which the buffer is written to the SHA-256 hash.
const flushAt = 32 << 10

func (h *Hash) flush(least int) {
	if len(h.buf) < least {
		return
	}
	if h.sum == nil {
		h.sum = sha256.New()
	}
	h.sum.Write(h.buf)
	h.buf = h.buf[:0]
}

// Row adds the values of a decoded row.
func (h *Hash) Row(row driver.Row, cols []driver.ColumnType) {
	h.row(row, cols)
	h.flush(flushAt)
}

// row appends the values of a decoded row to the buffer.
func (h *Hash) row(row driver.Row, cols []driver.ColumnType) {
	for j := range row {
		c := &row[j]
		switch t := cols[j].Type; {
		case c.Null:
			h.buf = append(h.buf, 'N')
		case t == driver.Real:
			h.real(c.Real)
		case t == driver.Text:
			h.head('T', len(c.Text))
			h.buf = append(h.buf, c.Text...)
		case t == driver.Blob:
			h.head('B', len(c.Blob))
			h.buf = append(h.buf, c.Blob...)
		case t == driver.Bool:
			h.int(boolInt(c.Bool))
		case t == driver.Time:
			h.int(c.Time.UnixMilli())
		default:
			h.int(c.Int)
		}
	}
}

// Result adds the mark of an operation that ended with an error that it declares as a result.
// Only the primary part of the code is hashed, because some drivers do not report extended codes.
func (h *Hash) Result(code int) {
	h.buf = binary.LittleEndian.AppendUint64(append(h.buf, 'E'), uint64(code&0xff))
}

// Stopped adds the mark of an operation that ended early because a statement returned no rows.
func (h *Hash) Stopped() { h.buf = append(h.buf, 'S') }

// Batch adds the first n rows of a batch of generated values.
func (h *Hash) Batch(b *driver.Batch, n int) {
	for r := range n {
		h.generated(b, r)
		h.flush(flushAt)
	}
}

// generated appends the values of row r of a batch to the buffer.
func (h *Hash) generated(b *driver.Batch, r int) {
	for j := range b.Columns {
		c := &b.Columns[j]
		switch {
		case c.Null(r):
			h.buf = append(h.buf, 'N')
		case c.Type == driver.Real:
			h.real(c.Reals[r])
		case c.Type == driver.Text:
			h.head('T', int(c.Spans[r].Len))
			h.buf = append(h.buf, c.Bytes(r)...)
		case c.Type == driver.Blob:
			h.head('B', int(c.Spans[r].Len))
			h.buf = append(h.buf, c.Bytes(r)...)
		default:
			h.int(c.Ints[r])
		}
	}
}

func (h *Hash) head(tag byte, n int) {
	h.buf = append(h.buf, tag)
	h.buf = binary.LittleEndian.AppendUint64(h.buf, uint64(n))
}

func (h *Hash) int(v int64) {
	h.buf = append(h.buf, 'I')
	h.buf = binary.LittleEndian.AppendUint64(h.buf, uint64(v))
}

func (h *Hash) real(v float64) {
	h.buf = append(h.buf, 'R')
	h.buf = binary.LittleEndian.AppendUint64(h.buf, math.Float64bits(v))
}

func boolInt(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// Sum returns the checksum of everything added so far, in hex.
func (h *Hash) Sum() string {
	h.flush(0)
	return hex.EncodeToString(h.sum.Sum(nil))
}

// Expected returns the checksum and the number of the rows that a query must return if it runs once
// for each row of its ForEach. The parameter r is the field Returns of the query. There may be
// billions of rows, so Expected computes them in several steps. Before each step it calls the
// function "tell" with the number of rows done and the total number.
func (g *Gen) Expected(r *Returns, tell func(done, total int64)) (checksum string, rows int64, err error) {
	s := g.sets[r.Set]
	if s == nil {
		return "", 0, fmt.Errorf("no data set %q", r.Set)
	}
	var h Hash
	var b driver.Batch
	step := g.RowsFitting(r.Set, r.Columns...)
	for lo := int64(0); lo < s.def.Total; lo += step {
		tell(lo, s.def.Total)
		hi := min(lo+step, s.def.Total)
		if err := g.FillColumns(&b, r.Columns, r.Set, lo, hi); err != nil {
			return "", 0, err
		}
		h.Batch(&b, int(hi-lo))
	}
	return h.Sum(), s.def.Total, nil
}
