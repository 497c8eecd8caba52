package tailscale_test

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/sqlite3perf/sqlite3perf/drivers/tailscale"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
)

// BenchmarkEachConnection reads a row by its key with a statement that was prepared on the pool.
// The statement runs on the connection on which it was prepared, or on another connection. The
// times should be the same.
func BenchmarkEachConnection(b *testing.B) {
	ctx := context.Background() // a context that can end would take more time than everything else
	for _, on := range []string{"first connection", "second connection"} {
		b.Run(on, func(b *testing.B) {
			db, err := tailscale.New().Open(ctx, filepath.Join(b.TempDir(), "test.db"), driver.Settings{"pool_size": "2"})
			if err != nil {
				b.Fatal(err)
			}
			defer db.Close()
			if err := db.Script(ctx, "CREATE TABLE t (id INTEGER PRIMARY KEY, s TEXT); INSERT INTO t VALUES (1, 'one')"); err != nil {
				b.Fatal(err)
			}
			st, err := db.Prepare(ctx, driver.Statement{
				SQL: "SELECT id, s FROM t WHERE id = ?", Params: []driver.Type{driver.Int},
				Columns: []driver.ColumnType{{Type: driver.Int}, {Type: driver.Text}},
			})
			if err != nil {
				b.Fatal(err)
			}
			defer st.Close()
			if on == "second connection" { // hold the first connection, so that the statement runs on another one
				c, err := db.Conn(ctx)
				if err != nil {
					b.Fatal(err)
				}
				defer c.Close()
			}
			row := &driver.Batch{Columns: []driver.Column{{Type: driver.Int, Ints: []int64{1}}}, PerExec: 1}
			for b.Loop() {
				if err := st.Query(ctx, row, 0, func(driver.Row) error { return nil }); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
