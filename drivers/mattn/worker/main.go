// Command worker is the sqlite3perf worker for github.com/mattn/go-sqlite3.
package main

import (
	"github.com/sqlite3perf/sqlite3perf/drivers/mattn"
	"github.com/sqlite3perf/sqlite3perf/worker"
)

func main() { worker.Main(mattn.New()) }
