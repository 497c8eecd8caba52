// Command worker is the sqlite3perf worker for github.com/cvilsmeier/sqinn-go.
package main

import (
	"github.com/sqlite3perf/sqlite3perf/drivers/sqinn"
	"github.com/sqlite3perf/sqlite3perf/worker"
)

func main() { worker.Main(sqinn.New()) }
