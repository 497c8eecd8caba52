//go:build !linux

package worker

// systemClock returns 0. On this system sqlite3perf does not compare times of different
// processes.
func systemClock() int64 { return 0 }
