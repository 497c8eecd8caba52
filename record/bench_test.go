package record_test

import (
	"database/sql"
	"database/sql/driver"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/sqlite3perf/sqlite3perf/record"
)

// BenchmarkCost runs statements on a library that does nothing, alternately with and without
// recording. It reports the difference between the two median times, per recorded line.
//
//	go test -bench Cost
func BenchmarkCost(b *testing.B) {
	const text = "a text of some thirty characters"
	for _, values := range []bool{false, true} {
		name := map[bool]string{false: "types", true: "values"}[values]
		b.Run("exec/"+name, func(b *testing.B) {
			cost(b, values, 1, func(db *sql.DB) func() error {
				return func() error {
					_, err := db.Exec("INSERT INTO users (id, name, score) VALUES (?, ?, ?)", int64(7), text, 1.5)
					return err
				}
			})
		})
		b.Run("query/"+name, func(b *testing.B) {
			cost(b, values, 1, func(db *sql.DB) func() error {
				return func() error {
					var n int64
					return db.QueryRow("SELECT n FROM t WHERE id = ?", int64(7)).Scan(&n)
				}
			})
		})
		b.Run("prepared/"+name, func(b *testing.B) {
			cost(b, values, 1, func(db *sql.DB) func() error {
				st, err := db.Prepare("INSERT INTO users (id, name, score) VALUES (?, ?, ?)")
				must(b, err)
				b.Cleanup(func() { st.Close() })
				return func() error {
					_, err := st.Exec(int64(7), text, 1.5)
					return err
				}
			})
		})
		b.Run("transaction/"+name, func(b *testing.B) {
			cost(b, values, 3, func(db *sql.DB) func() error {
				return func() error {
					tx, err := db.Begin()
					if err != nil {
						return err
					}
					if _, err := tx.Exec("UPDATE t SET n = ?", int64(7)); err != nil {
						return err
					}
					return tx.Commit()
				}
			})
		})
	}
}

// cost reports how much time recording adds to a call of the function that work() returns. The
// parameter "lines" is the number of lines that are recorded in one such call.
func cost(b *testing.B, values bool, lines int, work func(*sql.DB) func() error) {
	const turn = 100
	rec, err := record.Create(filepath.Join(b.TempDir(), "app.jsonl"), record.Options{Values: values})
	must(b, err)
	var runs [2]func() error
	for i, c := range []driver.Connector{plainConnector{}, rec.Connector(plainConnector{})} {
		db := sql.OpenDB(c)
		b.Cleanup(func() { db.Close() })
		runs[i] = work(db)
	}
	var times [2][]time.Duration
	for b.Loop() {
		for i, run := range runs {
			begin := time.Now()
			for range turn {
				if err := run(); err != nil {
					b.Fatal(err)
				}
			}
			times[i] = append(times[i], time.Since(begin)/turn)
		}
	}
	must(b, rec.Close())
	median := func(list []time.Duration) float64 {
		slices.Sort(list)
		return float64(list[len(list)/2])
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(median(times[0]), "plain-ns")
	b.ReportMetric((median(times[1])-median(times[0]))/float64(lines), "added-ns/line")
}
