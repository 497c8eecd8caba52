// Command worker is the sqlite3perf worker for github.com/tailscale/sqlite.
package main

import (
	"github.com/sqlite3perf/sqlite3perf/drivers/tailscale"
	"github.com/sqlite3perf/sqlite3perf/worker"
)

func main() { worker.Main(tailscale.New()) }
