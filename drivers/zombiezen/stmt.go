package zombiezen

import (
	"slices"
	"time"

	"zombiezen.com/go/sqlite"

	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/driver/connpool"
)

const orNull = connpool.OrNull

// stmt begins with the fields that every execution needs, so that they share a cache line. Before
// an execution, most of the processor's cache is filled with SQLite's own data, so each further cache
// line must be read from memory.
type stmt struct {
	held *sqlite.Stmt // the library's statement; nil if each execution takes it from the connection's cache
	row  driver.Row
	columns
	st   driver.Statement
	conn *sqlite.Conn

	checked   bool // set after the columns of the result were compared with the declared columns
	transient bool // held is not in the connection's cache
}

// columns are the columns of a row, by kind. Each frequent kind is decoded in its own loop:
// a processor predicts the branches of such loops better than a switch over all kinds.
type columns struct {
	ints, times, texts, bools, others []resultColumn
}

type resultColumn struct {
	index int
	cell  *driver.Cell
	kind  driver.Type // type of the column, plus orNull if it may be NULL: see connpool.Kinds
}

func (s *stmt) setColumns(kinds []driver.Type) {
	s.row, s.columns = make(driver.Row, len(kinds)), columns{}
	for i, kind := range kinds {
		list := &s.others
		switch kind {
		case driver.Int:
			list = &s.ints
		case driver.Time:
			list = &s.times
		case driver.Text:
			list = &s.texts
		case driver.Bool:
			list = &s.bools
		}
		*list = append(*list, resultColumn{i, &s.row[i], kind})
	}
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

// prepare asks the connection's cache for the statement, as the library's Execute does. So even
// if s.st.AdHoc is set, which passes the SQL to the library at each execution, the statement is compiled
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
		s.setColumns(slices.Repeat([]driver.Type{connpool.AnyKind}, n))
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

func (s *stmt) scan(q *sqlite.Stmt) {
	for i := range s.ints {
		c := &s.ints[i]
		c.cell.Int = q.ColumnInt64(c.index)
	}
	for i := range s.times {
		c := &s.times[i]
		c.cell.Time = time.UnixMilli(q.ColumnInt64(c.index))
	}
	for i := range s.texts {
		c := &s.texts[i]
		c.cell.Text = q.ColumnText(c.index)
	}
	for i := range s.bools {
		c := &s.bools[i]
		c.cell.Bool = q.ColumnInt64(c.index) != 0
	}
	if len(s.others) > 0 {
		s.scanOthers(q)
	}
}

func (s *stmt) scanOthers(q *sqlite.Stmt) {
	for i := range s.others {
		c := &s.others[i]
		kind := c.kind
	decode:
		switch kind {
		case driver.Int:
			c.cell.Int = q.ColumnInt64(c.index)
		case driver.Real:
			c.cell.Real = q.ColumnFloat(c.index)
		case driver.Text:
			c.cell.Text = q.ColumnText(c.index)
		case driver.Blob:
			n := q.ColumnLen(c.index)
			if cap(c.cell.Blob) < n {
				c.cell.Blob = make([]byte, n)
			}
			c.cell.Blob = c.cell.Blob[:n]
			q.ColumnBytes(c.index, c.cell.Blob)
		case driver.Bool:
			c.cell.Bool = q.ColumnInt64(c.index) != 0
		case driver.Time:
			c.cell.Time = time.UnixMilli(q.ColumnInt64(c.index))
		case orNull + driver.Int, orNull + driver.Real, orNull + driver.Text, orNull + driver.Blob, orNull + driver.Bool, orNull + driver.Time:
			if c.cell.Null = q.ColumnIsNull(c.index); !c.cell.Null {
				kind -= orNull
				goto decode
			}
		case connpool.AnyKind:
			kind = driver.Type(q.ColumnType(c.index))
			c.cell.Type = kind
			if c.cell.Null = kind == connpool.NullCode; !c.cell.Null {
				goto decode
			}
		}
	}
}

// Close leaves the statement in the connection's cache, as the library intends, unless
// prepareTransient has prepared it.
func (s *stmt) Close() error {
	if !s.transient {
		return nil
	}
	return wrap(s.held.Finalize())
}
