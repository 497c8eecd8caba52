package lab_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/sqlite3perf/sqlite3perf/internal/lab/build"
)

func source(t *testing.T) build.Source {
	t.Helper()
	s, err := build.FindSource("")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func known(t *testing.T) []build.Known {
	t.Helper()
	list, err := source(t).Drivers()
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// find returns the driver of the source tree that a user would call by this name.
func find(t *testing.T, name string) build.Ref {
	t.Helper()
	ref, err := build.ParseRef(t.Context(), name, known(t))
	if err != nil {
		t.Fatal(err)
	}
	return ref
}

// goOnly returns a PATH in which go is the only command.
func goOnly(t *testing.T) string {
	t.Helper()
	gocmd, err := exec.LookPath("go")
	if err != nil {
		t.Fatal(err)
	}
	if gocmd, err = filepath.EvalSymlinks(gocmd); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.Symlink(gocmd, filepath.Join(dir, filepath.Base(gocmd))); err != nil {
		t.Fatal(err)
	}
	return dir
}

// write writes files below dir, and creates their directories. The keys are paths with
// slashes.
func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, content := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// clone creates a source tree with one driver, toy, which compiles quickly.
func clone(t *testing.T) (build.Source, build.Ref) {
	t.Helper()
	root := t.TempDir()
	write(t, root, map[string]string{
		"go.mod":                  "module github.com/sqlite3perf/sqlite3perf\n\ngo 1.26\n",
		"worker/go.mod":           "module github.com/sqlite3perf/sqlite3perf/worker\n\ngo 1.26\n",
		"worker/a.go":             "package worker\n\nconst Name = \"one\"\n",
		"worker/a_test.go":        "package worker\n",
		"worker/testdata/x":       "",
		"drivers/toy/lib/a.go":    "package lib\n",
		"drivers/toy/lib/go.mod":  "module example.com/lib\n\ngo 1.26\n",
		"drivers/toy/driver.json": `{"name": "toy", "module": "example.com/lib", "kind": "transpiled", "interface": "direct"}`,
		"drivers/toy/go.mod": `module github.com/sqlite3perf/sqlite3perf/drivers/toy

go 1.26

require (
	example.com/lib v1.0.0
	github.com/sqlite3perf/sqlite3perf/worker v0.0.0
)

replace (
	example.com/lib => ./lib
	github.com/sqlite3perf/sqlite3perf/worker => ../../worker
)
`,
		"drivers/toy/worker/main.go": `package main

import (
	"fmt"
	"os"

	_ "example.com/lib"

	"github.com/sqlite3perf/sqlite3perf/worker"
)

func main() { fmt.Fprintln(os.Stderr, worker.Name); os.Exit(4) }
`,
	})
	s := build.Source{Root: root}
	list, err := s.Drivers()
	if err != nil {
		t.Fatal(err)
	}
	ref, err := build.ParseRef(t.Context(), "toy", list)
	if err != nil {
		t.Fatal(err)
	}
	return s, ref
}
