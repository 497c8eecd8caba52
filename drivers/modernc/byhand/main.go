// Command byhand runs the workloads simple.yaml and complex.yaml with modernc.org/sqlite and
// database/sql alone. See package byhand.
package main

import (
	"context"
	"database/sql"

	_ "modernc.org/sqlite"

	"github.com/sqlite3perf/sqlite3perf/worker"
	"github.com/sqlite3perf/sqlite3perf/worker/byhand"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
)

func main() { worker.Main(program.Driver()) }

var program = byhand.Program{
	Info: driver.Info{
		Name: "modernc by hand", About: "A program that uses the library directly.",
		Module: "modernc.org/sqlite", Kind: driver.Transpiled, Interface: driver.DatabaseSQL,
	},
	Open: byhand.SQL(context.Background(), func(path string) (*sql.DB, error) { return sql.Open("sqlite", "file:"+path) }),
}
