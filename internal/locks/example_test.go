package locks_test

import (
	"fmt"

	"github.com/sqlite3perf/sqlite3perf/internal/locks"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/latency"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

func ExampleExplainLocks() {
	run := &result.Run{Rounds: 1}
	for i, lock := range []string{"deferred", "immediate"} {
		run.Cases = append(run.Cases, result.Case{ID: i + 1, Workload: "bank", Driver: "mattn", Phases: []string{"mix"},
			Settings: driver.Settings{"journal_mode": "wal", "txlock": lock, "busy_timeout": "5000", "pool_size": "4"}})
		s := result.Sample{Phase: "mix", Metric: result.MetricTimePerOp, WallNS: 1e9, Operations: 1000, Latency: []latency.Summary{{Operation: "transfer", Count: 1000}}}
		if lock == "deferred" {
			s.Failed, s.Errors = 7, []protocol.ErrorCount{{Code: 517, Name: "SQLITE_BUSY_SNAPSHOT", Count: 7, WaitNS: 70_000}}
		}
		run.Trials = append(run.Trials, result.Trial{Case: i + 1, Round: 1, Status: result.OK, Samples: []result.Sample{s}})
	}
	for _, c := range locks.ExplainLocks(stats.Analyze(run, "")).Mixes[0].Cells {
		fmt.Println(c.Choice.TxLock, c.Failed, c.Causes)
		for _, r := range c.Remedies {
			fmt.Println("ends with", r.Changes)
		}
	}
	// Output:
	// deferred 7 [{snapshot 517 SQLITE_BUSY_SNAPSHOT 7 10000}]
	// ends with [{txlock deferred immediate}]
	// immediate 0 []
}
