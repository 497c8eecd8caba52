package report_test

import (
	"strings"
	"testing"

	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
)

// TestExpectations checks that every format says which expectations of a workload are met, in words
// or as JSON that fulfills the schema.
func TestExpectations(t *testing.T) {
	run := newRun(12)
	add(run, "mine", nil, nil, []string{"modernc"}, bulk("insert", 10_000_000, 10, 10))
	run.Cases[0].Expects = []result.Expectation{
		{Phase: "insert", Figure: "time", Bound: 1},
		{Phase: "insert", Figure: "time", Bound: 1e-9},
		{Phase: "insert", Figure: "p99", Bound: 1},
	}
	text := write(t, "table", run, "", document.Options{Width: 300})
	for _, want := range []string{
		"Of 3 expectations of the workloads, 1 is not met, and 1 not decided.",
		"\nnot met       mine insert modernc: time < 1ns, measured 4.23ms (",
		"\nnot decided   mine insert modernc: p99 < 1s\n",
		"\nmine      insert  modernc  time < 1s   4.23ms (",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if page := write(t, "html", run, "", document.Options{}); !strings.Contains(page, "What the workloads expect") {
		t.Error("the page has no expectations")
	}
	encoded := write(t, "json", run, "", document.Options{})
	validate(t, compiled(t, "report"), encoded)
	for _, want := range []string{`"verdict": "met"`, `"verdict": "not met"`, `"verdict": "not decided"`, `"code": "not-met"`, `"code": "not-decided"`} {
		if !strings.Contains(encoded, want) {
			t.Errorf("JSON lacks %s", want)
		}
	}
}
