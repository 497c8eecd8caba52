package report_test

import (
	"fmt"
	"os"
	"time"

	"github.com/sqlite3perf/sqlite3perf/internal/report"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
)

func ExampleWrite() {
	run := &result.Run{ID: 1, Version: "v1", Seed: 42, Rounds: 1, Stopped: "rounds", Started: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
		Machine: result.Machine{OS: "linux", Arch: "amd64", Cores: 2},
		Cases:   []result.Case{{ID: 1, Workload: "simple", Driver: "modernc", Phases: []string{"insert"}}},
		Trials: []result.Trial{{Case: 1, Round: 1, Status: result.OK,
			Samples: []result.Sample{{Phase: "insert", Metric: "time", WallNS: 2e9, Operations: 1000, Rows: 1000}}}},
	}
	if err := report.Write(os.Stdout, "benchfmt", stats.Analyze(run, "native"), report.Options{}); err != nil {
		fmt.Println(err)
	}
	// Output:
	// # sqlite3perf v1, run 1, seed 42, 1 complete, as requested
	// # modernc: kind= interface=
	// Unit ns/op better=lower
	// Unit rows/s better=higher
	// Unit op/s better=higher
	// Unit req/s better=higher
	// Unit user-ns/op better=lower
	// Unit system-ns/op better=lower
	// Unit failed/op better=lower
	// Unit B/op better=lower
	// Unit allocs/op better=lower
	// Unit instructions/op better=lower
	// Unit peak-RSS-B better=lower
	// goos: linux
	// goarch: amd64
	// pkg: github.com/sqlite3perf/sqlite3perf
	//
	// BenchmarkSimple/insert/driver=modernc-2 1000 2e+06 ns/op 500 rows/s 0 user-ns/op 0 system-ns/op
}

func ExampleCheck() {
	fmt.Println(report.Check("jsno"))
	// Output: unknown format "jsno": did you mean "json"?
}
