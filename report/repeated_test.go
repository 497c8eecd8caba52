package report_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/sqlite3perf/sqlite3perf/report"
	"github.com/sqlite3perf/sqlite3perf/result"
	"github.com/sqlite3perf/sqlite3perf/stats"
)

// withRepeated adds a robbed trial to a run, in front of the one that repeats it.
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

// TestRepeated checks that reports say how many trials were repeated, and that exports of
// samples lack those.
func TestRepeated(t *testing.T) {
	plain, with := stats.Analyze(fullRun(), "native"), stats.Analyze(withRepeated(fullRun()), "native")
	write := func(a *stats.Analysis, format string) string {
		var b bytes.Buffer
		if err := report.Write(&b, format, a, report.Options{}); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	const words = "do not count and were measured again: other processes or other machines took more than 5% of their time"
	if got := strings.Join(strings.Fields(write(with, "table")), " "); !strings.Contains(got, "repeated 1 of ") || !strings.Contains(got, words) {
		t.Errorf("the table lacks it:\n%.2000s", got)
	}
	for _, format := range []string{"csv", "benchfmt"} {
		a, b := write(plain, format), write(with, format)
		if strings.Count(a, "\n") != strings.Count(b, "\n") {
			t.Errorf("%s has another number of lines with a repeated trial", format)
		}
	}
	a := stats.Analyze(withRepeated(comparedRun()), "native")
	c := report.Compared{Comparison: stats.CompareRun(a), First: a, Second: a}
	g := report.Gated{Gate: stats.NewGate(0.05, c.Comparison), Runs: []*stats.Analysis{a}}
	var text, comparison, gate bytes.Buffer
	for _, err := range []error{
		report.WriteComparison(&text, "table", c, report.Options{}), report.WriteGate(&text, "table", g, report.Options{}),
		report.WriteComparison(&comparison, "json", c, report.Options{}), report.WriteGate(&gate, "json", g, report.Options{}),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if got := strings.Join(strings.Fields(text.String()), " "); strings.Count(got, words) != 2 {
		t.Errorf("comparison and gate lack it:\n%s", text.String())
	}
	for _, b := range []bytes.Buffer{comparison, gate} {
		var got struct {
			Trials   int `json:"trials"`
			Repeated int `json:"repeated_trials"`
		}
		if err := json.Unmarshal(b.Bytes(), &got); err != nil || got.Repeated != 1 || got.Trials != len(a.Run.Trials) {
			t.Errorf("%+v, %v", got, err)
		}
	}
}
