package report_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/sqlite3perf/sqlite3perf/internal/compare"
	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
)

// TestOtherWork checks that a comparison says which workloads of both runs are not compared because their
// texts or scales differ, and does not say that only one run has them.
func TestOtherWork(t *testing.T) {
	first, second := newRun(12), newRun(12)
	second.ID = 13
	for _, run := range []*result.Run{first, second} {
		for _, w := range []string{"simple", "real", "many"} {
			add(run, w, nil, rollback, []string{"native", "mattn"}, bulk("insert", 812_000_000, 1_000_000, 1_000_000))
		}
	}
	for i := range first.Cases {
		first.Cases[i].WorkloadSHA256, second.Cases[i].WorkloadSHA256 = "a", "a"
		switch second.Cases[i].Workload {
		case "simple":
			second.Cases[i].WorkloadSHA256 = "b"
		case "many":
			second.Cases[i].Scale = "full"
		}
	}
	c := compare.Compared{First: stats.Analyze(first, "native"), Second: stats.Analyze(second, "native")}
	c.Comparison = stats.CompareRuns([2]string{"run 12", "run 13"}, c.First, c.Second, 0.02)
	const want = "the text of simple differs between the sides (2 cells); the scale of many differs between the sides (2 cells)"
	for _, format := range []string{"table", "html", "json"} {
		if text := strings.Join(strings.Fields(writeCompared(t, format, c)), " "); !strings.Contains(text, want) || strings.Contains(text, "only one side") {
			t.Errorf("%s: no %q in\n%.3000s", format, want, text)
		}
	}
	if got, want := compare.LeftOut([]string{"a", "b"}, nil), "only one side has a; b"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	var b strings.Builder
	opts := document.Options{Width: 60, Lines: 16, Hints: document.Hints{Rest: []document.Hint{{Shows: "all of it", Command: "more"}}}}
	if err := document.RenderPart(&b, compare.Comparison(c, opts), nil, opts); err != nil || !strings.Contains(b.String(), "why 4 cells are left out") {
		t.Errorf("%v, a small screen:\n%s", err, b.String())
	}
}

// TestMachineChanged checks a comparison of two runs. If all drivers became slower or faster alike,
// it must say that the machine probably changed. If only one driver did, it must not say that.
func TestMachineChanged(t *testing.T) {
	compared := func(drivers []string, slower map[string]float64) compare.Compared {
		first, second := newRun(12), newRun(12)
		second.ID = 13
		for _, run := range []*result.Run{first, second} {
			add(run, "simple", nil, rollback, drivers, bulk("insert", 812_000_000, 1_000_000, 1_000_000), bulk("query", 402_000_000, 1_000_000, 1))
		}
		for driver, factor := range slower {
			spoil(second, "simple", driver, func(t *result.Trial) {
				for i := range t.Samples {
					t.Samples[i].WallNS = int64(float64(t.Samples[i].WallNS) * factor)
				}
			})
		}
		a, b := stats.Analyze(first, "native"), stats.Analyze(second, "native")
		return compare.Compared{Comparison: stats.CompareRuns([2]string{"run 12", "run 13"}, a, b, 0.02), First: a, Second: b}
	}
	three, two := []string{"native", "mattn", "modernc"}, []string{"mattn", "modernc"}
	const probably = ": the machine probably changed, so the ratios say little about the drivers"
	for _, tc := range []struct {
		name    string
		drivers []string
		slower  map[string]float64
		want    string // beginning of the warning; "" if there must be none
	}{
		{"nothing", three, nil, ""},
		{"all", three, map[string]float64{"native": 1.5, "mattn": 1.5, "modernc": 1.5}, "native, plain C for comparison, is 50% slower in run 13 than in run 12"},
		{"all, much", three, map[string]float64{"native": 3, "mattn": 3, "modernc": 3}, "native, plain C for comparison, is 3.0 times as slow in run 13 as in run 12"},
		{"all, faster", three, map[string]float64{"native": 0.5, "mattn": 0.5, "modernc": 0.5}, "native, plain C for comparison, is 2.0 times as fast in run 13 as in run 12"},
		{"all, hardly", three, map[string]float64{"native": 1.1, "mattn": 1.1, "modernc": 1.1}, ""},
		{"one", three, map[string]float64{"mattn": 1.5}, ""},
		{"only the reference", three, map[string]float64{"native": 1.5}, ""},
		{"the reference alone", three[:1], map[string]float64{"native": 1.5}, "native, plain C for comparison, is 50% slower in run 13 than in run 12"},
		{"all without the reference", three, map[string]float64{"mattn": 1.5, "modernc": 1.5}, ""},
		{"both of two", two, map[string]float64{"mattn": 1.5, "modernc": 1.5}, "every driver is about 50% slower in run 13 than in run 12"},
		{"one of two", two, map[string]float64{"mattn": 1.5}, ""},
		{"one faster, one slower", two, map[string]float64{"mattn": 1.5, "modernc": 0.5}, ""},
		{"the only one", two[:1], map[string]float64{"mattn": 1.5}, ""},
	} {
		c := compared(tc.drivers, tc.slower)
		got := ""
		if l := compare.MachineChanged(c); l != nil {
			got = l[0].Text
		}
		if want := tc.want + probably; tc.want == "" && got != "" || tc.want != "" && got != want {
			t.Errorf("%s: %q, want %q", tc.name, got, tc.want)
		}
		for _, format := range []string{"table", "html"} {
			text := strings.Join(strings.Fields(writeCompared(t, format, c)), " ")
			at := strings.Index(text, probably)
			if at >= 0 != (tc.want != "") {
				t.Errorf("%s: %s shows the warning: %v", tc.name, format, at >= 0)
			}
			if answer, _, _ := strings.Cut(compare.Answer(c.Comparison), "."); at >= 0 && at > strings.Index(text, answer) {
				t.Errorf("%s: %s: the warning comes after %q", tc.name, format, answer)
			}
		}
	}
}

