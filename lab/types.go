package lab

import (
	"context"
	"database/sql"
	"errors"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/sqlite3perf/sqlite3perf/worker/plan"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

var numberedColumn = regexp.MustCompile(`\bcolumn (\d+)( is declared)`)

// nameColumn adds the column's name to a reason of the code type. A worker knows its
// number alone; the lab asks its own SQLite. Where that cannot tell, the number is
// left as it is.
func nameColumn(r *protocol.Reason, p *plan.Plan) {
	if r == nil || r.Code != "type" {
		return
	}
	m := numberedColumn.FindStringSubmatchIndex(r.Message)
	if m == nil {
		return
	}
	number, err := strconv.Atoi(r.Message[m[2]:m[3]])
	if err != nil {
		return
	}
	found := errors.New("found")
	name := ""
	_, _ = compileAll(p, func(ctx context.Context, db *sql.Conn, ph *plan.Phase) error {
		if ph.Name != r.Phase {
			return nil
		}
		name = columnName(ctx, db, declaring(ph, r.Message), number)
		return found
	})
	if name != "" {
		r.Message = r.Message[:m[3]] + " (" + name + ")" + r.Message[m[3]:]
	}
}

// declaring lists the statements of a phase that a message about a column can mean:
// in a mix those of the operation that it names, else all.
func declaring(p *plan.Phase, message string) (list []*plan.Call) {
	switch {
	case p.Query != nil:
		list = append(list, &p.Query.Call)
	case p.HTTP != nil:
		list = append(list, &p.HTTP.Call)
	case p.Mix != nil:
		named := func(o plan.Operation) bool { return strings.Contains(message, "operation "+o.Name+": ") }
		all := !slices.ContainsFunc(p.Mix.Operations, named)
		for _, o := range p.Mix.Operations {
			for i := range o.Calls {
				if len(o.Calls[i].Columns) > 0 && (all || named(o)) {
					list = append(list, &o.Calls[i].Call)
				}
			}
		}
	}
	return list
}

// maxColumnName is the most bytes of a name: that of an expression is all of it.
const maxColumnName = 60

// columnName is the name that a column, counted from 1, has in the results of the
// statements; "" where they do not have one in common.
func columnName(ctx context.Context, db *sql.Conn, list []*plan.Call, number int) string {
	common := ""
	for _, c := range list {
		name := ""
		if names := columnNames(ctx, db, c); number >= 1 && number <= len(names) {
			name = names[number-1]
		}
		if name == "" || common != "" && name != common {
			return ""
		}
		common = name
	}
	if len(common) > maxColumnName || !utf8.ValidString(common) {
		return ""
	}
	return common
}

// columnNames are the names of a query's columns; none where it cannot be asked
// within another.
func columnNames(ctx context.Context, db *sql.Conn, c *plan.Call) []string {
	rows, err := db.QueryContext(ctx, "SELECT * FROM (\n"+c.SQL+"\n) LIMIT 0", make([]any, len(c.Parameters))...)
	if err != nil {
		return nil
	}
	defer rows.Close()
	names, err := rows.Columns()
	if err != nil || rows.Err() != nil {
		return nil
	}
	return names
}
