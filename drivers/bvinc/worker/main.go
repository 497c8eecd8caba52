// Command worker is the sqlite3perf worker for github.com/bvinc/go-sqlite-lite.
package main

import (
	"github.com/sqlite3perf/sqlite3perf/drivers/bvinc"
	"github.com/sqlite3perf/sqlite3perf/worker"
)

func main() { worker.Main(bvinc.New()) }
