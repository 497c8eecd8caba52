package report_test

import (
	"strings"
	"testing"

	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/worker/estimate"
)

// TestAddedNoteRatio checks the note which says that sqlite3perf's own overhead may explain a
// difference. There must be a note only if the overhead is at least the smallest difference that
// the interval of the ratio allows. The difference between the medians, which is smaller here, must
// not matter.
func TestAddedNoteRatio(t *testing.T) {
	run := newRun(9)
	add(run, "simple", nil, rollback, []string{"mattn", "zombiezen"}, bulk("insert", 1, 1000, 1000))
	for i, walls := range [][]int64{{50, 60, 70, 80, 100, 160, 170, 180, 190}, {65, 78, 91, 99, 101, 208, 221, 234, 247}} {
		spoil(run, "simple", run.Cases[i].Driver, func(t *result.Trial) { t.Samples[0].WallNS = walls[t.Round-1] * 1000 })
	}
	for _, tc := range []struct {
		added float64 // nanoseconds added to each row of the slower driver
		want  bool
	}{{2, false}, {14, false}, {16, true}} { // the interval of the ratio begins at 1.15
		run.Cases[1].Added = []result.AddedTime{{Phase: "insert", Row: estimate.Estimate{High: tc.added}}}
		run.Cases[0].Added = []result.AddedTime{{Phase: "insert"}}
		out := write(t, "table", run, "", document.Options{Width: 300})
		if strings.Contains(out, "sqlite3perf's own overhead") != tc.want || !strings.Contains(out, "is slower than") {
			t.Errorf("%v ns added: want a note: %v\n%s", tc.added, tc.want, out)
		}
	}
}

// TestAddedNoteVersions checks that there is no note about overhead for two versions of one driver,
// because both have the same overhead.
func TestAddedNoteVersions(t *testing.T) {
	run := newRun(8)
	add(run, "simple", nil, rollback, []string{"mattn", "mattn@v1.14.22"}, bulk("insert", 812_000_000, 1_000_000, 1_000_000))
	for i := range run.Cases {
		run.Cases[i].Added = []result.AddedTime{{Phase: "insert", Row: estimate.Estimate{Low: -500, High: 500}}}
	}
	out := write(t, "table", run, "", document.Options{Width: 300})
	if strings.Contains(out, "sqlite3perf's own overhead") || !strings.Contains(out, "is slower than") {
		t.Errorf("%s", out)
	}
}

// TestAddedNote checks two drivers whose times for a million rows differ by 1.03 s, with different
// overheads per row. There must be a note only if the overhead may explain the difference.
func TestAddedNote(t *testing.T) {
	const note = "sqlite3perf's own overhead"
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
		out := write(t, "table", run, "", document.Options{Width: 300})
		if strings.Contains(out, note) != tc.want {
			t.Errorf("added %v and %v, want a note: %v\n%s", tc.fast, tc.slow, tc.want, out)
		}
		page := write(t, "html", run, "", document.Options{})
		for _, part := range []string{
			`<div class="alarm"><dt>* own cost</dt><dd>sqlite3perf&#39;s own overhead`, "* marks a lead that ", // the second text is below the picture
			`mattn v1.14.52*, `, ">mattn v1.14.52*</text>", ">mattn v1.14.52*</a></th>", // the driver's name with its mark, in the picture and in the table
		} {
			if strings.Contains(page, part) != tc.want {
				t.Errorf("added %v and %v, want %q in the page: %v", tc.fast, tc.slow, part, tc.want)
			}
		}
		if strings.Contains(page, "zombiezen v1.4.2*") || strings.Contains(out, "mattn v1.14.52* ") != tc.want {
			t.Errorf("added %v and %v, want a mark of mattn: %v\n%s", tc.fast, tc.slow, tc.want, out)
		}
		if tc.want && !strings.Contains(out, "may explain some differences: zombiezen is 70% slower than mattn (66% to 73%), overhead may add up to 74%. The overhead was measured on another machine") {
			t.Errorf("%s", out)
		}
	}
}
