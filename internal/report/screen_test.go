package report_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/report"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
)

// rest has hints (commands that show more) in the form in which a command passes them to its
// report.
var rest = []document.Hint{{Shows: "all tables", Command: "sqlite3perf show 12 --full"}, {Shows: "pictures", Command: "sqlite3perf report 12"}}

// screen returns the first screen of a report on a terminal.
func screen[O runOptions](t *testing.T, run *result.Run, o O) string {
	t.Helper()
	opts := ofRun(o)
	opts.Hints.Rest = rest
	return write(t, "table", run, "native", opts)
}

// large returns a run of 60 tables with many compared cells.
func large() *result.Run {
	run := newRun(6)
	drivers := []string{"native", "mattn", "modernc", "zombiezen", "crawshaw", "bvinc", "eatonphil", "tailscale", "ncruces", "python"}
	for i := range 30 {
		add(run, fmt.Sprintf("a-workload-%d-with-a-long-name", i), nil, nil, drivers, bulk("insert", 10_000_000, 10, 10), bulk("query", 5_000_000, 10, 10))
	}
	run.Stopped = result.StoppedTime
	return run
}

// settingsOfMany returns a run of one driver with many settings.
func settingsOfMany() *result.Run {
	run := newRun(9)
	for i, journal := range []string{"wal", "delete", "truncate", "memory", "off"} {
		for k, sync := range []string{"off", "normal", "full", "extra"} {
			add(run, "mine", nil, driver.Settings{"journal_mode": journal, "synchronous": sync}, []string{"modernc"},
				bulk("insert", int64(1_000_000*(10+7*i+20*k)), 10, 10), bulk("scan", 10_000_000, 10, 10))
		}
	}
	return run
}

// screens returns the runs whose first screens are checked. The keys of the map are names of the
// runs.
func screens() map[string]*result.Run {
	all := map[string]*result.Run{
		"large": large(), "many": settingsOfMany(),
		"refused": ended(insertRun(1, "mattn", "modernc"), result.Refused, "settings",
			"synchronous: wanted full, got off, on connection 1 of 4 alone, after the schema: remove the PRAGMA", "mattn", "modernc"),
		"alone":   insertRun(9, "mattn"),
		"nofloor": insertRun(9, "mattn", "modernc", "zombiezen"),
	}
	extreme := insertRun(9, "native", "mattn", "modernc", "zombiezen")
	for i := range extreme.Trials {
		tr := &extreme.Trials[i]
		tr.Samples[0].WallNS = []int64{1, 9e18, 0, 1000}[tr.Case-1]
		extreme.Warnings = append(extreme.Warnings, result.Warning{Code: fmt.Sprint("new", i), Message: strings.Repeat("word ", 100)})
	}
	all["extreme"] = extreme
	all["sides"] = comparedRun()
	for _, name := range []string{"full", "matrix", "interrupted", "server", "settings", "empty"} {
		all[name] = fixtures[name]()
	}
	return all
}

// TestScreenFits checks that the first screen is never longer or wider than the terminal, and
// always has the answer and the commands that show the rest.
func TestScreenFits(t *testing.T) { screenFits(t, []int{40, 41, 80, 200}, []int{16, 22, 40}) }

// TestSoakScreenFits is TestScreenFits with more sizes.
func TestSoakScreenFits(t *testing.T) {
	screenFits(t, []int{40, 41, 60, 80, 120, 200}, []int{16, 22, 30, 40})
}

func screenFits(t *testing.T, widths, heights []int) {
	t.Helper()
	for name, run := range screens() {
		a := stats.Analyze(run, "native")
		for _, width := range widths {
			for _, lines := range heights {
				for _, ascii := range []bool{false, true} {
					if ascii && width != 80 {
						continue // one width is enough, because ASCII changes the width of no character
					}
					var b strings.Builder
					opts := document.Options{Width: width, Lines: lines, ASCII: ascii, Hints: document.Hints{Rest: rest}}
					if err := report.Write(&b, "table", a, report.Options{Options: opts}); err != nil {
						t.Fatal(err)
					}
					got := b.String()
					if n := strings.Count(got, "\n"); n > lines {
						t.Errorf("%s: %d lines, on a terminal of %d lines and %d columns:\n%s", name, n, lines, width, got)
					}
					for line := range strings.Lines(got) {
						if n := text.StringWidth(strings.TrimSuffix(line, "\n")); n > width {
							t.Errorf("%s: %d columns, want at most %d: %q", name, n, width, line)
						}
					}
					if ascii && strings.ContainsFunc(got, func(r rune) bool { return r > '~' }) {
						t.Errorf("%s: not ASCII:\n%s", name, got)
					}
					if !strings.Contains(got, "sqlite3perf show") {
						t.Errorf("%s: does not say where the rest is:\n%s", name, got)
					}
				}
			}
		}
	}
}

