package report_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/sqlite3perf/sqlite3perf/internal/compare"
	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/report"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
)

// TestCellsAreCounted checks that all formats of a report state the same number of cells, and call
// them cells.
func TestCellsAreCounted(t *testing.T) {
	run := newRun(9)
	for _, w := range []string{"one", "two"} {
		add(run, w, nil, nil, []string{"native", "mattn", "modernc"}, bulk("insert", 10_000_000, 10, 10), bulk("query", 10_000_000, 10, 10))
	}
	for name, tc := range map[string]struct{ out, want string }{
		"screen":   {screen(t, run, document.Options{Width: 120, Lines: 40}), "time over 4 cells (workload phases), "},
		"table":    {write(t, "table", run, "native", document.Options{}), "Summary: geometric mean of the ratios to native over 4 cells"},
		"markdown": {write(t, "markdown", run, "native", document.Options{}), "Summary: geometric mean of the ratios to native over 4 cells"},
		"page":     {write(t, "html", run, "native", document.Options{}), "Time over 4 cells, × native"},
	} {
		if !strings.Contains(tc.out, tc.want) {
			t.Errorf("%s: no %q in\n%.3000s", name, tc.want, tc.out)
		}
		for _, other := range []string{"4 phases", "4 tables"} {
			if strings.Contains(tc.out, other) {
				t.Errorf("%s: %s instead of 4 cells", name, other)
			}
		}
	}
}

// TestURLsStayWhole checks that a URL that is wider than the terminal is not broken.
func TestURLsStayWhole(t *testing.T) {
	for _, width := range []int{40, 60, 120} {
		var b bytes.Buffer
		if err := compare.Formats.Write(&b, "table", compared(comparedRun()), document.Options{Width: width}); err != nil {
			t.Fatal(err)
		}
		const url = "https://github.com/sqlite3perf/sqlite3perf/blob/main/docs/methodology.md#comparisons-of-two-sides."
		_, after, ok := strings.Cut(b.String(), url)
		if !ok {
			t.Errorf("%d columns: the URL is broken:\n%s", width, b.String())
		}
		if width < len(url) && !strings.HasPrefix(after, "\n") {
			t.Errorf("%d columns: the URL has no line of its own: %.100s", width, after)
		}
	}
}

// TestIntervalsOfClaims checks that the title of the column of intervals names the lowest of their
// confidence levels. Claims that are judged early have intervals with a higher level.
func TestIntervalsOfClaims(t *testing.T) {
	claim := func(levels ...float64) (c report.Claim) {
		for _, level := range levels {
			c.Comparisons = append(c.Comparisons, report.Comparison{What: "a ÷ b", Verdict: report.Holds,
				Summary: &stats.Summary{N: 9, Median: 2, Interval: &stats.Interval{Low: 1.9, High: 2.1, Confidence: level}}})
		}
		return c
	}
	for _, tc := range []struct {
		claim report.Claim
		want  string
	}{
		{claim(0.95, 0.9531), "  95% interval  "},
		{claim(0.99, 0.969), "  95% interval  "},
		{report.Claim{Comparisons: []report.Comparison{{What: "a ÷ b", Verdict: report.CannotBeTold, Why: "nothing was measured"}}}, "  95% interval  "},
	} {
		out := write(t, "table", insertRun(9, "mattn"), "", report.Options{Study: &report.Study{Name: "old", Claims: []report.Claim{tc.claim}}})
		if !strings.Contains(out, tc.want) {
			t.Errorf("no %q in\n%s", tc.want, out)
		}
	}
}

// TestPicturesAreListed checks that an error about the name of a picture lists the existing names,
// one per line.
func TestPicturesAreListed(t *testing.T) {
	a := stats.Analyze(insertRun(9, "native", "mattn"), "native")
	if _, _, err := report.PictureNamed(a, "nothing-like-it", report.Options{}); err == nil || !strings.Contains(err.Error(), "the run has\n  mine-insert\n") {
		t.Error(err)
	}
	if p, others, err := report.PictureNamed(a, "", report.Options{}); err != nil || p.Name != "mine-insert" || slices.Contains(others, p.Name) || len(others) == 0 {
		t.Errorf("without a name: %q, others %q, %v", p.Name, others, err)
	}
	if _, _, err := report.PictureNamed(stats.Analyze(&result.Run{}, ""), "", report.Options{}); err == nil || strings.Contains(err.Error(), "\n") {
		t.Error(err)
	}
}
