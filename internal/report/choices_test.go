package report_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sqlite3perf/sqlite3perf/internal/conditions"
	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/worker/estimate"
)

// TestChoices checks what a report recommends to readers who need database/sql, and to readers who
// have no C compiler.
func TestChoices(t *testing.T) {
	for _, tc := range []struct {
		drivers []string
		want    []string
	}{
		{[]string{"native", "crawshaw", "tailscale", "mattn", "zombiezen", "modernc"},
			[]string{"without cgo zombiezen to mattn, tied []", "both modernc to mattn, tied []"}},
		{[]string{"native", "crawshaw", "modernc"}, nil}, // crawshaw has a defect that can lose data
		{[]string{"mattn", "zombiezen", "modernc"}, []string{"without cgo zombiezen to mattn, tied []", "both modernc to mattn, tied []"}},
		{[]string{"modernc"}, nil},
		{[]string{"native", "crawshaw", "bvinc"}, nil},
		{[]string{"native", "crawshaw", "python"}, nil},
	} {
		var got []string
		for _, c := range answered(t, insertRun(9, tc.drivers...)).Answers.Choices {
			need := map[[2]bool]string{{true, false}: "database/sql", {false, true}: "without cgo", {true, true}: "both"}[[2]bool{c.DatabaseSQL, c.WithoutCgo}]
			got = append(got, fmt.Sprintf("%s %s to %s, tied %s", need, c.Name, c.To, c.Tied))
			if c.Kind == "" || c.SQLite == "" || c.Ratio == nil {
				t.Errorf("%v: %+v", tc.drivers, c)
			}
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%v:\n%s", tc.drivers, diff)
		}
	}
}

// TestChoicesAreSaid checks that every format for people begins with the same recommendation: the
// driver to take, the driver to take without a C compiler, and why not to take the fastest.
func TestChoicesAreSaid(t *testing.T) {
	run := insertRun(9, "native", "crawshaw", "mattn", "modernc")
	for name, out := range map[string]string{
		"screen":   screen(t, run, document.Options{Width: 120, Lines: 40}),
		"page":     write(t, "html", run, "native", document.Options{}),
		"table":    write(t, "table", run, "native", document.Options{}),
		"Markdown": write(t, "markdown", run, "native", document.Options{}),
	} {
		if name == "page" { // the headline of a page is short, and a paragraph has the rest of the answer
			out = strings.ReplaceAll(strings.ReplaceAll(out, "</h1>", ":"), "\n<p>", " ")
			out = regexp.MustCompile(`(?s)in these workloads:\n<p class="quiet">[^<]*</p>`).ReplaceAllString(out, "in these workloads:")
		}
		for _, want := range []string{"Take mattn, the fastest without a known defect that can lose data in these workloads: modernc, the next such driver, is 2.3 times as slow (2.2 to 2.3).",
			"modernc, 2.3 times as slow as mattn (2.2 to 2.3)", "crawshaw (mattn is 22% slower), but can lose or falsify data: upsert-trigger"} {
			if !strings.Contains(strings.Join(strings.Fields(out), " "), want) {
				t.Errorf("%s: want %q:\n%s", name, want, out)
			}
		}
	}
}

// addedRun returns a run in which sqlite3perf's own overhead could explain which driver is first.
func addedRun() *result.Run {
	run := insertRun(9, "native", "crawshaw", "bvinc")
	for i := range run.Cases {
		run.Cases[i].Added = []result.AddedTime{{Phase: "insert"}}
	}
	run.Cases[2].Added[0].Row = estimate.Estimate{High: 2_000_000}
	return run
}

// TestMarksOnScreen checks that a screen explains the mark "*" (sqlite3perf's own overhead may explain a
// lead) only if it shows the mark.
func TestMarksOnScreen(t *testing.T) {
	run := addedRun()
	for i := range 12 {
		add(run, fmt.Sprint("other", i), nil, nil, []string{"native", "crawshaw", "bvinc"}, bulk("insert", 10_000_000, 10, 10))
	}
	mark := regexp.MustCompile(`\*!? `)
	shown := map[bool]bool{}
	for lines := 12; lines < 40; lines++ {
		out := screen(t, run, document.Options{Width: 80, Lines: lines})
		if !strings.Contains(out, "own cost ") {
			continue
		}
		has := mark.MatchString(strings.ReplaceAll(out, "* own cost", "own cost"))
		if shown[has] = true; strings.Contains(out, "\n* own cost ") != has {
			t.Errorf("%d lines: a mark is shown: %v:\n%s", lines, has, out)
		}
	}
	if !shown[true] || !shown[false] {
		t.Errorf("%v: want screens with a mark, and without", shown)
	}
}

// TestAddedLead checks that a lead is marked if sqlite3perf's own overhead could explain it.
func TestAddedLead(t *testing.T) {
	for _, tc := range []struct {
		added float64 // nanoseconds added to each row of the slower driver; the difference is at least 1 ms for 10 rows
		want  bool
	}{{50_000, false}, {2_000_000, true}} {
		run := addedRun()
		run.Cases[2].Added[0].Row = estimate.Estimate{High: tc.added}
		j := answered(t, run)
		var codes []string
		for _, c := range j.Answers.Caveats {
			codes = append(codes, c.Code)
		}
		out := screen(t, run, document.Options{Width: 120, Lines: 40})
		if got := j.Answers.Tables[0].Added; got != tc.want || strings.Contains(strings.Join(codes, " "), conditions.CaveatAdded) != tc.want || strings.Contains(out, "v0.3.2*!") != tc.want || strings.Contains(out, "\n* own cost ") != tc.want {
			t.Errorf("%v ns added: want a mark: %v, got %v %v\n%s", tc.added, tc.want, got, codes, out)
		}
	}
}
