package build

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/sqlite3perf/sqlite3perf/internal/lab/process"

	"golang.org/x/tools/txtar"

	"github.com/sqlite3perf/sqlite3perf/internal/sources"
)

// UnpackError says why the sources inside this executable cannot be used.
type UnpackError struct {
	Dir     string // directory of the sources; "" if there is no cache directory
	Changed string // file in Dir that was changed after unpacking; "" if Err is the cause
	Err     error
}

func (e *UnpackError) Error() string {
	if e.Changed != "" {
		return fmt.Sprintf("the unpacked sources of the workers in %s have been changed: %s", e.Dir, e.Changed)
	}
	return fmt.Sprintf("unpacking the sources of the workers: %v", e.Err)
}

func (e *UnpackError) Unwrap() error { return e.Err }

// Unpacked returns the sources inside this executable, unpacked to the user's cache directory. The directory's
// name contains the hash of the sources, so each version of sqlite3perf has its own directory. If the
// directory does not exist, Unpacked creates it, and removes unused directories of other versions. In either
// case it checks every file. The error is an [*UnpackError].
func Unpacked() (Source, error) {
	parent, err := sourcesCache()
	if err != nil {
		return Source{}, &UnpackError{Err: err}
	}
	dir := filepath.Join(parent, hashName([]byte(sources.Archive)))
	if _, err := os.Lstat(dir); err == nil {
		hold(dir) // held before the directory is used, so that no other process removes it
	}
	want := txtar.Parse([]byte(sources.Archive)).Files
	if _, err := os.Lstat(dir); errors.Is(err, fs.ErrNotExist) {
		if err := unpack(want, dir); err != nil {
			return Source{}, &UnpackError{Dir: dir, Err: err}
		}
		hold(dir)
		pruneSources(parent, time.Now().Add(-unusedSources))
	}
	err = errors.Join(checkOthers(parent), checkOthers(dir))
	var got []txtar.File
	if err == nil {
		got, err = filesOf(dir)
	}
	if err != nil {
		return Source{}, &UnpackError{Dir: dir, Err: err}
	}
	if name := difference(want, got); name != "" {
		return Source{}, &UnpackError{Dir: dir, Changed: name}
	}
	return Source{dir}, nil
}

// sourcesCache returns the directory that contains the unpacked sources.
func sourcesCache() (string, error) {
	cache, err := os.UserCacheDir()
	return filepath.Join(cache, "sqlite3perf", "sources"), err
}

// scratchPrefix is the prefix of the names of temporary directories for unpacking and removing sources.
const scratchPrefix = "unpacking-"

// unpack writes files to the new directory dir, which appears only when it is complete.
func unpack(files []txtar.File, dir string) error {
	scratch, err := process.NewScratch(filepath.Dir(dir), scratchPrefix)
	if err != nil {
		return err
	}
	defer scratch.Remove()
	tree := filepath.Join(scratch.Dir, "tree")
	for _, f := range files {
		path := filepath.Join(tree, filepath.FromSlash(f.Name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, f.Data, 0o444); err != nil { // read-only, so that an editor warns before changing a file
			return err
		}
	}
	err = os.Rename(tree, dir)
	if _, there := os.Lstat(dir); there == nil {
		return nil // dir is now complete: this process or, if the rename failed, another process has created it
	}
	return err
}

// difference returns the name of a file that only one of the lists has, or whose data differ between
// the lists. It returns "" if the lists are equal.
func difference(want, got []txtar.File) string {
	missing := map[string]string{}
	for _, f := range want {
		missing[f.Name] = string(f.Data)
	}
	for _, f := range got {
		if data, wanted := missing[f.Name]; !wanted || data != string(f.Data) {
			return f.Name
		}
		delete(missing, f.Name)
	}
	if len(missing) > 0 {
		return slices.Min(slices.Collect(maps.Keys(missing)))
	}
	return ""
}
