package stacks_test

import (
	"fmt"

	"github.com/sqlite3perf/sqlite3perf/internal/stacks"
)

func ExampleGrouper_Of() {
	g := stacks.Grouper{Module: "modernc.org/sqlite"}
	for _, stack := range [][]stacks.Frame{
		{{Function: "modernc.org/sqlite/lib._sqlite3VdbeExec"}, {Function: "modernc.org/sqlite.(*rows).Next"}},
		{{Function: "strconv.ParseInt"}, {Function: "database/sql.convertAssignRows"}},
		{{Function: "runtime.mallocgc"}, {Function: "modernc.org/sqlite.(*conn).columnText"}},
	} {
		fmt.Println(g.Of(stack))
	}
	// Output:
	// SQLite
	// database/sql
	// garbage collection
}
