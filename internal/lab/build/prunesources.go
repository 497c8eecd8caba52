package build

import (
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/sqlite3perf/sqlite3perf/internal/lab/process"

	"golang.org/x/tools/txtar"

	"github.com/sqlite3perf/sqlite3perf/internal/directory"
	"github.com/sqlite3perf/sqlite3perf/internal/sources"
)

// unusedSources is how long unpacked sources stay in the cache after their last use. Unpacking them again
// takes less than a second.
const unusedSources = 30 * 24 * time.Hour

// useSuffix is appended to the path of unpacked sources to get the path of a lock file. Each
// process that uses the sources holds a shared lock on that file. The file's modification
// time is the time of the last use.
const useSuffix = ".use"

// held has the locked files of the sources that this process uses, by the directory of the sources. The
// system unlocks the files when the process ends.
var held = struct {
	sync.Mutex
	files map[string]*os.File
}{files: map[string]*os.File{}}

// hold marks unpacked sources as used now, and as in use until this process ends. If that fails, as in a
// cache that this user cannot write to, hold does nothing.
func hold(dir string) {
	held.Lock()
	defer held.Unlock()
	path := dir + useSuffix
	if f := held.files[dir]; f == nil || !process.IsAt(f, path) {
		if f != nil {
			f.Close()
		}
		if f = share(path); f == nil {
			delete(held.files, dir)
			return
		}
		held.files[dir] = f
	}
	now := time.Now()
	_ = os.Chtimes(path, now, now) // if this user lacks the permission, pruneSources cannot remove the sources either, so the error does not matter
}

// share opens a file and takes a shared lock on it. It returns nil if that fails.
func share(path string) *os.File {
	for {
		f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
		if err != nil {
			f, err = os.Open(path)
		}
		if err != nil {
			return nil
		}
		if err := process.LockShared(f); err != nil {
			f.Close()
			return nil
		}
		if process.IsAt(f, path) {
			return f
		}
		f.Close() // another process has removed the file in the meantime
	}
}

// pruneSources removes unpacked sources in parent that have not been used since the given
// time.
func pruneSources(parent string, since time.Time) {
	entries, _ := os.ReadDir(parent)
	for _, e := range entries {
		if e.IsDir() && len(e.Name()) == hashLength {
			pruneSource(filepath.Join(parent, e.Name()), since)
		}
	}
}

// pruneSource removes unpacked sources that have not been used since the given time. It keeps them if a
// process uses them, or if a file in dir was changed, added or removed. If no file says when the sources
// were last used, pruneSource creates that file, which marks the sources as used now.
func pruneSource(dir string, since time.Time) {
	f, err := os.OpenFile(dir+useSuffix, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return
	}
	defer f.Close()
	fi, err := f.Stat()
	if err != nil || !fi.ModTime().Before(since) || process.Lock(f, false) != nil || !process.IsAt(f, dir+useSuffix) || !asUnpacked(dir) {
		return
	}
	scratch, err := process.NewScratch(filepath.Dir(dir), scratchPrefix)
	if err != nil {
		return
	}
	defer scratch.Remove()
	if os.Rename(dir, filepath.Join(scratch.Dir, "tree")) == nil { // renamed first, so that the sources disappear all at once
		process.Unmark(f)
	}
}

// asUnpacked reports whether dir contains exactly the sources whose hash is the name of dir.
func asUnpacked(dir string) bool {
	files, err := filesOf(dir)
	if err != nil || hashName(txtar.Format(&txtar.Archive{Files: files})) != filepath.Base(dir) {
		return false
	}
	n := 0
	err = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			n++
		}
		return err
	})
	return err == nil && n == len(files)
}

// hashLength is the length of the names of directories of unpacked sources.
const hashLength = 16

// hashName returns the name of the directory to which an archive is unpacked.
func hashName(archive []byte) string {
	return directory.Sum(archive)[:hashLength]
}

// filesOf reads the files of unpacked sources.
func filesOf(dir string) ([]txtar.File, error) {
	var dirs []string
	for _, d := range sources.Dirs {
		dirs = append(dirs, filepath.Join(dir, d))
	}
	return sources.Files(dir, dirs...)
}
