package lab

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/sqlite3perf/sqlite3perf/internal/workload/snapshot"
	"github.com/sqlite3perf/sqlite3perf/worker/plan"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// nameColumn adds the name of a column to the message of a reason with [protocol.CodeType]. A worker only
// knows the column's number, so nameColumn asks sqlite3perf's own SQLite for the name. If that fails, it
// changes nothing.
func nameColumn(r *protocol.Reason, c *Case) {
	if r == nil || r.Code != protocol.CodeType || r.Column == 0 {
		return
	}
	found := errors.New("found")
	name := ""
	_, _, _ = compileAll(c.begins(), c.Plan, func(ctx context.Context, db *sql.Conn, ph *plan.Phase) error {
		if ph.Name != r.Phase {
			return nil
		}
		name = columnName(ctx, db, declaring(ph, r.Operation), r.Column)
		return found
	})
	if name != "" {
		words := "column %d%s is declared"
		r.Message = strings.Replace(r.Message, fmt.Sprintf(words, r.Column, ""), fmt.Sprintf(words, r.Column, " ("+name+")"), 1)
	}
}

// declaring returns the statements of a phase to which a reason about a column may refer. In a mix these are
// the statements of one operation, or of all operations if the parameter "operation" is "".
func declaring(p *plan.Phase, operation string) (list []*plan.Call) {
	switch {
	case p.Query != nil:
		list = append(list, &p.Query.Call)
	case p.HTTP != nil:
		list = append(list, &p.HTTP.Call)
	case p.Mix != nil:
		for _, o := range p.Mix.Operations {
			for i := range o.Calls {
				if len(o.Calls[i].Columns) > 0 && (operation == "" || operation == o.Name) {
					list = append(list, &o.Calls[i].Call)
				}
			}
		}
	}
	return list
}

// maxColumnName is the limit in bytes for a column's name in a message. There is a limit because the name of
// a column that is an expression is the text of the expression.
const maxColumnName = 60

// columnName returns the name of a column, counted from 1, in the results of the statements.
// It returns "" if the statements use different names.
func columnName(ctx context.Context, db *sql.Conn, list []*plan.Call, number int) string {
	common := ""
	for _, c := range list {
		name := ""
		names, err := snapshot.Columns(ctx, db, c.SQL, make([]any, len(c.Parameters))...)
		if err == nil && number >= 1 && number <= len(names) {
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
