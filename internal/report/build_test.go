package report_test

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/workload"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// killed returns a run that was killed. Only its first trials are stored, up to the trial with the
// index "last". In this run python was never available, and bvinc failed in the third round.
func killed(last int) *result.Run {
	run := newRun(8)
	add(run, "simple", nil, nil, []string{"native", "mattn", "bvinc", "python"}, bulk("insert", 1_000_000, 1, 1))
	var trials []result.Trial
	for round := range 9 {
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
	run.Trials = trials[:last+1] // index 0 is the trial of python, which has no round
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
		if got := line(t, killed(last), "rounds"); !strings.HasPrefix(got, want) {
			t.Errorf("after %d trials: %q, want %q", last, got, want)
		}
	}
}

// TestSettledAreCounted checks that the header counts the ratios that are as precise as requested,
// and names the least precise of the other ratios.
func TestSettledAreCounted(t *testing.T) {
	for last, want := range map[int]string{
		13: "no ratio of a cell to native is precise to ±0.1%; 1 has fewer than 6 samples, and so no interval",
		15: "no ratio of a cell to native is precise to ±0.1%, but 1 of 1 shows which is faster; the least precise: simple insert mattn ±3.9%",
	} {
		run := killed(last)
		run.Precision = 0.001
		if got := line(t, run, "precision"); got != want {
			t.Errorf("after %d trials: %q, want %q", last, got, want)
		}
	}
	run := newRun(9)
	run.Precision = 0.02
	add(run, "simple", nil, nil, []string{"native", "mattn", "modernc", "ncruces", "zombiezen"}, bulk("insert", 1_000_000, 1, 1))
	if got := line(t, run, "precision"); got != "2 of 4 ratios of cells to native are precise to ±2.0%; 2 of the others show which is faster; the least precise: simple insert mattn ±2.1%, simple insert ncruces ±2.0%" {
		t.Error(got)
	}
}

func TestNothingLeft(t *testing.T) {
	run := killed(9)
	run.Stopped, run.Rounds = "nothing-left", 3
	if got, want := line(t, run, "rounds"), "3 complete: nothing was left to measure, because every case had failed or was refused"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// line returns the text after a label in the header of a report.
func line(t *testing.T, run *result.Run, label string) string {
	t.Helper()
	_, after, ok := strings.Cut(write(t, "table", run, "", document.Options{Width: 300}), "\n"+label+" ")
	if !ok {
		t.Fatalf("no line %s", label)
	}
	s, _, _ := strings.Cut(after, "\n")
	return strings.TrimSpace(s)
}

// TestLeftOutWorkloads checks that the report names the workloads and drivers that were left out,
// and the flag with which the workloads are measured.
func TestLeftOutWorkloads(t *testing.T) {
	run := singleRun()
	run.LeftOut = []result.LeftOut{{Workload: "complex", Code: result.LeftOutTime},
		{Driver: "python", Code: protocol.CodeNoExecutable, Message: "python is not installed"}, {Workload: "large", Code: result.LeftOutTime}}
	const want = "complex, large, for which the default time is too short: --workloads complex,large measures them; python is not installed"
	if got := line(t, run, "left out"); got != want {
		t.Errorf("left out %q, want %q", got, want)
	}
	for _, w := range []string{"complex", "large"} {
		if _, err := workload.Load(w); err != nil {
			t.Error(err)
		}
	}
}

// TestCommandLine checks that a shell reads the command in a report as the words that the user
// typed.
func TestCommandLine(t *testing.T) {
	run := singleRun()
	run.Command = []string{"run", "--drivers", "mattn@v1.14.22", "--set", "", "--dsn", "?_journal=wal&_sync=1", "-o", "it's mine.txt", "$HOME/ä"}
	got := line(t, run, "command")
	if want := `run --drivers mattn@v1.14.22 --set '' --dsn '?_journal=wal&_sync=1' -o 'it'\''s mine.txt' '$HOME/ä'`; got != want {
		t.Errorf("command %s, want %s", got, want)
	}
	out, err := exec.Command("sh", "-c", "printf '%s\\n' "+got).Output()
	if err != nil {
		t.Fatal(err)
	}
	if words := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n"); !slices.Equal(words, run.Command) {
		t.Errorf("the shell reads %q, want %q", words, run.Command)
	}
}

func TestShortRun(t *testing.T) {
	run := singleRun()
	run.Ended = run.Started.Add(41_300_000)
	if text := write(t, "table", run, "", document.Options{}); !strings.Contains(text, " · 41ms\n") {
		t.Errorf("want 41ms in the title of a run of 41 ms: %.300s", text)
	}
}
