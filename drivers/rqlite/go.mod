module github.com/sqlite3perf/sqlite3perf/drivers/rqlite

go 1.26

replace github.com/sqlite3perf/sqlite3perf/worker => ../../worker
