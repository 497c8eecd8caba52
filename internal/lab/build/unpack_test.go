package build_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sqlite3perf/sqlite3perf/internal/lab/build"
)

// installed pretends that the executable was not built from a clone. It returns the
// directory to which the executable unpacks its sources.
func installed(t *testing.T) (cache string) {
	t.Helper()
	build.SetBuiltFrom(t, filepath.Join(t.TempDir(), "removed"))
	home := t.TempDir()
	t.Cleanup(build.LetGo) // runs before the directory is removed
	t.Setenv("HOME", home)
	t.Setenv("XDG_CACHE_HOME", filepath.Join(home, "cache"))
	return filepath.Join(home, "cache", "sqlite3perf", "sources")
}

// only(t, cache, dir) fails the test unless the cache contains the directory dir of the sources, its lock
// file, and nothing else. So it also finds temporary directories that were not removed.
func only(t *testing.T, cache, dir string) {
	t.Helper()
	list, err := os.ReadDir(cache)
	list = slices.DeleteFunc(list, func(e os.DirEntry) bool { return filepath.Join(cache, e.Name()) == dir+".use" })
	if err != nil || len(list) != 1 || filepath.Join(cache, list[0].Name()) != dir {
		t.Errorf("the cache contains %v (%v), want only %s", list, err, dir)
	}
}

// TestUnpack checks that the sources are unpacked only once, even if many processes need
// them at the same time.
func TestUnpack(t *testing.T) {
	clone := known(t)
	cache := installed(t)
	var all sync.WaitGroup
	roots := make([]string, 8)
	for i := range roots {
		all.Go(func() {
			s, err := build.FindSource("")
			if err != nil {
				t.Error(err)
			}
			roots[i] = s.Root
		})
	}
	all.Wait()
	for _, r := range roots {
		if r != roots[0] || filepath.Dir(r) != cache {
			t.Errorf("unpacked to %q in %s", roots, cache)
		}
	}
	only(t, cache, roots[0])
	before, err := os.Stat(roots[0])
	if err != nil {
		t.Fatal(err)
	}
	s := source(t)
	if after, err := os.Stat(s.Root); err != nil || !os.SameFile(before, after) {
		t.Errorf("unpacked again: %v", err)
	}

	list := known(t)
	for i := range list { // the drivers must be the same, but in another directory
		if rel, err := filepath.Rel(s.Root, list[i].Dir); err != nil || !filepath.IsLocal(rel) {
			t.Errorf("%s is in %s", list[i].Name, list[i].Dir)
		}
		for _, arg := range list[i].Command[min(1, len(list[i].Command)):] {
			if filepath.IsAbs(arg) {
				if _, err := os.Stat(arg); err != nil {
					t.Errorf("%s: %v", list[i].Name, err)
				}
			}
		}
		list[i].Dir, clone[i].Dir = "", ""
		list[i].Command, clone[i].Command = nil, nil
	}
	if d := cmp.Diff(clone, list); d != "" {
		t.Errorf("-clone +unpacked (%s):\n%s", stale, d)
	}
}

// stale says in messages what to do if the sources inside the executable are outdated.
const stale = "make sources, if sources.TestFresh fails too"

