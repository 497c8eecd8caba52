//go:build amd64 || arm64

package worker_test

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/pagecache"
	"github.com/sqlite3perf/sqlite3perf/worker/plan"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// locking is a fake that holds a POSIX lock on its database, as SQLite does.
type locking struct {
	*fake
	file *os.File
}

func (l *locking) Open(ctx context.Context, path string, s driver.Settings) (driver.DB, error) {
	if l.file != nil { // opening the file once more would release the lock
		return &fakeDB{l.fake}, nil
	}
	db, err := l.fake.Open(ctx, path, s)
	if err != nil {
		return nil, err
	}
	if l.file, err = os.OpenFile(path, os.O_RDWR, 0); err != nil {
		return nil, err
	}
	return db, syscall.FcntlFlock(l.file.Fd(), syscall.F_SETLK, &syscall.Flock_t{Type: syscall.F_WRLCK})
}

// held reports whether this process holds a lock on the file.
func (l *locking) held() bool {
	info, err := l.file.Stat()
	if err != nil {
		return false
	}
	locks, _ := os.ReadFile("/proc/locks")
	return strings.Contains(string(locks), fmt.Sprintf(":%d ", info.Sys().(*syscall.Stat_t).Ino))
}

// TestColdCaches checks that the caches of all connections are emptied before each timed phase, and
// before no other phase. It also checks that the samples report how cold the files were, and that
// SQLite keeps its locks.
func TestColdCaches(t *testing.T) {
	l := &locking{fake: newFake()}
	l.pragmas["mmap_size"] = "1048576"
	held, queries := 0, 0
	l.answer = func(string, []any) ([]driver.Row, error) {
		if queries++; l.held() {
			held++
		}
		return []driver.Row{{{Int: 1}}}, nil
	}
	query := func(name string) plan.Phase {
		call := plan.Call{SQL: "SELECT 1", Columns: []driver.ColumnType{{Type: driver.Int}}, Rows: 1}
		return plan.Phase{Name: name, Query: &plan.Query{Call: call, Clients: 1, Repeat: 1}}
	}
	untimed := query("untimed")
	untimed.Untimed = true
	req := trialOf(t, blog(3, untimed, query("first"), query("second")), driver.Settings{"cold_caches": "on", "pool_size": "2"})
	if err := pagecache.Check(t.TempDir()); err != nil {
		t.Skipf("files cannot be dropped here: %v", err)
	}
	var caches []protocol.Caches
	all := serve(t, l, req)
	for _, a := range all {
		if a.Sample != nil {
			caches = append(caches, *a.Sample.Caches)
		}
	}
	if want := (protocol.Caches{FileBytes: int64(len("a database"))}); !slices.Equal(caches, []protocol.Caches{want, want}) {
		t.Errorf("%+v, and the last answer is %+v: want %+v for each timed phase", caches, all[len(all)-1], want)
	}
	emptied := slices.DeleteFunc(slices.Clone(l.log), func(s string) bool { return !strings.Contains(s, "shrink_memory") })
	if want := slices.Repeat([]string{"script PRAGMA shrink_memory; PRAGMA mmap_size=0; PRAGMA mmap_size=1048576"}, 4); !slices.Equal(emptied, want) {
		t.Errorf("emptied: %q, want %q", emptied, want)
	}
	if held != queries || queries < 3 {
		t.Errorf("the lock on the database was held in %d of %d queries: want all", held, queries)
	}
}

// TestColdCachesUnsupported checks that no trial begins on a file system whose files cannot be dropped
// from the page cache.
func TestColdCachesUnsupported(t *testing.T) {
	if pagecache.Check("/dev/shm") == nil {
		t.Skip("/dev/shm is not a tmpfs here")
	}
	dir, err := os.MkdirTemp("/dev/shm", "cold-")
	if err != nil {
		t.Skipf("/dev/shm cannot be written: %v", err)
	}
	defer os.RemoveAll(dir)
	req := trialOf(t, blog(3, insertPhase(plan.Insert{Sets: []string{"users"}, Transaction: "one", RowsPerStatement: 1})), driver.Settings{"cold_caches": "on"})
	req.Path = dir + "/test.db"
	f := newFake()
	got := serve(t, f, req)
	if r := got[0].Reason; r == nil || r.Code != protocol.CodeUnsupported || !strings.Contains(r.Message, "cold_caches=on: the page cache cannot be dropped here: ") || len(f.log) > 0 {
		t.Errorf("%+v, %q", r, f.log)
	}
	f.limits = map[string]string{"cold_caches": "its files are elsewhere"}
	if r := serve(t, f, req)[0].Reason; r == nil || r.Code != protocol.CodeSetting || r.Message != "cold_caches=on: its files are elsewhere" {
		t.Errorf("%+v", r)
	}
}
