package explorer

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sqlite3perf/sqlite3perf/internal/conditions"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
)

// TestCompareBeware compares runs that were made at different times. The answer must have the
// warnings of both runs, and say whether their builds are the same, because either may explain a
// difference.
func TestCompareBeware(t *testing.T) {
	loaded := aRun(2, 2)
	loaded.Warnings = []result.Warning{{Code: "load", Message: "the machine was busy"}}
	server := serveRuns(t, aRun(1, 1), loaded, aRun(4, 1))
	c := get[*Comparison](t, server, "/api/v1/compare?first=1&second=2")
	says := func(list []conditions.Caveat) bool {
		return slices.ContainsFunc(list, func(c conditions.Caveat) bool { return c.Text == "the machine was busy" })
	}
	if !c.SameBuilds || !strings.Contains(c.Beware, "same builds, measured at different times") || says(c.FirstCaveats) || !says(c.SecondCaveats) {
		t.Errorf("%+v", c)
	}
	if c := get[*Comparison](t, serveRuns(t, aRun(1, 1), aRun(2, 1)), "/api/v1/compare?first=1&second=2"); strings.Contains(c.Beware, "the machine probably changed") {
		t.Errorf("%q, although nothing changed", c.Beware)
	}
	slow := aRun(2, 1)
	for i := range slow.Trials {
		for k := range slow.Trials[i].Samples {
			slow.Trials[i].Samples[k].WallNS *= 3
		}
	}
	if c := get[*Comparison](t, serveRuns(t, aRun(1, 1), slow), "/api/v1/compare?first=1&second=2"); !strings.Contains(c.Beware, "is 3.0 times as slow in run 2 as in run 1: the machine probably changed") {
		t.Errorf("%q", c.Beware)
	}
	slow.Cases[1].Info.Module = "github.com/mattn/go-sqlite3"
	for i := range slow.Trials {
		slow.Trials[i].Proof.ModuleVersion = "v1.14.53"
	}
	if c := get[*Comparison](t, serveRuns(t, aRun(1, 1), slow), "/api/v1/compare?first=1&second=2"); !strings.Contains(c.Beware, ". Known defect: mattn-reprepare may explain it.") {
		t.Errorf("%q", c.Beware)
	}
	if run := get[*Run](t, server, "/api/v1/runs/2"); !says(run.Caveats) {
		t.Errorf("%+v", run.Caveats)
	}
	if c := get[*Comparison](t, server, "/api/v1/compare?first=1&second=3"); c.SameBuilds || !strings.Contains(c.Beware, "measured at different times") ||
		fmt.Sprint(c.FirstDrivers, c.SecondDrivers) != "[native v1.0.0, SQLite 3.53.4 mattn v1.0.0, SQLite 3.53.4 modernc v1.0.0, SQLite 3.53.4] [native v1.1.0, SQLite 3.53.4 mattn v1.1.0, SQLite 3.53.4 modernc v1.1.0, SQLite 3.53.4]" ||
		fmt.Sprint(c.Differences) != "[{module m v1.0.0 m v1.1.0 all cells}]" {
		t.Errorf("of another version: %+v", c)
	}
}

func TestCompare(t *testing.T) {
	server := serveRuns(t, aRun(1, 1), aRun(2, 2))
	c := get[struct {
		Answer  string
		Started []time.Time
		Cells   []struct{ Verdict, Variant, Phase string }
		Words   []string
	}](t, server, "/api/v1/compare?first=1&second=2&margin=0.1")
	if !slices.Equal(c.Started, []time.Time{began.AddDate(0, 0, 1), began.AddDate(0, 0, 2)}) {
		t.Errorf("the runs began at %v", c.Started)
	}
	if len(c.Words) != len(c.Cells) || c.Words[0] != "slower" || c.Words[2] == "unclear" {
		t.Errorf("verdicts in words: %q", c.Words)
	}
	if c.Cells[0].Verdict != "slower" || c.Cells[0].Variant != "modernc" || c.Cells[2].Verdict != "unclear" || !strings.HasPrefix(c.Answer, "run 2 is 2.0 times as slow as run 1 in 2 of 6 cells") ||
		!strings.Contains(c.Answer, "differ by less than 10% in 4 of 6 cells") {
		t.Errorf("%+v", c)
	}
}
