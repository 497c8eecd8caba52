package report_test

import (
	"strings"
	"testing"

	"github.com/sqlite3perf/sqlite3perf/report"
	"github.com/sqlite3perf/sqlite3perf/worker/result"
)

// rounds is the line of a report that says how many rounds there were.
func rounds(t *testing.T, run *result.Run) string {
	t.Helper()
	for line := range strings.Lines(write(t, "table", run, report.Options{Floor: "native", Width: 300})) {
		if s, ok := strings.CutPrefix(line, "rounds "); ok {
			return strings.TrimSpace(s)
		}
	}
	t.Fatal("no line of rounds")
	return ""
}

// killed is a run of three cases of which only the trials up to the last are
// stored: python's was never to be had, and bvinc's failed in the third round.
func killed(last int) *result.Run {
	run := newRun(8)
	add(run, "simple", nil, nil, []string{"native", "mattn", "bvinc", "python"}, bulk("insert", 1_000_000, 1, 1))
	var trials []result.Trial
	for round := 0; round <= 8; round++ {
		for _, t := range run.Trials {
			c := run.Cases[t.Case-1].Driver
			switch {
			case c == "python":
				t.Round = 0
			case c == "bvinc" && t.Round == 3:
				t.Status, t.Samples = result.Failed, nil
			case c == "bvinc" && t.Round > 3:
				continue
			}
			if t.Round == round {
				trials = append(trials, t)
			}
		}
	}
	run.Trials = trials[:last+1] // python's has no round
	run.Rounds, run.Stopped = 0, ""
	return run
}

func TestRoundsOfAKilledRun(t *testing.T) {
	const why = ": the run has not ended, or was killed"
	for last, want := range map[int]string{
		0:  "0 complete, 0 trials" + why,
		1:  "0 complete, 1 trial" + why,
		2:  "0 complete, 2 trials" + why,
		3:  "1 complete, 3 trials" + why,
		8:  "2 complete, 8 trials" + why,
		9:  "3 complete, 9 trials" + why,
		11: "4 complete, 11 trials" + why,
		14: "5 complete, 14 trials" + why,
	} {
		if got := rounds(t, killed(last)); !strings.HasPrefix(got, want) {
			t.Errorf("after %d trials: %q, want %q", last, got, want)
		}
	}
}

// What has too few samples for an interval has no wide one.
func TestIntervalsAreCounted(t *testing.T) {
	for last, want := range map[int]string{
		13: "; no interval, since each takes 6 samples",
		14: "; 1 of 1 interval wider than ±0.1%",
		15: "; 2 of 2 intervals wider than ±0.1%",
	} {
		run := killed(last)
		run.Precision = 0.001
		if got := rounds(t, run); !strings.HasSuffix(got, want) {
			t.Errorf("after %d trials: %q, want %q", last, got, want)
		}
	}
}

func TestNothingLeft(t *testing.T) {
	run := killed(9)
	run.Stopped, run.Rounds = "nothing-left", 3
	if got, want := rounds(t, run), "3 complete: no case was left that could be measured"; !strings.HasPrefix(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
