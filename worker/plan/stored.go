package plan

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"math/bits"
	"slices"
	"strings"

	"github.com/sqlite3perf/sqlite3perf/worker/driver"
)

// Stored says which columns to read back from a table after rows have been inserted into it.
type Stored struct {
	Table   string              `json:"table"`
	Columns []string            `json:"columns,omitempty"` // the columns to hash; if empty the rows are only counted
	Types   []driver.ColumnType `json:"types,omitempty"`   // the types of Columns
}

// Query returns the statement that reads the table back. The statement uses no index, so that
// it leaves the same pages in caches whichever columns it reads.
func (s *Stored) Query() driver.Statement {
	if len(s.Columns) == 0 {
		return driver.Statement{
			SQL:     "SELECT count(*) FROM " + driver.Quote(s.Table) + " NOT INDEXED",
			Columns: []driver.ColumnType{{Type: driver.Int}},
		}
	}
	names := make([]string, len(s.Columns))
	for i, name := range s.Columns {
		names[i] = driver.Quote(name)
	}
	return driver.Statement{SQL: "SELECT " + strings.Join(names, ",") + " FROM " + driver.Quote(s.Table) + " NOT INDEXED", Columns: s.Types}
}

// Loaded returns the tables that the phases read back after their inserts, each table once. The
// field Columns of each result is empty, so that rows are only counted.
func Loaded(phases []Phase) []Stored {
	var list []Stored
	for i := range phases {
		if phases[i].Insert == nil {
			continue
		}
		for _, s := range phases[i].Insert.Verify {
			if !slices.ContainsFunc(list, func(l Stored) bool { return l.Table == s.Table }) {
				list = append(list, Stored{Table: s.Table})
			}
		}
	}
	return list
}

// RowSum is a checksum of rows that does not depend on their order. It is the sum of each row's
// SHA-256, read as a number with the highest byte first, modulo 2^256. The bytes of a row that
// are hashed are the same as in [Hash]. The zero RowSum is the checksum of no rows.
type RowSum struct {
	Rows int64
	sum  [4]uint64 // the lowest 64 bits first
	hash Hash
}

// Row adds a decoded row.
func (s *RowSum) Row(row driver.Row, cols []driver.ColumnType) {
	s.hash.row(row, cols)
	s.take()
}

// Batch adds the first n rows of a batch of generated values.
func (s *RowSum) Batch(b *driver.Batch, n int) {
	for r := range n {
		s.hash.generated(b, r)
		s.take()
	}
}

// take adds the bytes in the buffer of s.hash as one row.
func (s *RowSum) take() {
	d := sha256.Sum256(s.hash.buf)
	s.hash.buf = s.hash.buf[:0]
	s.Rows++
	var carry uint64
	for i := range s.sum {
		s.sum[i], carry = bits.Add64(s.sum[i], binary.BigEndian.Uint64(d[24-8*i:]), carry)
	}
}

// Add adds the rows of another sum.
func (s *RowSum) Add(other *RowSum) {
	s.Rows += other.Rows
	var carry uint64
	for i := range s.sum {
		s.sum[i], carry = bits.Add64(s.sum[i], other.sum[i], carry)
	}
}

// Subtract subtracts the rows of another sum.
func (s *RowSum) Subtract(other *RowSum) {
	s.Rows -= other.Rows
	var borrow uint64
	for i := range s.sum {
		s.sum[i], borrow = bits.Sub64(s.sum[i], other.sum[i], borrow)
	}
}

// Sum returns the checksum in hex, highest digit first.
func (s *RowSum) Sum() string {
	var b [32]byte
	for i, word := range s.sum {
		binary.BigEndian.PutUint64(b[24-8*i:], word)
	}
	return hex.EncodeToString(b[:])
}
