package sqldriver

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"sync"
	"unsafe"

	contract "github.com/sqlite3perf/sqlite3perf/worker/driver"
)

type textRunner interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// stmt is a prepared statement. If the field "prepared" is nil, it is ad hoc SQL, which the field "text"
// executes.
type stmt struct {
	lib *Library
	*shape
	prepared *sql.Stmt
	text     textRunner
}

// shape has the fields that all executions of a statement share.
type shape struct {
	contract.Statement
	scratch sync.Pool       // values of type *scratch, one for each goroutine that executes the statement at the moment
	endless context.Context // the context that is passed to the library in place of a context that cannot end
}

// scratch has the memory that one execution fills.
type scratch struct {
	args []any
	row  contract.Row
	dest []any // pointers into row

	done <-chan struct{} // Done channel of the context from which the field "ctx" was made; nil if no context that can end was converted yet
	ctx  context.Context
}

// anyColumns makes sc.row and sc.dest as long as the rows of a result whose columns are not
// declared.
func (sc *scratch) anyColumns(rows *sql.Rows) error {
	names, err := rows.Columns()
	if err != nil || len(names) == len(sc.row) {
		return err
	}
	sc.row = make(contract.Row, len(names))
	sc.dest = make([]any, len(names))
	for i := range sc.row {
		sc.dest[i] = (*anyCell)(&sc.row[i])
	}
	return nil
}

// converted returns the context to pass to the library, for a caller that has no [scratch].
func (s *stmt) converted(ctx context.Context) context.Context {
	if !s.converts() {
		return ctx
	}
	if ctx.Done() == nil {
		return s.endless
	}
	sc := s.scratch.Get().(*scratch)
	defer s.scratch.Put(sc)
	return s.context(ctx, sc)
}

// converts reports whether the library needs contexts other than the caller's.
func (s *stmt) converts() bool { return s.lib.Cancellable != nil || s.lib.Prepared != nil }

// context returns the context to pass to the library. If many executions have the same context,
// it is converted only once.
func (s *stmt) context(ctx context.Context, sc *scratch) context.Context {
	if !s.converts() {
		return ctx
	}
	done := ctx.Done()
	if done == nil {
		return s.endless
	}
	if done != sc.done {
		sc.done = done
		if s.prepared != nil {
			sc.ctx = s.lib.prepared(ctx)
		} else {
			sc.ctx = s.lib.context(ctx)
		}
	}
	return sc.ctx
}

func newStmt(lib *Library, st contract.Statement) *stmt {
	s := &stmt{lib: lib, shape: &shape{Statement: st, endless: context.Background()}}
	if lib.Prepared != nil && !st.AdHoc {
		s.endless = lib.Prepared(s.endless)
	}
	s.scratch.New = func() any {
		row := make(contract.Row, len(st.Columns))
		dest := make([]any, len(row))
		for i, c := range st.Columns {
			dest[i] = destination(&row[i], c)
		}
		return &scratch{args: make([]any, len(st.Params)), row: row, dest: dest}
	}
	return s
}

// check returns an error if an execution does not bind as many values as the statement has
// parameters. The parameter "per" is the number of rows of b that an execution binds.
func (s *shape) check(b *contract.Batch, per int) error {
	n := 0
	if b != nil {
		n = per * len(b.Columns)
	}
	if n != len(s.Params) {
		return fmt.Errorf("statement %q takes %d parameters, got %d", s.SQL, len(s.Params), n)
	}
	return nil
}

func (s *stmt) exec(ctx context.Context, args []any) (sql.Result, error) {
	if s.prepared != nil {
		return s.prepared.ExecContext(ctx, args...)
	}
	return s.text.ExecContext(ctx, s.SQL, args...)
}

// Box stores all values of b in b.Ready, as a []any in the order of binding. Storing a text in an
// element allocates memory. So if the element from the last call is a text at the same address, Box
// keeps this element.
func (s *stmt) Box(b *contract.Batch) {
	n := 0
	if len(b.Columns) > 0 {
		n = b.Columns[0].Rows()
	}
	args, _ := b.Ready.([]any)
	if len(args) != n*len(b.Columns) {
		args = make([]any, n*len(b.Columns))
	}
	i := 0
	for r := range n {
		for c := range b.Columns {
			column := &b.Columns[c]
			if column.Type != contract.Text || column.Null(r) || !boxed(args[i], column.Text(r)) {
				args[i] = column.Any(r)
			}
			i++
		}
	}
	b.Ready = args
}

