// Command byhand runs the workloads simple.yaml and complex.yaml with github.com/mattn/go-sqlite3
// and database/sql alone. See package byhand.
package main

import (
	"context"
	"database/sql"

	_ "github.com/mattn/go-sqlite3"

	"github.com/sqlite3perf/sqlite3perf/worker"
	"github.com/sqlite3perf/sqlite3perf/worker/byhand"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
)

func main() { worker.Main(program.Driver()) }

var program = byhand.Program{
	Info: driver.Info{
		Name: "mattn by hand", About: "A program that uses the library directly.",
		Module: "github.com/mattn/go-sqlite3", Kind: driver.Cgo, Interface: driver.DatabaseSQL,
	},
	Open: byhand.SQL(context.Background(), func(path string) (*sql.DB, error) { return sql.Open("sqlite3", "file:"+path) }),
}
