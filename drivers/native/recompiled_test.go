package native

import (
	"testing"

	"github.com/sqlite3perf/sqlite3perf/worker/driver"
)

// TestCompiledOnce executes statements whose plan depends on a parameter. It checks that SQLite
// never compiles them again. SQLite 3.54 would compile them again if the binding of a number were
// removed after an execution.
func TestCompiledOnce(t *testing.T) {
	c, err := dial(":memory:", nil, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.Script("CREATE TABLE t (id INTEGER PRIMARY KEY, n INT, v TEXT); CREATE INDEX tn ON t (n); CREATE INDEX tv ON t (v)"); err != nil {
		t.Fatal(err)
	}
	b := &driver.Batch{Columns: []driver.Column{
		{Type: driver.Int, Ints: []int64{2, 3, 4, 5}},
		{Type: driver.Text, Data: []byte("abcd"), Spans: []driver.Span{{Len: 1}, {Off: 1, Len: 1}, {Off: 2, Len: 1}, {Len: 4}}},
	}, PerExec: 1}
	params := []driver.Type{driver.Int, driver.Text}
	for _, st := range []driver.Statement{
		{SQL: "SELECT v FROM t WHERE n = ? AND v = ? ORDER BY v", Params: params, Columns: []driver.ColumnType{{Type: driver.Text}}},
		{SQL: "DELETE FROM t WHERE n IN (SELECT n FROM t WHERE n = ? AND v = ? ORDER BY id)", Params: params},
	} {
		s, err := prepare(c, st)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		for r := range 4 {
			if st.Columns != nil {
				err = s.Query(b, r, func(driver.Row) error { return nil })
			} else {
				err = s.Exec(b, r, r+1)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if n := s.recompiled(); n > 0 {
			t.Errorf("compiled again %d times in 4 executions: %s", n, st.SQL)
		}
	}
}
