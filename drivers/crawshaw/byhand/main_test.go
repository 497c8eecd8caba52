package main

import (
	"testing"

	"github.com/sqlite3perf/sqlite3perf/drivers/crawshaw"
	"github.com/sqlite3perf/sqlite3perf/worker/byhand/byhandtest"
)

func TestByHand(t *testing.T) { byhandtest.Run(t, program, crawshaw.New()) }
