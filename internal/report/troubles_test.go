package report_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sqlite3perf/sqlite3perf/internal/conditions"
	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/lab/machine"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// warning returns the line with a label in the report of a run that has the given warnings. There
// must be only one such line.
func warning(t *testing.T, label string, warnings []result.Warning) string {
	t.Helper()
	run := singleRun()
	run.Warnings = warnings
	var found []string
	for line := range strings.Lines(write(t, "table", run, "", document.Options{Width: 300})) {
		if s, ok := strings.CutPrefix(line, label+" "); ok {
			found = append(found, strings.TrimSpace(s))
		}
	}
	if len(found) != 1 {
		t.Fatalf("%d warnings, want 1: %q", len(found), found)
	}
	return found[0]
}

// TestCalibrationWarnings checks that the report says in how many rounds the machine ran at
// a different speed, how different it was, and what that means.
func TestCalibrationWarnings(t *testing.T) {
	const ms = time.Millisecond
	loop := func(off map[int]time.Duration, rounds int) []result.Warning {
		took := make([]time.Duration, rounds)
		for i := range took {
			took[i] = 10 * ms
			if d, ok := off[i+1]; ok {
				took[i] = d
			}
		}
		return machine.WarningsAfter(machine.Reading{}, machine.Reading{}, took)
	}
	const (
		begin = "the speed changed in "
		end   = ": trust ratios more than times"
	)
	many := map[int]time.Duration{7: 20 * ms}
	for r := 9; r <= 900; r += 3 {
		many[r] = 12 * ms
	}
	for _, tc := range []struct {
		warnings []result.Warning
		want     string
	}{
		{loop(map[int]time.Duration{4: 12 * ms}, 6), begin + "1 of 6 rounds (+20%)" + end},
		{loop(map[int]time.Duration{1: 12 * ms, 2: 5 * ms, 3: 12 * ms, 4: 12 * ms, 6: 8 * ms}, 12),
			begin + "5 of 6 rounds (-50% to +20%)" + end},
		{loop(many, 900), begin + "299 of 900 rounds (+20% to +100%)" + end},
	} {
		if got := warning(t, conditions.Noise, tc.warnings); got != tc.want {
			t.Errorf("got  %s\nwant %s", got, tc.want)
		}
	}
}

