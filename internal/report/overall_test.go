package report_test

import (
	"strings"
	"testing"

	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
)

// TestBaseOfSummary checks that a note names the driver that the summary's ratios are relative to,
// and gives the reason, even if this driver is not in the first row.
func TestBaseOfSummary(t *testing.T) {
	two := []string{"modernc", "mattn"}
	// The median of modernc is 10 ms and that of mattn is 11 ms, but mattn is faster in
	// four of six rounds.
	walls := map[string][]int64{"modernc": {8, 9, 10, 10, 12, 13}, "mattn": {7, 8, 11, 11, 11, 12}}
	overtaken := newRun(6)
	for _, workload := range []string{"simple", "real"} {
		add(overtaken, workload, nil, nil, two, bulk("insert", 1, 1, 1))
		for d, w := range walls {
			spoil(overtaken, workload, d, func(t *result.Trial) { t.Samples[0].WallNS = w[t.Round-1] * 1e6 })
		}
	}
	few := newRun(6)
	for i, workload := range []string{"simple", "real", "many"} {
		add(few, workload, nil, nil, append([]string{"native"}, two...), bulk("insert", 1_000_000, 1, 1))
		if i > 0 {
			spoil(few, workload, "native", func(t *result.Trial) { t.Status, t.Samples = result.Failed, nil })
		}
	}
	for _, tc := range []struct {
		name, floor, want string
		run               *result.Run
	}{
		{"overtaken", "native", "native is not in this run: ratios are to modernc, the fastest over these cells together (its medians have the least geometric mean); compared within rounds, mattn is 2% faster than modernc\n", overtaken},
		{"no floor", "", "no floor was named: ratios are to modernc", overtaken},
		{"few", "native", "native has figures in less than half of the cells: ratios are to mattn, the fastest over these cells together (its medians have the least geometric mean)\n", few},
	} {
		got := write(t, "table", tc.run, tc.floor, document.Options{Width: 300})
		if !strings.Contains(got, "note          "+tc.want) {
			t.Errorf("%s: no note %q in\n%s", tc.name, tc.want, got)
		}
	}
}

// TestOrderIsExplained checks that a table names the driver that ratios are relative to, and that
// a note explains a ratio below 1 in a later row.
func TestOrderIsExplained(t *testing.T) {
	walls := map[string][]int64{"modernc": {8, 9, 10, 10, 12, 13}, "mattn": {7, 8, 11, 11, 11, 12}}
	run := newRun(6)
	add(run, "simple", nil, nil, []string{"modernc", "mattn"}, bulk("insert", 1, 1, 1), bulk("query", 1_000_000, 1, 1))
	for d, w := range walls {
		spoil(run, "simple", d, func(t *result.Trial) { t.Samples[0].WallNS = w[t.Round-1] * 1e6 })
	}
	got := write(t, "table", run, "", document.Options{Width: 300})
	const note = "\nnote          rows are in the order of their medians; compared within rounds, mattn v1.14.52 is 2% faster than modernc v1.61.1\n"
	if !strings.Contains(got, "× modernc") || !strings.Contains(got, "× mattn") || strings.Count(got, note) != 1 {
		t.Errorf("no column × modernc, no column × mattn, or %q is not there exactly once:\n%s", note, got)
	}
}
