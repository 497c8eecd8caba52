package drivertest

import (
	"fmt"
	"runtime"
	"strings"

	"github.com/sqlite3perf/sqlite3perf/worker/driver"
)

// dump returns a script like the dump of a database: a transaction of n INSERTs and a trigger. Each
// INSERT has text that looks like the end of a statement.
func dump(n int) string {
	var s strings.Builder
	s.WriteString("CREATE TABLE d (id INTEGER PRIMARY KEY, s TEXT);\nCREATE TABLE log (n INTEGER);\nBEGIN;\n")
	for i := range n {
		fmt.Fprintf(&s, "INSERT INTO d VALUES (%d, 'a;''b'); -- row; %d\n/* ; */", i, i)
		if i == n/2 {
			s.WriteString("CREATE TRIGGER tr AFTER INSERT ON d BEGIN INSERT INTO log VALUES (CASE new.id WHEN -1 THEN 0 ELSE new.id END); END;\n")
		}
	}
	s.WriteString("COMMIT;")
	return s.String()
}

// longScript runs scripts of about 60 and 240 KB. The second script is four times as long as the
// first, so it may allocate about four times as much memory. A library that copies the rest of a
// script for each statement would allocate 16 times as much.
func longScript(t test) {
	const n, times = 1000, 4
	run := func(n int) (allocated uint64) {
		t.open(nil, "DROP TABLE IF EXISTS d; DROP TABLE IF EXISTS log", func(x *db) {
			script := dump(n)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			x.script(script)
			runtime.ReadMemStats(&after)
			allocated = after.TotalAlloc - before.TotalAlloc
			sums := driver.Statement{
				SQL: "SELECT count(*), sum(id), (SELECT count(*) FROM log) FROM d WHERE s = 'a;''b'", Columns: columns(driver.Int, driver.Int, driver.Int),
			}
			x.wantRows(sums, nil, 0, [][]any{{int64(n), int64(n) * int64(n-1) / 2, int64(n/2 - 1)}})
		})
		return allocated
	}
	short, long := run(n), run(times*n)
	if long > 2*times*short+1<<20 {
		fatalf("a script %d times as long: %d bytes allocated instead of %d, %.1f times as many", times, long, short, float64(long)/float64(short))
	}
}