// TestOlderWarnings checks warnings of older versions, whose figures are only in their messages.
// The messages must not be parsed.
func TestOlderWarnings(t *testing.T) {
	var list []result.Warning
	for _, r := range []int{2, 4} {
		list = append(list, result.Warning{Code: result.WarningCalibration, Round: r, Message: fmt.Sprintf("the loop took %dms in round %d, +%d0 %% from the median", r, r, r)})
	}
	if got, want := warning(t, conditions.Noise, list), "the speed changed in 2 of 6 rounds: trust ratios more than times"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestWarningsOfOneKind checks that warnings of one kind about the same thing share one line.
func TestWarningsOfOneKind(t *testing.T) {
	var list []result.Warning
	for _, r := range []int{9, 2, 3, 4, 2} {
		list = append(list, result.Warning{Code: "rss", Round: r, Message: fmt.Sprintf("memory grew by %d MiB", 10*r)})
	}
	if got, want := warning(t, "warning", list), "memory grew by 90 MiB (round 9); similar in 3 other rounds (2-4)"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestFeatureReason checks that if a driver failed because it lacks a feature, the report names
// the drivers that have the feature.
func TestFeatureReason(t *testing.T) {
	run := noFloorRun()
	for i := range run.Trials {
		if r := run.Trials[i].Reason; r != nil {
			r.Code, r.Feature, r.Message = "feature", "json", "no such function: json_extract"
		}
	}
	out := write(t, "table", run, "", document.Options{Width: 300})
	if want := "no such function: json_extract [feature]; here it works with modernc"; !strings.Contains(out, want) {
		t.Errorf("no %q in\n%s", want, out)
	}
}

// TestFeatureOptions checks that the report lists compile options that add features to SQL,
// although they do not change the speed.
func TestFeatureOptions(t *testing.T) {
	run := noFloorRun()
	for i := range run.Trials {
		if p := run.Trials[i].Proof; p != nil && run.Cases[run.Trials[i].Case-1].Driver == "modernc" {
			p.CompileOptions = append(p.CompileOptions, "ENABLE_FTS5", "ENABLE_API_ARMOR")
		}
	}
	out := write(t, "table", run, "", document.Options{Width: 300})
	if !strings.Contains(out, "ENABLE_FTS5") || strings.Contains(out, "ENABLE_API_ARMOR") {
		t.Errorf("%s", out)
	}
}

// TestBusyAtOnce checks that SQLITE_BUSY before the busy timeout is explained, unless transactions
// begin by taking a lock, or the operations waited until the timeout.
func TestBusyAtOnce(t *testing.T) {
	for _, c := range []struct {
		settings driver.Settings
		wait     int64
		want     bool
	}{
		{driver.Settings{"busy_timeout": "5000"}, 3e6, true},
		{driver.Settings{"busy_timeout": "5000", "txlock": "deferred"}, 3e6, true},
		{driver.Settings{"busy_timeout": "5000", "txlock": "immediate"}, 3e6, false},
		{driver.Settings{"busy_timeout": "5000"}, 3 * 5e9, false},
		{driver.Settings{"busy_timeout": "0"}, 3e6, false},
	} {
		run := newRun(6)
		add(run, "read-write", nil, c.settings, []string{"mattn", "modernc"}, mix("mix", "time/op", false))
		spoil(run, "read-write", "mattn", func(tr *result.Trial) {
			tr.Samples[0].Errors = []protocol.ErrorCount{{Code: driver.CodeBusy | 2<<8, Name: "SQLITE_BUSY_SNAPSHOT", Count: 3, WaitNS: c.wait}}
		})
		text := write(t, "table", run, "", document.Options{Width: 300})
		if got := strings.Contains(text, "some operations of mattn v1.14.52 failed with SQLITE_BUSY long before the busy timeout: "); got != c.want {
			t.Errorf("%v, %d ns: explained is %v, want %v\n%s", c.settings, c.wait, got, c.want, text)
		}
	}
}

// TestVariants checks that the report shows how each variant of a driver was built, as its worker
// reported.
func TestVariants(t *testing.T) {
	run := newRun(6)
	add(run, "simple", nil, nil, []string{"mattn", "modernc", "zombiezen"}, bulk("insert", 1e9, 1000, 1000))
	for i := range run.Cases {
		c := &run.Cases[i]
		proof := run.Trials[i*run.Rounds].Proof
		switch c.Driver {
		case "mattn":
			c.Driver, c.Options = "mattn:tags=b+a,GOGC=off,env.COLOR=blue", map[string]string{"tags": "a+b", "GOGC": "off", "env.COLOR": "blue"}
			proof.Build = map[string]string{"-tags": "a,b", "CGO_CFLAGS": "-O2 -g"}
			proof.Environment = map[string]string{"GOGC": "off", "COLOR": "blue"}
		case "modernc":
			c.Driver = "modernc=../go@v2/sqlite"
			c.Build = map[string]string{"directory": "/home/me/go@v2/sqlite", "vcs.revision": "0123456789abcdef0123456789abcdef01234567", "vcs.modified": "true"}
		}
	}
	out := write(t, "table", run, "", document.Options{Width: 300})
	for _, want := range []string{
		"mattn:tags=b+a,GOGC=off,env.COLOR=blue  built with -tags=a,b; run with GOGC=off, COLOR=blue\n",
		"built from /home/me/go@v2/sqlite at 0123456789abcdef0123456789abcdef01234567, with changes that are not committed\n",
		" modernc=../go@v2/sqlite 0123456+changes ",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	if strings.Contains(out, "CGO_CFLAGS") || strings.Count(out, "as their workers prove it") != 1 {
		t.Errorf("%s", out)
	}
}

// TestErrorMessage expects the library's message for an error other than a lock, on the first
// screen and in the complete report.
func TestErrorMessage(t *testing.T) {
	run := newRun(9)
	add(run, "app", nil, nil, []string{"mattn", "modernc"}, mix("replay", result.MetricTimePerOp, false))
	for i := range run.Trials {
		if run.Cases[run.Trials[i].Case-1].Driver == "mattn" {
			x := &run.Trials[i].Samples[0]
			x.Replayed, x.Failed = true, 482
			x.Errors = []protocol.ErrorCount{{Code: 1, Name: "SQLITE_ERROR", Count: 482, WaitNS: 1000, Message: "no such module: fts5\x1b[2J"}}
		}
	}
	const want = "4,338 SQLITE_ERROR: no such module: fts5"
	for _, lines := range []int{40, 0} {
		text := strings.Join(strings.Fields(write(t, "table", run, "", document.Options{Width: 100, Lines: lines})), " ")
		if !strings.Contains(text, want) || strings.Contains(text, "\x1b[2J") {
			t.Errorf("in %d lines: it lacks %q:\n%s", lines, want, text)
		}
	}
}
