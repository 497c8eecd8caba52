package build_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sqlite3perf/sqlite3perf/internal/lab/build"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
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

func TestDrivers(t *testing.T) {
	var names, optional []string
	for _, k := range known(t) {
		names = append(names, k.Name)
		if k.Optional {
			optional = append(optional, k.Name)
		}
		if k.Module == "" || k.About == "" || strings.HasPrefix(k.Version, "v") != (k.Command == nil) || filepath.Base(k.Dir) != k.Name {
			t.Errorf("%+v", k)
		}
		if k.Command == nil && (k.Release == nil || k.Release.Version != k.Version) {
			t.Errorf("%s: driver.json must say in the field release when %s was released: go run ./internal/bump %s writes it", k.Name, k.Version, k.Name)
		}
		if k.Command == nil && k.Maintenance == nil {
			t.Errorf("%s: driver.json must say in the field maintenance whether the library is maintained: see Maintenance in internal/lab/build/manifest.go", k.Name)
		}
		for what := range k.Limits {
			name, value, pair := strings.Cut(what, "=")
			if what == "mmap_size=mapped" {
				continue // mmap_size=mapped is part of the name of a conformance check, not a setting
			}
			if d, setting := driver.LookupSetting(name); setting && pair {
				if v, err := d.Canonical(value); err != nil || v != value {
					t.Errorf("%s: limit %s is not in canonical form, so it would never be found: %v", k.Name, what, err)
				}
			}
		}
	}
	directories, err := os.ReadDir(filepath.Join(source(t).Root, "drivers"))
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, d := range directories {
		want = append(want, d.Name())
	}
	if !slices.Equal(names, want) || !slices.Contains(names, "mattn") {
		t.Errorf("got %s, want %s", names, want)
	}
	if got := strings.Join(optional, " "); got != "python python-fetchall rqlite sqinn" {
		t.Errorf("the optional drivers are %s", got)
	}
}

func TestParseRef(t *testing.T) {
	list := known(t)
	t.Chdir(t.TempDir())
	if err := os.WriteFile("script", []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("text", nil, 0o644); err != nil {
		t.Fatal(err)
	}
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, known, version, path string }{
		{"mattn", "mattn", "", ""},
		{"mattn@v1.14.22", "mattn", "v1.14.22", ""},
		{"tailscale@v0.0.0-20240816174256-9328d0478def", "tailscale", "v0.0.0-20240816174256-9328d0478def", ""},
		{"mattn@v2.0.3+incompatible", "mattn", "v2.0.3+incompatible", ""},
		{"./script", "", "", filepath.Join(here, "script")},
		{filepath.Join(here, "script"), "", "", filepath.Join(here, "script")},
	} {
		got, err := build.ParseRef(t.Context(), c.name, list)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		name := ""
		if got.Known != nil {
			name = got.Known.Name
		}
		if got.Name != c.name || name != c.known || got.Version != c.version || got.Path != c.path {
			t.Errorf("%s: got %+v", c.name, got)
		}
	}
	for name, want := range map[string]string{
		"matn":         `unknown driver "matn": did you mean "mattn"?`,
		"matn@v1.2.3":  `unknown driver "matn": did you mean "mattn"?`,
		"":             `unknown driver "": known are bvinc, `,
		"postgresql":   `unknown driver "postgresql": known are bvinc, crawshaw, `,
		"mattn@":       `driver mattn@: bad version "": want one such as mattn@v1.`,
		"mattn@1.14":   `driver mattn@1.14: bad version "1.14": want one such as mattn@v1.`,
		"mattn@newest": `bad version "newest": want one such as mattn@v1.`,
		"mattn@v1":     `bad version "v1"`,
		"python@3.11":  `driver python@3.11: python is not built, so it is measured in the version that is installed: leave out @3.11`,
		"./absent":     `driver ./absent: no such executable`,
		"./text":       `driver ./text is not an executable`,
		"./":           `driver ./ is not an executable`,
		"./script/x":   `driver ./script/x: no such executable`,
	} {
		got, err := build.ParseRef(t.Context(), name, list)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %+v, %v; want %s", name, got, err, want)
		}
	}
}

