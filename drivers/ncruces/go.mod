module github.com/sqlite3perf/sqlite3perf/drivers/ncruces

go 1.26.0

require (
	github.com/ncruces/go-sqlite3 v0.37.0
	github.com/sqlite3perf/sqlite3perf/worker v0.0.0
)

require (
	github.com/HdrHistogram/hdrhistogram-go v1.4.0 // indirect
	github.com/agnivade/levenshtein v1.2.2 // indirect
	github.com/ncruces/go-sqlite3-wasm/v6 v6.5.35401 // indirect
	github.com/ncruces/julianday v1.0.0 // indirect
	golang.org/x/sys v0.49.0 // indirect
)

replace github.com/sqlite3perf/sqlite3perf/worker => ../../worker
