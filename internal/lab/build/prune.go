package build

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/sqlite3perf/sqlite3perf/internal/lab/process"
)

// unusedTime is how long an unused worker stays in the cache.
const unusedTime = 90 * 24 * time.Hour

// useLock is the name of a lock file in the cache. A process locks the file while it marks a worker as used,
// and while it removes unused workers. So a worker that was just marked is not removed.
const useLock = "use.lock"

// lockUse locks the cache. It returns nil if that fails, as in a cache that this user cannot
// write to.
func lockUse(cache string) *os.File {
	f, err := os.OpenFile(filepath.Join(cache, useLock), os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil
	}
	if err := process.Lock(f, true); err != nil {
		f.Close()
		return nil
	}
	return f
}

// use marks the worker at path as used now. It does nothing if the worker is not in the
// cache.
func use(path string) {
	if _, err := os.Lstat(path + sumSuffix); err != nil {
		return
	}
	if lock := lockUse(filepath.Dir(path)); lock != nil {
		defer lock.Close()
		now := time.Now()
		_ = os.Chtimes(path+sumSuffix, now, now) // if this user lacks the permission, prune cannot remove the worker either, so the error does not matter
	}
}

// prune removes workers that have not been used since the given time. It only removes
// executables that have a .sha256 file, together with that file and the footprint. It
// ignores errors.
func prune(cache string, since time.Time) {
	lock := lockUse(cache)
	if lock == nil {
		return
	}
	defer lock.Close()
	entries, _ := os.ReadDir(cache)
	for _, e := range entries {
		name, isSum := strings.CutSuffix(e.Name(), sumSuffix)
		fi, err := e.Info()
		if !isSum || err != nil || !fi.Mode().IsRegular() || fi.Size() != sumLength || !fi.ModTime().Before(since) {
			continue
		}
		if err := os.Remove(filepath.Join(cache, name)); err == nil || errors.Is(err, fs.ErrNotExist) {
			_ = os.Remove(filepath.Join(cache, e.Name()))
			_ = os.Remove(filepath.Join(cache, name+footprintSuffix))
		}
	}
}