func TestFindSource(t *testing.T) {
	root := source(t).Root
	if wd, err := os.Getwd(); err != nil || filepath.Join(wd, "..", "..", "..") != root {
		t.Errorf("in %s, FindSource found the source tree %s (%v)", wd, root, err)
	}
	if _, err := build.FindSource(filepath.Join(root, "internal")); err == nil || !strings.Contains(err.Error(), "is not the source tree") {
		t.Errorf("a directory within: %v", err)
	}
	// From another directory, FindSource finds the tree from which the test was built.
	t.Chdir(t.TempDir())
	if got := source(t).Root; got != root {
		t.Errorf("from elsewhere: %s, want %s", got, root)
	}
	// A tree around the working directory may belong to somebody else. Its code must not run
	// unless the user names the tree.
	clone, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	write(t, clone, map[string]string{
		"go.mod": "module github.com/sqlite3perf/sqlite3perf\n", "worker/go.mod": "module github.com/sqlite3perf/sqlite3perf/worker\n",
		"drivers/x/driver.json": "{}", "cached/go.mod": "module github.com/sqlite3perf/sqlite3perf\n",
	})
	t.Chdir("drivers")
	if got := source(t).Root; got != root {
		t.Errorf("within another tree: %s, want %s", got, root)
	}
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("XDG_CACHE_HOME", filepath.Join(home, "cache"))
	// The executable unpacks the sources that it contains if it was built with -trimpath (".."), if the
	// source tree that it was built from was removed, or if that tree is in the module cache.
	for _, built := range []string{"..", filepath.Join(clone, "gone"), filepath.Join(clone, "cached")} {
		build.SetBuiltFrom(t, built)
		if got := source(t).Root; !strings.HasPrefix(got, home) {
			t.Errorf("built from %s: %s, want the sources inside the executable", built, got)
		}
	}
	if got, err := build.FindSource(clone); err != nil || got.Root != clone {
		t.Errorf("another tree, named: %s, %v", got.Root, err)
	}
	if got, err := build.FindSource(root); err != nil || got.Root != root {
		t.Errorf("named: %s, %v", got.Root, err)
	}
}

func TestBrokenDriver(t *testing.T) {
	for name, c := range map[string]struct{ json, mod, want string }{
		"no kind":       {`{"name": "x"}`, "module x\n", "driver.json: name, kind and interface are required"},
		"not JSON":      {`name: x`, "module x\n", "driver.json: invalid character"},
		"no version":    {`{"name": "x", "module": "example.com/x", "kind": "cgo", "interface": "direct"}`, "module x\n", "does not require example.com/x"},
		"bad go.mod":    {`{"name": "x", "module": "example.com/x", "kind": "cgo", "interface": "direct"}`, "require (\n", "go.mod:"},
		"unknown field": {`{"name": "x", "module": "example.com/x", "kind": "cgo", "interface": "direct", "optinal": true}`, "module x\n", `unknown field "optinal"`},
		"need unnamed":  {`{"name": "x", "kind": "cgo", "interface": "direct", "needs": {"executable": "x"}}`, "module x\n", "needs: executable and hint are required"},
		"no feature":    {`{"name": "x", "kind": "cgo", "interface": "direct", "variants": {"fts": "tags=y"}}`, "module x\n", `variants: unknown feature "fts"`},
		"no options":    {`{"name": "x", "kind": "cgo", "interface": "direct", "variants": {"fts5": "y"}}`, "module x\n", `variants: fts5: bad option "y"`},
		"not of builds": {`{"name": "x", "kind": "cgo", "interface": "direct", "variants": {"fts5": "GOGC=4"}}`, "module x\n", "variants: fts5: option GOGC: want tags or cflags"},
		"only a json":   {`{"name": "x", "module": "example.com/x", "kind": "cgo", "interface": "direct"}`, "", "go.mod: no such file"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			files := map[string]string{"drivers/x/driver.json": c.json, "drivers/x/go.mod": c.mod}
			if c.mod == "" {
				delete(files, "drivers/x/go.mod")
			}
			write(t, dir, files)
			if list, err := (build.Source{Root: dir}).Drivers(); err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), filepath.Join("drivers", "x")) {
				t.Errorf("%+v, %v; want %s, and the path of the driver", list, err, c.want)
			}
		})
	}
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

func empty(t *testing.T, dir string) {
	t.Helper()
	left, err := os.ReadDir(dir)
	if err != nil || len(left) > 0 {
		t.Errorf("files left in the directory: %v, %v", left, err)
	}
}
