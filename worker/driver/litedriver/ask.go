package litedriver

import (
	"errors"

	"github.com/sqlite3perf/sqlite3perf/worker/driver"
)

// Ask scans each value into a variable of type any, so that the library chooses the Go type by
// the value's type in SQLite.
func (c *conn) Ask(q driver.Question, visit func([]any) error) (r driver.Reply, err error) {
	s, err := compile(c.Conn, q.SQL)
	if err != nil {
		return r, err
	}
	defer func() {
		if cerr := s.Close(); err == nil {
			err = wrap(cerr)
		}
	}()
	if err := s.Bind(q.Args...); err != nil {
		return r, wrap(err)
	}
	if n := s.ColumnCount(); n > 0 {
		r.Names, r.Declared = s.ColumnNames(), s.DeclTypes()
	}
	row := make([]any, len(r.Names))
	dest := driver.Pointers(row)
	for {
		more, err := s.Step()
		if err != nil {
			return r, wrap(err)
		}
		if !more {
			break
		}
		if err := s.Scan(dest...); err != nil {
			return r, wrap(err)
		}
		if err := visit(row); err != nil {
			return r, errors.Join(err, wrap(s.Reset()))
		}
	}
	if !q.Rows {
		r.Tell(c)
	}
	return r, nil
}
