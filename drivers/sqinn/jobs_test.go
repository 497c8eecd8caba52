package sqinn_test

import (
	"testing"

	"github.com/sqlite3perf/sqlite3perf/drivers/sqinn"
	"github.com/sqlite3perf/sqlite3perf/worker/job/jobtest"
)

func TestJobs(t *testing.T) { jobtest.Run(t, sqinn.New()) }
