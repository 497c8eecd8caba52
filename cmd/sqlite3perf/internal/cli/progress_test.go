package cli

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/lab"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// shown returns the output of progress for two rounds. One worker cannot be built, and one trial
// fails.
func shown(t *testing.T, width int, quiet bool) string {
	t.Helper()
	var out bytes.Buffer
	now := time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
	p := NewProgress(&Environment{Stderr: &out, RawErr: &out, StderrWidth: width, Now: func() time.Time { return now }}, quiet)
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
	p.Finish()
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

// TestProgressOfManyRounds checks the progress of rounds of one second each. There must be a line
// every five seconds, and one for the last round.
func TestProgressOfManyRounds(t *testing.T) {
	var out bytes.Buffer
	now := time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
	p := NewProgress(&Environment{Stderr: &out, Now: func() time.Time { return now }}, false)
	for round := 1; round <= 13; round++ {
		now = now.Add(time.Second)
		p.Trial(round, 13, 1, 1, time.Minute, &lab.Case{}, &result.Trial{Status: result.OK, TookNS: int64(time.Second)})
	}
	got := regexp.MustCompile(`round \d+`).FindAllString(out.String(), -1)
	if diff := cmp.Diff([]string{"round 1", "round 6", "round 11", "round 13"}, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

// TestProgressOfLeastRounds checks the progress of a run without a fixed number of rounds. It must name the least
// number of rounds, because fewer rounds give no answer. A long message must be broken between words.
func TestProgressOfLeastRounds(t *testing.T) {
	for width, wants := range map[int][]string{
		120: {"round 5 of at least 6, trial 70 of 80, about 3m45s left ", "round 7, trial 70 of 80", "eight ch\neight ch"},
		80:  {"round 5 of 6+, trial 70 of 80, about 3m45s left ", "round 7, trial 70 of 80", "eight ch\neight ch"},
	} {
		var out bytes.Buffer
		p := NewProgress(&Environment{Stderr: &out, RawErr: &out, StderrWidth: width, Now: time.Now}, false)
		for _, round := range []int{5, 7} {
			p.Trial(round, 0, 70, 80, 225*time.Second, &lab.Case{}, &result.Trial{Status: result.OK})
		}
		p.Say("%s", strings.Repeat("eight ch ", 20))
		p.Finish()
		for _, want := range wants {
			if !strings.Contains(out.String(), want) {
				t.Errorf("%d columns: no %q:\n%q", width, want, out.String())
			}
		}
	}
}

// TestProgressOfComputing checks that long computing before the first trial is shown
// every five seconds, and short computing is not shown.
func TestProgressOfComputing(t *testing.T) {
	var out bytes.Buffer
	now := time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
	p := NewProgress(&Environment{Stderr: &out, Now: func() time.Time { return now }}, false)
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
		step  time.Duration // time between two runs
		want  []string
	}{
		{0, time.Second, []string{"merged 3 of 10 runs of pi.db\n", "merged 8 of 10 runs of pi.db\n"}},
		{0, time.Millisecond, nil},
		{80, time.Millisecond, []string{"reading pi.db", "merged 0 of 10 runs of pi.db", "merged 9 of 10 runs of pi.db"}},
	} {
		var out bytes.Buffer
		now := time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
		p := NewProgress(&Environment{Stderr: &out, RawErr: &out, StderrWidth: x.width, Now: func() time.Time { return now }}, false)
		p.Told = now
		for i := range 12 { // two calls while the store is read, then ten runs
			p.Merging("pi.db", max(0, i-2), min(i/2, 1)*10)
			now = now.Add(x.step)
		}
		p.Finish()
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

// TestProgressFitsTheTerminal checks that no line is wider than the terminal. A part of a wider line
// would remain when the next line is drawn.
func TestProgressFitsTheTerminal(t *testing.T) {
	escapes := regexp.MustCompile(`\x1b\[\d*[A-Z]`)
	for _, width := range []int{20, 40, 60, 80, 100} {
		var out bytes.Buffer
		p := NewProgress(&Environment{Stderr: &out, RawErr: &out, StderrWidth: width, Now: time.Now}, false)
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

// TestProgressOfRace checks the messages before a run that leaves out slower cases before its last
// round, and before a run that ends early if its cases are settled (precise enough). The message
// before the first kind of run must not mention settling.
func TestProgressOfRace(t *testing.T) {
	var out bytes.Buffer
	p := NewProgress(&Environment{Stderr: &out, Now: time.Now}, false)
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
estimate: 80 trials in 12s at most: slower cases are left out during the run
estimate now: 80 trials in 20s, unless all cases are settled before
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

// TestEstimateOnTerminal checks that on a terminal an estimate is part of the progress bar, and is not
// printed as a line.
func TestEstimateOnTerminal(t *testing.T) {
	var out bytes.Buffer
	p := NewProgress(&Environment{Stderr: &out, RawErr: &out, StderrWidth: 100, Now: time.Now}, false)
	trial := func() {
		p.Trial(2, 6, 3, 30, 2*time.Minute, &lab.Case{}, &result.Trial{Status: result.OK})
	}
	for _, takes := range []time.Duration{4 * time.Minute, 8 * time.Minute} {
		p.Planned(lab.Plan{Cases: 10, Phases: 10, Trials: 60, Schedule: lab.Schedule{Rounds: 6}, Takes: takes})
		if strings.Contains(out.String(), "\n") {
			t.Errorf("a line was printed: %q", out.String())
		}
		trial()
		if want := "trial 3 of 30, about 2m0s left of " + document.Roughly(takes); !strings.Contains(out.String(), want) {
			t.Errorf("no %q: %q", want, out.String())
		}
		out.Reset()
		p.bar = NewProgress(&Environment{Stderr: &out, RawErr: &out, StderrWidth: 100, Now: time.Now}, false).bar // a new bar draws immediately
	}
}

// TestProgressOfTooLittleTime checks a run whose first six rounds take longer than its time. If phases
// of fixed duration show that, the progress must say so before the run begins. It must also say so
// when the duration of trials is known.
func TestProgressOfTooLittleTime(t *testing.T) {
	var out bytes.Buffer
	p := NewProgress(&Environment{Stderr: &out, Now: time.Now}, false)
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

// TestProgressOfLittle checks the progress of a round of one trial that took almost no time: no
// time may be shown as 0.
func TestProgressOfLittle(t *testing.T) {
	var out bytes.Buffer
	now := time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
	p := NewProgress(&Environment{Stderr: &out, Now: func() time.Time { return now }}, false)
	p.Trial(1, 6, 1, 1, 20*time.Microsecond, &lab.Case{}, &result.Trial{Status: result.OK, TookNS: 31_400_000})
	if got, want := out.String(), "round 1 of 6: 1 trial, 31ms so far, about 1ms left\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// watched returns the output of a watcher for a job of 200 rows.
func watched(width int, quiet bool) string {
	var out bytes.Buffer
	w := NewWatcher(&Environment{Stderr: &out, RawErr: &out, StderrWidth: width}, quiet, 200, func(p *protocol.Progress) string {
		return fmt.Sprintf("%d/200 rows written in %s", p.Rows, time.Duration(p.ElapsedNS))
	})
	w.Progress(&protocol.Progress{Rows: 100, ElapsedNS: int64(time.Second)})
	w.Finish()
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
