package process_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/sqlite3perf/sqlite3perf/internal/lab/process"
)

// TestUsers checks that only directories that other processes are using are counted.
func TestUsers(t *testing.T) {
	parent := t.TempDir()
	defer newScratch(t, parent).Remove() // in use by this process
	put(t, filepath.Join(parent, "run-1.lock"), "of a process that was killed")
	if n := process.Users(parent, "run-"); n != 0 || process.InUse(parent, "run-") {
		t.Errorf("%d users, want none", n)
	}
	for _, name := range []string{"run-2.lock", "run-3.lock", "other-4.lock", "run-x.lock"} {
		path := filepath.Join(parent, name)
		put(t, path, "")
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
			t.Fatal(err)
		}
	}
	if n := process.Users(parent, "run-"); n != 2 || !process.InUse(parent, "run-") {
		t.Errorf("%d users, want 2", n)
	}
}
