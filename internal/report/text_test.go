package report_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/report"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
)

// TestNarrowTables checks that on a narrow terminal no line is too long, and no figure is cut.
func TestNarrowTables(t *testing.T) {
	figure := regexp.MustCompile(`\d[\d.]*x +(±[\d.]+%|n<6)`)
	figures := func(s string) []string {
		var list []string
		for _, f := range figure.FindAllString(s, -1) {
			list = append(list, strings.Join(strings.Fields(f), " "))
		}
		slices.Sort(list)
		return list
	}
	for name, fixture := range fixtures {
		run := fixture()
		all := figures(write(t, "table", run, "native", document.Options{Width: 400}))
		for _, width := range []int{40, 60, 80, 100} {
			out := write(t, "table", run, "native", document.Options{Width: width})
			if got := figures(out); !slices.Equal(got, all) {
				t.Errorf("%s, %d columns: %d figures, want %d:\n%s", name, width, len(got), len(all), out)
			}
			for line := range strings.Lines(out) {
				if line = strings.TrimSuffix(line, "\n"); utf8.RuneCountInString(line) > width {
					t.Errorf("%s, %d columns: %q", name, width, line)
				}
			}
		}
	}
}

// TestFewRoundsTell checks that with fewer than 6 rounds, no row has a ratio except the base row
// (1.00x), and that the effect of a setting is not shown.
func TestFewRoundsTell(t *testing.T) {
	run := settingsAre(driver.Settings{"synchronous": "normal"}, driver.Settings{"synchronous": "full"})
	run.Trials = slices.DeleteFunc(run.Trials, func(tr result.Trial) bool { return tr.Round > 2 })
	out := write(t, "table", run, "", document.Options{})
	if want := "effect        synchronous=full instead of normal: effect not known: the rows have 2 rounds, and 6 are needed"; !strings.Contains(out, want) {
		t.Errorf("no %q in\n%s", want, out)
	}
	if !strings.Contains(out, "1.00x") || strings.Contains(out, "2.00x") {
		t.Errorf("after two rounds, want no ratio except 1.00x:\n%s", out)
	}
}

// TestPhaseBeginsWithAnswer checks that the answer of a table follows the heading of its phase,
// with the same words as in JSON.
func TestPhaseBeginsWithAnswer(t *testing.T) {
	out := strings.Join(strings.Fields(write(t, "table", fullRun(), "native", document.Options{Width: 1000})), " ")
	for _, r := range report.AnswersOf(stats.Analyze(fullRun(), "native"), report.Options{}).Tables {
		if r.Next != nil && !strings.Contains(out, r.Of+" "+r.Text+".") {
			t.Errorf("%s has no %q", r.Table, r.Text)
		}
	}
}
