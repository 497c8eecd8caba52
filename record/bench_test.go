package record_test

import (
	"database/sql"
	"database/sql/driver"
	"path/filepath"
	"testing"

	"github.com/sqlite3perf/sqlite3perf/record"
)

// BenchmarkCost runs statements on a library that does nothing, with and without
// recording: the difference is what recording costs.
//
//	go test -bench Cost ./record
func BenchmarkCost(b *testing.B) {
	for _, on := range []string{"plain", "types", "values"} {
		pool := func(b *testing.B) *sql.DB {
			var c driver.Connector = plainConnector{}
			if on != "plain" {
				rec, err := record.Create(filepath.Join(b.TempDir(), "app.jsonl"), record.Options{Values: on == "values"})
				must(b, err)
				b.Cleanup(func() { must(b, rec.Close()) })
				c = rec.Connector(c)
			}
			db := sql.OpenDB(c)
			b.Cleanup(func() { db.Close() })
			return db
		}
		const text = "a text of some thirty characters"
		b.Run("exec/"+on, func(b *testing.B) {
			db := pool(b)
			for b.Loop() {
				if _, err := db.Exec("INSERT INTO users (id, name, score) VALUES (?, ?, ?)", int64(7), text, 1.5); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run("query/"+on, func(b *testing.B) {
			db := pool(b)
			for b.Loop() {
				var n int64
				if err := db.QueryRow("SELECT n FROM t WHERE id = ?", int64(7)).Scan(&n); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run("prepared/"+on, func(b *testing.B) {
			st, err := pool(b).Prepare("INSERT INTO users (id, name, score) VALUES (?, ?, ?)")
			must(b, err)
			defer st.Close()
			for b.Loop() {
				if _, err := st.Exec(int64(7), text, 1.5); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run("transaction/"+on, func(b *testing.B) { // three lines
			db := pool(b)
			for b.Loop() {
				tx, err := db.Begin()
				must(b, err)
				_, err = tx.Exec("UPDATE t SET n = ?", int64(7))
				must(b, err)
				must(b, tx.Commit())
			}
		})
	}
}
