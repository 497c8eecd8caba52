package sqldriver

import (
	"database/sql"
	"fmt"
	"time"

	contract "github.com/sqlite3perf/sqlite3perf/worker/driver"
)

// destination returns the argument with which Rows.Scan fills a cell: a plain pointer if
// database/sql can convert the value, otherwise a Scanner that writes to the cell.
func destination(c *contract.Cell, t contract.ColumnType) any {
	switch t {
	case contract.ColumnType{Type: contract.Int}:
		return &c.Int
	case contract.ColumnType{Type: contract.Real}:
		return &c.Real
	case contract.ColumnType{Type: contract.Text}:
		return &c.Text
	case contract.ColumnType{Type: contract.Blob}:
		// RawBytes are not copied. They are valid until the next row, like a Row's Blob.
		return (*sql.RawBytes)(&c.Blob)
	case contract.ColumnType{Type: contract.Bool}:
		return (*boolCell)(c)
	case contract.ColumnType{Type: contract.Time}:
		return (*timeCell)(c)
	case contract.ColumnType{Type: contract.Int, Nullable: true}:
		return (*nullInt)(c)
	case contract.ColumnType{Type: contract.Real, Nullable: true}:
		return (*nullReal)(c)
	case contract.ColumnType{Type: contract.Text, Nullable: true}:
		return (*nullText)(c)
	case contract.ColumnType{Type: contract.Blob, Nullable: true}:
		return (*nullBlob)(c)
	case contract.ColumnType{Type: contract.Bool, Nullable: true}:
		return (*nullBool)(c)
	case contract.ColumnType{Type: contract.Time, Nullable: true}:
		return (*nullTime)(c)
	}
	return &unknown{t}
}

// Each of these types has a method Scan, which stores the library's value in a cell. If a table
// declares a column as BOOLEAN or TIMESTAMP, the library may return a bool or a time.Time instead
// of an integer. A library may also return a []byte instead of a string.
type (
	boolCell contract.Cell
	timeCell contract.Cell
	nullInt  contract.Cell
	nullReal contract.Cell
	nullText contract.Cell
	nullBlob contract.Cell
	nullBool contract.Cell
	nullTime contract.Cell
	anyCell  contract.Cell
	unknown  struct{ t contract.ColumnType }
)

func unexpected(v any, t contract.Type) error {
	return fmt.Errorf("a column declared %v holds a %T", t, v)
}

func (c *boolCell) Scan(v any) error {
	switch v := v.(type) {
	case int64:
		c.Bool = v != 0
	case bool:
		c.Bool = v
	default:
		return unexpected(v, contract.Bool)
	}
	return nil
}

func (c *timeCell) Scan(v any) error {
	switch v := v.(type) {
	case int64:
		c.Time = time.UnixMilli(v)
	case time.Time:
		c.Time = v
	default:
		return unexpected(v, contract.Time)
	}
	return nil
}

func (c *nullInt) Scan(v any) error {
	switch v := v.(type) {
	case nil:
		c.Null = true
	case int64:
		c.Null, c.Int = false, v
	default:
		return unexpected(v, contract.Int)
	}
	return nil
}

func (c *nullReal) Scan(v any) error {
	switch v := v.(type) {
	case nil:
		c.Null = true
	case float64:
		c.Null, c.Real = false, v
	case int64: // SQLite may return an integer, for example from coalesce(sum(x), 0)
		c.Null, c.Real = false, float64(v)
	default:
		return unexpected(v, contract.Real)
	}
	return nil
}

func (c *nullText) Scan(v any) error {
	switch v := v.(type) {
	case nil:
		c.Null = true
	case string:
		c.Null, c.Text = false, v
	case []byte:
		c.Null, c.Text = false, string(v)
	default:
		return unexpected(v, contract.Text)
	}
	return nil
}

// Scan copies the bytes into the cell's own memory, because the library may change its bytes
// after Scan has returned. Only with sql.RawBytes does database/sql prevent such changes.
func (c *nullBlob) Scan(v any) error {
	switch v := v.(type) {
	case nil:
		c.Null = true
	case []byte:
		c.Null, c.Blob = false, append(c.Blob[:0], v...)
	case string:
		c.Null, c.Blob = false, append(c.Blob[:0], v...)
	default:
		return unexpected(v, contract.Blob)
	}
	return nil
}

func (c *nullBool) Scan(v any) error {
	c.Null = v == nil
	if c.Null {
		return nil
	}
	return (*boolCell)(c).Scan(v)
}

func (c *nullTime) Scan(v any) error {
	c.Null = v == nil
	if c.Null {
		return nil
	}
	return (*timeCell)(c).Scan(v)
}

func (c *anyCell) Scan(v any) error {
	c.Null = v == nil
	switch v := v.(type) {
	case nil:
	case int64:
		c.Type, c.Int = contract.Int, v
	case float64:
		c.Type, c.Real = contract.Real, v
	case string:
		c.Type, c.Text = contract.Text, v
	case []byte:
		c.Type, c.Blob = contract.Blob, append(c.Blob[:0], v...)
	case bool:
		c.Type, c.Bool = contract.Bool, v
	case time.Time:
		c.Type, c.Time = contract.Time, v
	default:
		return fmt.Errorf("a column holds a %T", v)
	}
	return nil
}

func (u *unknown) Scan(any) error { return fmt.Errorf("unknown column type %v", u.t) }
