package build_test

import (
	"context"
	"debug/buildinfo"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sqlite3perf/sqlite3perf/internal/lab/build"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
)

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

// made requests a worker from a new Builder, and reports whether the worker had to be built.
func made(t *testing.T, s build.Source, cache string, ref build.Ref) (path string, built bool) {
	t.Helper()
	b := &build.Builder{Source: s, Cache: cache}
	before, err := b.Built(t.Context(), ref)
	if err != nil {
		t.Fatal(err)
	}
	path, with, err := b.Worker(t.Context(), ref, func() { built = true })
	if err != nil {
		t.Fatal(err)
	}
	if before == built {
		t.Errorf("Built returned %v, but Worker built the worker: %v", before, built)
	}
	if with["go"] == "" || with["module_version"] == "" {
		t.Errorf("built with %v", with)
	}
	if after, err := b.Built(t.Context(), ref); err != nil || !after {
		t.Errorf("Built says %v, %v", after, err)
	}
	return path, built
}

func TestCache(t *testing.T) {
	s, ref := clone(t)
	cache := filepath.Join(t.TempDir(), "not", "there", "yet")
	first, built := made(t, s, cache, ref)
	if !built {
		t.Fatal("nothing was built")
	}
	if out, err := exec.Command(first).CombinedOutput(); string(out) != "one\n" {
		t.Errorf("the worker says %q, %v", out, err)
	}
	same := func(what string) {
		t.Helper()
		if path, built := made(t, s, cache, ref); path != first || built {
			t.Errorf("%s: %s, built again: %v; want %s from the cache", what, path, built, first)
		}
	}
	other := func(what string, ref build.Ref) string {
		t.Helper()
		path, built := made(t, s, cache, ref)
		if path == first || !built {
			t.Errorf("%s: still %s, built again: %v", what, path, built)
		}
		return path
	}
	same("asked again")
	write(t, s.Root, map[string]string{"worker/a_test.go": "package worker // changed\n", "worker/testdata/x": "changed", "lab/a.go": "package lab\n"})
	same("files that are not linked have changed")

	version := ref
	version.Name, version.Version = "toy@v1.2.3", "v1.2.3"
	if path := other("another version", version); !strings.Contains(filepath.Base(path), "toy-v1.2.3-") {
		t.Errorf("named %s", path)
	}
	same("the pinned version again")

	t.Setenv("GOFLAGS", "-ldflags=-w")
	other("other flags", ref)
	t.Setenv("GOFLAGS", "")
	same("the flags again")
	t.Setenv("GOEXPERIMENT", "nogreenteagc")
	other("another experiment", ref)
	t.Setenv("GOEXPERIMENT", "")
	same("no experiment again")

	write(t, s.Root, map[string]string{"worker/a.go": "package worker\n\nconst Name = \"two\"\n"})
	second := other("the engine has changed", ref)
	if out, err := exec.Command(second).CombinedOutput(); string(out) != "two\n" {
		t.Errorf("the worker says %q, %v", out, err)
	}
	write(t, s.Root, map[string]string{"drivers/toy/worker/b.go": "package main\n"})
	if third := other("the driver has changed", ref); third == second {
		t.Errorf("the driver has changed: still %s", third)
	}
	left, err := filepath.Glob(filepath.Join(cache, "building-*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left in the cache: %v, %v", left, err)
	}
}

// TestSpoiledCache checks that a worker is rebuilt if its file in the cache was changed.
func TestSpoiledCache(t *testing.T) {
	s, ref := clone(t)
	cache := t.TempDir()
	path, _ := made(t, s, cache, ref)
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	flipped := slices.Clone(good)
	flipped[len(flipped)/2] ^= 1
	for name, spoil := range map[string]func() error{
		"empty":          func() error { return os.Truncate(path, 0) },
		"half":           func() error { return os.Truncate(path, int64(len(good)/2)) },
		"garbage":        func() error { return os.WriteFile(path, []byte("garbage"), 0o755) },
		"one bit":        func() error { return os.WriteFile(path, flipped, 0o755) },
		"not executable": func() error { return os.Chmod(path, 0o644) },
		"without a sum":  func() error { return os.Remove(path + ".sha256") },
	} {
		if name == "not executable" && runtime.GOOS == "windows" {
			continue // Windows does not have such file modes
		}
		if err := spoil(); err != nil {
			t.Fatal(err)
		}
		if _, built := made(t, s, cache, ref); !built {
			t.Errorf("%s: it was not built again", name)
		}
		if got, err := os.ReadFile(path); err != nil || !slices.Equal(got, good) {
			t.Errorf("%s: the worker is not the one that was built, %v", name, err)
		}
		if _, built := made(t, s, cache, ref); built {
			t.Errorf("%s: it was built twice", name)
		}
	}
}

