package rqlite

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/driver/connpool"
)

const orNull = connpool.OrNull

// stmt has the SQL and types of a statement. rqlite prepares it for each request.
type stmt struct {
	conn   *conn
	st     driver.Statement
	reads  bool
	pragma string // the PRAGMA to read from a node: see nodePragma
	row    driver.Row
	kinds  []driver.Type // type of each column, plus orNull if it may be NULL: see connpool.Kinds
}

// Exec sends each execution in its own request, because a request is a transaction. Within a
// transaction, it only gathers the executions, and COMMIT sends them. If the setting request_rows
// is above 0, a request can have several executions, with at most request_rows rows.
func (s *stmt) Exec(b *driver.Batch, lo, hi int) error {
	c := s.conn
	if b == nil {
		return c.run(s.reads, statement{Query: s.st.SQL}, 1, c.queues)
	}
	if !c.begun && c.rows > 0 && hi-lo > b.PerExec {
		return s.together(b, lo, hi)
	}
	for ; lo < hi; lo += b.PerExec {
		if err := c.run(s.reads, statement{Query: s.st.SQL, Arguments: arguments(b, lo, lo+b.PerExec)}, b.PerExec, c.queues); err != nil {
			return err
		}
	}
	return nil
}

func (s *stmt) together(b *driver.Batch, lo, hi int) error {
	var list []statement
	var sizes []int
	for ; lo < hi; lo += b.PerExec {
		list = append(list, statement{Query: s.st.SQL, Arguments: arguments(b, lo, lo+b.PerExec)})
		sizes = append(sizes, b.PerExec)
	}
	return s.conn.send(list, sizes)
}

// jsonReal is a real number. In JSON it always has a point or an exponent, so that rqlite does not
// read a whole number as an integer.
type jsonReal float64

func (r jsonReal) MarshalJSON() ([]byte, error) {
	if math.IsInf(float64(r), 0) || math.IsNaN(float64(r)) {
		return nil, unsupported("JSON, which rqlite speaks, has no %v", float64(r))
	}
	text := strconv.FormatFloat(float64(r), 'g', -1, 64)
	if !strings.ContainsAny(text, ".e") {
		text += ".0"
	}
	return []byte(text), nil
}

// arguments returns the rows lo ≤ r < hi in the form that the library takes.
func arguments(b *driver.Batch, lo, hi int) []any {
	args := b.Append(make([]any, 0, (hi-lo)*len(b.Columns)), lo, hi)
	_ = convert(args) // no error: every value of a column can be bound
	return args
}

// convert replaces values by the form that the library takes. A blob becomes a text that rqlite
// reads as a blob. Otherwise the library would send the blob as base64, and rqlite would store the
// base64 text.
func convert(args []any) error {
	for i, a := range args {
		switch a := a.(type) {
		case nil, int64, string:
		case float64:
			args[i] = jsonReal(a)
		case []byte:
			args[i] = "x'" + hex.EncodeToString(a) + "'"
		case bool:
			args[i] = 0
			if a {
				args[i] = 1
			}
		case time.Time:
			args[i] = a.UnixMilli()
		default:
			return connpool.Unbindable(i+1, a)
		}
	}
	return nil
}

// queryNode reads the value of the PRAGMA s.pragma from a node's status.
func (s *stmt) queryNode(visit func(driver.Row) error) error {
	if err := s.st.CheckColumns(1); err != nil {
		return err
	}
	status, err := s.conn.db.cluster.status(s.conn.ctx)
	if err != nil {
		return err
	}
	var value any = status.Pragmas[s.pragma]
	if f, err := strconv.ParseFloat(status.Pragmas[s.pragma], 64); err == nil {
		value = f
	}
	if err := s.scan([]any{value}[:len(s.kinds)]); err != nil {
		return err
	}
	return visit(s.row)
}

func (s *stmt) Query(b *driver.Batch, r int, visit func(driver.Row) error) error {
	if s.pragma != "" {
		return s.queryNode(visit)
	}
	var args []any
	if b != nil {
		args = arguments(b, r, r+1)
	}
	result, err := s.conn.query(s.st.SQL, args)
	if err != nil {
		return err
	}
	if err := s.st.CheckColumns(len(result.Columns())); err != nil {
		return err
	}
	for result.Next() {
		values, err := result.Slice()
		if err != nil {
			return err
		}
		if len(s.kinds) > 0 {
			if err := s.scan(values); err != nil {
				return err
			}
		}
		if err := visit(s.row); err != nil {
			return err
		}
	}
	return nil
}

// exactLimit is 2⁵³. A float64 represents all smaller integers exactly, but rounds 2⁵³+1 to 2⁵³.
const exactLimit = 1 << 53

func integer(f float64) (int64, error) {
	if math.Abs(f) >= exactLimit {
		return 0, unsupported("an integer is too large: gorqlite reads integers as float64, which is not exact from %d on", int64(exactLimit))
	}
	return int64(f), nil
}

func (s *stmt) scan(values []any) error {
	row := s.row[:len(s.kinds)]
	for i, kind := range s.kinds {
		if err := s.cell(&row[i], kind, values[i], i); err != nil {
			return err
		}
	}
	return nil
}

func (s *stmt) cell(cell *driver.Cell, kind driver.Type, v any, i int) (err error) {
	if v == nil {
		if kind < orNull+driver.Int {
			return s.mismatch(i, "null")
		}
		cell.Null = true
		return nil
	}
	cell.Null = false
	if kind >= orNull+driver.Int {
		kind -= orNull
	}
	switch kind {
	case driver.Int, driver.Bool, driver.Time:
		var n int64
		switch v := v.(type) {
		case float64:
			if v != math.Trunc(v) {
				return s.mismatch(i, "real")
			}
			if n, err = integer(v); err != nil {
				return err
			}
		case bool: // the library returns an integer of a column declared BOOLEAN as bool
			if v {
				n = 1
			}
		case time.Time: // the library returns an integer of a column declared TIMESTAMP, DATE or DATETIME as time.Time
			n = v.UnixMilli()
		default:
			return s.mismatch(i, "text")
		}
		cell.Int, cell.Bool = n, n != 0
		if kind == driver.Time {
			cell.Time = time.UnixMilli(n)
		}
	case driver.Real:
		f, ok := v.(float64)
		if !ok {
			return s.mismatch(i, "text")
		}
		cell.Real = f
	case driver.Text:
		text, ok := v.(string)
		if !ok {
			return s.mismatch(i, "real")
		}
		cell.Text = text
	case driver.Blob:
		text, ok := v.(string)
		if !ok {
			return s.mismatch(i, "real")
		}
		if cell.Blob, err = base64.StdEncoding.AppendDecode(cell.Blob[:0], []byte(text)); err != nil {
			return s.mismatch(i, "text")
		}
	default:
		return fmt.Errorf("no type %v", kind)
	}
	return nil
}

func (s *stmt) mismatch(i int, got string) error {
	return &driver.TypeError{Column: i + 1, Declared: s.st.Columns[i], Got: got}
}

func (s *stmt) Close() error { return nil }
