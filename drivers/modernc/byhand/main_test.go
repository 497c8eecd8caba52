package main

import (
	"testing"

	"github.com/sqlite3perf/sqlite3perf/drivers/modernc"
	"github.com/sqlite3perf/sqlite3perf/worker/byhand/byhandtest"
)

func TestByHand(t *testing.T) { byhandtest.Run(t, program, modernc.New()) }
