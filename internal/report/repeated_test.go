package report_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/sqlite3perf/sqlite3perf/internal/compare"
	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/gate"
	"github.com/sqlite3perf/sqlite3perf/internal/report"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
)

// withRepeated adds a robbed trial (other processes took CPU time from it) to a run, before the
// trial that repeats it.
func withRepeated(run *result.Run) *result.Run {
	robbed := run.Trials[0]
	n := int64(12)
	robbed.Robbed, robbed.Repeated, robbed.CPU = true, true, &result.CPU{UserNS: 1, StolenNS: &n}
	run.Trials = append([]result.Trial{robbed}, run.Trials...)
	for i := range run.Trials {
		run.Trials[i].Order = i + 1
	}
	return run
}

// TestRepeated checks that reports say how many trials were repeated, and that exports of samples
// leave these trials out.
func TestRepeated(t *testing.T) {
	plain, with := stats.Analyze(fullRun(), "native"), stats.Analyze(withRepeated(fullRun()), "native")
	write := func(a *stats.Analysis, format string) string {
		var b bytes.Buffer
		if err := report.Write(&b, format, a, report.Options{}); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	const words = "doesn't count and was measured again: other processes or other machines took more than 5% of its time"
	if got := strings.Join(strings.Fields(write(with, "table")), " "); !strings.Contains(got, "repeated 1 of ") || !strings.Contains(got, words) {
		t.Errorf("the table does not say that a trial was repeated:\n%.2000s", got)
	}
	for _, format := range []string{"csv", "benchfmt"} {
		a, b := write(plain, format), write(with, format)
		if strings.Count(a, "\n") != strings.Count(b, "\n") {
			t.Errorf("%s has a different number of lines if a trial was repeated", format)
		}
	}
	a := stats.Analyze(withRepeated(comparedRun()), "native")
	c := compare.Compared{Comparison: stats.CompareRun(a), First: a, Second: a}
	g := gate.Gated{Gate: stats.NewGate(0.05, c.Comparison), Runs: []*stats.Analysis{a}}
	var text, comparison, gated bytes.Buffer
	for _, err := range []error{
		compare.Formats.Write(&text, "table", c, document.Options{}), gate.Formats.Write(&text, "table", g, document.Options{}),
		compare.Formats.Write(&comparison, "json", c, document.Options{}), gate.Formats.Write(&gated, "json", g, document.Options{}),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if got := strings.Join(strings.Fields(text.String()), " "); strings.Count(got, words) != 2 {
		t.Errorf("comparison and gate do not both say that a trial was repeated:\n%s", text.String())
	}
	for _, b := range []bytes.Buffer{comparison, gated} {
		var got struct {
			Trials   int `json:"trials"`
			Repeated int `json:"repeated_trials"`
		}
		if err := json.Unmarshal(b.Bytes(), &got); err != nil || got.Repeated != 1 || got.Trials != len(a.Run.Trials) {
			t.Errorf("%+v, %v", got, err)
		}
	}
}

// TestRepeatedNot checks a run that was interrupted before it repeated its robbed trials (other
// processes took CPU time from them). The robbed trials must not count as repeated, and their cases
// must not count as measured.
func TestRepeatedNot(t *testing.T) {
	robbed := func(trials int) *result.Run {
		run := newRun(1)
		add(run, "simple", nil, rollback, []string{"mattn", "modernc"}, bulk("insert", 1e9, 1e6, 1e6))
		run.Stopped, run.Rounds, run.Trials = result.StoppedInterrupted, 0, run.Trials[:trials]
		for i := range run.Trials {
			run.Trials[i].Robbed, run.Trials[i].Repeated = true, true
		}
		return run
	}
	again := robbed(2)
	more := again.Trials[0]
	more.Order, more.Repeated = 3, false
	again.Trials = append(again.Trials, more)
	for _, c := range []struct {
		name           string
		run            *result.Run
		repeated, said string
	}{
		{"one of two", robbed(1), "repeated 1 of 1 trial doesn't count and was not measured again: other processes or other machines took more than 5% of its time", "Nothing was measured: 2 cases not measured."},
		{"two of two", robbed(2), "repeated 2 of 2 trials don't count and were not measured again: other processes or other machines took more than 5% of their time", "Nothing was measured: 2 cases not measured."},
		{"one again", again, "repeated 1 of 3 trials doesn't count and was measured again: other processes or other machines took more than 5% of its time; 1 of 3 trials doesn't count and was not measured again: ", "modernc"},
	} {
		got := strings.Join(strings.Fields(write(t, "table", c.run, "native", document.Options{Width: 400})), " ")
		if !strings.Contains(got, c.repeated) || !strings.Contains(got, c.said) {
			t.Errorf("%s: no %q or %q in\n%s", c.name, c.repeated, c.said, got)
		}
	}
}
