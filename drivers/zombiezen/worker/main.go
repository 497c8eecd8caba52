// Command worker is the sqlite3perf worker for zombiezen.com/go/sqlite.
package main

import (
	"github.com/sqlite3perf/sqlite3perf/drivers/zombiezen"
	"github.com/sqlite3perf/sqlite3perf/worker"
)

func main() { worker.Main(zombiezen.New()) }
