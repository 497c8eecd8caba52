package stats_test

import (
	"fmt"

	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
)

func ExampleSummarize() {
	s := stats.Summarize([]float64{1.02, 0.99, 1.01, 1.00, 1.04, 0.98, 1.03})
	fmt.Printf("%.2f, from %.2f to %.2f at %.1f %%\n", s.Median, s.Interval.Low, s.Interval.High, 100*s.Interval.Confidence)
	// Output: 1.01, from 0.98 to 1.04 at 98.4 %
}

// ExampleCompareRatios slows both sides of a round by the same factor, which does not change their
// ratio.
func ExampleCompareRatios() {
	var a, b []stats.Point
	for round := range 10 {
		noise := 1 + float64(round%4)
		a = append(a, stats.Point{Round: round, Value: noise})
		b = append(b, stats.Point{Round: round, Value: noise * (1.1 + 0.001*float64(round))})
	}
	ratios, _ := stats.Ratios(a, b)
	t := stats.CompareRatios(stats.Values(ratios))
	fmt.Printf("%d rounds, p = %.3f, told apart: %v\n", t.N, t.P, t.Significant())
	// Output: 10 rounds, p = 0.002, told apart: true
}

func ExampleAnalyze() {
	run := &result.Run{}
	for i, driver := range []string{"native", "modernc"} {
		run.Cases = append(run.Cases, result.Case{ID: i + 1, Workload: "simple", Driver: driver, Phases: []string{"insert"}})
		for round := 1; round <= 6; round++ {
			took := int64(1000+round) * int64(i*3+1) * 1_000_000
			run.Trials = append(run.Trials, result.Trial{Case: i + 1, Round: round, Status: result.OK,
				Samples: []result.Sample{{Phase: "insert", Metric: "time", WallNS: took, Operations: 1000, Rows: 1000}}})
		}
	}
	a := stats.Analyze(run, "native")
	for _, c := range a.Groups[0].Tables[0].Cells {
		fmt.Printf("rank %d: %s, %.2f s, %.1f times the floor\n", c.Rank, c.Case.Driver, c.Summary.Median, c.Ratio.Median)
	}
	// Output:
	// rank 0: native, 1.00 s, 1.0 times the floor
	// rank 1: modernc, 4.01 s, 4.0 times the floor
}
