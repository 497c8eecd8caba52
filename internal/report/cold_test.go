package report_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/sqlite3perf/sqlite3perf/internal/compare"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
)

// TestNotCold checks that a comparison names the cells whose caches were not cold.
func TestNotCold(t *testing.T) {
	run := newRun(12)
	add(run, "simple", nil, rollback, []string{"mattn", "modernc"}, bulk("insert", 812_000_000, 1_000_000, 1_000_000), bulk("query", 90_000_000, 1000, 1))
	warning := result.Warning{Code: result.WarningCached, Phase: "query", Share: 0.3, Message: "30% of the database stayed in the page cache"}
	spoil(run, "simple", "modernc", func(t *result.Trial) { t.Warnings = append(t.Warnings, warning) })
	a := stats.Analyze(run, "")
	got := plain(writeCompared(t, "table", compare.Compared{Comparison: stats.CompareDrivers(a, "mattn", "modernc", 0.02), First: a, Second: a}))
	if n := strings.Count(got, "not cold "); n != 1 || !strings.Contains(got, "not cold simple modernc v1.61.1, query: 30% of the database stayed in the page cache (round 1); similar in 11 other rounds (2-12)") {
		t.Errorf("%d warnings:\n%s", n, got)
	}
}

// TestOtherHooks checks that a comparison of two runs says which commands ran around the trials of
// only one of the runs.
func TestOtherHooks(t *testing.T) {
	c := comparedRuns()
	c.First.Run.Hooks, c.Second.Run.Hooks = &result.Hooks{Prepare: "sync"}, &result.Hooks{Prepare: "sync", Cleanup: "rm x"}
	got := plain(writeCompared(t, "table", c))
	for _, want := range []string{
		"beware different commands ran around the trials of the two sides", "prepare run 12: sync", "prepare new.json: sync", "cleanup new.json: rm x",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in:\n%s", want, got)
		}
	}
	c.First.Run.Hooks = c.Second.Run.Hooks
	if got := plain(writeCompared(t, "table", c)); strings.Contains(got, "commands ran") || strings.Count(got, "prepare sync") != 1 {
		t.Errorf("the same commands on both sides:\n%s", got)
	}
}

// plain returns a text with single spaces.
func plain(text string) string { return regexp.MustCompile(`\s+`).ReplaceAllString(text, " ") }
