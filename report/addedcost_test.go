package report_test

import (
	"strings"
	"testing"

	"github.com/sqlite3perf/sqlite3perf/report"
	"github.com/sqlite3perf/sqlite3perf/result"
	"github.com/sqlite3perf/sqlite3perf/worker/estimate"
)

// TestAddedNote checks two drivers that are told apart by 1.03 s over a million rows.
// More or less is added to each row of the slower one.
func TestAddedNote(t *testing.T) {
	const note = "what sqlite3perf itself adds"
	for _, tc := range []struct {
		fast, slow estimate.Estimate
		want       bool
	}{
		{estimate.Estimate{}, estimate.Estimate{Low: 900, High: 1100}, true},
		{estimate.Estimate{Low: 300, High: 400}, estimate.Estimate{Low: 900, High: 1100}, false},
		{estimate.Estimate{Low: 900, High: 1100}, estimate.Estimate{}, false},
	} {
		run := newRun(8)
		add(run, "simple", nil, rollback, []string{"mattn", "zombiezen"}, bulk("insert", 812_000_000, 1_000_000, 1_000_000))
		for i, row := range []estimate.Estimate{tc.fast, tc.slow} {
			run.Cases[i].Added = []result.AddedTime{{Phase: "insert", Row: row}}
		}
		out := write(t, "table", run, "", report.Options{Width: 300})
		if strings.Contains(out, note) != tc.want {
			t.Errorf("added %v and %v, want a note: %v\n%s", tc.fast, tc.slow, tc.want, out)
		}
		if tc.want && !strings.Contains(out, "between mattn v1.14.52 and zombiezen v1.4.2 (1.0") {
			t.Errorf("%s", out)
		}
	}
}
