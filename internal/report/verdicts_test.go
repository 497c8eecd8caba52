package report_test

import (
	"encoding/csv"
	"slices"
	"strings"
	"testing"

	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
)

// beaten returns a run in which all drivers after the first are faster than the first.
func beaten(drivers ...string) *result.Run {
	run := newRun(6)
	add(run, "group-by", nil, nil, drivers, bulk("group", 90_000_000, 110, 1))
	for _, d := range drivers[1:] {
		spoil(run, "group-by", d, func(t *result.Trial) { t.Samples[0].WallNS = int64(71_000_000 + t.Round*100_000) })
	}
	return run
}

// TestFloorIsOneForItsSQLite checks that if a driver with a different SQLite is faster than the
// floor (plain C), the report says so, and names both versions of SQLite.
func TestFloorIsOneForItsSQLite(t *testing.T) {
	const note = "modernc v1.61.1 (SQLite 3.54.1 THREADSAFE=1 DEFAULT_MEMSTATUS=0): faster than native (SQLite 3.53.4 THREADSAFE=1). "
	for _, tc := range []struct {
		drivers []string
		want    bool
	}{
		{[]string{"native", "modernc"}, true},
		{[]string{"native", "modernc", "mattn"}, true},
		{[]string{"native", "mattn"}, false},  // both have the same SQLite
		{[]string{"mattn", "modernc"}, false}, // the run lacks native, the floor
	} {
		got := write(t, "table", beaten(tc.drivers...), "native", document.Options{Width: 300})
		if strings.Contains(got, note) != tc.want {
			t.Errorf("%v: want the note: %v\n%s", tc.drivers, tc.want, got)
		}
		if tc.want && strings.Contains(got, "mattn v1.14.52 (SQLite") {
			t.Errorf("mattn, which has the floor's SQLite, is in the note:\n%s", got)
		}
	}
}

// TestFailingIsSaid checks that a driver whose operations failed more often has no rank, and that
// the report says so.
func TestFailingIsSaid(t *testing.T) {
	run := newRun(6)
	add(run, "read-write", nil, wal, []string{"native", "mattn"}, mix("mix", "time/op", true))
	got := write(t, "table", run, "native", document.Options{Width: 300})
	for _, want := range []string{"\n-  mattn v1.14.52", "not ranked    mattn v1.14.52: more of its operations failed (1.2%) than of native's (none)\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
}

// TestSummaryOfNothing checks that if no table counts in the summary, the summary says why.
func TestSummaryOfNothing(t *testing.T) {
	run := newRun(6)
	for _, w := range []string{"read-write", "point-read"} {
		add(run, w, nil, wal, []string{"native", "mattn"}, mix("mix", "time/op", true))
	}
	got := write(t, "table", run, "native", document.Options{Width: 300})
	for _, want := range []string{"\nSummary: none, since no cell", "summary       leaves out point-read mix: more operations failed than of other drivers: mattn\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
}

// TestReliabilityIsSaid checks that the report gives the expected number of false verdicts in all
// tables of the run together.
func TestReliabilityIsSaid(t *testing.T) {
	run := newRun(6)
	for _, w := range []string{"simple", "real", "many"} {
		add(run, w, nil, nil, []string{"native", "mattn", "modernc"}, bulk("insert", 1_000_000, 1, 1))
	}
	got := write(t, "markdown", run, "native", document.Options{})
	const want = "12 comparisons in 4 tables, one of which is the summary. If all drivers were equal, the probability that this run tells any two of them apart would be at most 5%. " +
		"Tables that tell drivers apart: 4. At most 5% of such tables, here 0.2 tables, are expected to be wrong and to tell equal drivers apart."
	if !strings.Contains(got, want) {
		t.Errorf("no %q in\n%s", want, got)
	}
}

// TestUnverifiedIsSaid checks that there is one note if the rows of a phase cannot be verified. It is
// below the phase's table or, if the phase has no table, at the end of the workload's section.
func TestUnverifiedIsSaid(t *testing.T) {
	run := newRun(6)
	add(run, "search", nil, nil, []string{"native", "mattn", "modernc"}, bulk("insert", 1_000_000, 1, 1))
	for _, c := range run.Cases {
		for _, phase := range []string{"load", "insert"} {
			run.Warnings = append(run.Warnings, result.Warning{Code: "unverified", Case: c.ID, Phase: phase, Message: "nobody can check the rows inserted into texts, which is a virtual table"})
		}
	}
	got := write(t, "table", run, "native", document.Options{Width: 300})
	for _, want := range []string{
		"\nunverified    nobody can check the rows inserted into texts, which is a virtual table: these figures are compared although the rows could not be verified\n",
		"\nunverified    load: nobody can check the rows inserted into texts, which is a virtual table\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	if n := strings.Count(got, "nobody can check"); n != 2 {
		t.Errorf("said %d times, want 2:\n%s", n, got)
	}
}

// TestOperationLinesHaveNoFigures checks that in CSV the columns of a phase's figures are empty in
// the lines of its operations. Zeros would change the means of these columns.
func TestOperationLinesHaveNoFigures(t *testing.T) {
	run := newRun(6)
	add(run, "read-write", nil, wal, []string{"native"}, mix("mix", "time/op", false))
	lines, err := csv.NewReader(strings.NewReader(write(t, "csv", run, "native", document.Options{}))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	column := func(name string) int { return slices.Index(lines[0], name) }
	operations := 0
	for _, line := range lines[1:] {
		if line[column("operation")] == "" {
			continue
		}
		operations++
		if line[column("phase")] != "mix" || line[column("p50_ns")] == "" {
			t.Errorf("%q", line)
		}
		for _, name := range []string{"value_s", "wall_ns", "operations", "failed", "peak_rss_bytes", "retries"} {
			if v := line[column(name)]; v != "" {
				t.Errorf("%s is %q", name, v)
			}
		}
	}
	if operations != 12 {
		t.Errorf("%d lines of operations, want 12", operations)
	}
}
