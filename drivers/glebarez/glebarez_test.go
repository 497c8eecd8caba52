package glebarez_test

import (
	"testing"

	"github.com/sqlite3perf/sqlite3perf/drivers/glebarez"
	"github.com/sqlite3perf/sqlite3perf/worker/driver/drivertest"
)

func TestConformance(t *testing.T) { drivertest.Run(t, glebarez.New()) }
func BenchmarkScript(b *testing.B) { drivertest.BenchmarkScript(b, glebarez.New()) }
func BenchmarkRead(b *testing.B)   { drivertest.BenchmarkRead(b, glebarez.New()) }
