package record

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sqlite3perf/sqlite3perf/internal/crash/trace"
)

// TestEveryCall checks that each call on a file is recorded, in the right order and with the right data,
// and that files elsewhere are neither recorded nor changed.
func TestEveryCall(t *testing.T) {
	s := start(t, "calls", nil)
	s.finish()
	same(t, s.rec.Ops, []string{
		"create 1 a.db",
		`write 1 a.db "hello" at 0 (write)`,
		`write 1 a.db "world" at 10 (pwrite64)`,
		`write 1 a.db "abcd" at 5 (writev)`,
		`write 1 a.db "xyz" at 20 (pwritev)`,
		`write 1 a.db "here" at 9 (pwritev)`,
		"sync 1 a.db (O_SYNC)",
		`write 1 a.db "more" at 23 (write)`,
		`write 1 a.db "most" at 27 (pwrite64)`,
		`write 1 a.db "D" at 1 (pwrite64)`,
		"sync 1 a.db (O_SYNC)",
		`write 1 a.db "dup" at 13 (write)`,
		"truncate 1 a.db to 25 (ftruncate)",
		"truncate 1 a.db to 12 (truncate)",
		"truncate 1 a.db to 30 (fallocate)",
		"sync 1 a.db (fsync)",
		"sync 1 a.db (fdatasync)",
		"syncdir . (fsync)",
		"truncate 1 a.db to 0 (open)",
		"sync 1 a.db (sync)",
		"syncdir . (sync)",
	})
	if data, err := os.ReadFile(filepath.Join(s.elsewhere, "renamed")); err != nil || string(data) != "not recorded" {
		t.Errorf("the file elsewhere has %q, %v", data, err)
	}
}

// TestNames checks that each system call that creates, renames or removes a file is recorded. A file keeps its
// number even if its name changes or is removed.
func TestNames(t *testing.T) {
	s := start(t, "directories", nil)
	s.finish()
	same(t, s.rec.Ops, []string{
		"create 1 a.db",
		`write 1 a.db "first" at 0 (pwrite64)`,
		"remove 1 a.db",
		`write 1  "removed" at 0 (pwrite64)`,
		"create 2 a.db",
		`write 2 a.db "second" at 0 (pwrite64)`,
		"rename 2 a.db to b.db",
		"create 3 c.db",
		"rename 2 b.db to d.db",
		"rename 2 d.db to c.db",
		`write 2 c.db "third" at 0 (pwrite64)`,
		"create 4 sub/w.db-wal",
		`write 4 sub/w.db-wal "frame" at 0 (pwrite64)`,
		"syncdir sub (fsync)",
		"rename 4 sub/w.db-wal to w.db-wal",
		"remove 4 w.db-wal",
		"remove 2 c.db",
		"syncdir . (fsync)",
	})
}

// TestThreads checks that the calls of all threads and of a child process are recorded in one
// order. The calls of each thread must be in the order in which the thread made them.
func TestThreads(t *testing.T) {
	s := start(t, "threads", nil)
	s.finish()
	var log strings.Builder
	next := map[string]int{} // next number that is expected, by file and thread
	for i := range s.rec.Ops {
		o := &s.rec.Ops[i]
		if o.Kind != trace.Write {
			continue
		}
		thread, number, _ := strings.Cut(strings.TrimSpace(string(o.Data)), ":")
		key := o.Name + " of " + thread
		if want := fmt.Sprintf("%03d", next[key]); number != want {
			t.Fatalf("%s: write %s is at the place of write %s", key, number, want)
		}
		next[key]++
		if o.Name == "log" {
			if int(o.Offset) != log.Len() {
				t.Fatalf("%s: write %s is at %d, want %d", key, number, o.Offset, log.Len())
			}
			log.Write(o.Data)
		}
	}
	if want := 2 * (writers + 1); len(next) != want {
		t.Errorf("writes of %d files and threads were recorded, want %d: %v", len(next), want, next)
	}
	for key, n := range next {
		if n != records {
			t.Errorf("%s: %d writes were recorded, want %d", key, n, records)
		}
	}
}

// TestSignals checks that a signal does not make the program repeat a call that was carried out.
func TestSignals(t *testing.T) {
	s := start(t, "signals", nil)
	s.finish()
	if want := records + 1; len(s.rec.Ops) != want {
		t.Errorf("%d operations were recorded, want %d", len(s.rec.Ops), want)
	}
}

