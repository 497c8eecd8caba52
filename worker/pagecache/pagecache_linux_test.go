//go:build amd64 || arm64

package pagecache_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/sqlite3perf/sqlite3perf/worker/pagecache"
)

// TestDrop checks that Drop drops the pages of a file that has just been written or read. Pages
// that a process has mapped must stay, and Drop must report them.
func TestDrop(t *testing.T) {
	dir := t.TempDir()
	if err := pagecache.Check(dir); err != nil {
		t.Skipf("files cannot be dropped in %s: %v", dir, err)
	}
	const pages = 256
	page := os.Getpagesize()
	f, err := os.Create(filepath.Join(dir, "file"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	data := bytes.Repeat([]byte("x"), pages*page-100)
	if _, err := f.Write(data); err != nil {
		t.Fatal(err)
	}
	empty, err := os.Create(filepath.Join(dir, "empty"))
	if err != nil {
		t.Fatal(err)
	}
	defer empty.Close()
	drop := func(want int64) {
		t.Helper()
		size, cached, err := pagecache.Drop(f, empty)
		if err != nil || size != int64(len(data)) || cached != want {
			t.Errorf("%d of %d bytes stayed in the page cache, error %v: want %d of %d", cached, size, err, want, len(data))
		}
	}
	drop(0)
	mapped, err := syscall.Mmap(int(f.Fd()), 0, len(data), syscall.PROT_READ, syscall.MAP_SHARED)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(data); i += page {
		if mapped[i] != 'x' {
			t.Fatal("the file has changed")
		}
	}
	drop(int64(len(data)))
	if err := syscall.Munmap(mapped); err != nil {
		t.Fatal(err)
	}
	drop(0)
}

func TestCheck(t *testing.T) {
	var fs syscall.Statfs_t
	if err := syscall.Statfs("/dev/shm", &fs); err != nil || fs.Type != 0x01021994 {
		t.Skipf("/dev/shm is not a tmpfs here: %v", err)
	}
	if err := pagecache.Check("/dev/shm"); err == nil || !strings.Contains(err.Error(), "only in memory") {
		t.Errorf("Check of a tmpfs: %v, want an error", err)
	}
}
