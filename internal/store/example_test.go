package store_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/store"
)

func Example() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "store-example-")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	st, err := store.Open(ctx, filepath.Join(dir, "runs.db"))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer st.Close()

	run := &result.Run{Version: "v1", Scale: "quick", Started: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
		Cases: []result.Case{{ID: 1, Workload: "simple", Driver: "modernc", Phases: []string{"insert"}}}}
	if err := st.Begin(ctx, run); err != nil {
		fmt.Println(err)
		return
	}
	trial := &result.Trial{Case: 1, Round: 1, Order: 1, Status: result.OK,
		Samples: []result.Sample{{Phase: "insert", Metric: "time", WallNS: 1e9, Operations: 1000, Rows: 1000}}}
	if err := st.AddTrial(ctx, run.ID, trial); err != nil { // from here on, the trial is on disk
		fmt.Println(err)
		return
	}

	run.Ended, run.Rounds, run.Stopped = run.Started.Add(time.Minute), 1, result.StoppedRounds
	if err := st.Finish(ctx, run); err != nil {
		fmt.Println(err)
		return
	}
	id, err := st.Resolve(ctx, "last")
	if err != nil {
		fmt.Println(err)
		return
	}
	again, err := st.Load(ctx, id)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(again.ID, again.Cases[0].Driver, again.Trials[0].Samples[0].WallNS)
	// Output: 1 modernc 1000000000
}
