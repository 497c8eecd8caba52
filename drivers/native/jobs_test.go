package native_test

import (
	"os"
	"testing"

	"github.com/sqlite3perf/sqlite3perf/drivers/native"
	"github.com/sqlite3perf/sqlite3perf/worker/job/original"
)

var jobs = original.Comparison{Driver: native.New()}

func TestMain(m *testing.M) {
	jobs.Child()
	os.Exit(m.Run())
}

func TestMemoryOfGenerate(t *testing.T) { jobs.TestMemory(t) }

func BenchmarkGenerate(b *testing.B) {
	b.Run("batch=100", func(b *testing.B) { jobs.BenchmarkGenerate(b, 100) })
	b.Run("batch=1000", func(b *testing.B) { jobs.BenchmarkGenerate(b, 1000) })
	b.Run("memory", jobs.BenchmarkMemory)
}

func BenchmarkBench(b *testing.B) {
	b.Run("one goroutine", func(b *testing.B) { jobs.BenchmarkBench(b, false) })
	b.Run("pipeline", func(b *testing.B) { jobs.BenchmarkBench(b, true) })
}
