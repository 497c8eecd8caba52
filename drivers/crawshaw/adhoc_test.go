package crawshaw

import (
	"testing"

	"crawshaw.io/sqlite"

	"github.com/sqlite3perf/sqlite3perf/worker/driver"
)

// TestAdHocIsCached checks that statements with the option AdHoc are compiled at their first
// execution and then found in the connection's cache, as with sqlitex.Exec.
func TestAdHocIsCached(t *testing.T) {
	lib, err := sqlite.OpenConn(":memory:", 0)
	if err != nil {
		t.Fatal(err)
	}
	defer lib.Close()
	const sql = "SELECT 1"
	c := &conn{Conn: lib}
	prepared, err := c.Prepare(driver.Statement{SQL: sql, Columns: []driver.ColumnType{{Type: driver.Int}}, AdHoc: true}, false)
	if err != nil {
		t.Fatal(err)
	}
	visit := func(driver.Row) error { return nil }
	if err := prepared.Query(nil, 0, visit); err != nil {
		t.Fatal(err)
	}
	cached, err := lib.Prepare(sql) // as sqlitex.Exec does
	if err != nil {
		t.Fatal(err)
	}
	if used, err := prepared.(*stmt).acquire(); err != nil || used != cached {
		t.Errorf("the second execution uses %p, %v; the connection's cache has %p", used, err, cached)
	}
	if err := prepared.Query(nil, 0, visit); err != nil {
		t.Fatal(err)
	}
	if busy := lib.CheckReset(); busy != "" {
		t.Errorf("%q has not been reset after its execution", busy)
	}
}
