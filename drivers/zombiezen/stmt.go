package zombiezen

import (
	"slices"
	"time"

	"zombiezen.com/go/sqlite"

	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/driver/connpool"
)

const orNull = connpool.OrNull

// stmt has first the fields that every execution needs. After SQLite has run, the
// processor's nearest cache holds little else.
type stmt struct {
	held  *sqlite.Stmt // nil: taken from the connection's cache at each execution
	row   driver.Row
	kinds []driver.Type // see connpool.Kinds
	st    driver.Statement
	conn  *sqlite.Conn
	blobs [][]byte // a buffer per column

	checked bool // the columns are as declared
}

// acquire returns the library's statement. The caller resets it after use.
func (s *stmt) acquire() (*sqlite.Stmt, error) {
	if s.held != nil {
		return s.held, nil
	}
	return s.prepare()
}

// prepare asks the connection's cache, as the library's Execute does. So an ad hoc
// statement is compiled only at its first execution.
func (s *stmt) prepare() (*sqlite.Stmt, error) {
	q, err := s.conn.Prepare(s.st.SQL)
	if err != nil {
		return nil, wrap(err)
	}
	if !s.checked {
		n := q.ColumnCount()
		if err := s.st.CheckColumns(n); err != nil {
			return nil, err
		}
		if s.st.AnyColumns {
			s.row, s.kinds, s.blobs = make(driver.Row, n), slices.Repeat([]driver.Type{connpool.AnyKind}, n), make([][]byte, n)
		}
		s.checked = true
	}
	return q, nil
}

func (s *stmt) Exec(b *driver.Batch, lo, hi int) error {
	q, err := s.acquire()
	if err != nil {
		return err
	}
	if b == nil {
		return wrap(run(q))
	}
	for r := lo; r < hi; r += b.PerExec {
		if s.st.AdHoc && r > lo {
			if q, err = s.prepare(); err != nil {
				return err
			}
		}
		bind(q, b, r, b.PerExec)
		if err := run(q); err != nil {
			return wrap(err)
		}
	}
	return nil
}

// run steps a statement to its end and resets it.
func run(q *sqlite.Stmt) error {
	for {
		row, err := q.Step()
		if err != nil {
			return err // the library has reset it
		}
		if !row {
			return q.Reset()
		}
	}
}

// bind binds n rows of b, starting at row r.
func bind(q *sqlite.Stmt, b *driver.Batch, r, n int) {
	p := 1
	for end := r + n; r < end; r++ {
		for i := range b.Columns {
			c := &b.Columns[i]
			switch {
			case c.Null(r):
				q.BindNull(p)
			case c.Type == driver.Text:
				q.BindText(p, c.Text(r))
			case c.Type == driver.Blob:
				q.BindBytes(p, c.Bytes(r))
			case c.Type == driver.Real:
				q.BindFloat(p, c.Reals[r])
			default:
				q.BindInt64(p, c.Ints[r])
			}
			p++
		}
	}
}

func (s *stmt) Query(b *driver.Batch, r int, visit func(driver.Row) error) error {
	q, err := s.acquire()
	if err != nil {
		return err
	}
	if b != nil {
		if key, ok := b.Key(r); ok {
			q.BindInt64(1, key)
		} else {
			bind(q, b, r, 1)
		}
	}
	for {
		row, err := q.Step()
		if !row || err != nil {
			q.Reset()
			return wrap(err)
		}
		s.scan(q)
		if err := visit(s.row); err != nil {
			q.Reset()
			return err
		}
	}
}

// scan decodes q's current row.
func (s *stmt) scan(q *sqlite.Stmt) {
	row := s.row[:len(s.kinds)]
	for i, kind := range s.kinds {
		cell := &row[i]
	decode:
		switch kind {
		case driver.Int:
			cell.Int = q.ColumnInt64(i)
		case driver.Real:
			cell.Real = q.ColumnFloat(i)
		case driver.Text:
			cell.Text = q.ColumnText(i)
		case driver.Blob:
			n := q.ColumnLen(i)
			if cap(s.blobs[i]) < n {
				s.blobs[i] = make([]byte, n)
			}
			cell.Blob = s.blobs[i][:n]
			q.ColumnBytes(i, cell.Blob)
		case driver.Bool:
			cell.Bool = q.ColumnInt64(i) != 0
		case driver.Time:
			cell.Time = time.UnixMilli(q.ColumnInt64(i))
		case orNull + driver.Int, orNull + driver.Real, orNull + driver.Text, orNull + driver.Blob, orNull + driver.Bool, orNull + driver.Time:
			if cell.Null = q.ColumnIsNull(i); !cell.Null {
				kind -= orNull
				goto decode
			}
		case connpool.AnyKind:
			kind = driver.Type(q.ColumnType(i))
			cell.Type = kind
			if cell.Null = kind == connpool.NullCode; !cell.Null {
				goto decode
			}
		}
	}
}

// Close leaves the statement in the connection's cache, as the library intends.
func (s *stmt) Close() error { return nil }
