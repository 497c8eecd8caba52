package process

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/sqlite3perf/sqlite3perf/internal/directory"
)

// Scratch is a temporary directory. If the process that made it is killed, the next
// process that makes one in the same parent removes it.
//
// A lock file next to the directory marks it as ours. The process that made the
// directory locks that file, and the system releases the lock when the process ends.
// The file is created before the directory and removed after it, so a process that is
// Killed at any moment leaves nothing unmarked.
type Scratch struct {
	Dir  string
	made []string // parent directories that were made for it, the deepest first
	lock *os.File
}

// lockSuffix is the suffix of the name of the file that marks a directory.
const lockSuffix = ".lock"

// temporaryPrefix begins the names of directories among the system's temporary files.
const temporaryPrefix = "sqlite3perf-tmp-"

// NewTemporary makes a directory among the system's temporary files. Everything temporary
// that belongs nowhere else is made there.
func NewTemporary() (*Scratch, error) {
	s, err := NewScratch(os.TempDir(), temporaryPrefix)
	if err != nil {
		return nil, fmt.Errorf("directory for temporary files: %w: set TMPDIR to another one", err)
	}
	return s, nil
}

// SweepTemporary removes what killed processes have left among the system's temporary
// files. Every command begins with it, since copies of a user's data may be there.
func SweepTemporary() { Sweep(os.TempDir(), temporaryPrefix) }

// inUse are the directories of this process.
var inUse = struct {
	sync.Mutex
	list map[*Scratch]bool
}{list: map[*Scratch]bool{}}

// RemoveScratches removes the directories of this process, which is about to end: no other can be
// made from then on.
func RemoveScratches() {
	inUse.Lock() // for good
	for s := range inUse.list {
		s.remove()
	}
}

// NewScratch makes a directory in parent whose name begins with prefix. It makes
// parent if it does not exist, and removes what killed processes left in it.
func NewScratch(parent, prefix string) (*Scratch, error) {
	parent, err := filepath.Abs(parent)
	if err != nil {
		return nil, err
	}
	inUse.Lock()
	defer inUse.Unlock()
	s := &Scratch{made: append(Sweep(parent, prefix), directory.Missing(parent)...)}
	if err = os.MkdirAll(parent, 0o755); err == nil {
		err = s.make(parent, prefix)
	}
	if err != nil {
		s.remove()
		return nil, err
	}
	inUse.list[s] = true
	return s, nil
}

