package drivertest

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/sqlite3perf/sqlite3perf/worker/driver"
)

// batch makes parameters from Go values: nil, int64, float64, string, []byte,
// bool or time.Time, depending on the type.
func batch(types []driver.Type, rows ...[]any) *driver.Batch {
	b := &driver.Batch{Columns: make([]driver.Column, len(types)), PerExec: 1}
	for i, t := range types {
		c := &b.Columns[i]
		c.Type = t
		if slices.ContainsFunc(rows, func(row []any) bool { return row[i] == nil }) {
			c.Nulls = make([]bool, len(rows))
		}
		for r, row := range rows {
			add(c, r, row[i])
		}
	}
	return b
}

func add(c *driver.Column, r int, v any) {
	if v == nil {
		c.Nulls[r] = true
		v = zeros[c.Type]
	}
	switch v := v.(type) {
	case int64:
		c.Ints = append(c.Ints, v)
	case bool:
		n := int64(0)
		if v {
			n = 1
		}
		c.Ints = append(c.Ints, n)
	case time.Time:
		c.Ints = append(c.Ints, v.UnixMilli())
	case float64:
		c.Reals = append(c.Reals, v)
	case string:
		c.Spans = append(c.Spans, driver.Span{Off: uint32(len(c.Data)), Len: uint32(len(v))})
		c.Data = append(c.Data, v...)
	case []byte:
		add(c, r, string(v))
	}
}

// zeros has, for each type, the Go value that a batch stores in place of NULL.
var zeros = [...]any{
	driver.Int: int64(0), driver.Bool: int64(0), driver.Time: int64(0), driver.Real: 0.0, driver.Text: "", driver.Blob: "",
}

func columns(types ...driver.Type) []driver.ColumnType {
	list := make([]driver.ColumnType, len(types))
	for i, t := range types {
		list[i].Type = t
	}
	return list
}

// unpack returns a row's values from their cells. It copies only Blobs. It returns an error if the
// row has another number of columns than the parameter "types", or NULL in a column that cannot be
// NULL.
func unpack(row driver.Row, types []driver.ColumnType) ([]any, error) {
	if len(row) != len(types) {
		return nil, fmt.Errorf("row of %d columns, want %d", len(row), len(types))
	}
	values := make([]any, len(row))
	for i, c := range row {
		if c.Null && !types[i].Nullable {
			return nil, fmt.Errorf("column %d: NULL in a column that cannot be NULL", i)
		}
		values[i] = valueOf(c, types[i].Type)
	}
	return values, nil
}

// valueOf returns the value of type t in a cell, or nil if the value is NULL.
func valueOf(c driver.Cell, t driver.Type) any {
	switch {
	case c.Null:
		return nil
	case t == driver.Int:
		return c.Int
	case t == driver.Real:
		return c.Real
	case t == driver.Text:
		return c.Text
	case t == driver.Blob:
		return append([]byte{}, c.Blob...)
	case t == driver.Bool:
		return c.Bool
	}
	return c.Time
}

func diff(got, want [][]any) error {
	if len(got) != len(want) {
		return fmt.Errorf("%d rows, want %d", len(got), len(want))
	}
	for r := range want {
		for c := range want[r] {
			if !same(got[r][c], want[r][c]) {
				return fmt.Errorf("row %d, column %d: got %s, want %s", r, c, show(got[r][c]), show(want[r][c]))
			}
		}
	}
	return nil
}

// The function "same" compares two values. It distinguishes -0 from 0, and compares times as
// instants.
func same(a, b any) bool {
	switch b := b.(type) {
	case float64:
		a, ok := a.(float64)
		return ok && math.Float64bits(a) == math.Float64bits(b)
	case []byte:
		a, ok := a.([]byte)
		return ok && string(a) == string(b)
	case time.Time:
		a, ok := a.(time.Time)
		return ok && a.Equal(b)
	}
	return a == b
}

func show(v any) string {
	switch v := v.(type) {
	case nil:
		return "NULL"
	case string:
		if len(v) > 40 {
			return strconv.Itoa(len(v)) + " bytes of text"
		}
		return strconv.Quote(v)
	case []byte:
		if len(v) > 20 {
			return strconv.Itoa(len(v)) + " bytes"
		}
		return fmt.Sprintf("x'%x'", v)
	}
	return fmt.Sprintf("%T(%v)", v, v)
}
