// Command worker is the sqlite3perf worker for crawshaw.io/sqlite.
package main

import (
	"github.com/sqlite3perf/sqlite3perf/drivers/crawshaw"
	"github.com/sqlite3perf/sqlite3perf/worker"
)

func main() { worker.Main(crawshaw.New()) }
