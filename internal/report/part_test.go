package report_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/sqlite3perf/sqlite3perf/internal/advise"
	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/locks"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
	"github.com/sqlite3perf/sqlite3perf/internal/tune"
)

// TestAnswersFitTheTerminal writes advice, explanations of locks and results of searches for
// settings to terminals. Each must begin with its answer, have at most as many lines as the
// terminal, and say how to see the rest.
func TestAnswersFitTheTerminal(t *testing.T) {
	run := locksRun(lockSettings("deferred", "0", "4"), lockSettings("deferred", "5000", "4"), lockSettings("immediate", "5000", "4"), lockSettings("immediate", "0", "8"))
	hint := []document.Hint{{Shows: "all of it", Command: "sqlite3perf again 12 --full"}}
	for name, text := range map[string]func(document.Options) string{
		"advice": func(o document.Options) string {
			var b strings.Builder
			if err := advise.Formats.Write(&b, "table", advised(fixtures["full"]()), o); err != nil {
				t.Fatal(err)
			}
			return b.String()
		},
		"locks": func(o document.Options) string {
			var b strings.Builder
			if err := locks.Formats.Write(&b, "table", locks.ExplainLocks(stats.Analyze(run, "native")), o); err != nil {
				t.Fatal(err)
			}
			return b.String()
		},
		"tuning": func(o document.Options) string {
			var b strings.Builder
			if err := tune.Formats.Write(&b, "table", tuning(), o); err != nil {
				t.Fatal(err)
			}
			return b.String()
		},
	} {
		whole := text(document.Options{})
		first, _, _ := strings.Cut(whole, "\n")
		for _, lines := range []int{16, 24, 30, 34} {
			for _, width := range []int{80, 120, 200} {
				got := text(document.Options{Lines: lines, Width: width, Hints: document.Hints{Rest: hint}})
				if n := strings.Count(got, "\n"); n > lines {
					t.Errorf("%s: %d lines, want at most %d:\n%s", name, n, lines, got)
				}
				if !strings.HasPrefix(strings.Join(strings.Fields(got), " "), strings.Join(strings.Fields(first), " ")) {
					t.Errorf("%s: the answer is not first:\n%s", name, got)
				}
				if before, _, _ := strings.Cut(got, "\nnot shown"); slices.Contains([]string{"The steps", "What was tried"}, before[strings.LastIndexByte(before, '\n')+1:]) {
					t.Errorf("%s: a heading with nothing below it:\n%s", name, got)
				}
				for _, want := range []string{"not shown", "all of it", "sqlite3perf again 12 --full"} {
					if !strings.Contains(got, want) {
						t.Errorf("%s: no %q:\n%s", name, want, got)
					}
				}
			}
		}
		if got := text(document.Options{Lines: 500}); got != whole {
			t.Errorf("%s: there is room for everything, but something is missing:\n%s", name, got)
		}
	}
}
