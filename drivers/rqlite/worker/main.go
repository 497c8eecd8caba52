// Command worker is the sqlite3perf worker for github.com/rqlite/gorqlite.
package main

import (
	"github.com/sqlite3perf/sqlite3perf/drivers/rqlite"
	"github.com/sqlite3perf/sqlite3perf/worker"
)

func main() { worker.Main(rqlite.New()) }
