package report_test

import (
	"strings"
	"testing"

	"github.com/sqlite3perf/sqlite3perf/report"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
)

// TestOneName checks that a driver that was named by a path has the same name in rows
// and in headers.
func TestOneName(t *testing.T) {
	run := newRun(8)
	for _, phases := range []string{"insert", "script"} {
		add(run, phases, nil, driver.Settings{}, []string{"native", "mattn"}, bulk(phases, 1_000_000, 1, 1))
	}
	for i := range run.Cases {
		if c := &run.Cases[i]; c.Driver == "native" {
			c.Driver, c.Info.Name = "../mine/w", "my-own"
		}
	}
	for _, format := range []string{"table", "markdown"} {
		got := strings.ReplaceAll(write(t, format, run, "../mine/w", report.Options{Width: 300}), "\\", "")
		if strings.Count(got, "× my-own (../mine/w)") != 3 || !strings.Contains(got, "the ratios to my-own (../mine/w) over 2 tables") {
			t.Errorf("%s: not the name that rows have:\n%s", format, got)
		}
		if n := strings.Count(got, "../mine/w") - strings.Count(got, "my-own (../mine/w)"); n != 0 {
			t.Errorf("%s: %d times the path alone:\n%s", format, n, got)
		}
	}
}

// TestNanoseconds checks that nanoseconds of a latency are whole numbers.
func TestNanoseconds(t *testing.T) {
	run := newRun(8)
	add(run, "mixed", nil, driver.Settings{}, []string{"native", "mattn"}, mix("mix", "time/op", false))
	for i := range run.Trials {
		l := run.Trials[i].Samples[0].Latency
		l[0].P50NS, l[1].P50NS = 479, 5479
	}
	got := write(t, "table", run, "", report.Options{Width: 300})
	if !strings.Contains(got, "p50 ns") || !strings.Contains(got, " 5479 ") || strings.Contains(got, "479.0") {
		t.Errorf("%s", got)
	}
}
