package bvinc_test

import (
	"testing"

	"github.com/sqlite3perf/sqlite3perf/drivers/bvinc"
	"github.com/sqlite3perf/sqlite3perf/worker/driver/drivertest"
)

func TestConformance(t *testing.T) { drivertest.Run(t, bvinc.New()) }
func BenchmarkScript(b *testing.B) { drivertest.BenchmarkScript(b, bvinc.New()) }
func BenchmarkRead(b *testing.B)   { drivertest.BenchmarkRead(b, bvinc.New()) }
