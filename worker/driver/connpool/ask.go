package connpool

import (
	"context"
	"errors"
	"fmt"

	"github.com/sqlite3perf/sqlite3perf/worker/driver"
)

// Asker is a [Conn] that can run a statement with columns of unknown types, as [driver.Asker] can.
type Asker interface {
	Ask(q driver.Question, visit func(row []any) error) (driver.Reply, error)
}

type askingConn struct{ *conn }

func (c askingConn) Ask(ctx context.Context, q driver.Question, visit func(row []any) error) (driver.Reply, error) {
	if err := c.on.guard(ctx); err != nil {
		return driver.Reply{}, err
	}
	return c.on.Conn.(Asker).Ask(q, visit)
}

// Unbindable returns the error for an argument whose type a library cannot bind.
func Unbindable(number int, v any) error {
	return fmt.Errorf("argument %d: the library binds no %T", number, v)
}

// Stepped is a statement of crawshaw.io/sqlite or of one of its forks. T is the library's Go type
// for SQLite's type codes, such as SQLITE_INTEGER.
type Stepped[T ~int] interface {
	BindNull(param int)
	BindInt64(param int, v int64)
	BindFloat(param int, v float64)
	BindText(param int, v string)
	BindBytes(param int, v []byte)
	BindBool(param int, v bool)
	Step() (row bool, err error)
	Reset() error
	Finalize() error
	ColumnCount() int
	ColumnName(i int) string
	ColumnType(i int) T
	ColumnInt64(i int) int64
	ColumnFloat(i int) float64
	ColumnText(i int) string
	ColumnLen(i int) int
	ColumnBytes(i int, buf []byte) int
}

// AskStepped implements [Asker.Ask] with s, a statement prepared from q.SQL, and finalizes s. It
// reads each column by the library's call for the type of the value, as the library's users do. The
// function "wrap" adds the result code to an error.
func AskStepped[T ~int](c driver.Result, s Stepped[T], q driver.Question, visit func(row []any) error, wrap func(error) error) (r driver.Reply, err error) {
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
		r.Tell(c)
	}
	return r, nil
}

func bindAny[T ~int](s Stepped[T], param int, v any) error {
	switch v := v.(type) {
	case nil:
		s.BindNull(param)
	case int64:
		s.BindInt64(param, v)
	case float64:
		s.BindFloat(param, v)
	case string:
		s.BindText(param, v)
	case []byte:
		s.BindBytes(param, v)
	case bool:
		s.BindBool(param, v)
	default:
		return Unbindable(param, v)
	}
	return nil
}

func column[T ~int](s Stepped[T], i int) any {
	switch driver.Type(s.ColumnType(i)) { // SQLite's type codes equal the constants of driver.Type: see AnyKind
	case driver.Int:
		return s.ColumnInt64(i)
	case driver.Real:
		return s.ColumnFloat(i)
	case driver.Text:
		return s.ColumnText(i)
	case driver.Blob:
		b := make([]byte, s.ColumnLen(i))
		s.ColumnBytes(i, b)
		return b
	}
	return nil
}
