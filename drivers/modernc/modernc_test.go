package modernc_test

import (
	"testing"

	"github.com/sqlite3perf/sqlite3perf/drivers/modernc"
	"github.com/sqlite3perf/sqlite3perf/worker/driver/drivertest"
)

func TestConformance(t *testing.T) { drivertest.Run(t, modernc.New()) }
func BenchmarkScript(b *testing.B) { drivertest.BenchmarkScript(b, modernc.New()) }
func BenchmarkRead(b *testing.B)   { drivertest.BenchmarkRead(b, modernc.New()) }
