package host

import (
	"os"
	"path/filepath"
	"time"
)

// unusedTime is how long a copied executable stays on another machine after its last use.
const unusedTime = 90 * 24 * time.Hour

// prune marks an executable at .../sqlite3perf/hosts/HASH/sqlite3perf as used now. It removes the other
// executables in the directory "hosts" that have not been used for the time unusedTime. If the path has another
// form, prune does nothing.
func prune(path string, now time.Time) {
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
			_ = os.Remove(filepath.Dir(other)) // fails, as intended, if the directory contains other files
		}
	}
}
