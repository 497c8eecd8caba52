package snapshot_test

import (
	"context"
	"database/sql"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/sqlite3perf/sqlite3perf/internal/workload/snapshot"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
)

// An application has its database open. The copy has the transactions that the application has
// committed.
func Example() {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "app.db")
	db, err := sql.Open("sqlite", path+"?_pragma=journal_mode(wal)")
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec("CREATE TABLE users(id INTEGER PRIMARY KEY, name TEXT); INSERT INTO users(name) VALUES ('Ada'), ('Bob')"); err != nil {
		log.Fatal(err)
	}
	copies := filepath.Join(dir, "copies")
	if err := os.Mkdir(copies, 0o700); err != nil {
		log.Fatal(err)
	}
	s, err := snapshot.Take(context.Background(), path, copies)
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	lists, err := s.Rows(context.Background(), "SELECT name FROM users ORDER BY id", []driver.ColumnType{{Type: driver.Text}})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s: %d table, WAL %v, names %s\n", s.Name, s.Tables, s.WAL, lists[0])
	// Output: app.db: 1 table, WAL true, names ["Ada" "Bob"]
}
