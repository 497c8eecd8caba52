package connpool

import "github.com/sqlite3perf/sqlite3perf/worker/driver"

// OrNull is added to the type of a column that may be NULL.
const OrNull = driver.Time

// Kinds says of each column how it is decoded: its type, or OrNull + its type.
// Adapters decode with one switch over all kinds, which the compiler makes a
// jump table of: after SQLite has run, the processor has forgotten how branches
// went, and every one of them costs. A column that is not declared to be NULL is
// not asked whether it is.
func Kinds(columns []driver.ColumnType) []driver.Type {
	kinds := make([]driver.Type, len(columns))
	for i, c := range columns {
		kinds[i] = c.Type
		if c.Nullable {
			kinds[i] += OrNull
		}
	}
	return kinds
}
