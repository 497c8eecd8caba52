package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/sqlite3perf/sqlite3perf/internal/lab"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// terminal runs the command in this process as if on a terminal.
func terminal(t *testing.T, args ...string) (stdout string) {
	t.Helper()
	var out, messages bytes.Buffer
	env := &environment{stdout: &out, stderr: &messages, stdoutWidth: 100, stderrWidth: 100, now: time.Now,
		catch: func() <-chan os.Signal { return nil }}
	if code := execute(t.Context(), env, args); code != exitOK {
		t.Fatalf("exit status %d: %s", code, messages.String())
	}
	return out.String()
}

// TestStepFits checks that a step is cut before the terminal's last column, so that it takes one line.
func TestStepFits(t *testing.T) {
	var out bytes.Buffer
	now := time.Now()
	env := &environment{rawErr: &out, stderrWidth: 20, now: func() time.Time { now = now.Add(time.Second); return now }}
	(&fromOptions{}).teller(env)(strings.Repeat("x", 30))
	if want := "\r\x1b[K" + strings.Repeat("x", 18) + "…"; out.String() != want {
		t.Errorf("got %q, want %q", out.String(), want)
	}
}

func TestColour(t *testing.T) {
	here := t.TempDir()
	t.Setenv("XDG_CONFIG_HOME", here)
	t.Setenv("NO_COLOR", "")
	store := filepath.Join(here, "results.db")
	worker := here
	if err := link("good", worker); err != nil {
		t.Fatal(err)
	}
	terminal(t, "run", "--drivers", filepath.Join(worker, "good"), "--workloads", "testdata/tiny.yaml", "--rounds", "6", "--store", store, "--dir", here)
	const escape = "\x1b["
	if out := terminal(t, "show", "last", "--store", store); !strings.Contains(out, escape) {
		t.Errorf("no colour on a terminal:\n%s", out)
	}
	if out := terminal(t, "show", "last", "--store", store, "--no-color"); strings.Contains(out, escape) || !strings.Contains(out, "tiny") {
		t.Errorf("--no-color:\n%q", out)
	}
	file := filepath.Join(here, "out.txt")
	if out := terminal(t, "show", "last", "--store", store, "-o", file); out != "" {
		t.Errorf("-o: %q on standard output", out)
	}
	if out := terminal(t, "show", "last", "--store", store, "--format", "markdown"); strings.Contains(out, escape) {
		t.Errorf("colour in Markdown:\n%q", out)
	}
	t.Setenv("NO_COLOR", "1")
	if out := terminal(t, "show", "last", "--store", store); strings.Contains(out, escape) {
		t.Errorf("NO_COLOR:\n%q", out)
	}
}

// TestFirstScreen checks that a terminal shows only the answer and the command that prints the
// rest, and that --full, files and other formats have everything.
func TestFirstScreen(t *testing.T) {
	here := t.TempDir()
	t.Setenv("XDG_CONFIG_HOME", here)
	t.Setenv("NO_COLOR", "1")
	store := filepath.Join(here, "results.db")
	if err := link("good", here); err != nil {
		t.Fatal(err)
	}
	const whole = "Drivers\n"
	more := "sqlite3perf show 1 --full --store " + store
	short := terminal(t, "run", "--drivers", filepath.Join(here, "good"), "--workloads", "testdata/tiny.yaml", "--rounds", "6", "--store", store, "--dir", here)
	for _, out := range []string{short, terminal(t, "show", "last", "--store", store)} {
		if strings.Contains(out, whole) || !strings.Contains(out, more) || strings.Count(out, "\n") > 40 {
			t.Errorf("the first screen:\n%s", out)
		}
	}
	for _, args := range [][]string{{"--full"}, {"--format", "markdown"}, {"--format", "csv"}, {"--format", "json"}} {
		if out := terminal(t, append([]string{"show", "last", "--store", store}, args...)...); strings.Contains(out, more) || strings.Count(out, "\n") < 15 {
			t.Errorf("%s:\n%s", args, out)
		}
	}
	file := filepath.Join(here, "out.txt")
	terminal(t, "show", "last", "--store", store, "-o", file)
	if out, err := os.ReadFile(file); err != nil || !strings.Contains(string(out), whole) {
		t.Errorf("-o: %v\n%s", err, out)
	}
}

