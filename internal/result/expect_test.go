package result_test

import (
	"testing"

	"github.com/sqlite3perf/sqlite3perf/internal/result"
)

// TestParseExpectation checks bounds in all units, and how they are printed.
func TestParseExpectation(t *testing.T) {
	for _, c := range []struct{ figure, text, want string }{
		{"time", "< 1.5ms", "time < 1.5ms"},
		{"p99", "<=20us", "p99 < 20µs"},
		{"checkpoint", "2s", "checkpoint < 2s"},
		{"throughput", "> 12_345/s", "throughput > 12345/s"},
		{"throughput", "0.5", "throughput > 0.5/s"},
		{"errors", "< 0.5%", "errors < 0.5%"},
		{"errors", "0", "errors 0"},
		{"memory", "64 MiB", "memory < 64MiB"},
		{"bytes", "< 100", "bytes < 100B"},
		{"wal", "1.5GiB", "wal < 1.5GiB"},
		{"allocs", "3", "allocs < 3"},
		{"time", "> 1ms", ""}, {"throughput", "< 1/s", ""}, {"time", "5", ""}, {"time", "-5ms", ""}, {"errors", "5", ""},
		{"errors", "101%", ""}, {"memory", "5ms", ""}, {"allocs", "NaN", ""}, {"allocs", "Inf", ""}, {"allocs", "", ""}, {"memory", "< MiB", ""},
	} {
		e, err := result.ParseExpectation(c.figure, c.text)
		if got := e.String(); (err != nil) != (c.want == "") || err == nil && got != c.want {
			t.Errorf("%s %s: %s, %v; want %s", c.figure, c.text, got, err, c.want)
		}
	}
}
