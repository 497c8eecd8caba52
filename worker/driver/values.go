package driver

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unsafe"
)

// Type is the Go type of a parameter, or the Go type into which a column is decoded.
type Type uint8

// The types. SQLite stores a Bool as the integer 0 or 1 and a Time as
// milliseconds since the Unix epoch.
const (
	Int  Type = iota + 1 // int64
	Real                 // float64
	Text                 // string
	Blob                 // []byte
	Bool                 // bool
	Time                 // time.Time
)

var typeNames = [...]string{Int: "int", Real: "real", Text: "text", Blob: "blob", Bool: "bool", Time: "time"}

// TypeNames returns the names of all types, in order.
func TypeNames() []string { return typeNames[1:] }

func (t Type) String() string {
	if t == 0 || int(t) >= len(typeNames) {
		return fmt.Sprintf("Type(%d)", uint8(t))
	}
	return typeNames[t]
}

// MarshalText writes the type's name.
func (t Type) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// UnmarshalText reads a type's name.
func (t *Type) UnmarshalText(b []byte) error {
	i := slices.Index(TypeNames(), string(b))
	if i < 0 {
		return fmt.Errorf("unknown type %q: one of %s", b, strings.Join(TypeNames(), ", "))
	}
	*t = Int + Type(i)
	return nil
}

// ColumnType is the declared type of a result's column. As text, it ends in "?" if the column may
// be NULL, such as "text?".
type ColumnType struct {
	Type     Type
	Nullable bool
}

func (c ColumnType) String() string {
	if c.Nullable {
		return c.Type.String() + "?"
	}
	return c.Type.String()
}

// MarshalText writes the type's name, with "?" if the column may be NULL.
func (c ColumnType) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// UnmarshalText reads what MarshalText writes.
func (c *ColumnType) UnmarshalText(b []byte) error {
	s, nullable := strings.CutSuffix(string(b), "?")
	c.Nullable = nullable
	return c.Type.UnmarshalText([]byte(s))
}

// Span is the position of a Text or Blob in its column's Data.
type Span struct{ Off, Len uint32 }

// Column is a column of values to bind, all of one type. It has no pointer per value, so the
// garbage collector does not scan the values. The fields for binding an integer key come first, so
// that they share a cache line.
type Column struct {
	Type  Type
	Nulls []bool    // nil if no value is NULL
	Ints  []int64   // values of Int; of Bool as 0 or 1; of Time as milliseconds since the Unix epoch
	Spans []Span    // positions in Data of values of Text and Blob
	Data  []byte    // bytes of values of Text and Blob; several values may share the same bytes
	Reals []float64 // values of Real
}

// Rows returns the number of rows.
func (c *Column) Rows() int { return max(len(c.Ints), len(c.Reals), len(c.Spans)) }

// Null reports whether the value of row r is NULL.
func (c *Column) Null(r int) bool { return c.Nulls != nil && c.Nulls[r] }

// Bytes returns the bytes of the Blob or Text of row r. They are valid until the column is filled
// again, and must not be changed. The result is never nil, because many libraries bind nil as
// NULL.
func (c *Column) Bytes(r int) []byte {
	s := c.Spans[r]
	if s.Len == 0 {
		return []byte{}
	}
	return c.Data[s.Off : s.Off+s.Len : s.Off+s.Len]
}

// Text returns the Text of row r. It shares the column's memory, so it is valid until
// the column is filled again.
func (c *Column) Text(r int) string {
	s := c.Spans[r]
	if s.Len == 0 {
		return ""
	}
	return unsafe.String(&c.Data[s.Off], s.Len)
}

// Any returns the value of row r in a type that database/sql accepts: nil, int64 (also for Bool
// and Time), float64, string or []byte.
func (c *Column) Any(r int) any {
	if c.Null(r) {
		return nil
	}
	switch c.Type {
	case Real:
		return c.Reals[r]
	case Text:
		return c.Text(r)
	case Blob:
		return c.Bytes(r)
	default:
		return c.Ints[r]
	}
}

// Batch has rows of parameters, stored by column.
type Batch struct {
	Columns []Column
	PerExec int // rows that one execution binds: 1, or the number of rows in the statement's VALUES clause

	// Ready has the rows in the library's form, into which a [Boxer] has converted them. Code
	// that changes the rows must call Box again, or set Ready to nil.
	Ready any
}

// Append appends the values of the rows lo ≤ r < hi to the slice "args", in the order of binding.
// Each value has the type that [Column.Any] returns. Append repeats the code of Any, because
// adapters call Append while they are measured, and a call for each value would add to their time.
func (b *Batch) Append(args []any, lo, hi int) []any {
	for r := lo; r < hi; r++ {
		for i := range b.Columns {
			c := &b.Columns[i]
			switch {
			case c.Null(r):
				args = append(args, nil)
			case c.Type == Text:
				args = append(args, c.Text(r))
			case c.Type == Blob:
				args = append(args, c.Bytes(r))
			case c.Type == Real:
				args = append(args, c.Reals[r])
			default:
				args = append(args, c.Ints[r])
			}
		}
	}
	return args
}

// Key returns the value of row r, if the row has only one value, this value is an integer, and no
// value of the batch is NULL. Most queries have such a key. For these, adapters skip the general
// code for binding.
func (b *Batch) Key(r int) (key int64, ok bool) {
	if c := b.Columns; len(c) == 1 && c[0].Type == Int && c[0].Nulls == nil {
		return c[0].Ints[r], true
	}
	return 0, false
}

// Cell is one decoded value. Of the fields for values, only the field for the value's type is
// set, and only if Null is false.
type Cell struct {
	Null bool
	Bool bool
	Type Type // type of the value; only set if the statement has AnyColumns
	Int  int64
	Real float64
	Text string
	Blob []byte
	Time time.Time // in the local time zone, as time.UnixMilli returns it
}

// Row is one decoded row of a result.
type Row []Cell

// Pointers returns a pointer to each value, as the arguments of a method such as [sql.Rows.Scan].
func Pointers[T any](values []T) []any {
	pointers := make([]any, len(values))
	for i := range values {
		pointers[i] = &values[i]
	}
	return pointers
}
