module github.com/sqlite3perf/sqlite3perf/drivers/rqlite

go 1.26

replace github.com/sqlite3perf/sqlite3perf/worker => ../../worker

require (
	github.com/rqlite/gorqlite v0.0.0-20261020015727-7224ce2bd419
	github.com/sqlite3perf/sqlite3perf/worker v0.0.0-00010101000000-000000000000
)

require (
	github.com/HdrHistogram/hdrhistogram-go v1.4.0 // indirect
	github.com/agnivade/levenshtein v1.2.2 // indirect
)