func TestRelativeCache(t *testing.T) {
	s, ref := clone(t)
	here := t.TempDir()
	t.Chdir(here)
	path, built := made(t, s, "cache", ref)
	if dir := filepath.Join(here, "cache"); !built || filepath.Dir(path) != dir {
		t.Errorf("built: %v; the worker is %s, want it in %s", built, path, dir)
	}
	if again, built := made(t, s, "./cache", ref); again != path || built {
		t.Errorf("asked again: %s, built again: %v", again, built)
	}
	if out, err := exec.Command(path).CombinedOutput(); string(out) != "one\n" {
		t.Errorf("the worker says %q, %v", out, err)
	}
}

// TestBuiltWithoutC checks the worker of a driver that has no C code. It must be built without a C compiler,
// even if it imports package net, which can use a C compiler. The worker must not depend on which C compiler
// is installed.
func TestBuiltWithoutC(t *testing.T) {
	s, ref := clone(t)
	write(t, s.Root, map[string]string{"worker/a.go": "package worker\n\nimport _ \"net\"\n\nconst Name = \"one\"\n"})
	cache := t.TempDir()
	first, _ := made(t, s, cache, ref)
	info, err := buildinfo.ReadFile(first)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(info.Settings, debug.BuildSetting{Key: "CGO_ENABLED", Value: "0"}) {
		t.Errorf("built with %v", info.Settings)
	}
	t.Setenv("CC", "/nonexistent/cc")
	t.Setenv("CGO_CFLAGS", "-O0")
	if path, built := made(t, s, cache, ref); path != first || built {
		t.Errorf("another compiler: %s, built again: %v", path, built)
	}
	if path, built := made(t, s, t.TempDir(), ref); filepath.Base(path) != filepath.Base(first) || !built {
		t.Errorf("without a compiler: %s, built: %v", path, built)
	}
}

func TestBroken(t *testing.T) {
	s, ref := clone(t)
	write(t, s.Root, map[string]string{"drivers/toy/worker/main.go": "package main\n\nfunc main() { nonsense() }\n"})
	cache := t.TempDir()
	b := &build.Builder{Source: s, Cache: cache}
	_, _, err := b.Worker(t.Context(), ref, nil)
	var broken *build.BuildError
	if !errors.As(err, &broken) || broken.Reason.Code != "build" {
		t.Fatalf("got %v", err)
	}
	if m := broken.Reason.Message; !strings.HasPrefix(m, "cannot be built: ") || !strings.Contains(m, "main.go:3:15: undefined: nonsense") {
		t.Errorf("got %s", m)
	}
	empty(t, cache)
	if built, err := b.Built(t.Context(), ref); built || err != nil {
		t.Errorf("built: %v, %v", built, err)
	}
}

func TestCancelledBuild(t *testing.T) {
	s, ref := clone(t)
	cache := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	b := &build.Builder{Source: s, Cache: cache}
	_, _, err := b.Worker(ctx, ref, cancel) // Worker searches the cache, and then calls "cancel" before it builds
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	empty(t, cache)
}

