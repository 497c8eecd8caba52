package main

import (
	"testing"

	"github.com/sqlite3perf/sqlite3perf/drivers/zombiezen"
	"github.com/sqlite3perf/sqlite3perf/worker/byhand/byhandtest"
)

func TestByHand(t *testing.T) { byhandtest.Run(t, program, zombiezen.New()) }
