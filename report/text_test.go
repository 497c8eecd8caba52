package report_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/sqlite3perf/sqlite3perf/report"
)

// TestNarrowTables: on a narrow terminal no line is too long, and no figure is cut.
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
		all := figures(write(t, "table", run, "native", report.Options{Width: 400}))
		for _, width := range []int{40, 60, 80, 100} {
			out := write(t, "table", run, "native", report.Options{Width: width})
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
