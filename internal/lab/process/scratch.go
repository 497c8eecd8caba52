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

// Scratch is a temporary directory. If the process that created it is killed, the directory is removed later by
// the next process that creates a Scratch with the same prefix in the same parent directory.
//
// A lock file next to the directory marks it as a directory of sqlite3perf. The process that created the
// directory locks that file, and the system releases the lock when the process ends. The file is created
// before the directory and removed after it, so a process killed at any moment leaves no unmarked directory.
type Scratch struct {
	Dir  string
	made []string // parent directories created for Dir, the deepest first
	lock *os.File
}

// lockSuffix is appended to a directory's name to get the name of its lock file.
const lockSuffix = ".lock"

// temporaryPrefix is the prefix of the names of sqlite3perf's directories in the system's directory for
// temporary files.
const temporaryPrefix = "sqlite3perf-tmp-"

// NewTemporary creates a directory for data that belongs nowhere else. It is in the system's directory for
// temporary files.
func NewTemporary() (*Scratch, error) {
	s, err := NewScratch(os.TempDir(), temporaryPrefix)
	if err != nil {
		return nil, fmt.Errorf("directory for temporary files: %w: set TMPDIR to another one", err)
	}
	return s, nil
}

// SweepTemporary removes directories of killed processes from the system's directory for temporary files.
// Every command calls it first, because these directories may hold copies of a user's data.
func SweepTemporary() { Sweep(os.TempDir(), temporaryPrefix) }

// inUse lists the Scratches that this process has created and not removed.
var inUse = struct {
	sync.Mutex
	list map[*Scratch]bool
}{list: map[*Scratch]bool{}}

// RemoveScratches removes all Scratches of this process, which is about to end. It keeps the mutex locked, so
// that no further Scratch can be created.
func RemoveScratches() {
	inUse.Lock() // never unlocked
	for s := range inUse.list {
		s.remove()
	}
}

// NewScratch creates a directory in the directory "parent". The new directory's name begins with the given
// prefix. NewScratch creates the parent if needed, and first removes directories with this prefix that killed
// processes left there.
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

// make creates the directory, with a name that is not in use.
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
		// Another process's Sweep may briefly lock the file, and remove it.
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

// Remove removes the directory, and the parents created for it if they are empty.
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
			s.lock.Close() // the directory stays marked, so a later process tries again
			return
		}
	}
	if s.lock != nil {
		Unmark(s.lock)
	}
	for _, d := range s.made {
		os.Remove(d) // fails, as intended, if d is not empty
	}
}

// marker returns the text of the lock file of dir. The text contains the name of dir and the parent
// directories that were created for it, which are in the parameter "made".
func marker(dir string, made []string) string {
	text := fmt.Sprintf("sqlite3perf: the directory %s is removed by the next run if the process that made this file was killed\n", filepath.Base(dir))
	for _, d := range made {
		text += d + "\n"
	}
	return text
}

// Unmark removes and closes a lock file that this process has locked.
func Unmark(f *os.File) {
	err := os.Remove(f.Name())
	f.Close()
	if err != nil {
		os.Remove(f.Name()) // not every system can remove an open file
	}
}

// IsAt reports whether path still names the open file f, and not another file or no file.
func IsAt(f *os.File, path string) bool {
	fi, err := f.Stat()
	if err != nil {
		return false
	}
	at, err := os.Lstat(path)
	return err == nil && os.SameFile(fi, at)
}

// Sweep removes directories in the directory "parent" that killed processes created there with this prefix. If
// child processes of the killed processes are still running, Sweep kills them on systems where it can find
// them. It returns the parent directories that were created for the removed directories and still exist.
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

// InUse reports whether another process is using a directory that it created in the directory "parent" with
// this prefix.
func InUse(parent, prefix string) bool { return Users(parent, prefix) > 0 }

// Users counts the directories in the directory "parent" that other processes created with this prefix and are
// using.
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

// marksScratch reports whether e has the name of a lock file of a [Scratch] with this
// prefix.
func marksScratch(e os.DirEntry, prefix string) bool {
	name, isLock := strings.CutSuffix(e.Name(), lockSuffix)
	number, ours := strings.CutPrefix(name, prefix)
	return isLock && ours && number != "" && strings.Trim(number, "0123456789") == "" && e.Type().IsRegular()
}

// isUsed reports whether e is a lock file of a [Scratch] that another process has locked, or that this user
// may not open.
func isUsed(parent, prefix string, e os.DirEntry) bool {
	if !marksScratch(e, prefix) {
		return false
	}
	f, err := os.OpenFile(filepath.Join(parent, e.Name()), os.O_RDWR, 0)
	if err != nil {
		return errors.Is(err, fs.ErrPermission) // the file belongs to another user
	}
	defer f.Close()
	return Lock(f, false) != nil
}

// sweepOne removes the directory that the lock file at path marks, unless the file is
// locked. It returns the parent directories recorded in the file.
func sweepOne(path string) (made []string) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return nil
	}
	defer f.Close()
	if Lock(f, false) != nil || !IsAt(f, path) || !isOwn(f) {
		return nil
	}
	dir := strings.TrimSuffix(path, lockSuffix)
	text, _ := io.ReadAll(io.LimitReader(f, 1<<16))
	rest, ours := strings.CutPrefix(string(text), marker(dir, nil))
	switch {
	case len(text) == 0: // the process was killed before it created the directory
		Unmark(f)
		return nil
	case !ours:
		return nil
	}
	endMarked(dir, nil)
	if os.RemoveAll(dir) != nil {
		return nil // the next sweep tries again
	}
	Unmark(f)
	return strings.Split(strings.TrimSuffix(rest, "\n"), "\n")
}
