package drivertest

import (
	"context"
	"fmt"
	"strconv"
	"testing"

	"github.com/sqlite3perf/sqlite3perf/worker/driver"
)

// The benchmarks below show the effect of a change to an adapter. They do not compare
// drivers.

// BenchmarkScript runs scripts, each four times as long as the previous one.
func BenchmarkScript(b *testing.B, d driver.Driver) {
	for _, n := range []int{1000, 4000, 16000} {
		script := dump(n)
		b.Run(fmt.Sprintf("%d KB", len(script)/1000), func(b *testing.B) {
			b.SetBytes(int64(len(script)))
			for b.Loop() {
				t := test{b.Context(), d, b.TempDir()}
				if err := try(func() { t.use(quick(1), script) }); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func quick(poolSize int) driver.Settings {
	return driver.Settings{"journal_mode": "wal", "synchronous": "off", "pool_size": strconv.Itoa(poolSize)}
}

// BenchmarkRead reads rows by key in three ways: on a connection with a prepared statement, on a
// connection with an ad hoc statement, and on pools with a prepared statement. It also reads all rows
// of a table twice: with columns declared as never NULL, and with columns declared as possibly NULL.
func BenchmarkRead(b *testing.B, d driver.Driver) {
	const keys = 10_000
	ctx := context.Background() // with a context that can end, some libraries need a goroutine
	byKey := driver.Statement{
		SQL: "SELECT id, created, email, active FROM users WHERE id = ?", Params: []driver.Type{driver.Int},
		Columns: columns(driver.Int, driver.Time, driver.Text, driver.Bool),
	}
	scan := byKey
	scan.SQL, scan.Params = "SELECT id, created, email, active FROM users", nil
	orNull := scan
	orNull.Columns = nil
	for _, c := range scan.Columns {
		orNull.Columns = append(orNull.Columns, driver.ColumnType{Type: c.Type, Nullable: true})
	}
	ids := driver.Column{Type: driver.Int, Ints: make([]int64, keys)}
	for i := range ids.Ints {
		ids.Ints[i] = int64(i*7919%keys) + 1
	}
	for _, bench := range []struct {
		name     string
		st       driver.Statement
		adHoc    bool
		poolSize int // number of connections; 0 to run on one connection taken from a pool
	}{
		{"key", byKey, false, 0},
		{"key, ad hoc", byKey, true, 0},
		{"key, pool of 1", byKey, false, 1},
		{"key, pool of 64", byKey, false, 64},
		{"scan", scan, false, 0},
		{"scan, or null", orNull, false, 0},
	} {
		b.Run(bench.name, func(b *testing.B) {
			schema := fmt.Sprintf(`CREATE TABLE users (id INTEGER PRIMARY KEY, created INTEGER, email TEXT, active INTEGER);
				WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d)
				INSERT INTO users SELECT i, 1700000000000 + i, 'user' || i || '@example.com', i %% 2 FROM n`, keys)
			read := func(r runner) {
				r.adHoc = bench.adHoc
				r.prepare(bench.st, func(s stmt) {
					batch := &driver.Batch{Columns: []driver.Column{ids}, PerExec: 1}
					if len(bench.st.Params) == 0 {
						batch = nil
					}
					// Use each connection once, because a pool may prepare a statement at its first
					// use.
					for range bench.poolSize {
						must(s.Query(ctx, batch, 0, ignore))
					}
					for i := 0; b.Loop(); i++ {
						must(s.Query(ctx, batch, i%keys, ignore))
					}
				})
			}
			t := test{ctx, d, b.TempDir()}
			err := try(func() {
				t.open(quick(max(bench.poolSize, 1)), schema, func(x *db) {
					if bench.poolSize > 0 {
						read(x.runner)
					} else {
						x.conn(read)
					}
				})
			})
			if err != nil {
				b.Fatal(err)
			}
		})
	}
}
