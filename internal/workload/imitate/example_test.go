package imitate_test

import (
	"context"
	"database/sql"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/sqlite3perf/sqlite3perf/internal/workload"
	"github.com/sqlite3perf/sqlite3perf/internal/workload/imitate"
)

func ExampleFrom() {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "app.db")
	db, err := sql.Open("sqlite", path)
	if err != nil {
		log.Fatal(err)
	}
	if _, err := db.Exec("CREATE TABLE users(id INTEGER PRIMARY KEY, name TEXT); INSERT INTO users(name) VALUES ('Ada'), ('Grace')"); err != nil {
		log.Fatal(err)
	}
	if err := db.Close(); err != nil {
		log.Fatal(err)
	}

	ctx := context.Background()
	source, err := imitate.Open(ctx, path, dir)
	if err != nil {
		log.Fatal(err)
	}
	defer source.Close()
	made, err := imitate.From(ctx, source, imitate.Options{Share: 1})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(made.Tables)
	w, err := workload.Parse("mine.yaml", []byte(made.YAML), nil)
	if err != nil {
		log.Fatal(err)
	}
	for _, phase := range w.Phases {
		fmt.Println(phase.Kind, phase.Name)
	}
	// Output:
	// [{users 2 2}]
	// insert load
	// query users by id
	// insert insert users
}
