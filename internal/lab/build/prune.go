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

// unusedTime is how long a worker that nobody uses stays in the cache.
const unusedTime = 90 * 24 * time.Hour

// useLock is the name of the file in the cache that is locked while workers are marked as
// used, and while unused ones are removed. So nobody is handed a worker that is then removed.
const useLock = "use.lock"

// lockUse locks the cache. It returns nil if it cannot, as in a cache that only somebody
// else may write to.
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

// use marks a worker in the cache, if it is there, as used now.
func use(path string) {
	if _, err := os.Lstat(path + sumSuffix); err != nil {
		return
	}
	if lock := lockUse(filepath.Dir(path)); lock != nil {
		defer lock.Close()
		now := time.Now()
		_ = os.Chtimes(path+sumSuffix, now, now) // who may not do that may not remove it either
	}
}

// prune removes the workers in the cache that have not been used since a moment. It removes
// nothing but executables that have their sum beside them, and these sums. What cannot be
// removed stays.
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
