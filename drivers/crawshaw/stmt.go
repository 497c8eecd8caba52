package crawshaw

import (
	"slices"
	"time"

	"crawshaw.io/sqlite"

	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/driver/connpool"
)

const orNull = connpool.OrNull

// stmt begins with the fields that every execution needs, so that they share a cache line. Before
// an execution, most of the processor's cache is filled with SQLite's own data, so each further cache
// line must be read from memory.
type stmt struct {
	held  *sqlite.Stmt // the library's statement; nil if each execution takes it from the connection's cache
	row   driver.Row
	kinds []driver.Type // type of each column, plus orNull if it may be NULL: see connpool.Kinds
	st    driver.Statement
	conn  *sqlite.Conn
	blobs [][]byte // a buffer per column

	checked   bool // set after the columns of the result were compared with the declared columns
	transient bool // held is not in the connection's cache
}

// acquire returns the library's statement. The caller must reset it.
func (s *stmt) acquire() (*sqlite.Stmt, error) {
	if s.held != nil {
		return s.held, nil
	}
	return s.prepare()
}

// prepareTransient prepares a statement that is not in the connection's cache. Close finalizes it. The
// library goes through the whole cache when a connection is taken from the pool or returned, so
// statements that only sqlite3perf itself needs must not stay in the cache.
func (s *stmt) prepareTransient() (err error) {
	if s.held, _, err = s.conn.PrepareTransient(s.st.SQL); err != nil {
		return wrap(err)
	}
	s.transient = true
	if err = s.checkColumns(s.held); err != nil {
		s.held.Finalize()
	}
	return err
}

// prepare asks the connection's cache for the statement, as the library's Exec does. So even if
// s.st.AdHoc is set, which passes the SQL to the library at each execution, the statement is compiled
// only at its first execution.
func (s *stmt) prepare() (*sqlite.Stmt, error) {
	q, err := s.conn.Prepare(s.st.SQL)
	if err != nil {
		return nil, wrap(err)
	}
	return q, s.checkColumns(q)
}

func (s *stmt) checkColumns(q *sqlite.Stmt) error {
	if s.checked {
		return nil
	}
	n := q.ColumnCount()
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
			return err // the library has already reset the statement
		}
		if !row {
			return q.Reset()
		}
	}
}

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

// scan decodes q's current row. The library returns a zero or empty value for NULL, so scan checks
// only such values for NULL.
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
			cell.Blob = s.blob(q, i)
		case driver.Bool:
			cell.Bool = q.ColumnInt64(i) != 0
		case driver.Time:
			cell.Time = time.UnixMilli(q.ColumnInt64(i))
		case orNull + driver.Int:
			cell.Int = q.ColumnInt64(i)
			cell.Null = cell.Int == 0 && isNull(q, i)
		case orNull + driver.Real:
			cell.Real = q.ColumnFloat(i)
			cell.Null = cell.Real == 0 && isNull(q, i)
		case orNull + driver.Text:
			cell.Text = q.ColumnText(i)
			cell.Null = cell.Text == "" && isNull(q, i)
		case orNull + driver.Blob:
			cell.Blob = s.blob(q, i)
			cell.Null = len(cell.Blob) == 0 && isNull(q, i)
		case orNull + driver.Bool:
			cell.Bool = q.ColumnInt64(i) != 0
			cell.Null = !cell.Bool && isNull(q, i)
		case orNull + driver.Time:
			ms := q.ColumnInt64(i)
			cell.Time = time.UnixMilli(ms)
			cell.Null = ms == 0 && isNull(q, i)
		case connpool.AnyKind:
			kind = driver.Type(q.ColumnType(i))
			cell.Type = kind
			if cell.Null = kind == connpool.NullCode; !cell.Null {
				goto decode
			}
		}
	}
}

// blob copies a column into its buffer.
func (s *stmt) blob(q *sqlite.Stmt, col int) []byte {
	n := q.ColumnLen(col)
	if cap(s.blobs[col]) < n {
		s.blobs[col] = make([]byte, n)
	}
	b := s.blobs[col][:n]
	q.ColumnBytes(col, b)
	return b
}

func isNull(q *sqlite.Stmt, col int) bool { return q.ColumnType(col) == sqlite.SQLITE_NULL }

// Close leaves the statement in the connection's cache, as the library intends, unless
// prepareTransient has prepared it.
func (s *stmt) Close() error {
	if !s.transient {
		return nil
	}
	return wrap(s.held.Finalize())
}
