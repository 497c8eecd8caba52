package ncruces_test

import (
	"testing"

	"github.com/sqlite3perf/sqlite3perf/drivers/ncruces"
	"github.com/sqlite3perf/sqlite3perf/worker/driver/drivertest"
)

func TestConformance(t *testing.T) { drivertest.Run(t, ncruces.New()) }
func BenchmarkScript(b *testing.B) { drivertest.BenchmarkScript(b, ncruces.New()) }
func BenchmarkRead(b *testing.B)   { drivertest.BenchmarkRead(b, ncruces.New()) }
