package zombiezen

import (
	"errors"
	"strings"

	"zombiezen.com/go/sqlite"

	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/driver/connpool"
)

// Ask reads each column by the call for its type, as the library's users do.
func (c *conn) Ask(q driver.Question, visit func([]any) error) (r driver.Reply, err error) {
	s, _, err := c.PrepareTransient(strings.TrimSpace(q.SQL))
	if err != nil {
		return r, wrap(err)
	}
	defer func() {
		if ferr := s.Finalize(); err == nil {
			err = wrap(ferr)
		}
	}()
	for i, v := range q.Args {
		if err := bindAny(s, i+1, v); err != nil {
			return r, err
		}
	}
	row := make([]any, s.ColumnCount())
	for i := range row {
		r.Names = append(r.Names, s.ColumnName(i))
	}
	for {
		more, err := s.Step()
		if err != nil {
			return r, wrap(err)
		}
		if !more {
			break
		}
		for i := range row {
			row[i] = column(s, i)
		}
		if err := visit(row); err != nil {
			return r, errors.Join(err, wrap(s.Reset()))
		}
	}
	if !q.Rows {
		affected, id := int64(c.Changes()), c.LastInsertRowID()
		r.Affected, r.LastInsertID = &affected, &id
	}
	return r, nil
}

func bindAny(s *sqlite.Stmt, i int, v any) error {
	switch v := v.(type) {
	case nil:
		s.BindNull(i)
	case int64:
		s.BindInt64(i, v)
	case float64:
		s.BindFloat(i, v)
	case string:
		s.BindText(i, v)
	case []byte:
		s.BindBytes(i, v)
	case bool:
		s.BindBool(i, v)
	default:
		return connpool.Unbindable(i, v)
	}
	return nil
}

func column(s *sqlite.Stmt, i int) any {
	switch s.ColumnType(i) {
	case sqlite.TypeInteger:
		return s.ColumnInt64(i)
	case sqlite.TypeFloat:
		return s.ColumnFloat(i)
	case sqlite.TypeText:
		return s.ColumnText(i)
	case sqlite.TypeBlob:
		b := make([]byte, s.ColumnLen(i))
		s.ColumnBytes(i, b)
		return b
	}
	return nil
}
