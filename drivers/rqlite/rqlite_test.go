package rqlite_test

import (
	"fmt"
	"os"
	"testing"

	"github.com/sqlite3perf/sqlite3perf/drivers/rqlite"
	"github.com/sqlite3perf/sqlite3perf/drivers/rqlite/nodes/nodestest"
	"github.com/sqlite3perf/sqlite3perf/worker/driver/drivertest"
)

func TestMain(m *testing.M) {
	if err := nodestest.Set(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

func TestConformance(t *testing.T) { drivertest.Run(t, rqlite.New()) }
