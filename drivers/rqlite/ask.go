package rqlite

import (
	"time"

	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/driver/connpool"
)

// Ask returns the values as the library decodes them from JSON: numbers as float64, and blobs
// as base64.
func (c *conn) Ask(q driver.Question, visit func([]any) error) (driver.Reply, error) {
	args, err := asked(q.Args)
	if err != nil {
		return driver.Reply{}, err
	}
	if !q.Rows {
		kind, err := classify(q.SQL)
		sql := driver.TrimScript(q.SQL)
		if several := driver.TrimScript(sql[driver.StatementLen(sql):]) != ""; kind == transactional || several {
			err = unsupported("a transaction of rqlite is one request, and one statement is asked") // a node would leave the transaction open for all clients
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

func asked(args []any) ([]any, error) {
	list := make([]any, len(args))
	for i, a := range args {
		switch a := a.(type) {
		case nil, int64, string:
			list[i] = a
		case float64:
			list[i] = jsonReal(a)
		case []byte:
			list[i] = blob(a)
		case bool:
			list[i] = 0
			if a {
				list[i] = 1
			}
		case time.Time:
			list[i] = a.UnixMilli()
		default:
			return nil, connpool.Unbindable(i+1, a)
		}
	}
	return list, nil
}
