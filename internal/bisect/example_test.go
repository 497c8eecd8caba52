package bisect_test

import (
	"context"
	"fmt"

	"github.com/sqlite3perf/sqlite3perf/internal/bisect"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
)

// In this example, the query takes 1.2 times as long from release v1.3.0 on.
func ExampleSearch() {
	times := map[string]int64{"v1.0.0": 100, "v1.1.0": 100, "v1.2.0": 100, "v1.3.0": 120, "v1.4.0": 120}
	measure := func(_ context.Context, first, second string, _ *bisect.Change, settled func(*result.Run, int) ([]int, bool)) (*stats.Analysis, error) {
		run := &result.Run{Compares: &result.Compares{Factor: result.FactorDriver, First: first, Second: second, Margin: 0.05}}
		for i, release := range []string{first, second} {
			run.Cases = append(run.Cases, result.Case{ID: i + 1, Workload: "mine", Driver: release, Phases: []string{"query"}})
			for round := range 11 {
				wall := times[release]*1000 + int64((round*(i+3))%7) // adds some noise
				run.Trials = append(run.Trials, result.Trial{Case: i + 1, Round: round + 1, Status: result.OK,
					Samples: []result.Sample{{Phase: "query", Metric: result.MetricTime, WallNS: wall}}})
			}
		}
		return stats.Analyze(run, ""), nil
	}
	s := bisect.Search{Releases: []string{"v1.0.0", "v1.1.0", "v1.2.0", "v1.3.0", "v1.4.0"}, Margin: 0.05, Measure: measure}
	found, err := s.Run(context.Background())
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%s is %s since %s: %.1f times the time of %s\n", found.Change, found.Change.Verdict, found.Bad, found.Pair.Cell.Ratio.Median, found.Good)
	// Output: mine query is slower since v1.3.0: 1.2 times the time of v1.2.0
}
