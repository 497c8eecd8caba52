// Package sources holds the source files of workers, so that an installed sqlite3perf can build
// workers without a clone of the repository. The files are in one archive because go:embed does
// not reach into other modules. The archive is text, so Git can merge it.
package sources

import (
	_ "embed" // embeds sources.txtar
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/tools/txtar"
)

// Archive has the files of worker/ and drivers/ in txtar format, as they were when the archive
// was generated.
//
//go:generate go test -run TestFresh -count=1 . -update
//go:embed sources.txtar
var Archive string

// Dirs lists the directories of the source tree that the archive contains.
var Dirs = []string{"worker", "drivers"}

// Files reads the files in the directories "dirs" that a worker's build may depend on, sorted by path within
// each directory. It leaves out tests, test data, and files that the go command ignores. Names in the result
// are relative to the directory "root", with slashes.
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
