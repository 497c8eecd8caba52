// Command mattn runs the bookshop on github.com/mattn/go-sqlite3.
package main

import (
	_ "github.com/mattn/go-sqlite3"

	"github.com/sqlite3perf/sqlite3perf/examples/bookshop/shop"
)

func main() {
	shop.Main("sqlite3", func(file string) string {
		return "file:" + file + "?_busy_timeout=10000&_foreign_keys=1&_journal_mode=wal&_synchronous=normal&_txlock=immediate"
	})
}
