// Command worker is the sqlite3perf worker for github.com/ncruces/go-sqlite3.
package main

import (
	"github.com/sqlite3perf/sqlite3perf/drivers/ncruces"
	"github.com/sqlite3perf/sqlite3perf/worker"
)

func main() { worker.Main(ncruces.New()) }
