package sqinn

import (
	"time"

	"github.com/cvilsmeier/sqinn-go/sqinn"

	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/driver/connpool"
)

const orNull = connpool.OrNull

// valueTypes has, for each type of a column, the type that is requested from the library.
var valueTypes = [...]byte{
	driver.Int: sqinn.ValInt64, driver.Bool: sqinn.ValInt64, driver.Time: sqinn.ValInt64,
	driver.Real: sqinn.ValDouble, driver.Text: sqinn.ValText, driver.Blob: sqinn.ValBlob,
}

// stmt has the SQL and types of a statement. sqinn keeps no prepared statements.
type stmt struct {
	conn  *conn
	st    driver.Statement
	types []byte // types in which columns are requested
	args  []any
	row   driver.Row
	kinds []driver.Type // type of each column, plus orNull if it may be NULL: see connpool.Kinds
}

// Exec sends all rows in one request. If s.st.AdHoc is set, the SQL text must be sent again for each
// execution, so Exec sends one request per execution.
func (s *stmt) Exec(b *driver.Batch, lo, hi int) error {
	if b == nil {
		n, err := s.conn.ExecOne(s.st.SQL)
		s.conn.affected = n
		return wrap(err)
	}
	step := hi - lo
	if s.st.AdHoc {
		step = b.PerExec
	}
	for ; lo < hi; lo += step {
		s.args = b.Append(s.args[:0], lo, lo+step)
		changes, err := s.conn.Exec(s.st.SQL, step/b.PerExec, b.PerExec*len(b.Columns), s.args)
		if err != nil {
			return wrap(err)
		}
		if n := len(changes); n > 0 {
			s.conn.affected = changes[n-1]
		}
	}
	return nil
}

func (s *stmt) Query(b *driver.Batch, r int, visit func(driver.Row) error) error {
	s.args = s.args[:0]
	if b != nil {
		s.args = b.Append(s.args, r, r+1)
	}
	rows, err := s.conn.Query(s.st.SQL, s.args, s.types)
	if err != nil {
		return wrap(err)
	}
	for i := range rows {
		s.scan(rows[i].Values)
		if err := visit(s.row); err != nil {
			return err
		}
	}
	return nil
}

func (s *stmt) scan(values []sqinn.AnyValue) {
	row := s.row[:len(s.kinds)]
	for i, kind := range s.kinds {
		v, cell := &values[i], &row[i]
		switch kind {
		case driver.Int, orNull + driver.Int:
			cell.Int, cell.Null = v.Int64.Value, !v.Int64.Set
		case driver.Bool, orNull + driver.Bool:
			cell.Bool, cell.Null = v.Int64.Value != 0, !v.Int64.Set
		case driver.Time, orNull + driver.Time:
			cell.Time, cell.Null = time.UnixMilli(v.Int64.Value), !v.Int64.Set
		case driver.Real, orNull + driver.Real:
			cell.Real, cell.Null = v.Double.Value, !v.Double.Set
		case driver.Text, orNull + driver.Text:
			cell.Text, cell.Null = v.String.Value, !v.String.Set
		case driver.Blob, orNull + driver.Blob:
			cell.Blob, cell.Null = v.Blob.Value, !v.Blob.Set
		}
	}
}

func (s *stmt) Close() error { return nil }
