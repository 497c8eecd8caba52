package build

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/sqlite3perf/sqlite3perf/internal/lab/process"

	"golang.org/x/tools/txtar"

	"github.com/sqlite3perf/sqlite3perf/internal/sources"
)

// unusedSources is how long unpacked sources stay that nobody uses. They are unpacked again
// within a second.
const unusedSources = 30 * 24 * time.Hour

// useSuffix ends the name of the file beside unpacked sources that every process which uses them
// has locked. Its time is that of the last use.
const useSuffix = ".use"

// held has the locked files of the sources that this process uses, by directory. The system
// unlocks them when the process ends.
var held = struct {
	sync.Mutex
	files map[string]*os.File
}{files: map[string]*os.File{}}

// hold marks unpacked sources as used now, and by this process until it ends. It does nothing if
// they cannot be marked, as in a cache that only somebody else may write to.
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
	_ = os.Chtimes(path, now, now) // who may not do that may not remove the sources either
}

// share opens and locks a file, together with others that share it. It returns nil if it cannot.
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
		f.Close() // somebody has pruned in between
	}
}

// pruneSources removes the sources in a directory that have not been used since a moment.
func pruneSources(parent string, since time.Time) {
	entries, _ := os.ReadDir(parent)
	for _, e := range entries {
		if e.IsDir() && len(e.Name()) == hashLength {
			pruneSource(filepath.Join(parent, e.Name()), since)
		}
	}
}

// pruneSource removes unpacked sources unless a process uses them, or somebody has changed them
// or put something beside them. Sources that nobody has marked count as used now.
func pruneSource(dir string, since time.Time) {
	f, err := os.OpenFile(dir+useSuffix, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return
	}
	fi, err := f.Stat()
	if err != nil || !fi.ModTime().Before(since) || process.Lock(f, false) != nil || !process.IsAt(f, dir+useSuffix) || !asUnpacked(dir) {
		f.Close()
		return
	}
	scratch, err := process.NewScratch(filepath.Dir(dir), scratchPrefix)
	if err != nil {
		f.Close()
		return
	}
	defer scratch.Remove()
	if err := os.Rename(dir, filepath.Join(scratch.Dir, "tree")); err != nil { // it disappears whole or not at all
		f.Close()
		return
	}
	process.Unmark(f)
}

// asUnpacked reports whether a directory has the sources that its name is the hash of, and
// nothing else.
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

// hashLength is the length of the name of a directory of unpacked sources.
const hashLength = 16

// hashName returns the name of the directory that an archive is unpacked to.
func hashName(archive []byte) string {
	hash := sha256.Sum256(archive)
	return fmt.Sprintf("%x", hash[:hashLength/2])
}

// filesOf reads unpacked sources.
func filesOf(dir string) ([]txtar.File, error) {
	var dirs []string
	for _, d := range sources.Dirs {
		dirs = append(dirs, filepath.Join(dir, d))
	}
	return sources.Files(dir, dirs...)
}
