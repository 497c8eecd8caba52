// Command worker runs trials of the driver native.
package main

import (
	"github.com/sqlite3perf/sqlite3perf/drivers/native"
	"github.com/sqlite3perf/sqlite3perf/worker"
)

func main() { worker.Main(native.New()) }