// TestSameWorker checks that an installed executable and a clone with the same sources use
// the same worker in the cache, for any version of the library.
func TestSameWorker(t *testing.T) {
	t.Setenv("GOENV", "off") // go env -w stores its settings in the home directory, which the test replaces
	const cache = "/cache"
	path := func(name string) string {
		t.Helper()
		p, err := (&build.Builder{Source: source(t), Cache: cache}).WorkerPath(t.Context(), find(t, name))
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	names := []string{"modernc", "ncruces", "modernc@v1.30.0"}
	var want, got []string
	for _, n := range names {
		want = append(want, path(n))
	}
	installed(t)
	for _, n := range names {
		got = append(got, path(n))
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("-clone +unpacked (%s):\n%s", stale, d)
	}
}

// TestUnpackedChanged checks that changed sources are not built, and are neither repaired
// nor removed.
func TestUnpackedChanged(t *testing.T) {
	cache := installed(t)
	root := source(t).Root
	for name, change := range map[string]func(file string) error{
		"worker/main.go": func(file string) error {
			return errors.Join(os.Chmod(file, 0o644), os.WriteFile(file, []byte("package worker\n"), 0o644))
		},
		"drivers/modernc/more.go":     func(file string) error { return os.WriteFile(file, []byte("package modernc\n"), 0o644) },
		"drivers/python/worker.py":    os.Remove,
		"drivers/mattn":               os.RemoveAll,
		"drivers/native/worker/empty": func(file string) error { return os.WriteFile(file, nil, 0o644) },
		"worker/go.sum":               func(file string) error { return errors.Join(os.Remove(file), os.Mkdir(file, 0o755)) },
	} {
		t.Run(name, func(t *testing.T) {
			if err := change(filepath.Join(root, filepath.FromSlash(name))); err != nil {
				t.Fatal(err)
			}
			s, err := build.FindSource("")
			var unpack *build.UnpackError
			if !errors.As(err, &unpack) || unpack.Dir != root || unpack.Changed == "" || !within(name, unpack.Changed) {
				t.Fatalf("%+v, %v", s, err)
			}
			if s, err := build.FindSource(root); err != nil || s.Root != root {
				t.Errorf("named: %+v, %v", s, err)
			}
			if err := os.RemoveAll(root); err != nil {
				t.Fatal(err)
			}
			if got := source(t).Root; got != root {
				t.Errorf("removed, and unpacked to %s, want %s", got, root)
			}
			only(t, cache, root)
		})
	}
	if err := os.RemoveAll(filepath.Join(root, "drivers")); err != nil {
		t.Fatal(err)
	}
	var unpack *build.UnpackError
	if _, err := build.FindSource(""); !errors.As(err, &unpack) || unpack.Dir != root {
		t.Errorf("without drivers/: %v", err)
	}
}

// within reports whether two paths are equal, or the second path is below the first.
func within(changed, file string) bool {
	rel, err := filepath.Rel(filepath.FromSlash(changed), filepath.FromSlash(file))
	return err == nil && filepath.IsLocal(rel)
}

// TestUnpackNowhere checks two errors: the cache directory cannot be created, and its path is relative.
func TestUnpackNowhere(t *testing.T) {
	cache := installed(t)
	parent := filepath.Dir(filepath.Dir(cache))
	if err := os.WriteFile(parent, nil, 0o644); err != nil { // a file at the path of the cache directory, so that the directory cannot be created
		t.Fatal(err)
	}
	var unpack *build.UnpackError
	if s, err := build.FindSource(""); !errors.As(err, &unpack) || filepath.Dir(unpack.Dir) != cache || unpack.Changed != "" {
		t.Errorf("a file in the way: %+v, %v", s, err)
	}
	t.Setenv("XDG_CACHE_HOME", "relative")
	if s, err := build.FindSource(""); !errors.As(err, &unpack) {
		t.Errorf("a relative cache directory: %+v, %v", s, err)
	}
}

// TestSourcesHash checks that SourcesHash returns the hash of the sources that FindSource finds.
func TestSourcesHash(t *testing.T) {
	ofClone, dir, err := build.SourcesHash()
	if err != nil || dir == "" {
		t.Fatalf("in a clone: %s, %s, %v", ofClone, dir, err)
	}
	installed(t)
	s, err := build.FindSource("")
	if err != nil {
		t.Fatal(err)
	}
	if hash, dir, err := build.SourcesHash(); hash != filepath.Base(s.Root) || dir != "" || err != nil || hash != ofClone {
		t.Errorf("installed: %s, %q, %v; unpacked to %s; in a clone: %s", hash, dir, err, s.Root, ofClone)
	}
	root := filepath.Join(t.TempDir(), "changed")
	write(t, root, map[string]string{"worker/go.mod": "module github.com/sqlite3perf/sqlite3perf/worker\n", "drivers/x/a.go": "package x\n"})
	build.SetBuiltFrom(t, root)
	if hash, dir, err := build.SourcesHash(); hash == ofClone || dir != root || err != nil {
		t.Errorf("another clone: %s, %s, %v", hash, dir, err)
	}
}
