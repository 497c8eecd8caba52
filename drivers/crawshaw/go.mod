module github.com/sqlite3perf/sqlite3perf/drivers/crawshaw

go 1.26

require (
	crawshaw.io/sqlite v0.3.2
	github.com/google/go-cmp v0.7.0
	github.com/sqlite3perf/sqlite3perf/worker v0.0.0
)

require (
	github.com/HdrHistogram/hdrhistogram-go v1.4.0 // indirect
	github.com/agnivade/levenshtein v1.2.2 // indirect
)

replace github.com/sqlite3perf/sqlite3perf/worker => ../../worker
