package stats_test

import (
	"testing"

	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/latency"
)

// TestExpectations checks the verdicts on expectations: those of a case with times of 10 to 17 ms per
// operation, and those of cases without figures.
func TestExpectations(t *testing.T) {
	for _, c := range []struct {
		figure, bound string
		rounds        int
		change        func(*result.Trial)
		want          stats.Met
	}{
		{"time", "< 20ms", 8, nil, stats.IsMet},
		{"time", "< 1ms", 8, nil, stats.NotMet},
		{"time", "< 13ms", 8, nil, stats.Undecided},
		{"time", "< 20ms", 5, nil, stats.Undecided},
		{"p99", "< 51ms", 8, nil, stats.IsMet},
		{"p99", "< 49ms", 8, nil, stats.NotMet},
		{"max", "< 49ms", 8, nil, stats.NotMet},
		{"throughput", "> 50/s", 8, nil, stats.IsMet},
		{"throughput", "200", 8, nil, stats.NotMet},
		{"errors", "0", 8, nil, stats.IsMet},
		{"errors", "0", 2, func(t *result.Trial) { t.Samples[0].Failed = int64(2 - t.Round) }, stats.NotMet},
		{"errors", "< 30%", 8, func(t *result.Trial) { t.Samples[0].Failed = 1 }, stats.IsMet},
		{"errors", "< 10%", 8, func(t *result.Trial) { t.Samples[0].Failed = 1 }, stats.NotMet},
		{"allocs", "5", 8, nil, stats.IsMet},
		{"memory", "< 1MiB", 8, nil, stats.NotMet},
		{"checkpoint", "< 3ms", 8, nil, stats.IsMet},
		{"instructions", "< 3", 8, nil, stats.Undecided},
		{"syncs", "< 3", 8, nil, stats.Undecided},
		{"errors", "0", 8, func(t *result.Trial) { t.Status = result.Failed }, stats.Undecided},
	} {
		e, err := result.ParseExpectation(c.figure, c.bound)
		if err != nil {
			t.Fatal(err)
		}
		e.Phase = "mix"
		run := &result.Run{Rounds: c.rounds, Cases: []result.Case{{ID: 1, Workload: "w", Driver: "d", Phases: []string{"mix"},
			Expects: []result.Expectation{e, {Phase: "mix", Figure: "of somebody else"}}}}}
		for round := range c.rounds {
			trial := result.Trial{Case: 1, Round: round + 1, Status: result.OK, Samples: []result.Sample{{Phase: "mix", Metric: result.MetricTime,
				WallNS: int64(50+5*round) * 1e6, Operations: 5, Latency: []latency.Summary{{P99NS: 1e6, MaxNS: 2e6}, {P99NS: 50e6, MaxNS: 60e6}}}}}
			trial.Samples[0].Allocs, trial.Samples[0].PeakRSSBytes, trial.Samples[0].CheckpointNS = 20, 2<<20, 2e6
			if c.change != nil {
				c.change(&trial)
			}
			run.Trials = append(run.Trials, trial)
		}
		a := stats.Analyze(run, "")
		list := a.Expectations()
		if len(list) != 1 || list[0].Met != c.want || !list.Any(c.want) {
			t.Errorf("%s after %d rounds: %+v, want %s", e, c.rounds, list, c.want)
		}
	}
}

// TestCountedExpectations checks that a phase without syncs meets an upper bound for syncs only if
// syncs were counted.
func TestCountedExpectations(t *testing.T) {
	for setting, want := range map[string]stats.Met{"on": stats.IsMet, "off": stats.Undecided} {
		a := sides(9, 0.01, 1)
		c := &a.Run.Cases[0]
		c.Settings, c.Expects = driver.Settings{result.CountSyncs: setting}, []result.Expectation{{Phase: "p", Figure: "syncs", Bound: 1}}
		if list := stats.Analyze(a.Run, "").Expectations(); len(list) != 1 || list[0].Met != want {
			t.Errorf("%s: %+v", setting, list)
		}
	}
}