func TestScreenGolden(t *testing.T) {
	runs := screens()
	for _, tc := range []struct {
		name, run string
		opts      document.Options
	}{
		{"full-40", "full", document.Options{Width: 40, Lines: 40}},
		{"full-80", "full", document.Options{Width: 80, Lines: 40}},
		{"full-80x24", "full", document.Options{Width: 80, Lines: 22}},
		{"full-120", "full", document.Options{Width: 120, Lines: 40}},
		{"full-color", "full", document.Options{Width: 80, Lines: 40, Color: true}},
		{"full-ascii", "full", document.Options{Width: 80, Lines: 40, ASCII: true}},
		{"large-80", "large", document.Options{Width: 80, Lines: 40}},
		{"large-200", "large", document.Options{Width: 200, Lines: 40}},
		{"settings", "settings", document.Options{Width: 80, Lines: 40}},
		{"many", "many", document.Options{Width: 80, Lines: 40}},
		{"alone", "alone", document.Options{Width: 80, Lines: 40}},
		{"nofloor", "nofloor", document.Options{Width: 80, Lines: 40}},
		{"interrupted", "interrupted", document.Options{Width: 80, Lines: 40}},
		{"refused", "refused", document.Options{Width: 80, Lines: 40}},
		{"empty", "empty", document.Options{Width: 80, Lines: 40}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			golden(t, "screen-"+tc.name+".txt", screen(t, runs[tc.run], tc.opts))
		})
	}
}

// TestScreenOfStudy checks that the first screen of a study begins with the claims.
func TestScreenOfStudy(t *testing.T) {
	study := &report.Study{Name: "old", Claims: []report.Claim{
		{Claim: "mattn is faster", Verdict: report.Holds}, {Claim: "modernc is much slower, which is said at some length", Verdict: report.DoesNotHold},
		{Claim: "all are alike", Verdict: report.CannotBeTold}}}
	if out := screen(t, addedRun(), report.Options{Options: document.Options{Width: 80, Lines: 40}, Study: study}); !strings.Contains(out, "\nown cost ") || strings.Contains(out, "*") {
		t.Errorf("want the warning, and no marks on a screen of claims:\n%s", out)
	}
	golden(t, "screen-study.txt", screen(t, fullRun(), report.Options{Options: document.Options{Width: 80, Lines: 40}, Study: study}))
	for range 100 {
		study.Claims = append(study.Claims, study.Claims[1])
	}
	for _, width := range []int{40, 80} {
		if n := strings.Count(screen(t, fullRun(), report.Options{Options: document.Options{Width: width, Lines: 40}, Study: study}), "\n"); n > 40 {
			t.Errorf("103 claims take %d lines of %d columns, want at most 40 lines", n, width)
		}
	}
}

// TestTiedAreNamed checks that the first screen names the rows that are tied with the best row of
// a cell. If there is no room, it must give their number.
func TestTiedAreNamed(t *testing.T) {
	run := newRun(9)
	for i := range 12 {
		add(run, fmt.Sprintf("workload-%d", i), nil, nil, []string{"native", "mattn", "tailscale", "modernc"}, bulk("insert", 10_000_000, 10, 10))
	}
	named := regexp.MustCompile(`workload-3 ins\S* +(mattn, tailscale!|tailscale!, mattn) `)
	short := regexp.MustCompile(`\(\+2: and 2 more, tied with it\)(.|\n)*workload-3 ins\S* +(mattn|tailscale!) \+1 `)
	for _, tc := range []struct {
		width, lines int
		want, lacks  *regexp.Regexp
	}{{200, 60, named, short}, {100, 60, named, short}, {80, 24, short, named}} {
		if out := screen(t, run, document.Options{Width: tc.width, Lines: tc.lines}); !tc.want.MatchString(out) || tc.lacks.MatchString(out) {
			t.Errorf("%d × %d: want %s, and not %s:\n%s", tc.width, tc.lines, tc.want, tc.lacks, out)
		}
	}
}