// make makes the directory with a name that is not taken.
func (s *Scratch) make(parent, prefix string) error {
	for {
		dir := filepath.Join(parent, fmt.Sprintf("%s%010d", prefix, rand.Uint32()))
		f, err := os.OpenFile(dir+lockSuffix, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return err
		}
		s.lock = f
		// A process that sweeps may hold it for a moment, and remove it.
		if err := Lock(f, true); err != nil {
			return err
		}
		if !IsAt(f, dir+lockSuffix) {
			f.Close()
			continue
		}
		if _, err := f.WriteString(marker(dir, s.made)); err != nil {
			return err
		}
		if err := f.Sync(); err != nil {
			return err
		}
		err = os.Mkdir(dir, 0o700)
		if err == nil {
			s.Dir = dir
			return nil
		}
		Unmark(f)
		s.lock = nil
		if !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
}

// Remove removes the directory, and the parents that were made for it if they are
// empty.
func (s *Scratch) Remove() {
	inUse.Lock()
	defer inUse.Unlock()
	s.remove()
	delete(inUse.list, s)
}

func (s *Scratch) remove() {
	if s.Dir != "" {
		endMarked(s.Dir, nil)
		if os.RemoveAll(s.Dir) != nil {
			s.lock.Close() // it stays marked, so the next process tries again
			return
		}
	}
	if s.lock != nil {
		Unmark(s.lock)
	}
	for _, d := range s.made {
		os.Remove(d) // fails, rightly, if it is not empty
	}
}

// marker returns the text of the file that marks a directory. No other directory's
// file has the same text.
func marker(dir string, made []string) string {
	text := fmt.Sprintf("sqlite3perf: the directory %s is removed by the next run if the process that made this file was Killed\n", filepath.Base(dir))
	for _, d := range made {
		text += d + "\n"
	}
	return text
}

// Unmark removes a lock file whose lock is held, and releases the lock.
func Unmark(f *os.File) {
	err := os.Remove(f.Name())
	f.Close()
	if err != nil {
		os.Remove(f.Name()) // not every system can remove an open file
	}
}

func IsAt(f *os.File, path string) bool {
	fi, err := f.Stat()
	if err != nil {
		return false
	}
	at, err := os.Lstat(path)
	return err == nil && os.SameFile(fi, at)
}

// Sweep removes the directories in parent that killed processes made with this
// prefix. It also kills the processes that these left running, on systems where they
// can be found. It returns the parent directories that were made for them and still
// exist.
func Sweep(parent, prefix string) (made []string) {
	entries, _ := os.ReadDir(parent)
	for _, e := range entries {
		if !marksScratch(e, prefix) {
			continue
		}
		for _, d := range sweepOne(filepath.Join(parent, e.Name())) {
			if rel, err := filepath.Rel(d, parent); err == nil && filepath.IsLocal(rel) && !slices.Contains(made, d) {
				made = append(made, d)
			}
		}
	}
	return made
}

// InUse reports whether a directory in parent is in use that another process made with this
// prefix. It changes nothing.
func InUse(parent, prefix string) bool { return Users(parent, prefix) > 0 }

// Users returns how many directories in parent are in use that other processes made with this
// prefix. It changes nothing.
func Users(parent, prefix string) (n int) {
	own := map[string]bool{}
	inUse.Lock()
	for s := range inUse.list {
		own[filepath.Base(s.Dir)+lockSuffix] = true
	}
	inUse.Unlock()
	entries, _ := os.ReadDir(parent)
	for _, e := range entries {
		if !own[e.Name()] && isUsed(parent, prefix, e) {
			n++
		}
	}
	return n
}

// marksScratch reports whether the name of a file is that of the lock file of a [Scratch].
func marksScratch(e os.DirEntry, prefix string) bool {
	name, isLock := strings.CutSuffix(e.Name(), lockSuffix)
	number, ours := strings.CutPrefix(name, prefix)
	return isLock && ours && number != "" && strings.Trim(number, "0123456789") == "" && e.Type().IsRegular()
}

// isUsed reports whether an entry of a directory is the locked file of a [Scratch].
func isUsed(parent, prefix string, e os.DirEntry) bool {
	if !marksScratch(e, prefix) {
		return false
	}
	f, err := os.OpenFile(filepath.Join(parent, e.Name()), os.O_RDWR, 0)
	if err != nil {
		return errors.Is(err, fs.ErrPermission) // it is another user's
	}
	defer f.Close()
	return Lock(f, false) != nil
}

// sweepOne removes the directory that a file marks, unless the file is locked.
func sweepOne(path string) (made []string) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return nil
	}
	if err := Lock(f, false); err != nil || !IsAt(f, path) || !isOwn(f) {
		f.Close()
		return nil
	}
	dir := strings.TrimSuffix(path, lockSuffix)
	text, _ := io.ReadAll(io.LimitReader(f, 1<<16))
	rest, ours := strings.CutPrefix(string(text), marker(dir, nil))
	switch {
	case len(text) == 0: // killed before the directory was made
		Unmark(f)
		return nil
	case !ours:
		f.Close()
		return nil
	}
	endMarked(dir, nil)
	if err := os.RemoveAll(dir); err != nil {
		f.Close() // the next one tries again
		return nil
	}
	Unmark(f)
	return strings.Split(strings.TrimSuffix(rest, "\n"), "\n")
}
