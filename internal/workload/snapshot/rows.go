package snapshot

import (
	"context"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/sqlite3perf/sqlite3perf/worker/driver"
)

// Limits on the result of a query, because its values are sent to the worker of each trial.
const (
	maxRows  = 100_000
	maxBytes = 16 << 20 // bytes of the values as JSON
)

// maxLength is the greatest length of a value in bytes while a query runs. A stranger may have
// written the query, and it could compute values of any length.
const maxLength = 64 << 20

// rowsTime is the time limit of a query.
var rowsTime = time.Minute

// Rows runs a query and returns a list of values for each column, encoded as in
// plan.Generator.List. Errors say in which row and column a value is, but not the value, which
// may be private.
func (s *Snapshot) Rows(ctx context.Context, query string, columns []driver.ColumnType) ([][]json.RawMessage, error) {
	public := func(err error) error {
		number := "" // number is the result code, which the library appends to its message
		if e, ok := errors.AsType[*sqlite.Error](err); ok {
			number = strconv.Itoa(e.Code())
		}
		return errors.New(s.Public(err.Error(), query, number))
	}
	if s.stopped {
		return nil, errors.New("it is not run, since another query did not end")
	}
	ctx, cancel := context.WithTimeout(ctx, rowsTime)
	defer cancel()
	conn, err := s.db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	before, err := sqlite.Limit(conn, sqlite3.SQLITE_LIMIT_LENGTH, maxLength)
	if err != nil {
		return nil, err
	}
	defer func() { _, _ = sqlite.Limit(conn, sqlite3.SQLITE_LIMIT_LENGTH, before) }()
	lists, err := rowsOn(ctx, conn, query, columns, public)
	if err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		s.stopped = true // the library has closed the connection, so it cannot be used again
		err = fmt.Errorf("it did not end within %v: end it with a LIMIT, or choose rows by an index", rowsTime)
	}
	return lists, err
}

// rowsOn does the work of [Snapshot.Rows] on a connection. The function "public" removes private values from
// an error.
func rowsOn(ctx context.Context, conn *sql.Conn, query string, columns []driver.ColumnType, public func(error) error) ([][]json.RawMessage, error) {
	names, err := Columns(ctx, conn, query)
	if err != nil {
		return nil, public(err)
	}
	if len(names) != len(columns) {
		return nil, fmt.Errorf("its rows have %d columns, and columns lists %d: write a name and a type for each", len(names), len(columns))
	}
	// The + makes each column an expression. An expression has no declared type, so the library converts
	// no values.
	given, plain := make([]string, len(columns)), make([]string, len(columns))
	for i := range columns {
		given[i] = fmt.Sprintf("c%d", i)
		plain[i] = "+" + given[i]
	}
	rows, err := conn.QueryContext(ctx, fmt.Sprintf("WITH q(%s) AS (\n%s\n) SELECT %s FROM q LIMIT %d", strings.Join(given, ", "), query, strings.Join(plain, ", "), maxRows+1))
	if err != nil {
		return nil, public(err)
	}
	defer rows.Close()
	lists := make([][]json.RawMessage, len(columns))
	values, to := make([]any, len(columns)), make([]any, len(columns))
	for i := range values {
		to[i] = &values[i]
	}
	bytes := 0
	for n := 1; rows.Next(); n++ {
		if n > maxRows {
			return nil, fmt.Errorf("it returns more than %d rows: end it with LIMIT %[1]d, or less", maxRows)
		}
		if err := rows.Scan(to...); err != nil {
			return nil, public(err)
		}
		for i, v := range values {
			raw, err := encode(v, columns[i])
			if err != nil {
				return nil, fmt.Errorf("column %s of row %d %w", names[i], n, err)
			}
			if bytes += len(raw) + 1; bytes > maxBytes {
				return nil, fmt.Errorf("its values have more than %d MiB: end it with a LIMIT, or leave long columns out", maxBytes>>20)
			}
			lists[i] = append(lists[i], raw)
		}
	}
	if err := rows.Err(); err != nil {
		return nil, public(err)
	}
	if len(lists[0]) == 0 {
		return nil, errors.New("it returns no rows: want at least one")
	}
	return lists, nil
}

// Columns returns the names of a query's columns. It returns an error if the query cannot be used as a
// subquery.
func Columns(ctx context.Context, conn *sql.Conn, query string, args ...any) ([]string, error) {
	rows, err := conn.QueryContext(ctx, "SELECT * FROM (\n"+query+"\n) LIMIT 0", args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	names, err := rows.Columns()
	if err != nil {
		return nil, err
	}
	return names, rows.Err()
}

// encode returns a value as JSON, as in plan.Generator.List. It returns an error if the value does
// not have the wanted type.
func encode(v any, want driver.ColumnType) (json.RawMessage, error) {
	class := ""
	switch v := v.(type) {
	case nil:
		if want.Nullable {
			return json.RawMessage("null"), nil
		}
		return nil, fmt.Errorf("is NULL, and declared %s: write %[1]s or null", want.Type)
	case int64:
		switch {
		case want.Type == driver.Bool && v != 0 && v != 1:
			return nil, errors.New("is neither 0 nor 1, and declared bool: write int")
		case want.Type == driver.Int || want.Type == driver.Bool || want.Type == driver.Time:
			return json.Marshal(v)
		case want.Type == driver.Real:
			return json.Marshal(float64(v))
		}
		class = "int"
	case float64:
		switch {
		case want.Type == driver.Real && math.IsInf(v, 0):
			return nil, errors.New("is infinite: leave the row out")
		case want.Type == driver.Real:
			return json.Marshal(v)
		}
		class = "real"
	case string:
		switch {
		case want.Type == driver.Text && !utf8.ValidString(v):
			return nil, errors.New("is not UTF-8: leave the row out, or read it as a blob: CAST(… AS BLOB)")
		case want.Type == driver.Text:
			return json.Marshal(v)
		}
		class = "text"
	case []byte:
		if want.Type == driver.Blob {
			return json.Marshal(hex.EncodeToString(v))
		}
		class = "blob"
	default:
		return nil, fmt.Errorf("is a %T", v)
	}
	return nil, fmt.Errorf("is %s, and declared %s: write %s, or CAST it in the query", class, want.Type, class)
}
