package sqldriver

import (
	"context"
	"database/sql"
	"fmt"
	"sync"

	contract "github.com/sqlite3perf/sqlite3perf/worker/driver"
)

// textRunner runs SQL text: *sql.DB, *sql.Conn or *sql.Tx.
type textRunner interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// stmt is either prepared or, where that is nil, text for text to run.
type stmt struct {
	lib *Library
	*shape
	prepared *sql.Stmt
	text     textRunner
}

// shape is what the executions of one statement have in common.
type shape struct {
	contract.Statement
	scratch sync.Pool // of *scratch: a pool's statement is used by many goroutines
}

// scratch is what one execution fills.
type scratch struct {
	args []any
	row  contract.Row
	dest []any // pointers into row
}

func newStmt(lib *Library, st contract.Statement) *stmt {
	s := &stmt{lib: lib, shape: &shape{Statement: st}}
	s.scratch.New = func() any {
		row := make(contract.Row, len(st.Columns))
		dest := make([]any, len(row))
		for i, c := range st.Columns {
			dest[i] = destination(&row[i], c)
		}
		return &scratch{make([]any, len(st.Params)), row, dest}
	}
	return s
}

// args boxes the rows lo ≤ r < hi, one group of parameters after the other.
func (s *shape) args(sc *scratch, b *contract.Batch, lo, hi int) ([]any, error) {
	n := 0
	if b != nil {
		n = (hi - lo) * len(b.Columns)
	}
	if n != len(sc.args) {
		return nil, fmt.Errorf("statement %q takes %d parameters, got %d", s.SQL, len(sc.args), n)
	}
	i := 0
	for r := lo; i < n; r++ {
		for c := range b.Columns {
			sc.args[i] = b.Columns[c].Any(r)
			i++
		}
	}
	return sc.args, nil
}

func (s *stmt) Exec(ctx context.Context, b *contract.Batch, lo, hi int) error {
	per := 1
	if b == nil {
		lo, hi = 0, 1
	} else {
		per = max(1, b.PerExec)
	}
	ctx = s.lib.context(ctx)
	sc := s.scratch.Get().(*scratch)
	defer s.scratch.Put(sc)
	for ; lo < hi; lo += per {
		args, err := s.args(sc, b, lo, lo+per)
		if err != nil {
			return err
		}
		if s.prepared != nil {
			_, err = s.prepared.ExecContext(ctx, args...)
		} else {
			_, err = s.text.ExecContext(ctx, s.SQL, args...)
		}
		if err != nil {
			return s.lib.wrap(err)
		}
	}
	return nil
}

func (s *stmt) Query(ctx context.Context, b *contract.Batch, r int, visit func(contract.Row) error) error {
	ctx = s.lib.context(ctx)
	sc := s.scratch.Get().(*scratch)
	defer s.scratch.Put(sc)
	args, err := s.args(sc, b, r, r+1)
	if err != nil {
		return err
	}
	var rows *sql.Rows
	if s.prepared != nil {
		rows, err = s.prepared.QueryContext(ctx, args...)
	} else {
		rows, err = s.text.QueryContext(ctx, s.SQL, args...)
	}
	if err != nil {
		return s.lib.wrap(err)
	}
	defer rows.Close()
	for rows.Next() {
		if err := rows.Scan(sc.dest...); err != nil {
			return s.lib.wrap(err)
		}
		if err := visit(sc.row); err != nil {
			return err
		}
	}
	if err := rows.Err(); err != nil {
		return s.lib.wrap(err)
	}
	return s.lib.wrap(rows.Close())
}

func (s *stmt) Close() error {
	if s.prepared == nil {
		return nil
	}
	return s.lib.wrap(s.prepared.Close())
}
