// Package sources holds the files that workers are built from, so that an installed
// sqlite3perf needs no clone. go:embed does not reach into other modules, so they
// are one archive. It is text: Git merges it as it merges the files themselves.
package sources

import (
	_ "embed" // the archive
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/tools/txtar"
)

// Archive has the files of worker/ and drivers/ in txtar format, as they were when
// it was generated.
//
//go:generate go test -run TestFresh -count=1 . -update
//go:embed sources.txtar
var Archive string

// Dirs are the directories of a source tree that the archive has.
var Dirs = []string{"worker", "drivers"}

// Files reads the files in directories that a worker's build may depend on, sorted
// by path within each directory. It leaves out tests, their data, and what the go
// command ignores. Names are relative to root, with slashes.
func Files(root string, dirs ...string) (files []txtar.File, err error) {
	for _, dir := range dirs {
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			ignored := path != dir && (d.Name()[0] == '.' || d.Name()[0] == '_')
			if d.IsDir() {
				if ignored || d.Name() == "testdata" {
					return fs.SkipDir
				}
				return nil
			}
			if ignored || strings.HasSuffix(path, "_test.go") || !d.Type().IsRegular() {
				return nil
			}
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			rel, err := filepath.Rel(root, path)
			files = append(files, txtar.File{Name: filepath.ToSlash(rel), Data: data})
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return files, nil
}
