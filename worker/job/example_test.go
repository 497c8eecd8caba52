package job_test

import (
	"context"
	"fmt"

	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/job"
)

// Each library has its own error for being interrupted by the end of a context.
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