// TestTuneOnTerminal checks that a terminal shows only as much of a search for settings as fits,
// and the command that prints the rest.
func TestTuneOnTerminal(t *testing.T) {
	here := t.TempDir()
	t.Setenv("XDG_CONFIG_HOME", here)
	t.Setenv("NO_COLOR", "1")
	if err := link("good", here); err != nil {
		t.Fatal(err)
	}
	for _, full := range []bool{false, true} {
		var out, messages bytes.Buffer
		env := &environment{stdout: &out, stderr: &messages, stdoutWidth: 40, stdoutHeight: 18, stderrWidth: 40, now: time.Now,
			catch: func() <-chan os.Signal { return nil }}
		args := []string{"tune", "--drivers", filepath.Join(here, "good"), "--workloads", "testdata/tiny.yaml", "--settings", "temp_store", "--time", "60s",
			"--store", filepath.Join(here, "results.db"), "--dir", here, fmt.Sprintf("--full=%t", full)}
		if code := execute(t.Context(), env, args); code != exitOK {
			t.Fatalf("exit status %d: %s", code, messages.String())
		}
		words := strings.Join(strings.Fields(out.String()), " ")
		if short := strings.Count(out.String(), "\n") <= 16 && strings.Contains(words, "not shown") && strings.Contains(words, " --full"); short == full {
			t.Errorf("--full=%t:\n%s", full, out.String())
		}
		again := terminal(t, "show", "last", "--full", "--store", filepath.Join(here, "results.db"))
		if beginning := strings.Join(strings.Fields(out.String()), " ")[:20]; !strings.HasPrefix(strings.Join(strings.Fields(again), " "), beginning) {
			t.Errorf("shown again:\n%s", again)
		}
	}
}

func TestScreenLines(t *testing.T) {
	for height, want := range map[int]int{0: 40, 1: 1, 24: 22, 42: 40, 43: 40, 200: 40} {
		if got := screenLines(height); got != want {
			t.Errorf("%d lines on a terminal of %d, want %d", got, height, want)
		}
	}
}

func TestASCIILocale(t *testing.T) {
	for _, tc := range []struct {
		env  map[string]string
		want bool
	}{
		{nil, false},
		{map[string]string{"LANG": "de_DE.UTF-8"}, false},
		{map[string]string{"LANG": "C.utf8"}, false},
		{map[string]string{"LANG": "C"}, true},
		{map[string]string{"LANG": "en_US.UTF-8", "LC_CTYPE": "en_US.ISO-8859-1"}, true},
		{map[string]string{"LC_ALL": "en_US.UTF-8", "LC_CTYPE": "C"}, false},
	} {
		if got := asciiLocale(func(name string) string { return tc.env[name] }); got != tc.want {
			t.Errorf("%v: %t", tc.env, got)
		}
	}
}

// shown returns the output of progress for two rounds. One worker cannot be built, and one trial
// fails.
func shown(t *testing.T, width int, quiet bool) string {
	t.Helper()
	var out bytes.Buffer
	now := time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
	p := newProgress(&environment{stderr: &out, rawErr: &out, stderrWidth: width, now: func() time.Time { return now }}, quiet)
	c := &lab.Case{}
	c.Driver, c.Workload = "mattn", "simple"
	p.Building(1, 2, "mattn")
	p.Built(1, 2, "mattn", nil)
	p.Building(2, 2, "modernc")
	p.Built(2, 2, "modernc", errors.New("no network"))
	ok := &result.Trial{Status: result.OK, TookNS: int64(time.Second)}
	for i, left := range []time.Duration{0, 30 * time.Second, 20 * time.Second, 0} {
		now = now.Add(time.Second)
		trial := ok
		if i == 2 {
			trial = &result.Trial{Status: result.Failed, Reason: &protocol.Reason{Message: "it fell"}}
		}
		p.Trial(i/2+1, 2, i%2+1, 2, left, c, trial)
	}
	p.finish()
	return out.String()
}

