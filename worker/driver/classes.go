package driver

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/sqlite3perf/sqlite3perf/worker/sqltext"
)

// TypeError reports a value whose type in SQLite does not match its column's declared type. Some
// libraries convert such a value; other libraries return an error.
type TypeError struct {
	Row      int64 // number of the result's row, from 1; 0 if it is not known
	Column   int   // number of the column, from 1
	Declared ColumnType
	Got      string // type of the value, as SQLite's typeof names it: null, integer, real, text or blob
}

func (e *TypeError) Error() string {
	declared := e.Declared.Type.String()
	if e.Declared.Nullable {
		declared += " or null"
	}
	got, instead := strings.ToUpper(e.Got), declared
	switch e.Got {
	case "null":
		instead += " or null"
	case "integer":
		instead = Int.String()
	default:
		instead = e.Got
	}
	where := ""
	if e.Row > 0 {
		where = fmt.Sprintf(" in row %d", e.Row)
	}
	return fmt.Sprintf("column %d is declared %s and holds %s%s: declare it %s, or convert it in the SQL", e.Column, declared, got, where, instead)
}

// Classes returns the types in SQLite that a value of the declared type may have. A value declared as
// Real may be an integer, for example if coalesce(sum(x), 0) gets no rows.
func (c ColumnType) Classes() []string {
	var list []string
	switch c.Type {
	case Real:
		list = []string{"real", "integer"}
	case Text, Blob:
		list = []string{c.Type.String()}
	default:
		list = []string{"integer"}
	}
	if c.Nullable {
		list = append(list, "null")
	}
	return list
}

// TypeCheck checks the type of each value that a query returns. It does so with SQL, because not
// all libraries report the types of values.
type TypeCheck struct {
	runner Runner
	st     Statement
	parts  []typePart
}

// typePart is the check of at most typePartColumns columns of a query. A check of all columns
// could be too long for one SQL expression.
type typePart struct {
	first int // number of the first column, from 0
	stmt  Stmt
}

const typePartColumns = 100

// NewTypeCheck prepares the check of a query. For a statement that cannot be inside another
// query, such as an UPDATE, it returns a check that finds nothing.
func NewTypeCheck(ctx context.Context, r Runner, st Statement) (*TypeCheck, error) {
	c := &TypeCheck{runner: r, st: st}
	if !selects(st.SQL) {
		return c, nil
	}
	for first := 0; first < len(st.Columns); first += typePartColumns {
		last := min(first+typePartColumns, len(st.Columns))
		var bad []string
		for i := first; i < last; i++ {
			bad = append(bad, fmt.Sprintf("typeof(c%d) NOT IN ('%s')", i+1, strings.Join(st.Columns[i].Classes(), "','")))
		}
		s, err := r.Prepare(ctx, c.classes(first, last, " WHERE "+strings.Join(bad, " OR ")+" LIMIT 1"))
		if unasked(err) {
			return c, c.Close()
		} else if err != nil {
			return nil, errors.Join(fmt.Errorf("asking for the classes of the result: %w", err), c.Close())
		}
		c.parts = append(c.parts, typePart{first, s})
	}
	return c, nil
}

// classes returns a query for the SQLite types of the columns first ≤ i < last of c.st. The
// parameter "where" is the end of the query's SQL: a WHERE clause, or "".
func (c *TypeCheck) classes(first, last int, where string) Statement {
	var names, list []string
	for i := range c.st.Columns {
		names = append(names, fmt.Sprint("c", i+1))
	}
	for _, n := range names[first:last] {
		list = append(list, "typeof("+n+")")
	}
	return Statement{
		SQL: "WITH sqlite3perf_result(" + strings.Join(names, ",") + ") AS (\n" + c.st.SQL + "\n) SELECT " +
			strings.Join(list, ",") + " FROM sqlite3perf_result" + where,
		Params:  c.st.Params,
		Columns: slices.Repeat([]ColumnType{{Type: Text}}, last-first),

		Transient: true,
	}
}

// Check runs the query with the parameters in row r of b and checks its result. If tx is not nil,
// the query runs within tx. Check's error is a [*TypeError] if a value has a wrong type. If SQLite
// cannot run the query inside another query, this and all later checks find nothing.
func (c *TypeCheck) Check(ctx context.Context, tx Tx, b *Batch, r int) error {
	for _, p := range c.parts {
		var found *TypeError
		err := queryIn(ctx, tx, p.stmt, b, r, func(row Row) error {
			found = c.mismatch(p.first, row)
			return nil
		})
		if unasked(err) {
			return c.Close()
		} else if err != nil {
			return fmt.Errorf("asking for the classes of the result: %w", err)
		}
		if found != nil {
			c.find(ctx, tx, p.first, found, b, r)
			return found
		}
	}
	return nil
}

// mismatch compares the types in "row" with the declared columns. It returns an error for the first
// type that does not match its column, or nil. The type row[i] belongs to column number first+i.
func (c *TypeCheck) mismatch(first int, row Row) *TypeError {
	for i := range row {
		t := c.st.Columns[first+i]
		if !slices.Contains(t.Classes(), row[i].Text) {
			return &TypeError{Column: first + i + 1, Declared: t, Got: row[i].Text}
		}
	}
	return nil
}

// find runs a query to find the first row of the result in which a value has a wrong type. It
// overwrites *e with the error for this value, including the number of the row. If find fails, it
// leaves *e unchanged, with Row 0.
func (c *TypeCheck) find(ctx context.Context, tx Tx, first int, e *TypeError, b *Batch, r int) {
	s, err := c.runner.Prepare(ctx, c.classes(first, min(first+typePartColumns, len(c.st.Columns)), ""))
	if err != nil {
		return
	}
	defer s.Close()
	row := int64(0)
	_ = queryIn(ctx, tx, s, b, r, func(classes Row) error {
		row++
		if m := c.mismatch(first, classes); m != nil {
			m.Row = row
			*e = *m
			return e // returning an error ends the query
		}
		return nil
	})
}

// Close closes the prepared statements.
func (c *TypeCheck) Close() (err error) {
	for _, p := range c.parts {
		err = errors.Join(err, p.stmt.Close())
	}
	c.parts = nil
	return err
}

func queryIn(ctx context.Context, tx Tx, s Stmt, b *Batch, r int, visit func(Row) error) error {
	if tx != nil {
		var err error
		if s, err = tx.Stmt(ctx, s); err != nil {
			return err
		}
	}
	return s.Query(ctx, b, r, visit)
}

// unasked reports whether err means that the query cannot be inside another query, for example
// because it writes.
func unasked(err error) bool { return PrimaryCode(err) == CodeError }

func selects(sql string) bool {
	for token := range sqltext.Tokens(TrimScript(sql)) {
		return token.Is("SELECT", "WITH", "VALUES")
	}
	return false
}