// TestRefused checks that calls that could change files without being recorded fail as if the
// kernel did not know them.
func TestRefused(t *testing.T) {
	s := start(t, "refused", nil)
	s.finish()
	same(t, s.rec.Ops, []string{"create 1 a.db", "create 2 b.db"})
}

// TestRemovedWhileOpened checks that each created file is recorded if one thread opens a file with
// O_CREAT while another thread removes it.
func TestRemovedWhileOpened(t *testing.T) {
	s := start(t, "race", nil)
	s.finish()
}

// TestReusedInode checks that writes to files elsewhere are not recorded, even if such a file has the
// inode of a file that was removed from the recorded directory.
func TestReusedInode(t *testing.T) {
	s := start(t, "reuse", nil)
	if !slices.Contains(s.finish(), "reused") {
		t.Log("this file system gives no inode twice, so the test has nothing to find")
	}
	same(t, s.rec.Ops, []string{"create 1 a.db", "remove 1 a.db"})
}

// TestAcknowledgments checks that acknowledgments are recorded in order with the other operations,
// and that only lines of the program's standard output are acknowledgments.
func TestAcknowledgments(t *testing.T) {
	s := start(t, "acknowledge", nil)
	s.finish()
	same(t, s.rec.Ops, []string{
		"create 1 a.db",
		"acknowledge 0",
		`write 1 a.db "1" at 0 (pwrite64)`,
		`write 1 a.db "2" at 0 (pwrite64)`,
		"acknowledge 1",
		`write 1 a.db "3" at 0 (pwrite64)`,
		"acknowledge 2",
		"acknowledge 3",
		`write 1 a.db "4" at 0 (pwrite64)`,
	})
}

// TestSharedMemory checks that a -shm file may be mapped, and that each acknowledgment keeps what was
// written to it.
func TestSharedMemory(t *testing.T) {
	s := start(t, "shared memory", nil)
	s.finish()
	same(t, s.rec.Ops, []string{
		"create 1 a.db-shm",
		"truncate 1 a.db-shm to 8192 (ftruncate)",
		`map 1 a.db-shm "index"`,
		"acknowledge 0",
		`map 1 a.db-shm "later"`,
		"acknowledge 1",
	})
}

// TestPrivateMaps checks that maps that change no file do not end the recording.
func TestPrivateMaps(t *testing.T) {
	s := start(t, "private mmap", nil)
	s.finish()
	if n := len(s.rec.Ops); n != 4 {
		t.Errorf("%d operations were recorded, want 4: %q", n, words(s.rec.Ops))
	}
}

// TestNotModeled checks that a call that the models of a disk do not include ends the recording,
// and that the error names the call.
func TestNotModeled(t *testing.T) {
	for program, want := range map[string]string{
		"mmap":             "a.db is mapped into memory for writing",
		"O_TMPFILE":        "O_TMPFILE",
		"link":             "link of b.db",
		"linkat":           "linkat of b.db",
		"link in":          "linkat of b.db",
		"symlink":          "symlink of b.db",
		"symlinkat":        "symlinkat of b.db",
		"mknod":            "mknodat of pipe",
		"creat":            "creat of a.db",
		"punch hole":       "fallocate of a.db with mode 0x3",
		"rename out":       "rename of a.db to ",
		"rename in":        "to x: ",
		"rename directory": "rename of a: a directory",
	} {
		t.Run(program, func(t *testing.T) {
			s := start(t, program, nil)
			err := <-s.ended
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("the error is %v, want one with %q; the program says %s", err, want, &s.stderr)
			}
		})
	}
}

// TestUnexplained checks that these tests would notice an operation that was not recorded.
func TestUnexplained(t *testing.T) {
	for want, change := range map[string]func(path string) error{
		"the file a.db was changed unseen": func(path string) error { return os.WriteFile(path, []byte("x"), 0o600) },
		"the file a.db was removed unseen": os.Remove,
		"the file x was created unseen": func(path string) error {
			return os.WriteFile(filepath.Join(filepath.Dir(path), "x"), nil, 0o600)
		},
	} {
		s := start(t, "calls", nil)
		s.finish()
		if err := change(filepath.Join(s.dir, "a.db")); err != nil {
			t.Fatal(err)
		}
		if got := s.unexplained(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
