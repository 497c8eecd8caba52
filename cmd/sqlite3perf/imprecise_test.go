package main

import (
	"regexp"
	"testing"
	"time"

	"github.com/sqlite3perf/sqlite3perf/cmd/sqlite3perf/internal/cli"
	"github.com/sqlite3perf/sqlite3perf/internal/lab"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
)

// TestFurtherRounds checks the command that furtherRounds returns. It measures further rounds until no
// figure of the run is imprecise. The test also has cases in which there is no such command.
func TestFurtherRounds(t *testing.T) {
	measured := func(stopped string, precision float64) *stats.Analysis {
		start := time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
		r := &result.Run{ID: 3, Version: cli.Version(), Started: start, Ended: start.Add(90 * time.Second), Rounds: 9, Stopped: stopped, Precision: precision,
			Schedule: &result.Schedule{}, Workloads: []result.Workload{{Name: "simple"}}}
		for i, d := range []string{"mattn", "modernc"} {
			r.Cases = append(r.Cases, result.Case{ID: i + 1, Workload: "simple", Driver: d, Phases: []string{"insert"}})
		}
		for round := 1; round <= r.Rounds; round++ {
			for i := range r.Cases {
				ns := int64(1e9 * (1 + i) * (10 + round%3*i))
				r.Trials = append(r.Trials, result.Trial{Case: i + 1, Round: round, Order: len(r.Trials) + 1, Status: result.OK,
					Samples: []result.Sample{{Phase: "insert", Metric: result.MetricTime, WallNS: ns, Operations: 10, Rows: 10}}})
			}
		}
		return stats.Analyze(r, lab.Floor)
	}
	other := measured(result.StoppedTime, 0.05)
	other.Run.Version = "another"
	for _, tc := range []struct {
		name string
		a    *stats.Analysis
		want string // regular expression for the whole command
	}{
		{"time over", measured(result.StoppedTime, 0.05), `sqlite3perf run --resume 3 --time \d+m\d*0?s?`},
		{"rounds done", measured(result.StoppedRounds, 0.05), `the same command with --rounds \d\d`},
		{"settled", measured(result.StoppedSettled, 0.9), ""},
		{"no precision asked for", measured(result.StoppedTime, 0), ""},
		{"hopeless", measured(result.StoppedTime, 0.0001), ""},
		{"interrupted", measured(result.StoppedInterrupted, 0.05), ""}, // an interrupted run should be resumed first
		{"of another version", other, ""},
	} {
		if got := furtherRounds(&cli.OutputOptions{}, tc.a); !regexp.MustCompile("^(" + tc.want + ")$").MatchString(got) {
			t.Errorf("%s: %q, want %s", tc.name, got, tc.want)
		}
	}
}
