module github.com/sqlite3perf/sqlite3perf/drivers/native

go 1.26

require (
	github.com/google/go-cmp v0.7.0
	github.com/mattn/go-sqlite3 v1.14.53
	github.com/sqlite3perf/sqlite3perf/worker v0.0.0
)

require (
	github.com/HdrHistogram/hdrhistogram-go v1.4.0 // indirect
	github.com/agnivade/levenshtein v1.2.2 // indirect
)

replace github.com/sqlite3perf/sqlite3perf/worker => ../../worker
