package crawshaw

import (
	"time"

	"crawshaw.io/sqlite"

	"github.com/sqlite3perf/sqlite3perf/worker/driver"
)

type stmt struct {
	conn  *sqlite.Conn
	st    driver.Statement
	held  *sqlite.Stmt // nil: asked of the connection's cache, or compiled, at each execution
	row   driver.Row
	blobs [][]byte // a buffer per column

	checked bool // ad hoc: the columns are as declared
}

// acquire returns the library's statement, to be given back by release.
func (s *stmt) acquire() (*sqlite.Stmt, error) {
	switch {
	case s.held != nil:
		return s.held, nil
	case s.st.AdHoc:
		q, _, err := s.conn.PrepareTransient(s.st.SQL)
		if err == nil && !s.checked {
			if err := s.st.CheckColumns(q.ColumnCount()); err != nil {
				q.Finalize()
				return nil, err
			}
			s.checked = true
		}
		return q, err
	default:
		return s.conn.Prepare(s.st.SQL)
	}
}

func (s *stmt) release(q *sqlite.Stmt) {
	if s.st.AdHoc {
		q.Finalize()
	} else {
		q.Reset()
	}
}

func (s *stmt) Exec(b *driver.Batch, lo, hi int) error {
	if b == nil {
		q, err := s.acquire()
		if err != nil {
			return wrap(err)
		}
		defer s.release(q)
		return wrap(run(q))
	}
	if s.st.AdHoc {
		for r := lo; r < hi; r += b.PerExec {
			q, err := s.acquire()
			if err != nil {
				return wrap(err)
			}
			bind(q, b, r, b.PerExec)
			err = run(q)
			q.Finalize()
			if err != nil {
				return wrap(err)
			}
		}
		return nil
	}
	q, err := s.acquire()
	if err != nil {
		return wrap(err)
	}
	for r := lo; r < hi; r += b.PerExec {
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

// bind binds n rows of b from row r on.
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
				if v := c.Bytes(r); len(v) == 0 {
					q.BindZeroBlob(p, 0) // BindBytes would bind NULL
				} else {
					q.BindBytes(p, v)
				}
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
		return wrap(err)
	}
	defer s.release(q)
	if b != nil {
		bind(q, b, r, 1)
	}
	for {
		row, err := q.Step()
		if err != nil {
			return wrap(err)
		}
		if !row {
			return nil
		}
		s.scan(q)
		if err := visit(s.row); err != nil {
			return err
		}
	}
}

// scan decodes the row that q stands at. NULL reads as zero, so only a zero is
// asked whether it is NULL.
func (s *stmt) scan(q *sqlite.Stmt) {
	row := s.row[:len(s.st.Columns)]
	for i, col := range s.st.Columns {
		cell := &row[i]
		zero := false
		switch col.Type {
		case driver.Int:
			cell.Int = q.ColumnInt64(i)
			zero = cell.Int == 0
		case driver.Bool:
			cell.Bool = q.ColumnInt64(i) != 0
			zero = !cell.Bool
		case driver.Time:
			ms := q.ColumnInt64(i)
			cell.Time = time.UnixMilli(ms).UTC()
			zero = ms == 0
		case driver.Real:
			cell.Real = q.ColumnFloat(i)
			zero = cell.Real == 0
		case driver.Text:
			cell.Text = q.ColumnText(i)
			zero = cell.Text == ""
		case driver.Blob:
			n := q.ColumnLen(i)
			if cap(s.blobs[i]) < n {
				s.blobs[i] = make([]byte, n)
			}
			cell.Blob = s.blobs[i][:n]
			q.ColumnBytes(i, cell.Blob)
			zero = n == 0
		}
		cell.Null = false
		if zero && isNull(q, i) {
			*cell = driver.Cell{Null: true}
		}
	}
}

func isNull(q *sqlite.Stmt, col int) bool { return q.ColumnType(col) == sqlite.SQLITE_NULL }

// Close leaves the statement in the connection's cache, as the library means
// it to be.
func (s *stmt) Close() error { return nil }
