package rqlite

import (
	"slices"

	"github.com/sqlite3perf/sqlite3perf/worker/driver"
)

// Ask returns the values as the library decodes them from JSON: numbers as float64, and blobs
// as base64.
func (c *conn) Ask(q driver.Question, visit func([]any) error) (driver.Reply, error) {
	args := slices.Clone(q.Args)
	if err := convert(args); err != nil {
		return driver.Reply{}, err
	}
	if !q.Rows {
		kind, err := classify(q.SQL)
		sql := driver.TrimScript(q.SQL)
		if several := driver.TrimScript(sql[driver.StatementLen(sql):]) != ""; kind == transactional || several {
			err = unsupported("a transaction of rqlite is one request, and one statement is asked") // otherwise the node would keep the transaction open, and the open transaction would affect all clients
		}
		if err != nil {
			return driver.Reply{}, &driver.CannotAsk{Reason: err.Error()}
		}
		if err := c.write(c.single, []statement{{Query: q.SQL, Arguments: args}}, false); err != nil {
			return driver.Reply{}, err
		}
		return driver.Reply{Affected: &c.affected, LastInsertID: &c.lastID}, nil
	}
	result, err := c.query(q.SQL, args)
	if err != nil {
		return driver.Reply{}, err
	}
	reply := driver.Reply{Names: result.Columns(), Declared: result.Types()}
	for result.Next() {
		row, err := result.Slice()
		if err == nil {
			err = visit(row)
		}
		if err != nil {
			return reply, err
		}
	}
	return reply, nil
}
