//go:build amd64 || arm64

package worker_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/sqlite3perf/sqlite3perf/worker"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// TestCountSyncs checks that all calls that wait for the disk are counted, including the calls of
// child processes, and that written bytes are counted. Nothing must be counted while the stopwatch
// is stopped.
func TestCountSyncs(t *testing.T) {
	f, err := os.Create(filepath.Join(t.TempDir(), "file"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	dir, err := os.Open(filepath.Dir(f.Name()))
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	must := func(list ...error) {
		t.Helper()
		for _, err := range list {
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	write := func(n int) {
		t.Helper()
		_, err := f.WriteAt(make([]byte, n), 0)
		must(err)
	}
	count := func(do func()) (s protocol.Sample) {
		w := worker.NewIOStopwatch(t)
		write(5000)
		must(f.Sync())
		w.Start()
		do()
		w.Stop()
		write(5000)
		must(f.Sync())
		w.Read(&s)
		return s
	}
	for name, c := range map[string]struct {
		do                   func()
		syncs, writes, bytes int64
	}{
		"writes":            {func() { write(1000); write(1000) }, 0, 2, 2000},
		"fsync":             {func() { write(1000); must(f.Sync(), f.Sync()) }, 2, 1, 1000},
		"fdatasync":         {func() { write(1000); must(syscall.Fdatasync(int(f.Fd()))) }, 1, 1, 1000},
		"of a directory":    {func() { write(1000); must(dir.Sync()) }, 1, 1, 1000},
		"of a child":        {func() { write(1000); must(exec.Command("sync", f.Name()).Run()) }, 1, 1, 1000},
		"less than a page":  {func() { write(100); must(f.Sync()) }, 0, 0, 0},
		"nothing":           {func() {}, 0, 0, 0},
		"a sync that fails": {func() { write(1000); _ = syscall.Fsync(-1) }, 1, 1, 1000},
	} {
		var s protocol.Sample
		exact := func() bool {
			s = count(c.do)
			other := s.WrittenBytes - c.bytes // the scheduler's own writes have 8 bytes
			return s.Syncs == c.syncs && other >= 0 && other <= 200 && s.Writes >= c.writes && s.Writes <= c.writes+other
		}
		ok := exact()
		for range 2 { // a goroutine of an earlier test may still write
			ok = ok || exact()
		}
		if !ok {
			t.Errorf("%s: %d syncs, %d writes, %d bytes: want %d, %d, %d", name, s.Syncs, s.Writes, s.WrittenBytes, c.syncs, c.writes, c.bytes)
		}
	}
}
