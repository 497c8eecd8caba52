package connpool

import "github.com/sqlite3perf/sqlite3perf/worker/driver"

// AnyKind is the kind (see [Kinds]) of every column if a statement has AnyColumns. Adapters decode
// a value of such a column by its type code in SQLite. Except for SQLITE_NULL, the code equals a
// [driver.Type]: SQLITE_INTEGER equals driver.Int, and so on.
const AnyKind = OrNull + driver.Time + 1

// NullCode is the type code SQLITE_NULL.
const NullCode = 5

// OrNull is added to the type of a column that may be NULL.
const OrNull = driver.Time

// Kinds returns the kind of each column: its type, plus OrNull if it may be NULL. Most adapters
// decode with one switch over all kinds. The compiler turns such a switch into a jump table,
// which is fast even though the processor's branch predictions are lost after SQLite has run.
// Adapters check for NULL only in columns that may be NULL.
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