func TestExecutableNeedsNoBuild(t *testing.T) {
	t.Setenv("PATH", "")
	b := &build.Builder{Cache: "/nonexistent"}
	path, with, err := b.Worker(t.Context(), build.Ref{Name: "./x", Path: "/x"}, func() { t.Error("something is built") })
	if path != "/x" || with != nil || err != nil {
		t.Errorf("%s, %v, %v", path, with, err)
	}
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

func TestNoToolchain(t *testing.T) {
	for _, c := range []struct {
		name, variable, value string
		cgo, pure             string // expected codes of a cgo driver and of a pure Go driver; "": it can be built
		parts                 []string
	}{
		{"CC is not there", "CC", "/nonexistent/cc -m64", "no-cc", "", []string{"mattn needs a C compiler", `no "/nonexistent/cc`, "apt-get install gcc", "CC"}},
		{"no gcc in PATH", "PATH", goOnly(t), "no-cc", "", []string{"mattn needs a C compiler", "install gcc or clang"}},
		{"cgo turned off", "CGO_ENABLED", "0", "no-cc", "", []string{"CGO_ENABLED=0", "unset it"}},
		{"no go in PATH", "PATH", t.TempDir(), "no-go", "no-go", []string{"no go in PATH", "https://go.dev/dl"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.variable != "CC" {
				t.Setenv("CC", "") // otherwise a CC from the environment would be used instead of gcc
			}
			t.Setenv(c.variable, c.value)
			cache := t.TempDir()
			b := &build.Builder{Source: source(t), Cache: cache}
			for name, code := range map[string]string{"mattn": c.cgo, "native": c.cgo, "modernc": c.pure} {
				_, err := b.Built(t.Context(), find(t, name))
				var unavailable *build.BuildError
				switch {
				case code == "" && err != nil:
					t.Errorf("%s: %v", name, err)
				case code != "" && !errors.As(err, &unavailable):
					t.Errorf("%s: got %v, want %s", name, err, code)
				case code != "" && unavailable.Reason.Code != code:
					t.Errorf("%s: %+v, want %s", name, unavailable.Reason, code)
				}
				if name != "mattn" {
					continue
				}
				if _, _, werr := b.Worker(t.Context(), find(t, name), nil); werr == nil || werr.Error() != err.Error() {
					t.Errorf("Built says %v, Worker says %v", err, werr)
				}
				for _, p := range c.parts {
					if !strings.Contains(err.Error(), p) {
						t.Errorf("no %q in %q", p, err)
					}
				}
			}
			empty(t, cache)
		})
	}
}

// TestVersionMod checks that another version of a library is built only with the
// requirements in its own go.mod.
func TestVersionMod(t *testing.T) {
	for name, c := range map[string]struct{ mod, sum, want string }{
		"requirements go": {
			mod: `module github.com/sqlite3perf/sqlite3perf/drivers/x

go 1.26

require (
	example.com/lib v1.9.0
	example.com/libc v1.99.0 // its own go.mod names another
	github.com/sqlite3perf/sqlite3perf/worker v0.0.0
)

require example.com/deep v0.1.0 // indirect

replace github.com/sqlite3perf/sqlite3perf/worker => ../../worker
`,
			sum: "example.com/lib v1.9.0 h1:x=\n",
			want: `module github.com/sqlite3perf/sqlite3perf/drivers/x

go 1.26

require (
	github.com/sqlite3perf/sqlite3perf/worker v0.0.0
	example.com/lib v1.2.3
)

replace github.com/sqlite3perf/sqlite3perf/worker => ../../worker
`,
		},
		"one line each": {
			mod: `module github.com/sqlite3perf/sqlite3perf/drivers/x

require github.com/sqlite3perf/sqlite3perf/worker v0.0.0

require example.com/lib v1.9.0
`,
			want: `module github.com/sqlite3perf/sqlite3perf/drivers/x

require (
	github.com/sqlite3perf/sqlite3perf/worker v0.0.0
	example.com/lib v1.2.3
)
`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir, out := t.TempDir(), t.TempDir()
			write(t, dir, map[string]string{"go.mod": c.mod})
			if c.sum != "" {
				write(t, dir, map[string]string{"go.sum": c.sum})
			}
			ref := build.Ref{Name: "x@v1.2.3", Version: "v1.2.3", Known: &build.Known{Manifest: build.Manifest{Info: driver.Info{Name: "x", Module: "example.com/lib"}}, Dir: dir}}
			mod, err := build.VersionMod(ref, out)
			if err != nil {
				t.Fatal(err)
			}
			got, err := os.ReadFile(mod)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(c.want, string(got)); d != "" {
				t.Errorf("-want +got:\n%s", d)
			}
			sum, err := os.ReadFile(filepath.Join(out, "go.sum"))
			if err != nil || string(sum) != c.sum {
				t.Errorf("go.sum: %q, %v", sum, err)
			}
		})
	}
}

// TestAnotherVersion builds a real pure Go library in a version other than the pinned one.
// If the packages are in Go's build cache, the build takes seconds.
func TestAnotherVersion(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a real worker")
	}
	t.Parallel()
	ref := find(t, "zombiezen@v1.4.0")
	if ref.Version == ref.Known.Version {
		t.Fatalf("%s is the pinned version: choose another for this test", ref.Version)
	}
	b := &build.Builder{Source: source(t), Cache: t.TempDir()}
	path, with, err := b.Worker(t.Context(), ref, nil)
	if err != nil {
		t.Fatal(err)
	}
	if with["module_version"] != "v1.4.0" {
		t.Errorf("built with %v", with)
	}
	info, proof, err := build.Describe(t.Context(), path)
	if err != nil || info.Name != "zombiezen" || proof.ModuleVersion != "v1.4.0" {
		t.Errorf("%+v, %+v, %v", info, proof, err)
	}
	linked, err := buildinfo.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range linked.Deps {
		want := map[string]string{"modernc.org/sqlite": "v1.33.1", "modernc.org/libc": "v1.55.3"}[m.Path]
		if want != "" && m.Version != want {
			t.Errorf("linked with %s %s, and the go.mod of v1.4.0 asks for %s", m.Path, m.Version, want)
		}
	}
	if runtime.GOOS != "windows" && !strings.HasPrefix(filepath.Base(path), "zombiezen-v1.4.0-") {
		t.Errorf("named %s", path)
	}
}

// TestNoSuchVersion requests a version that does not exist. The reason must contain the go
// command's message.
func TestNoSuchVersion(t *testing.T) {
	t.Setenv("GOPROXY", "off")
	b := &build.Builder{Source: source(t), Cache: t.TempDir()}
	_, _, err := b.Worker(t.Context(), find(t, "zombiezen@v1.999.0"), nil)
	var broken *build.BuildError
	if !errors.As(err, &broken) || broken.Reason.Code != "build" || !strings.Contains(err.Error(), "v1.999.0") || strings.Contains(err.Error(), "\n") {
		t.Errorf("got %v", err)
	}
}
