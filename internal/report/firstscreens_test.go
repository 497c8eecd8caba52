package report_test

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/sqlite3perf/sqlite3perf/internal/advise"
	"github.com/sqlite3perf/sqlite3perf/internal/bisect"
	"github.com/sqlite3perf/sqlite3perf/internal/cluster"
	"github.com/sqlite3perf/sqlite3perf/internal/compare"
	"github.com/sqlite3perf/sqlite3perf/internal/diff"
	"github.com/sqlite3perf/sqlite3perf/internal/doctor"
	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/dsn"
	"github.com/sqlite3perf/sqlite3perf/internal/gate"
	"github.com/sqlite3perf/sqlite3perf/internal/locks"
	"github.com/sqlite3perf/sqlite3perf/internal/profile"
	"github.com/sqlite3perf/sqlite3perf/internal/report"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
	"github.com/sqlite3perf/sqlite3perf/internal/tune"
)

// firstScreens returns a function for each command; the keys are the commands' names. The function
// writes an example of the command's report, as on a terminal.
func firstScreens(t *testing.T) map[string]func(io.Writer, document.Options) error {
	run := func(name string) func(io.Writer, document.Options) error {
		a := stats.Analyze(fixtures[name](), "native")
		return func(w io.Writer, o document.Options) error {
			return report.Write(w, "table", a, report.Options{Options: o})
		}
	}
	text := []any{[]byte("1"), []byte("2"), []byte("3"), []byte("4")}
	answers := diffed(noted("mattn", "3.53.4", "1", "2", "3", "4"), noted("modernc", "3.54.1", text...), noted("zombiezen", "3.53.4", text...))
	deferred := lockSettings("deferred", "5000", "4")
	locked := locksRun(deferred, lockSettings("deferred", "0", "4"), lockSettings("immediate", "5000", "4"), lockSettings("deferred", "5000", "1"))
	locked.Cases[0].Today, locked.Cases[1].Today = true, true
	return map[string]func(io.Writer, document.Options) error{
		"run":      run("full"),
		"settings": run("matrix"),
		"compare": func(w io.Writer, o document.Options) error {
			return compare.Formats.Write(w, "table", compared(comparedRun()), o)
		},
		"gate": func(w io.Writer, o document.Options) error { return gate.Formats.Write(w, "table", gatedRun(), o) },
		"bisect": func(w io.Writer, o document.Options) error {
			return bisect.Formats.Write(w, "table", bisection("simple insert", "v1.1.0"), o)
		},
		"tune": func(w io.Writer, o document.Options) error { return tune.Formats.Write(w, "table", tuning(), o) },
		"locks": func(w io.Writer, o document.Options) error {
			return locks.Formats.Write(w, "table", locks.ExplainLocks(stats.Analyze(locked, "native")), o)
		},
		"advise": func(w io.Writer, o document.Options) error {
			return advise.Formats.Write(w, "table", advised(fixtures["full"]()), o)
		},
		"diff": func(w io.Writer, o document.Options) error {
			return diff.Formats.Write(w, "table", answers, diff.Options{Options: o})
		},
		"dsn": func(w io.Writer, o document.Options) error { return dsn.Formats.Write(w, "table", dsnFixture(t), o) },
		"cluster": func(w io.Writer, o document.Options) error {
			return cluster.Formats.Write(w, "table", harmFixture(1, nil), o)
		},
		"doctor": func(w io.Writer, o document.Options) error { return doctor.Formats.Write(w, "table", busyCheckup(), o) },
		"profile": func(w io.Writer, o document.Options) error {
			p := profiledPair(profiledDriver(1, "mattn", 20, 22, 24, 25, 26, 27), profiledDriver(2, "modernc", 30, 34, 33, 36, 31, 32))
			return profile.Formats.Write(w, "table", p, o)
		},
	}
}

// TestFirstScreens compares the screens of [firstScreens], on terminals of several sizes, with
// golden files. A screen must never be longer or wider than the terminal, and no word may be
// broken.
func TestFirstScreens(t *testing.T) {
	sizes := []struct{ width, height int }{{80, 24}, {100, 40}, {160, 50}}
	kinds := firstScreens(t)
	for _, kind := range slices.Sorted(maps.Keys(kinds)) {
		t.Run(kind, func(t *testing.T) {
			write := func(o document.Options) string {
				var b bytes.Buffer
				o.Hints.Rest = []document.Hint{{Shows: "all of it", Command: "sqlite3perf show 12 --full"}}
				o.Hints.Full, o.Hints.FullFlag, o.Hints.Further, o.Hints.Pass = "sqlite3perf show 12 --full", "--full", "sqlite3perf run --resume 12 --time 1m10s", "give it more --time"
				if err := kinds[kind](&b, o); err != nil {
					t.Fatal(err)
				}
				return b.String()
			}
			word := func(w string) string { return strings.Trim(w, ".,;:()\"") }
			known := map[string]bool{} // words on terminals of other widths; a broken word is unknown, because another width would break it elsewhere
			for _, w := range strings.Fields("No room in columns for They are in the other formats warnings warning") {
				known[w] = true
			}
			for _, width := range []int{90, 120, 200, document.Unlimited} {
				for _, lines := range []int{0, 22, 38, 40} {
					for _, w := range strings.Fields(write(document.Options{Width: width, Lines: lines})) {
						known[word(w)] = true
					}
				}
			}
			var all strings.Builder
			for _, size := range sizes {
				lines := min(size.height-2, 40) // the command leaves room for the prompt
				got := write(document.Options{Width: size.width, Lines: lines})
				fmt.Fprintf(&all, "-- %dx%d --\n%s", size.width, size.height, got)
				if n := strings.Count(got, "\n"); n > lines {
					t.Errorf("%d lines on a terminal of %dx%d:\n%s", n, size.width, size.height, got)
				}
				for line := range strings.Lines(got) {
					if n := text.StringWidth(strings.TrimSuffix(line, "\n")); n > size.width {
						t.Errorf("%d columns on a terminal of %dx%d: %s", n, size.width, size.height, line)
					}
				}
				for _, w := range strings.Fields(got) {
					if !known[word(w)] && !strings.ContainsAny(w, "…0123456789█│") {
						t.Errorf("%dx%d: %q looks broken:\n%s", size.width, size.height, w, got)
					}
				}
			}
			fmt.Fprintf(&all, "-- 80x24, color --\n%s", write(document.Options{Width: 80, Lines: 22, Color: true}))
			golden(t, "first-"+kind+".txt", all.String())
		})
	}
}
