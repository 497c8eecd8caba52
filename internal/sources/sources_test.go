package sources_test

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/sqlite3perf/sqlite3perf/internal/sources"
)

var update = flag.Bool("update", false, "write the archive again")

// tree reads the files of this source tree that belong in the archive.
func tree(t *testing.T) []txtar.File {
	t.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	var dirs []string
	for _, d := range sources.Dirs {
		dirs = append(dirs, filepath.Join(root, d))
	}
	files, err := sources.Files(root, dirs...)
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// TestFresh checks that the archive has the current files of worker/ and drivers/.
func TestFresh(t *testing.T) {
	files, archive := tree(t), []byte(sources.Archive)
	if *update {
		archive = txtar.Format(&txtar.Archive{Files: files})
		if string(archive) != sources.Archive {
			if err := os.WriteFile("sources.txtar", archive, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	contents := func(files []txtar.File) map[string]string {
		m := map[string]string{}
		for _, f := range files {
			m[f.Name] = string(f.Data)
		}
		return m
	}
	want, got := contents(files), contents(txtar.Parse(archive).Files)
	for _, f := range files {
		data, there := got[f.Name]
		delete(got, f.Name)
		switch {
		case there && data == want[f.Name]:
		case *update:
			t.Errorf("%s: a txtar archive cannot store this file, because it has a line such as -- x --, or no newline at its end", f.Name)
		case there:
			t.Errorf("%s has changed since sources.txtar was generated: make sources", f.Name)
		default:
			t.Errorf("%s is not in sources.txtar: make sources", f.Name)
		}
	}
	for name := range got {
		t.Errorf("%s is in sources.txtar, but no longer in the tree: make sources", name)
	}
}

// TestFiles checks that Files lists files of every kind on which a build depends, and no other files.
func TestFiles(t *testing.T) {
	root := t.TempDir()
	in := filepath.Join(root, "worker")
	for _, name := range []string{
		"go.mod", "go.sum", "a.go", "b_linux.go", "c.c", "d.h", "e.json", "f.py", "sub/testdata.go", "sub/g.sql",
		"a_test.go", "testdata/x.go", "sub/testdata/y", ".hidden", "sub/_ignored.go", ".git/z",
	} {
		path := filepath.Join(in, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(name), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	files, err := sources.Files(root, in)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range files {
		got = append(got, f.Name)
		if "worker/"+string(f.Data) != f.Name {
			t.Errorf("%s has the content of %s", f.Name, f.Data)
		}
	}
	want := []string{
		"worker/a.go", "worker/b_linux.go", "worker/c.c", "worker/d.h", "worker/e.json", "worker/f.py", "worker/go.mod", "worker/go.sum",
		"worker/sub/g.sql", "worker/sub/testdata.go",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if files, err := sources.Files(root, filepath.Join(root, "drivers")); err == nil {
		t.Errorf("no error for a directory that does not exist, but %d files", len(files))
	}
}
