package job_test

import (
	"context"
	"fmt"

	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/job"
)

// When a context ends, each library returns its own error. Interrupted recognizes them all.
func ExampleInterrupted() {
	ctx, cancel := context.WithCancel(context.Background())
	err := error(&driver.Error{Code: driver.CodeInterrupt})
	fmt.Println(job.Interrupted(ctx, err))
	cancel()
	fmt.Println(job.Interrupted(ctx, err))
	// Output:
	// false
	// true
}