// TestShortWarnings checks that a small terminal shows each warning of a comparison in full or in its
// short form, and never cuts it in its middle.
func TestShortWarnings(t *testing.T) {
	first, second := newRun(12), newRun(12)
	second.ID = 13
	for _, run := range []*result.Run{first, second} {
		for _, workload := range []string{"simple", "real", "many", "concurrent"} {
			add(run, workload, nil, rollback, []string{"mattn", "modernc"}, bulk("insert", 812_000_000, 1_000_000, 1_000_000))
		}
	}
	a, b := stats.Analyze(first, "native"), stats.Analyze(second, "native")
	c := compare.Compared{Comparison: stats.CompareRuns([2]string{"run 12", "run 13"}, a, b, 0.02), First: a, Second: b}
	c.Second.Warnings = append(c.Second.Warnings, result.Warning{Code: result.WarningRobbed, Share: 0.3}, result.Warning{Code: result.WarningLoad},
		result.Warning{Code: result.WarningFsync}, result.Warning{Code: result.WarningCalibration, Round: 2, Deviation: 0.4})
	seen := map[string]bool{}
	for lines := 12; lines < 40; lines++ {
		var b bytes.Buffer
		if err := compare.Formats.Write(&b, "table", c, document.Options{Width: 80, Lines: lines}); err != nil {
			t.Fatal(err)
		}
		got := b.String()
		text := strings.Join(strings.Fields(got), " ")
		for _, w := range []struct{ label, long, short string }{
			{"beware", "so ratios include whatever changed on the machine", "measured at different times: the machine may have changed"},
			{"noise", "30% of the trials, other processes ran, the speed changed in 1 of 12 rounds (+40%) and the disk's speed changed: trust ratios more than times", "run 13: the machine was noisy: trust ratios more than times"},
		} {
			if !strings.Contains(got, "\n"+w.label+" ") {
				continue
			}
			long, short := strings.Contains(text, w.long), strings.Contains(text, w.short)
			if long == short {
				t.Errorf("%d lines: %s is cut in its middle:\n%s", lines, w.label, got)
			}
			seen[w.short], seen[w.long] = seen[w.short] || short, seen[w.long] || long
		}
	}
	for text, ok := range seen {
		if !ok {
			t.Errorf("no screen has %q", text)
		}
	}
	if len(seen) != 4 {
		t.Errorf("%v", seen)
	}
}