// TestScreenIsPrintable checks that control characters in names do not reach the terminal.
func TestScreenIsPrintable(t *testing.T) {
	run := insertRun(9, "native", "mattn", "modernc")
	run.Cases[1].Driver, run.Cases[1].Workload = "\x1b[2Jm", "mine\x1b]0;title\a"
	run.Cases[2].Driver = strings.Repeat("x", 1000) + "\u202e"
	for _, lines := range []int{0, 40} {
		got := screen(t, run, document.Options{Width: 80, Lines: lines})
		if strings.ContainsAny(got, "\x1b\a\u202e") {
			t.Errorf("%q", got)
		}
		if n := strings.Count(got, "\n"); lines > 0 && n > lines {
			t.Errorf("%d lines:\n%s", n, got)
		}
	}
}

// TestScreenSaysRisksInFull checks that the text of a risk is never cut, even if other lines have
// no room.
func TestScreenSaysRisksInFull(t *testing.T) {
	run := settingsOfMany()
	for _, width := range []int{60, 80, 100} {
		out := strings.Join(strings.Fields(screen(t, run, document.Options{Width: width, Lines: 40})), " ")
		if !strings.Contains(out, "the database can be corrupt if the operating system crashes or the power fails") || strings.Contains(out, "precision") {
			t.Errorf("%d columns:\n%s", width, out)
		}
		if _, risks, _ := strings.Cut(out, "risk "); strings.Contains(strings.Split(risks, "settings they")[0], "…") {
			t.Errorf("%d columns: a risk is cut:\n%s", width, out)
		}
	}
}

// TestUnsupported checks that a phase that a worker does not support is not called a failure. If
// tables are missing from the summary for that reason, they must be counted by workload.
func TestUnsupported(t *testing.T) {
	run := insertRun(9, "native", "mattn", "crawshaw")
	add(run, "simple", nil, nil, []string{"native", "mattn", "crawshaw"}, bulk("insert", 10_000_000, 10, 10))
	server := newRun(9)
	add(server, "server", nil, nil, []string{"native", "mattn", "crawshaw"}, bulk("read", 10_000_000, 10, 10), bulk("write", 10_000_000, 10, 10))
	for i := range ended(server, result.Failed, "unsupported", "this worker serves no HTTP", "crawshaw").Trials {
		server.Trials[i].Case += len(run.Cases)
	}
	for _, c := range server.Cases {
		c.ID += len(run.Cases)
		server.Cases[c.ID-len(run.Cases)-1] = c
	}
	run.Cases, run.Trials = append(run.Cases, server.Cases...), append(run.Trials, server.Trials...)
	out := screen(t, run, document.Options{Width: 120, Lines: 40})
	for _, want := range []string{"unsupported   crawshaw on server: this worker serves no HTTP", "summary       leaves out 2 cells of server (no figures of crawshaw), for all drivers"} {
		if !strings.Contains(out, want) {
			t.Errorf("want %q:\n%s", want, out)
		}
	}
}

// TestLowScreenNamed checks that a screen with room for a few bars shows the bars of the drivers
// that the answer names, although other drivers are faster.
func TestLowScreenNamed(t *testing.T) {
	run := insertRun(9, "native", "crawshaw", "eatonphil", "bvinc", "mattn", "tailscale", "modernc")
	got := screen(t, run, document.Options{Width: 80, Lines: 16})
	for _, want := range []string{`(?m)^ +native +█`, `(?m)^ *\d mattn v\S+ +█.* tied with tailscale!$`, `(?m)^ *\d modernc v\S+ +█`} {
		if !regexp.MustCompile(want).MatchString(got) {
			t.Errorf("want %s:\n%s", want, got)
		}
	}
	if strings.Contains(got, " tailscale ") {
		t.Errorf("all rows fit on the screen, so the test checks nothing:\n%s", got)
	}
}
