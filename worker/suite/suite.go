// Package suite runs all test suites for drivers. A driver's module calls it in one test and
// one benchmark:
//
//	var library = addedcost.Library{Driver: modernc.New(), Open: byhand.SQL(context.Background(), openByHand)}
//
//	func TestDriver(t *testing.T)      { suite.Test(t, library) }
//	func BenchmarkDriver(b *testing.B) { suite.Benchmark(b, library) }
package suite

import (
	"testing"

	"github.com/sqlite3perf/sqlite3perf/worker/addedcost"
	"github.com/sqlite3perf/sqlite3perf/worker/driver/drivertest"
	"github.com/sqlite3perf/sqlite3perf/worker/job/jobtest"
)

// Test runs the suites in subtests. They check that the driver fulfills its contract. They also
// check that it can do the jobs, unless the driver declares that it cannot. If l has hand-written
// loops, they check that these loops do the same as the driver.
func Test(t *testing.T, l addedcost.Library) {
	t.Run("conformance", func(t *testing.T) { drivertest.Run(t, l.Driver) })
	if _, limited := l.Driver.Info().Limits["job"]; !limited {
		t.Run("jobs", func(t *testing.T) { jobtest.Run(t, l.Driver) })
	}
	if l.Open != nil {
		t.Run("addedcost", func(t *testing.T) { addedcost.Test(t, l) })
	}
}

// Benchmark measures the adapter, and how much time the engine (package worker) and the adapter add
// to the library's time.
func Benchmark(b *testing.B, l addedcost.Library) {
	b.Run("script", func(b *testing.B) { drivertest.BenchmarkScript(b, l.Driver) })
	b.Run("read", func(b *testing.B) { drivertest.BenchmarkRead(b, l.Driver) })
	if l.Open != nil {
		b.Run("addedcost", func(b *testing.B) { addedcost.Benchmark(b, l) })
	}
}
