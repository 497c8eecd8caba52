package build_test

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/tools/txtar"

	"github.com/sqlite3perf/sqlite3perf/internal/lab/build"
)

// otherVersion unpacks sources as another version of sqlite3perf would, and sets the time of
// their last use.
func otherVersion(t *testing.T, cache, what string, used time.Time) (dir string) {
	t.Helper()
	a := &txtar.Archive{Files: []txtar.File{
		{Name: "worker/go.mod", Data: []byte("module github.com/sqlite3perf/sqlite3perf/worker\n")},
		{Name: "drivers/mine/mine.go", Data: []byte("package " + what + "\n")},
	}}
	hash := sha256.Sum256(txtar.Format(a))
	dir = filepath.Join(cache, fmt.Sprintf("%x", hash[:8]))
	for _, f := range a.Files {
		path := filepath.Join(dir, filepath.FromSlash(f.Name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, f.Data, 0o444); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(dir+".use", nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(dir+".use", used, used); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestSourcesPruned checks that unpacking removes the sources of versions unused for a long
// time, but neither sources in use by a process nor files that somebody has written.
func TestSourcesPruned(t *testing.T) {
	cache := installed(t)
	long := time.Now().Add(-31 * 24 * time.Hour)
	old := otherVersion(t, cache, "old", long)
	stay := map[string]string{
		"used lately":     otherVersion(t, cache, "lately", long.Add(2*24*time.Hour)),
		"changed":         otherVersion(t, cache, "changed", long),
		"with more files": otherVersion(t, cache, "more", long),
		"in use":          otherVersion(t, cache, "used", long),
		"unmarked":        otherVersion(t, cache, "unmarked", long),
		"not sources":     filepath.Join(cache, strings.Repeat("0", 16)),
		"another name":    filepath.Join(cache, "mine"),
	}
	changed := filepath.Join(stay["changed"], "drivers", "mine", "mine.go")
	if err := os.Chmod(changed, 0o644); err != nil {
		t.Fatal(err)
	}
	for file, text := range map[string]string{
		changed: "package mine\n",
		filepath.Join(stay["with more files"], "notes.txt"):  "mine",
		filepath.Join(stay["not sources"], "worker/a.go"):    "package a\n",
		filepath.Join(stay["another name"], "worker/go.mod"): "module mine\n",
	} {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Remove(stay["unmarked"] + ".use"); err != nil {
		t.Fatal(err)
	}
	if s, err := build.FindSource(stay["in use"]); err != nil || s.Root != stay["in use"] {
		t.Fatalf("%+v, %v", s, err)
	}
	if err := os.Chtimes(stay["in use"]+".use", long, long); err != nil { // as if the process that uses the sources had started long ago
		t.Fatal(err)
	}

	root := source(t).Root
	for _, gone := range []string{old, old + ".use"} {
		if _, err := os.Lstat(gone); !os.IsNotExist(err) {
			t.Errorf("%s is still there: %v", gone, err)
		}
	}
	for what, dir := range stay {
		if _, err := os.Stat(dir); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	if fi, err := os.Stat(stay["unmarked"] + ".use"); err != nil || fi.ModTime().Before(long) {
		t.Errorf("not marked: %v", err)
	}
	if left, err := filepath.Glob(filepath.Join(cache, "unpacking-*")); err != nil || left != nil {
		t.Errorf("left behind: %q, %v", left, err)
	}

	// When the process that used the sources has ended, the next unpacking removes them.
	build.LetGo()
	if err := os.RemoveAll(root); err != nil {
		t.Fatal(err)
	}
	if again := source(t).Root; again != root {
		t.Errorf("unpacked to %s, want %s", again, root)
	}
	if _, err := os.Lstat(stay["in use"]); !os.IsNotExist(err) {
		t.Errorf("sources that are no longer in use are still there: %v", err)
	}
}

// TestSourcesMarked checks that each use of unpacked sources updates the time of their last
// use, so that sources in daily use are not removed.
func TestSourcesMarked(t *testing.T) {
	installed(t)
	root := source(t).Root
	long := time.Now().Add(-90 * 24 * time.Hour)
	if err := os.Chtimes(root+".use", long, long); err != nil {
		t.Fatal(err)
	}
	build.LetGo()
	if source(t).Root != root {
		t.Fatal("unpacked again")
	}
	if fi, err := os.Stat(root + ".use"); err != nil || !fi.ModTime().After(long) {
		t.Errorf("not marked: %v", err)
	}
}
