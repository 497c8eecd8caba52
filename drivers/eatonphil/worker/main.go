// Command worker is the sqlite3perf worker for github.com/eatonphil/gosqlite.
package main

import (
	"github.com/sqlite3perf/sqlite3perf/drivers/eatonphil"
	"github.com/sqlite3perf/sqlite3perf/worker"
)

func main() { worker.Main(eatonphil.New()) }
