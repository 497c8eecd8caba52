package report_test

import (
	"strings"
	"testing"

	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
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
		got := strings.ReplaceAll(write(t, format, run, "../mine/w", document.Options{Width: 300}), "\\", "")
		if strings.Count(got, "× my-own (../mine/w)") != 5 || !strings.Contains(got, "the ratios to my-own (../mine/w) over 2 cells") {
			t.Errorf("%s: the headers do not have the name that the rows have:\n%s", format, got)
		}
		if n := strings.Count(got, "../mine/w") - strings.Count(got, "my-own (../mine/w)"); n != 0 {
			t.Errorf("%s: the path is shown %d times without the driver's name:\n%s", format, n, got)
		}
	}
}

// TestNanoseconds checks that latencies in nanoseconds are shown as whole numbers.
func TestNanoseconds(t *testing.T) {
	run := newRun(8)
	add(run, "mixed", nil, driver.Settings{}, []string{"native", "mattn"}, mix("mix", "time/op", false))
	for i := range run.Trials {
		l := run.Trials[i].Samples[0].Latency
		l[0].P50NS, l[1].P50NS = 479, 5479
	}
	got := write(t, "table", run, "", document.Options{Width: 300})
	if !strings.Contains(got, "p50 ns") || !strings.Contains(got, " 5480 ") || strings.Contains(got, "479.0") {
		t.Errorf("%s", got)
	}
}

// TestLatencyDigits checks that latencies are shown with three significant digits, the precision
// of their histograms, and that the unit suits all values of a column.
func TestLatencyDigits(t *testing.T) {
	for _, tc := range []struct {
		rate  bool
		p99   []int64
		words []string
	}{
		{false, []int64{104_857_600, 132_251_650}, []string{"p99 ms", " 105 ", " 132 "}},
		{false, []int64{100_350, 132_251_650}, []string{"p99 ms", " 0.100 ", " 132 "}},
		{false, []int64{20_062, 1_499_100}, []string{"p99 µs", " 20.1 ", " 1500 "}},
		{true, []int64{100_350, 132_251_650}, []string{"p99 ms", " 0.100 ±0% ", " 132 ±0% "}},
	} {
		run := newRun(8)
		metric := map[bool]string{false: "time/op", true: "latency"}[tc.rate]
		add(run, "mixed", nil, nil, []string{"native", "mattn"}, mix("mix", metric, false))
		for i := range run.Trials {
			for j := range run.Trials[i].Samples[0].Latency {
				run.Trials[i].Samples[0].Latency[j].P99NS = tc.p99[run.Trials[i].Case-1]
			}
		}
		got := write(t, "table", run, "", document.Options{Width: 300})
		for _, w := range tc.words {
			if !strings.Contains(got, w) {
				t.Errorf("%d: no %q in\n%s", tc.p99, w, got)
			}
		}
	}
}

// TestSpreads checks that both ends of a wide interval are shown, and that a p-value below 0.001 is
// printed as "p<0.001", without an equals sign.
func TestSpreads(t *testing.T) {
	run := newRun(12)
	add(run, "simple", nil, nil, []string{"native", "mattn"}, bulk("insert", 1, 1, 1))
	spoil(run, "simple", "native", func(t *result.Trial) { t.Samples[0].WallNS = int64(1000 + t.Round) })
	spoil(run, "simple", "mattn", func(t *result.Trial) {
		t.Samples[0].WallNS = []int64{1900, 1910, 1920, 1930, 1940, 2000, 2000, 5000, 5100, 5200, 5300, 5400}[t.Round-1]
	})
	got := write(t, "table", run, "native", document.Options{Width: 300})
	for _, want := range []string{"2.00 (-4% to +160%)", ": p<0.001; it took longer"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
}
