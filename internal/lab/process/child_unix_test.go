//go:build unix

package process_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/sqlite3perf/sqlite3perf/internal/lab/process"
)

// TestStoppedWorkerLeaves checks what happens when a worker is stopped. A worker that has data elsewhere, for
// example on a server, must get time to remove this data. Other workers must be killed at once.
func TestStoppedWorkerLeaves(t *testing.T) {
	for _, leaves := range []bool{true, false} {
		dir := t.TempDir()
		ctx, cancel := context.WithCancel(t.Context())
		c, err := process.Start(ctx, "/bin/sh", []string{"-c", "cat >began; echo >left"}, dir, "leaves", leaves)
		if err != nil {
			t.Fatal(err)
		}
		for began := false; !began && t.Context().Err() == nil; {
			_, err := os.Stat(filepath.Join(dir, "began"))
			began = err == nil
		}
		cancel()
		_ = c.Wait() // fails, because the process was stopped
		_, err = os.Stat(filepath.Join(dir, "left"))
		if leaves && err != nil || !leaves && !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("leaves %v: %v", leaves, err)
		}
	}
}
