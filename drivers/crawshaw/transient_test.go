package crawshaw

import (
	"path/filepath"
	"reflect"
	"testing"

	"crawshaw.io/sqlite"

	"github.com/sqlite3perf/sqlite3perf/worker/driver"
)

// TestTransient checks which statements stay in the connection's cache after they are closed.
func TestTransient(t *testing.T) {
	for _, transient := range []bool{false, true} {
		lib, err := sqlite.OpenConn(filepath.Join(t.TempDir(), "test.db"), 0)
		if err != nil {
			t.Fatal(err)
		}
		defer lib.Close()
		c := &conn{Conn: lib}
		kept := func() int { return reflect.ValueOf(lib).Elem().FieldByName("stmts").Len() }
		before := kept()
		s, err := c.Prepare(driver.Statement{SQL: "SELECT 1", Columns: []driver.ColumnType{{Type: driver.Int}}, Transient: transient}, false)
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if err := s.Query(nil, 0, func(driver.Row) error { return nil }); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if got := kept() - before; got == 0 != transient {
			t.Errorf("transient %v: %d statements kept", transient, got)
		}
	}
}
