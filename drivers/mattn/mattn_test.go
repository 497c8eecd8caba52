package mattn_test

import (
	"testing"

	"github.com/sqlite3perf/sqlite3perf/drivers/mattn"
	"github.com/sqlite3perf/sqlite3perf/worker/driver/drivertest"
)

func TestConformance(t *testing.T) { drivertest.Run(t, mattn.New()) }
func BenchmarkScript(b *testing.B) { drivertest.BenchmarkScript(b, mattn.New()) }
func BenchmarkRead(b *testing.B)   { drivertest.BenchmarkRead(b, mattn.New()) }
