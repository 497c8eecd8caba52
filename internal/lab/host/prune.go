package host

import (
	"os"
	"path/filepath"
	"time"
)

// unusedTime is how long an executable that was copied here stays after its last use.
const unusedTime = 90 * 24 * time.Hour

// prune marks the executable of this process as used now, and removes those that other
// versions have copied to the same cache and that have not been used for long. It does
// nothing if this one was not copied.
func prune(now time.Time) {
	path, err := os.Executable()
	if err != nil {
		return
	}
	pruneBeside(path, now)
}

// pruneBeside is prune for an executable in .../sqlite3perf/hosts/HASH/sqlite3perf.
func pruneBeside(path string, now time.Time) {
	own := filepath.Dir(path)
	all := filepath.Dir(own)
	if filepath.Base(all) != "hosts" || filepath.Base(filepath.Dir(all)) != "sqlite3perf" {
		return
	}
	_ = os.Chtimes(path, now, now)
	others, _ := filepath.Glob(filepath.Join(all, "*", "sqlite3perf"))
	for _, other := range others {
		if fi, err := os.Lstat(other); err == nil && other != path && fi.ModTime().Before(now.Add(-unusedTime)) {
			_ = os.Remove(other)
			_ = os.Remove(filepath.Dir(other)) // fails, rightly, if it has something else
		}
	}
}
