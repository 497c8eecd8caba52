package worker

import "github.com/sqlite3perf/sqlite3perf/worker/driver"

// CodeName is [driver.CodeName].
func CodeName(code int) string { return driver.CodeName(code) }
