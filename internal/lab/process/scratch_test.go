package process_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sqlite3perf/sqlite3perf/internal/lab/process"
)

// tree returns the paths of all files below a directory.
func tree(t *testing.T, dir string) (list []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if rel, _ := filepath.Rel(dir, path); rel != "." {
			list = append(list, rel)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(list)
	return list
}

func put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func newScratch(t *testing.T, parent string) *process.Scratch {
	t.Helper()
	s, err := process.NewScratch(parent, "run-")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestScratch(t *testing.T) {
	top := t.TempDir()
	parent := filepath.Join(top, "a", "b")
	s := newScratch(t, parent)
	put(t, filepath.Join(s.Dir, "trial-1", "test.db"), "x")
	// A sweep does not remove directories that are in use, nor their parents.
	other := newScratch(t, parent)
	if got := tree(t, s.Dir); len(got) != 2 {
		t.Errorf("a directory that is in use was swept: %q", got)
	}
	s.Remove()
	if fi, err := os.Stat(other.Dir); err != nil || !fi.IsDir() {
		t.Errorf("the directory of the other Scratch: %v", err)
	}
	other.Remove()
	if got := tree(t, filepath.Join(top, "a")); len(got) != 1 {
		t.Errorf("left: %q", got) // only a/b may be left, because it was not empty when the process that created it ended
	}
}

// TestScratchOfTheKilled checks that the next process removes the directory of a killed process. When the
// next process ends, it must also remove the parents that the killed process created.
func TestScratchOfTheKilled(t *testing.T) {
	top := t.TempDir()
	parent := filepath.Join(top, "a", "b")
	s := newScratch(t, parent)
	put(t, filepath.Join(s.Dir, "trial-1", "test.db"), "x")
	process.Abandon(s)
	next := newScratch(t, parent)
	if got := tree(t, parent); len(got) != 2 {
		t.Errorf("%q, want only the new directory and its lock file", got)
	}
	next.Remove()
	if got := tree(t, top); len(got) != 0 {
		t.Errorf("left: %q", got)
	}
}

// TestSweepLeavesWhatIsNotOurs checks that only directories with a lock file written by sqlite3perf are
// removed.
func TestSweepLeavesWhatIsNotOurs(t *testing.T) {
	parent := t.TempDir()
	file := func(name, text string) { put(t, filepath.Join(parent, name), text) }
	s := newScratch(t, parent)
	process.Abandon(s)
	ours, err := os.ReadFile(s.Dir + ".lock")
	if err != nil {
		t.Fatal(err)
	}
	file("run-1/a.db", "x") // has no lock file
	file("run-2/a.db", "x") // has a lock file with a foreign text
	file("run-2.lock", "mine")
	file("run-3/a.db", "x") // has the lock file text of another directory
	file("run-3.lock", string(ours))
	file("run-x/a.db", "x") // the name has no number
	file("run-x.lock", string(ours))
	file("mine/a.db", "x")
	file("run-4.lock", "") // the process was killed before it wrote the lock file's text
	file("run-5/a.db", "x")
	file("run-5.lock", "")
	file("elsewhere.lock", process.Marker(filepath.Join(parent, "run-6")))
	if err := os.Symlink("elsewhere.lock", filepath.Join(parent, "run-6.lock")); err != nil {
		t.Fatal(err)
	}
	file("run-6/a.db", "x")
	file("run-7.lock", process.Marker(filepath.Join(parent, "run-7"))) // the directory is a symbolic link to another directory
	if err := os.Symlink("mine", filepath.Join(parent, "run-7")); err != nil {
		t.Fatal(err)
	}
	if made := process.Sweep(parent, "run-"); len(made) > 0 {
		t.Errorf("Sweep returned the parents %q, want none", made)
	}
	want := []string{
		"elsewhere.lock", "mine", "mine/a.db", "run-1", "run-1/a.db", "run-2", "run-2.lock", "run-2/a.db", "run-3", "run-3.lock", "run-3/a.db",
		"run-5", "run-5/a.db", "run-6", "run-6.lock", "run-6/a.db", "run-x", "run-x.lock", "run-x/a.db",
	}
	slices.Sort(want)
	if d := cmp.Diff(want, tree(t, parent)); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
}
