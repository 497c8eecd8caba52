module github.com/sqlite3perf/sqlite3perf/record

go 1.24
