// Command worker is the sqlite3perf worker for github.com/glebarez/go-sqlite.
package main

import (
	"github.com/sqlite3perf/sqlite3perf/drivers/glebarez"
	"github.com/sqlite3perf/sqlite3perf/worker"
)

func main() { worker.Main(glebarez.New()) }
