package native_test

import (
	"testing"

	"github.com/sqlite3perf/sqlite3perf/drivers/native"
	"github.com/sqlite3perf/sqlite3perf/drivers/native/internal/byhand"
	"github.com/sqlite3perf/sqlite3perf/worker/addedcost"
)

var library = addedcost.Library{Driver: native.New(), Open: byhand.Open}

func TestAddedCost(t *testing.T)      { addedcost.Test(t, library) }
func BenchmarkAddedCost(b *testing.B) { addedcost.Benchmark(b, library) }
