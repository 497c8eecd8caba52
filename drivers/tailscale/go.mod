module github.com/sqlite3perf/sqlite3perf/drivers/tailscale

go 1.26

require (
	github.com/sqlite3perf/sqlite3perf/worker v0.0.0
	github.com/tailscale/sqlite v0.0.0-20240816174256-9328d0478def
)

require (
	github.com/HdrHistogram/hdrhistogram-go v1.4.0 // indirect
	github.com/agnivade/levenshtein v1.2.2 // indirect
)

replace github.com/sqlite3perf/sqlite3perf/worker => ../../worker
