package website

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"

	"github.com/sqlite3perf/sqlite3perf/internal/directory"
)

// DirectoryError means that a directory can't become a site.
type DirectoryError struct {
	Dir string
	Why error
}

func (e *DirectoryError) Error() string {
	return fmt.Sprintf("%s: %v: name another directory", e.Dir, e.Why)
}

func (e *DirectoryError) Unwrap() error { return e.Why }

var errForeign = errors.New("it is not empty, and is not a site that sqlite3perf wrote")

// manifestName is the name of the file that marks a directory as a site. The file says what the
// pages of runs were made from.
const manifestName = "sqlite3perf-site.json"

type manifest struct {
	Generator string            `json:"generator"`
	Pages     map[string]string `json:"pages"` // for each file, a hash that identifies the run and the program from which the file was made
	Sums      map[string]string `json:"sums"`  // for each file, the hash of its content
}

const generator = "sqlite3perf site 1"

// ours matches the files that Write may remove. All other files in the directory are kept.
var ours = regexp.MustCompile(`^(runs/[0-9]+\.(html|json)|drivers/[a-z0-9-]+\.html|badges/[a-z0-9-]+\.svg|assets/[a-z]+\.(css|js))$`)

var directories = []string{"runs", "drivers", "badges", "assets"}

// files are the files of a site. An os.Root makes sure that links in the directory don't lead out of it.
type files struct {
	root             *os.Root
	before, now      manifest
	kept             map[string]bool
	changed, removed int
	bytes            int64
}

func openFiles(dir string) (*files, error) {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, &DirectoryError{dir, directory.Reason(err)}
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, &DirectoryError{dir, directory.Reason(err)}
	}
	f := &files{root: root, now: manifest{generator, map[string]string{}, map[string]string{}}, kept: map[string]bool{}}
	if err := f.begin(); err != nil {
		f.close()
		return nil, &DirectoryError{dir, directory.Reason(err)}
	}
	return f, nil
}

func (f *files) close() { f.root.Close() }

// begin reads the manifest, the file that says what the site's pages were made from. In an empty
// directory it writes a manifest, so that a later call can continue if this call is killed.
func (f *files) begin() error {
	data, err := f.read(manifestName)
	if errors.Is(err, fs.ErrNotExist) {
		list, err := fs.ReadDir(f.root.FS(), ".")
		if err != nil {
			return err
		}
		// These files may be in a directory that is otherwise empty: a checkout of an empty branch
		// has .git, and a site on GitHub Pages may have CNAME and .nojekyll.
		if slices.ContainsFunc(list, func(e fs.DirEntry) bool {
			return !slices.Contains([]string{".git", ".nojekyll", "CNAME", temporary}, e.Name())
		}) {
			return errForeign
		}
		return f.replace(manifestName, f.manifest())
	}
	if err != nil {
		return err
	}
	if json.Unmarshal(data, &f.before) != nil || f.before.Generator != generator {
		return errForeign
	}
	return nil
}

func (f *files) manifest() []byte {
	data, err := json.MarshalIndent(f.now, "", " ")
	if err != nil {
		panic(err) // cannot happen: the manifest has only texts
	}
	return append(data, '\n')
}

// read reads a regular file of the site.
func (f *files) read(name string) ([]byte, error) {
	info, err := f.root.Lstat(name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > directory.MaxOwn {
		return nil, fmt.Errorf("%s is not a file of a site", name)
	}
	return f.root.ReadFile(name)
}

// unchanged checks whether the named files were made from the run and the program that the
// parameter "key" stands for, and whether nobody has changed the files since. If so, it keeps all
// of them and returns the content of the last one. Otherwise it returns nil.
func (f *files) unchanged(key string, names ...string) (last []byte) {
	var size int64
	for _, name := range names {
		data, err := f.read(name)
		if err != nil || f.before.Pages[name] != key || f.before.Sums[name] != directory.Sum(data) {
			return nil
		}
		last, size = data, size+int64(len(data))
	}
	for _, name := range names {
		f.kept[name] = true
		f.now.Sums[name] = f.before.Sums[name]
	}
	f.bytes += size
	f.remember(key, names...)
	return last
}

func (f *files) remember(key string, names ...string) {
	for _, name := range names {
		f.now.Pages[name] = key
	}
}

// put writes a file, unless the file already has this content.
func (f *files) put(name string, data []byte) error {
	f.kept[name] = true
	f.bytes += int64(len(data))
	f.now.Sums[name] = directory.Sum(data)
	if old, err := f.read(name); err == nil && bytes.Equal(old, data) {
		return nil
	}
	f.changed++
	return f.write(name, data)
}

// write replaces a file in one step: it writes a temporary file, and renames it.
func (f *files) write(name string, data []byte) error {
	if err := f.replace(name, data); err != nil {
		return fmt.Errorf("%s: %w", filepath.Join(f.root.Name(), name), directory.Reason(err))
	}
	return nil
}

func (f *files) replace(name string, data []byte) error {
	if dir := path.Dir(name); dir != "." {
		if err := f.root.MkdirAll(dir, 0o777); err != nil {
			return err
		}
	}
	if err := f.root.Remove(temporary); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := f.root.WriteFile(temporary, data, 0o666); err != nil {
		return err
	}
	return f.root.Rename(temporary, name)
}

// temporary is the name under which a file is written before it replaces an older file.
const temporary = ".sqlite3perf-output"

// finish removes the pages of runs and drivers that are no longer in the store, and writes the
// manifest.
func (f *files) finish() error {
	for _, dir := range directories {
		list, err := fs.ReadDir(f.root.FS(), dir)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		for _, e := range list {
			name := dir + "/" + e.Name()
			if f.kept[name] || !e.Type().IsRegular() || !ours.MatchString(name) {
				continue
			}
			if err := f.root.Remove(name); err != nil {
				return err
			}
			f.removed++
		}
	}
	data := f.manifest()
	if old, err := f.read(manifestName); err == nil && bytes.Equal(old, data) {
		return nil
	}
	return f.write(manifestName, data)
}
