package sqinn

import (
	"github.com/cvilsmeier/sqinn-go/sqinn"

	"github.com/sqlite3perf/sqlite3perf/worker/driver"
)

// Ask requests each column in its declared type, because the library needs a type. The
// library does not return the names of columns.
func (c *conn) Ask(q driver.Question, visit func([]any) error) (driver.Reply, error) {
	if !q.Rows {
		changes, err := c.Exec(q.SQL, 1, len(q.Args), q.Args)
		if err != nil || len(changes) != 1 {
			return driver.Reply{}, wrap(err)
		}
		affected := int64(changes[0])
		return driver.Reply{Affected: &affected}, nil
	}
	if q.Columns == nil {
		return driver.Reply{}, &driver.CannotAsk{Reason: "the library must be told the types of the columns"}
	}
	types := make([]byte, len(q.Columns))
	for i, t := range q.Columns {
		types[i] = valueTypes[t.Type]
	}
	rows, err := c.Query(q.SQL, q.Args, types)
	if err != nil {
		return driver.Reply{}, wrap(err)
	}
	row := make([]any, len(types))
	for i := range rows {
		for j := range row {
			row[j] = value(&rows[i].Values[j], types[j])
		}
		if err := visit(row); err != nil {
			return driver.Reply{}, err
		}
	}
	return driver.Reply{}, nil
}

func value(v *sqinn.AnyValue, typ byte) any {
	switch {
	case typ == sqinn.ValInt64 && v.Int64.Set:
		return v.Int64.Value
	case typ == sqinn.ValDouble && v.Double.Set:
		return v.Double.Value
	case typ == sqinn.ValText && v.String.Set:
		return v.String.Value
	case typ == sqinn.ValBlob && v.Blob.Set:
		return v.Blob.Value
	}
	return nil
}
