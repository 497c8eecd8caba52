package driver

import (
	"cmp"
	"context"
	"iter"
)

// Read prepares, runs and closes one statement without parameters. It passes each row to the
// function "visit".
func Read(ctx context.Context, r Runner, st Statement, visit func(Row) error) error {
	st.Transient = true
	stmt, err := r.Prepare(ctx, st)
	if err != nil {
		return err
	}
	err = stmt.Query(ctx, nil, 0, visit)
	return cmp.Or(err, stmt.Close())
}

// Texts runs a query that returns one column of text.
func Texts(ctx context.Context, r Runner, sql string) (list []string, err error) {
	err = Read(ctx, r, Statement{SQL: sql, Columns: []ColumnType{{Type: Text}}}, func(row Row) error {
		list = append(list, row[0].Text)
		return nil
	})
	return list, err
}

// Number runs a query that returns one integer.
func Number(ctx context.Context, r Runner, sql string) (n int64, err error) {
	err = Read(ctx, r, Statement{SQL: sql, Columns: []ColumnType{{Type: Int}}}, func(row Row) error {
		n = row[0].Int
		return nil
	})
	return n, err
}

// Statements returns the statements of a script, each without the white space and comments before it.
func Statements(script string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for rest := TrimScript(script); rest != ""; rest = TrimScript(rest) {
			n := StatementLen(rest)
			if !yield(rest[:n]) {
				return
			}
			rest = rest[n:]
		}
	}
}
