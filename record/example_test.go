package record_test

import (
	"database/sql"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strings"

	"github.com/sqlite3perf/sqlite3perf/record"
)

// The library here stores nothing; each of its queries returns three rows.
func Example() {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "app.jsonl")
	rec, err := record.Create(path, record.Options{Values: true})
	if err != nil {
		log.Fatal(err)
	}
	sql.Register("recorded", rec.Driver(library{}))
	db, err := sql.Open("recorded", "file:app.db")
	if err != nil {
		log.Fatal(err)
	}
	if _, err := db.Exec("INSERT INTO users (id, name) VALUES (?, ?)", 7, "Ada"); err != nil {
		log.Fatal(err)
	}
	var name string
	if err := db.QueryRow("SELECT name FROM users WHERE id = :id", sql.Named("id", 7)).Scan(&name); err != nil {
		log.Fatal(err)
	}
	if err := db.Close(); err != nil {
		log.Fatal(err)
	}
	if err := rec.Close(); err != nil {
		log.Fatal(err)
	}

	f, err := os.Open(path)
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()
	r, err := record.Read(f)
	if err != nil {
		log.Fatal(err)
	}
	for _, e := range r.Events {
		var args []string
		for _, a := range e.Args {
			args = append(args, fmt.Sprintf("%s %v", a.Type, a.Value))
		}
		fmt.Printf("%s: %s\n", e.Statement.SQL, strings.Join(args, ", "))
	}
	// Output:
	// INSERT INTO users (id, name) VALUES (?, ?): int 7, text Ada
	// SELECT name FROM users WHERE id = :id: int 7
}
