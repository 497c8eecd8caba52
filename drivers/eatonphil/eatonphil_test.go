package eatonphil_test

import (
	"testing"

	"github.com/sqlite3perf/sqlite3perf/drivers/eatonphil"
	"github.com/sqlite3perf/sqlite3perf/worker/driver/drivertest"
)

func TestConformance(t *testing.T) { drivertest.Run(t, eatonphil.New()) }
func BenchmarkScript(b *testing.B) { drivertest.BenchmarkScript(b, eatonphil.New()) }
func BenchmarkRead(b *testing.B)   { drivertest.BenchmarkRead(b, eatonphil.New()) }
