package litedriver

import (
	"fmt"
	"slices"
	"time"

	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/driver/connpool"
)

const orNull = connpool.OrNull

type stmt struct {
	conn  Conn
	st    driver.Statement
	held  Stmt // the prepared statement; nil if it is compiled at each execution
	args  []any
	row   driver.Row
	kinds []driver.Type // see connpool.Kinds
	blobs [][]byte      // a buffer per column

	checked bool // set if the number of columns has been compared with the declared number
}

func compile(c Conn, sql string) (Stmt, error) {
	q, err := c.Prepare(sql)
	if err == nil && q == nil {
		err = fmt.Errorf("no statement in %q", sql)
	}
	return q, wrap(err)
}

// checkColumns compares the number of columns with the declared number. If the statement has
// AnyColumns, it allocates the buffers for n columns.
func (s *stmt) checkColumns(n int) error {
	if err := s.st.CheckColumns(n); err != nil {
		return err
	}
	if s.st.AnyColumns {
		s.row, s.kinds, s.blobs = make(driver.Row, n), slices.Repeat([]driver.Type{connpool.AnyKind}, n), make([][]byte, n)
	}
	s.checked = true
	return nil
}

func (s *stmt) Exec(b *driver.Batch, lo, hi int) error {
	if b == nil {
		return wrap(s.exec())
	}
	for r := lo; r < hi; r += b.PerExec {
		if key, ok := b.Key(r); ok && b.PerExec == 1 {
			s.args = append(s.args[:0], key)
		} else {
			s.args = b.Append(s.args[:0], r, r+b.PerExec)
		}
		if err := s.exec(s.args...); err != nil {
			return wrap(err)
		}
	}
	return nil
}

// exec binds the parameters, steps to the end and resets the statement.
func (s *stmt) exec(args ...any) error {
	if s.held == nil {
		return s.conn.Exec(s.st.SQL, args...)
	}
	return s.held.Exec(args...)
}

func (s *stmt) Query(b *driver.Batch, r int, visit func(driver.Row) error) error {
	q := s.held
	if q == nil {
		var err error
		if q, err = compile(s.conn, s.st.SQL); err != nil {
			return err
		}
		defer q.Close()
		if !s.checked {
			if err := s.checkColumns(q.ColumnCount()); err != nil {
				return err
			}
		}
	} else {
		defer q.Reset()
	}
	if b != nil {
		if key, ok := b.Key(r); ok {
			s.args = append(s.args[:0], key)
		} else {
			s.args = b.Append(s.args[:0], r, r+1)
		}
		if err := q.Bind(s.args...); err != nil {
			return wrap(err)
		}
	}
	for {
		row, err := q.Step()
		if err != nil {
			return wrap(err)
		}
		if !row {
			return nil
		}
		if err := s.scan(q); err != nil {
			return wrap(err)
		}
		if err := visit(s.row); err != nil {
			return err
		}
	}
}

func (s *stmt) scan(q Stmt) error {
	row := s.row[:len(s.kinds)]
	for i, kind := range s.kinds {
		cell := &row[i]
		ok := true // false for NULL
		var n int64
		var err error
	decode:
		switch kind {
		case driver.Int, orNull + driver.Int:
			cell.Int, ok, err = q.ColumnInt64(i)
		case driver.Real, orNull + driver.Real:
			cell.Real, ok, err = q.ColumnDouble(i)
		case driver.Text, orNull + driver.Text:
			cell.Text, ok, err = q.ColumnText(i)
		case driver.Blob, orNull + driver.Blob:
			var raw []byte // SQLite's own memory
			raw, err = q.ColumnRawBytes(i)
			ok = raw != nil
			s.blobs[i] = append(s.blobs[i][:0], raw...)
			cell.Blob = s.blobs[i]
		case driver.Bool, orNull + driver.Bool:
			n, ok, err = q.ColumnInt64(i)
			cell.Bool = n != 0
		case driver.Time, orNull + driver.Time:
			n, ok, err = q.ColumnInt64(i)
			cell.Time = time.UnixMilli(n)
		case connpool.AnyKind:
			kind = driver.Type(q.ColumnType(i))
			cell.Type = kind
			if ok = kind != connpool.NullCode; ok {
				goto decode
			}
		}
		if err != nil {
			return err
		}
		cell.Null = !ok
	}
	return nil
}

func (s *stmt) Close() error {
	if s.held == nil {
		return nil
	}
	return wrap(s.held.Close())
}
