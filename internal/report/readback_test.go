package report_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/sqlite3perf/sqlite3perf/internal/report"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// TestReadLater checks a case that was refused because a connection read back another value of a
// setting after the database was opened. The report must show what that connection read back. The
// proof, which is the worker's report at the beginning of the trial, does not contain it.
func TestReadLater(t *testing.T) {
	full := driver.Settings{"synchronous": "full", "cache_size": "-2000"}
	same := func(n int) (list []driver.Settings) {
		for range n {
			list = append(list, full)
		}
		return list
	}
	later := same(5)
	later[1] = driver.Settings{"synchronous": "off\x1b[2J<b>"}
	run := &result.Run{Cases: []result.Case{
		{ID: 1, Workload: "w", Driver: "mattn", Settings: driver.Settings{"synchronous": "full", "pool_size": "5"}, Phases: []string{"insert"}},
		{ID: 2, Workload: "w", Driver: "modernc", Settings: driver.Settings{"synchronous": "full", "pool_size": "5"}, Phases: []string{"insert"}},
	}, Trials: []result.Trial{
		{Case: 1, Round: 1, Order: 1, Status: result.Refused, Proof: &protocol.Proof{Connections: same(5)},
			Reason:   &protocol.Reason{Code: protocol.CodeSetting, Message: "synchronous: wanted full, got off, on connection 2 of 5 alone, after the schema"},
			ReadBack: &result.ReadBack{Wanted: driver.Settings{"synchronous": "full"}, Connections: later}},
		{Case: 2, Round: 1, Order: 2, Status: result.OK, Proof: &protocol.Proof{Connections: same(5)},
			Samples: []result.Sample{{Phase: "insert", Metric: result.MetricTime, WallNS: 1e6, Operations: 1}}},
	}}
	write := func(format string) string {
		var b bytes.Buffer
		if err := report.Write(&b, format, stats.Analyze(run, "native"), report.Options{}); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	text := write("table")
	for _, want := range []string{"refused  read back         connection   synchronous", "mattn    after the schema  wanted       full", "1, 3-5 of 5  full", "2 of 5       ✗ off\uFFFD[2J<b>"} {
		if !strings.Contains(text, want) {
			t.Errorf("the table lacks %q:\n%s", want, text)
		}
	}
	page := write("html")
	if checkPage(t, page); !strings.Contains(page, "✗ off\uFFFD[2J&lt;b&gt;") || !strings.Contains(page, "1, 3-5 of 5") {
		t.Errorf("the page lacks the connection that deviated:\n%s", page)
	}
	validate(t, compiled(t, "report"), write("json"))
	run.Trials[0].ReadBack.After = "load"
	if got := write("markdown"); !strings.Contains(got, "after load") {
		t.Error(got)
	}
	run.Trials[0].ReadBack = nil // as in a run of an older version, which did not record values that were read back later
	if got := write("table"); strings.Contains(got, "read back") {
		t.Error(got)
	}
}
