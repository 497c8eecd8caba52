// Command byhand does the workloads simple and complex with modernc.org/sqlite and
// database/sql alone. See package byhand.
package main

import (
	"database/sql"

	_ "modernc.org/sqlite"

	"github.com/sqlite3perf/sqlite3perf/worker/byhand"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
)

func main() { byhand.Main(program) }

var program = byhand.Program{
	Info: driver.Info{
		Name: "modernc by hand", About: "A program that uses the library directly.",
		Module: "modernc.org/sqlite", Kind: driver.Transpiled, Interface: driver.DatabaseSQL,
	},
	Open: byhand.SQL(func(path string) (*sql.DB, error) {
		return sql.Open("sqlite", "file:"+path+"?_pragma=busy_timeout(5000)&_pragma=journal_mode(delete)&_pragma=synchronous(full)&_pragma=foreign_keys(on)")
	}),
}
