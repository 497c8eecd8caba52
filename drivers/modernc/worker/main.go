// Command worker is the sqlite3perf worker for modernc.org/sqlite.
package main

import (
	"github.com/sqlite3perf/sqlite3perf/drivers/modernc"
	"github.com/sqlite3perf/sqlite3perf/worker"
)

func main() { worker.Main(modernc.New()) }
