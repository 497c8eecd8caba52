// Command modernc runs the bookshop on modernc.org/sqlite.
package main

import (
	_ "modernc.org/sqlite"

	"github.com/sqlite3perf/sqlite3perf/examples/bookshop/shop"
)

func main() {
	shop.Main("sqlite", func(file string) string {
		return "file:" + file + "?_pragma=busy_timeout(10000)&_pragma=foreign_keys(1)&_pragma=journal_mode(wal)&_pragma=synchronous(normal)&_txlock=immediate"
	})
}
