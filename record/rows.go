package record

import (
	"cmp"
	"database/sql/driver"
	"errors"
	"io"
	"reflect"
)

// rows has the rows of a query. It records the query when the rows are closed, because the number
// of rows that were read is known only then.
type rows struct {
	driver.Rows
	conn   *conn
	event  event
	args   []byte // the parameters in their JSON form
	err    error
	closed bool
}

func (r *rows) Next(dest []driver.Value) error {
	err := r.Rows.Next(dest)
	switch {
	case err == nil:
		r.event.rows++
	case !errors.Is(err, io.EOF):
		r.err = err
	}
	return err
}

func (r *rows) Close() error {
	err := r.Rows.Close()
	if r.closed {
		return err
	}
	r.closed = true
	r.conn.write(&r.event, nil, r.args, cmp.Or(r.err, err))
	return err
}

func (r *rows) HasNextResultSet() bool {
	with, ok := r.Rows.(driver.RowsNextResultSet)
	return ok && with.HasNextResultSet()
}

func (r *rows) NextResultSet() error {
	if with, ok := r.Rows.(driver.RowsNextResultSet); ok {
		return with.NextResultSet()
	}
	return io.EOF
}

func (r *rows) ColumnTypeScanType(i int) reflect.Type {
	if with, ok := r.Rows.(driver.RowsColumnTypeScanType); ok {
		return with.ColumnTypeScanType(i)
	}
	return reflect.TypeFor[any]()
}

func (r *rows) ColumnTypeDatabaseTypeName(i int) string {
	if with, ok := r.Rows.(driver.RowsColumnTypeDatabaseTypeName); ok {
		return with.ColumnTypeDatabaseTypeName(i)
	}
	return ""
}

func (r *rows) ColumnTypeLength(i int) (length int64, ok bool) {
	if with, ok := r.Rows.(driver.RowsColumnTypeLength); ok {
		return with.ColumnTypeLength(i)
	}
	return 0, false
}

func (r *rows) ColumnTypeNullable(i int) (nullable, ok bool) {
	if with, ok := r.Rows.(driver.RowsColumnTypeNullable); ok {
		return with.ColumnTypeNullable(i)
	}
	return false, false
}

func (r *rows) ColumnTypePrecisionScale(i int) (precision, scale int64, ok bool) {
	if with, ok := r.Rows.(driver.RowsColumnTypePrecisionScale); ok {
		return with.ColumnTypePrecisionScale(i)
	}
	return 0, 0, false
}
