package sqldriver

import (
	"context"
	"strings"

	contract "github.com/sqlite3perf/sqlite3perf/worker/driver"
)

// Ask scans each value into a variable of type any, which keeps the Go type that the library
// returns.
func (c *conn) Ask(ctx context.Context, q contract.Question, visit func([]any) error) (contract.Reply, error) {
	ctx = c.lib.context(ctx)
	var r contract.Reply
	if !q.Rows {
		result, err := c.c.ExecContext(ctx, q.SQL, q.Args...)
		if err == nil {
			r.Tell(result)
		}
		return r, c.lib.wrap(err)
	}
	rows, err := c.c.QueryContext(ctx, q.SQL, q.Args...)
	if err != nil {
		return r, c.lib.wrap(err)
	}
	defer rows.Close()
	if r.Names, err = rows.Columns(); err != nil {
		return r, c.lib.wrap(err)
	}
	types, err := rows.ColumnTypes()
	if err != nil {
		return r, c.lib.wrap(err)
	}
	for _, t := range types {
		r.Declared = append(r.Declared, t.DatabaseTypeName())
	}
	if strings.Join(r.Declared, "") == "" {
		r.Declared = nil // the library does not report declared types
	}
	row := make([]any, len(r.Names))
	dest := contract.Pointers(row)
	for rows.Next() {
		if err := rows.Scan(dest...); err != nil {
			return r, c.lib.wrap(err)
		}
		if err := visit(row); err != nil {
			return r, err
		}
	}
	return r, c.lib.wrap(rows.Err())
}