func TestProgress(t *testing.T) {
	if got := shown(t, 0, true); got != "" {
		t.Errorf("quiet: %q", got)
	}
	if got := shown(t, 80, true); got != "" {
		t.Errorf("quiet on a terminal: %q", got)
	}
	const want = `building the worker for mattn (1 of 2)
building the worker for modernc (2 of 2)
modernc is unavailable: no network
round 1 of 2: 2 trials, 2s so far, about 30s left
mattn on simple: failed: it fell
round 2 of 2: 2 trials, 4s so far
`
	if got := shown(t, 0, false); got != want {
		t.Errorf("plain lines:\n%s", got)
	}
	bar := shown(t, 80, false)
	for _, part := range []string{
		"building the worker for mattn (1 of 2)\n", "modernc is unavailable: no network\n", "mattn on simple: failed: it fell\n",
		"round 1 of 2, trial 1 of 2, estimating the time left", "round 1 of 2, trial 2 of 2, about 30s left", "round 2 of 2, trial 2 of 2",
	} {
		if !strings.Contains(bar, part) {
			t.Errorf("no %q beside the bar:\n%q", part, bar)
		}
	}
}

// TestProgressOfManyRounds checks rounds of one second each. There must be a line every five
// seconds, and one for the last round.
func TestProgressOfManyRounds(t *testing.T) {
	var out bytes.Buffer
	now := time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
	p := newProgress(&environment{stderr: &out, now: func() time.Time { return now }}, false)
	for round := 1; round <= 13; round++ {
		now = now.Add(time.Second)
		p.Trial(round, 13, 1, 1, time.Minute, &lab.Case{}, &result.Trial{Status: result.OK, TookNS: int64(time.Second)})
	}
	got := regexp.MustCompile(`round \d+`).FindAllString(out.String(), -1)
	if diff := cmp.Diff([]string{"round 1", "round 6", "round 11", "round 13"}, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

// TestProgressOfComputing checks that long computing before the first trial is shown
// every five seconds, and short computing is not shown.
func TestProgressOfComputing(t *testing.T) {
	var out bytes.Buffer
	now := time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
	p := newProgress(&environment{stderr: &out, now: func() time.Time { return now }}, false)
	for done := range int64(10) {
		p.Computing("small", done, 10)
		p.Computing("large", done*1_000_000_000, 10_000_000_000)
		now = now.Add(2 * time.Second)
	}
	const want = `computing what large must return: 0 of 10000000000 rows
computing what large must return: 3000000000 of 10000000000 rows
computing what large must return: 6000000000 of 10000000000 rows
computing what large must return: 9000000000 of 10000000000 rows
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

// TestProgressOfMerge checks the progress of a merge. A terminal shows a bar, and other outputs
// get a line every five seconds. A short merge prints nothing.
func TestProgressOfMerge(t *testing.T) {
	for _, x := range []struct {
		width int
		step  time.Duration // between two runs
		want  []string
	}{
		{0, time.Second, []string{"merged 3 of 10 runs of pi.db\n", "merged 8 of 10 runs of pi.db\n"}},
		{0, time.Millisecond, nil},
		{80, time.Millisecond, []string{"reading pi.db", "merged 0 of 10 runs of pi.db", "merged 9 of 10 runs of pi.db"}},
	} {
		var out bytes.Buffer
		now := time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
		p := newProgress(&environment{stderr: &out, rawErr: &out, stderrWidth: x.width, now: func() time.Time { return now }}, false)
		p.told = now
		for i := range 12 { // two steps of reading, then ten runs
			p.Merging("pi.db", max(0, i-2), min(i/2, 1)*10)
			now = now.Add(x.step)
		}
		p.finish()
		for _, part := range x.want {
			if !strings.Contains(out.String(), part) {
				t.Errorf("no %q on %d columns:\n%q", part, x.width, out.String())
			}
		}
		if lines := strings.Count(out.String(), "\n"); x.width == 0 && lines != len(x.want) {
			t.Errorf("%d lines, want %d:\n%s", lines, len(x.want), out.String())
		}
	}
}

// TestProgressFitsTheTerminal checks that no line is wider than the terminal. A wider line would
// remain when the next one is drawn.
func TestProgressFitsTheTerminal(t *testing.T) {
	escapes := regexp.MustCompile(`\x1b\[\d*[A-Z]`)
	for _, width := range []int{20, 40, 60, 80, 100} {
		var out bytes.Buffer
		p := newProgress(&environment{stderr: &out, rawErr: &out, stderrWidth: width, now: time.Now}, false)
		for i := range 100 {
			p.Trial(1000, 1000, i+1, 100, 10*time.Hour+time.Duration(i)*time.Second, &lab.Case{}, &result.Trial{Status: result.OK})
		}
		for line := range strings.FieldsFuncSeq(out.String(), func(r rune) bool { return r == '\r' || r == '\n' }) {
			if n := utf8.RuneCountInString(escapes.ReplaceAllString(line, "")); n >= width {
				t.Errorf("%d columns on a terminal of %d: %q", n, width, line)
				break
			}
		}
	}
}

// TestProgressOfRace checks the message before a race. It must say that slower cases are left
// out, and not that cases may be settled.
func TestProgressOfRace(t *testing.T) {
	var out bytes.Buffer
	p := newProgress(&environment{stderr: &out, now: time.Now}, false)
	plan := lab.Plan{Cases: 10, Phases: 10, Trials: 80, Schedule: lab.Schedule{Rounds: 8, Settled: func(*result.Run, int) ([]int, bool) { return nil, false }}}
	p.Planned(plan)
	plan.Takes = 12 * time.Second
	p.Planned(plan)
	plan.Schedule.Rounds, plan.Schedule.Time = 0, time.Minute
	plan.Takes = 17 * time.Second
	p.Planned(plan)
	plan.Takes = 20 * time.Second
	p.Planned(plan)
	plan.Takes = 60 * time.Second
	p.Planned(plan)
	const want = `10 cases (each a workload on a driver, with settings), 10 timed phases in all: at most 80 trials in 8 rounds
estimate: 80 trials in 12s at most: what is slower is left out on the way
estimate now: 80 trials in 20s, unless all cases are settled before
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

// TestEstimateOnTerminal checks that on a terminal an estimate is part of the progress bar, and that
// no line of it stays.
func TestEstimateOnTerminal(t *testing.T) {
	var out bytes.Buffer
	p := newProgress(&environment{stderr: &out, rawErr: &out, stderrWidth: 100, now: time.Now}, false)
	trial := func() {
		p.Trial(2, 6, 3, 30, 2*time.Minute, &lab.Case{}, &result.Trial{Status: result.OK})
	}
	for _, takes := range []time.Duration{4 * time.Minute, 8 * time.Minute} {
		p.Planned(lab.Plan{Cases: 10, Phases: 10, Trials: 60, Schedule: lab.Schedule{Rounds: 6}, Takes: takes})
		if strings.Contains(out.String(), "\n") {
			t.Errorf("a line stays: %q", out.String())
		}
		trial()
		if want := "trial 3 of 30, about 2m0s left of " + roughly(takes); !strings.Contains(out.String(), want) {
			t.Errorf("no %q: %q", want, out.String())
		}
		out.Reset()
		p.bar = newProgress(&environment{stderr: &out, rawErr: &out, stderrWidth: 100, now: time.Now}, false).bar // draws at once
	}
}

// TestProgressOfTooLittleTime checks a run whose first six rounds take longer than its time. It
// must say so before it begins, if phases of fixed duration show it, and once more when it is
// known how long trials take.
func TestProgressOfTooLittleTime(t *testing.T) {
	var out bytes.Buffer
	p := newProgress(&environment{stderr: &out, now: time.Now}, false)
	plan := lab.Plan{Cases: 10, Phases: 10, Trials: 60, Schedule: lab.Schedule{Time: 15 * time.Second}, Least: 30 * time.Second}
	p.Planned(plan)
	plan.Takes = 40 * time.Second
	p.Planned(plan)
	plan.Schedule.Time, plan.Takes = time.Minute, 0
	p.Planned(plan)
	plan.Takes = 61 * time.Second
	p.Planned(plan)
	const want = `10 cases (each a workload on a driver, with settings), 10 timed phases in all: at least 60 trials in 6 rounds, then more until 15s are over; --time 15s is not enough for them: they take at least 30s
estimate: 60 trials in 40s: longer than --time 15s, because 6 rounds are run in any case
10 cases (each a workload on a driver, with settings), 10 timed phases in all: at least 60 trials in 6 rounds, then more until 1m0s are over, at least 30s
estimate now: 60 trials in 1m1s: longer than --time 1m0s, because 6 rounds are run in any case
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

// TestProgressOfLittle checks a round of one trial that took almost no time.
func TestProgressOfLittle(t *testing.T) {
	var out bytes.Buffer
	now := time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
	p := newProgress(&environment{stderr: &out, now: func() time.Time { return now }}, false)
	p.Trial(1, 6, 1, 1, 20*time.Microsecond, &lab.Case{}, &result.Trial{Status: result.OK, TookNS: 31_400_000})
	if got, want := out.String(), "round 1 of 6: 1 trial, 31ms so far, about 1ms left\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// watched returns the output of a watcher for a job of 200 rows.
func watched(width int, quiet bool) string {
	var out bytes.Buffer
	w := newWatcher(&environment{stderr: &out, rawErr: &out, stderrWidth: width}, quiet, 200, func(p *protocol.Progress) string {
		return fmt.Sprintf("%d/200 rows written in %s", p.Rows, time.Duration(p.ElapsedNS))
	})
	w.progress(&protocol.Progress{Rows: 100, ElapsedNS: int64(time.Second)})
	w.finish()
	return out.String()
}

func TestWatcher(t *testing.T) {
	if got := watched(100, true); got != "" {
		t.Errorf("quiet: %q", got)
	}
	if got, want := watched(0, false), "100/200 rows written in 1s\n"; got != want {
		t.Errorf("plain: %q, want %q", got, want)
	}
	if got := watched(100, false); !strings.Contains(got, " 50% |") || !strings.Contains(got, "(100/200") || strings.Contains(got, "written in") || !strings.HasSuffix(got, "\x1b[2K\r") {
		t.Errorf("on a terminal: %q", got)
	}
}

// TestDriversOnTerminal checks that the list of drivers fits on a terminal, and that drivers NAME
// prints there what the list leaves out.
func TestDriversOnTerminal(t *testing.T) {
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	drivers := func(width, height int, args ...string) string {
		var out, messages bytes.Buffer
		env := &environment{stdout: &out, stderr: &messages, stdoutWidth: width, stdoutHeight: height, now: time.Now}
		if code := execute(t.Context(), env, append([]string{"drivers", "--no-color"}, args...)); code != exitOK {
			t.Fatalf("exit status %d: %s", code, messages.String())
		}
		return out.String()
	}
	const limit = "context=commit: database/sql's Commit takes no context"
	for _, size := range [][2]int{{80, 24}, {100, 40}} {
		got := drivers(size[0], size[1])
		for line := range strings.Lines(got) {
			if n := utf8.RuneCountInString(line) - 1; n > size[0] {
				t.Errorf("%d columns of %d: %s", n, size[0], line)
			}
		}
		if n := strings.Count(got, "\n"); n >= size[1] || strings.Contains(got, limit) {
			t.Errorf("%d lines of %d:\n%s", n, size[1], got)
		}
		for _, want := range []string{"\nmattn ", "\nzombiezen ", "sqlite3perf drivers NAME\n", "sqlite3perf drivers --full\n", " INTERFACE "} {
			if !strings.Contains(got, want) {
				t.Errorf("no %q:\n%s", want, got)
			}
		}
	}
	if got := drivers(80, 24, "mattn"); !strings.Contains(got, limit) || strings.Contains(got, "modernc") {
		t.Errorf("drivers mattn:\n%s", got)
	}
	if got := drivers(80, 24, "--full"); !strings.Contains(got, limit) || !strings.Contains(got, "\nzombiezen ") {
		t.Errorf("drivers --full:\n%s", got)
	}
	for _, lines := range []int{24, 40} { // there is no room for the other drivers, or only for their names
		got := drivers(80, lines, "mattn:GOGC=400")
		if !strings.Contains(got, "\nmattn:GOGC=400 (") || strings.Contains(got, "\nmodernc ") != (lines == 40) || strings.Count(got, "\n") >= lines {
			t.Errorf("drivers mattn:GOGC=400 in %d lines:\n%s", lines, got)
		}
	}
}