func boxed(box any, text string) bool {
	s, ok := box.(string)
	return ok && len(s) == len(text) && unsafe.StringData(s) == unsafe.StringData(text)
}

func ready(b *contract.Batch) (args []any, ok bool) {
	if b != nil {
		args, ok = b.Ready.([]any)
	}
	return args, ok
}

func (s *stmt) Exec(ctx context.Context, b *contract.Batch, lo, hi int) error {
	per := 1
	if b == nil {
		lo, hi = 0, 1
	} else {
		per = max(1, b.PerExec)
	}
	if err := s.check(b, per); err != nil {
		return err
	}
	sc := s.scratch.Get().(*scratch)
	defer s.scratch.Put(sc)
	ctx = s.context(ctx, sc)
	for ; lo < hi; lo += per {
		args := sc.args
		if all, ok := ready(b); ok {
			args = all[lo*len(b.Columns):][:len(args)]
		} else if b != nil {
			args = b.Append(args[:0], lo, lo+per)
		}
		if _, err := s.exec(ctx, args); err != nil {
			return s.lib.wrapIn(ctx, err)
		}
	}
	return nil
}

func (s *stmt) ExecResult(ctx context.Context, b *contract.Batch, r int) (contract.Result, error) {
	per := 1
	if b != nil {
		per = max(1, b.PerExec)
	}
	if err := s.check(b, per); err != nil {
		return nil, err
	}
	sc := s.scratch.Get().(*scratch)
	defer s.scratch.Put(sc)
	ctx = s.context(ctx, sc)
	if b != nil {
		sc.args = b.Append(sc.args[:0], r, r+per)
	}
	result, err := s.exec(ctx, sc.args)
	if err != nil {
		return nil, s.lib.wrap(err)
	}
	return result, nil
}

func (s *stmt) Query(ctx context.Context, b *contract.Batch, r int, visit func(contract.Row) error) error {
	return s.QueryStarted(ctx, b, r, nil, visit)
}

func (s *stmt) QueryStarted(ctx context.Context, b *contract.Batch, r int, started func(), visit func(contract.Row) error) error {
	if err := s.check(b, 1); err != nil {
		return err
	}
	sc := s.scratch.Get().(*scratch)
	defer s.scratch.Put(sc)
	ctx = s.context(ctx, sc)
	if b != nil {
		if key, ok := b.Key(r); ok {
			sc.args[0] = key
		} else {
			sc.args = b.Append(sc.args[:0], r, r+1)
		}
	}
	var rows *sql.Rows
	var err error
	if s.prepared != nil {
		rows, err = s.prepared.QueryContext(ctx, sc.args...)
	} else {
		rows, err = s.text.QueryContext(ctx, s.SQL, sc.args...)
	}
	if err != nil {
		return s.lib.wrapIn(ctx, err)
	}
	defer rows.Close()
	if started != nil {
		started()
	}
	if s.AnyColumns {
		if err := sc.anyColumns(rows); err != nil {
			return s.lib.wrap(err)
		}
	}
	for rows.Next() {
		if err := rows.Scan(sc.dest...); err != nil {
			return s.scanError(rows, err)
		}
		if err := visit(sc.row); err != nil {
			return err
		}
	}
	return s.lib.wrap(rows.Err())
}

// scanError returns the reason why a row could not be scanned. If a value's type in SQLite is not the
// declared type, the error describes the first such value. Otherwise it is err.
func (s *stmt) scanError(rows *sql.Rows, err error) error {
	if s.AnyColumns {
		return s.lib.wrap(err)
	}
	values := make([]any, len(s.Columns))
	if rows.Scan(contract.Pointers(values)...) != nil {
		return s.lib.wrap(err)
	}
	for i, v := range values {
		if got := class(v); got != "" && !slices.Contains(s.Columns[i].Classes(), got) {
			return &contract.TypeError{Column: i + 1, Declared: s.Columns[i], Got: got}
		}
	}
	return s.lib.wrap(err)
}

// class returns SQLite's name for the type of a library's value, or "" if it is not known.
func class(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case int64, bool:
		return "integer"
	case float64:
		return "real"
	case string:
		return "text"
	case []byte:
		return "blob"
	}
	return ""
}

func (s *stmt) Close() error {
	if s.prepared == nil {
		return nil
	}
	return s.lib.wrap(s.prepared.Close())
}
