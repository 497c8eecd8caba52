package machine_test

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/sqlite3perf/sqlite3perf/internal/lab/machine"
)

func TestRead(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	m, err := machine.Read(".")
	if err != nil {
		t.Fatal(err)
	}
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	if m.Hostname != host || m.OS != runtime.GOOS || m.Arch != runtime.GOARCH {
		t.Errorf("got %+v", m)
	}
	if m.Cores < 1 || m.MemoryBytes < 1<<24 || m.Kernel == "" {
		t.Errorf("got %+v", m)
	}
	if wd, err := os.Getwd(); err != nil || m.Directory != wd {
		t.Errorf("directory is %s, %v; want %s", m.Directory, err, wd)
	}
	if m.FileSystem == "" || m.Device == "" {
		t.Errorf("the file system of %s is not known: %+v", dir, m)
	}
	t.Logf("%+v", m)
}

func TestReadNoDirectory(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{file, file + "-absent"} {
		if m, err := machine.Read(dir); err == nil {
			t.Errorf("Read(%s) gave %+v, want an error", dir, m)
		}
	}
}
