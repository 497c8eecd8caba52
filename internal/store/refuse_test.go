package store_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/sqlite3perf/sqlite3perf/internal/store"
)

// snapshot returns every file under dir with its content, to check that none changed.
func snapshot(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			files[path] = d.Type().String()
			return err
		}
		b, err := os.ReadFile(path)
		files[path] = string(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func TestRefused(t *testing.T) {
	write := func(content string) func(*testing.T, string) string {
		return func(t *testing.T, dir string) string {
			path := filepath.Join(dir, "file")
			if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
				t.Fatal(err)
			}
			return path
		}
	}
	for _, c := range []struct {
		name string
		make func(t *testing.T, dir string) (path string)
		want string
	}{
		{"text", write(strings.Repeat("a text of one's own\n", 100)), " cannot be used: it is not a SQLite database"},
		{"short text", write("x"), " cannot be used: it is not a SQLite database"},
		{"only the beginning of a database", write("SQLite format 3\x00"), "is a SQLite database of something else"},
		{"directory", func(t *testing.T, dir string) string { return dir }, "is a directory"},
		{"below a file", func(t *testing.T, dir string) string {
			return filepath.Join(write("x")(t, dir), "results.db")
		}, "not a directory"},
		{"far below a file", func(t *testing.T, dir string) string {
			return filepath.Join(write("x")(t, dir), "a", "b", "results.db")
		}, "not a directory"},
		{"database of something else", func(t *testing.T, dir string) string {
			path := filepath.Join(dir, "theirs.db")
			db := plain(t, path)
			defer db.Close()
			if _, err := db.Exec(`CREATE TABLE runs (a); INSERT INTO runs VALUES (1)`); err != nil {
				t.Fatal(err)
			}
			return path
		}, "is a SQLite database of something else"},
		{"database of something else with a journal to roll back", func(t *testing.T, dir string) string {
			return interrupted(t, dir, `PRAGMA cache_size = 1; PRAGMA cache_spill = 1`)
		}, "is a SQLite database of something else"},
		{"database of something else with a log to check in", func(t *testing.T, dir string) string {
			return interrupted(t, dir, `PRAGMA journal_mode = wal`)
		}, "is a SQLite database of something else"},
		{"no regular file", func(t *testing.T, dir string) string {
			path := filepath.Join(dir, "null")
			if err := os.Symlink(os.DevNull, path); err != nil {
				t.Fatal(err)
			}
			return path
		}, "is not a regular file"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			path := c.make(t, dir)
			before := snapshot(t, dir)
			for name, open := range map[string]func(context.Context, string) (*store.Store, error){"Open": store.Open, "OpenReadOnly": store.OpenReadOnly} {
				s, err := open(context.Background(), path)
				if err == nil {
					s.Close()
				}
				wantError(t, err, "store "+path+" cannot be used: ", c.want)
				if !errors.Is(err, store.ErrRefused) {
					t.Errorf("%s: %v is not ErrRefused", name, err)
				}
				if err != nil && strings.Count(err.Error(), dir) != 1 {
					t.Errorf("%s: %v names the path more than once", name, err)
				}
			}
			if d := cmp.Diff(before, snapshot(t, dir)); d != "" {
				t.Errorf("the refused file or its directory has changed: -before +after:\n%s", d)
			}
		})
	}
}

// interrupted copies a database that is not a store while its owner is writing to it, and returns
// the path of the copy. The copy has a journal or log, which only the owner should apply or remove.
func interrupted(t *testing.T, dir, pragmas string) string {
	t.Helper()
	from := t.TempDir()
	db := plain(t, filepath.Join(from, "theirs.db"))
	db.SetMaxOpenConns(1)
	if _, err := db.Exec(`CREATE TABLE t (a); ` + pragmas + `; BEGIN;
		INSERT INTO t SELECT randomblob(1000) FROM json_each('[` + strings.Repeat("1,", 500) + `1]')`); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(pragmas, "wal") {
		if _, err := db.Exec(`COMMIT`); err != nil {
			t.Fatal(err)
		}
	}
	entries, err := os.ReadDir(from)
	if err != nil {
		t.Fatal(err)
	}
	copied := 0
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), "-shm") {
			continue
		}
		b, err := os.ReadFile(filepath.Join(from, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		if len(b) > 0 {
			copied++
		}
		if err := os.WriteFile(filepath.Join(dir, e.Name()), b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if copied != 2 {
		t.Fatalf("copied %d files with content, want a database and its journal: %v", copied, entries)
	}
	return filepath.Join(dir, "theirs.db")
}

func TestDamaged(t *testing.T) {
	ctx, path := context.Background(), newPath(t)
	s := mustOpen(t, path)
	r := smallRun()
	if err := s.Begin(ctx, r); err != nil {
		t.Fatal(err)
	}
	for i := range 50 {
		if err := s.AddTrial(ctx, r.ID, trial(i+1)); err != nil {
			t.Fatal(err)
		}
	}
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt(make([]byte, info.Size()-100), 100); err != nil {
		t.Fatal(err)
	}
	damaged, err := store.OpenReadOnly(context.Background(), path)
	if err == nil {
		_, err = damaged.Load(ctx, r.ID)
		damaged.Close()
	}
	wantError(t, err, path, "is damaged")
}

func TestLocked(t *testing.T) {
	ctx, path := context.Background(), newPath(t)
	s, err := store.OpenWith(path, false, store.Migrations, 10*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	other := plain(t, path)
	other.SetMaxOpenConns(1)
	if _, err := other.Exec(`BEGIN IMMEDIATE`); err != nil {
		t.Fatal(err)
	}
	wantError(t, s.Begin(ctx, smallRun()), path, "is locked by another process")
	if _, err := other.Exec(`ROLLBACK; BEGIN; SELECT * FROM runs`); err != nil {
		t.Fatal(err)
	}
	// The other process only reads, so the writer can continue up to its commit, which must wait.
	wantError(t, s.Begin(ctx, smallRun()), path, "is locked by another process")
	if _, err := other.Exec(`ROLLBACK`); err != nil {
		t.Fatal(err)
	}
	if err := s.Begin(ctx, smallRun()); err != nil {
		t.Errorf("after the lock was released: %v", err)
	}
}

// TestCancelledWhileLocked checks that Ctrl-C ends the wait for a lock.
func TestCancelledWhileLocked(t *testing.T) {
	path := newPath(t)
	s := mustOpen(t, path)
	other := plain(t, path)
	other.SetMaxOpenConns(1)
	if _, err := other.Exec(`BEGIN IMMEDIATE`); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	time.AfterFunc(20*time.Millisecond, cancel)
	if err := s.Begin(ctx, smallRun()); !errors.Is(err, context.Canceled) {
		t.Errorf("Begin: %v", err)
	}
	if _, err := other.Exec(`ROLLBACK`); err != nil {
		t.Fatal(err)
	}
	if err := s.Begin(context.Background(), smallRun()); err != nil {
		t.Errorf("Begin after one that was cancelled: %v", err)
	}
}

func TestFull(t *testing.T) {
	ctx, path := context.Background(), newPath(t)
	s := mustOpen(t, path)
	r := smallRun()
	if err := s.Begin(ctx, r); err != nil {
		t.Fatal(err)
	}
	// If a database may not grow, SQLite reports that the disk is full.
	if _, err := s.DB().Exec(`PRAGMA max_page_count = 1`); err != nil {
		t.Fatal(err)
	}
	kept := fill(t, s, path, r.ID)
	if got, err := s.Load(ctx, r.ID); err != nil || len(got.Trials) != kept {
		t.Errorf("Load: %d trials, %v; want %d", len(got.Trials), err, kept)
	}
	checkIntact(t, path)
}

// fill adds large trials until the store is full, and returns how many trials were stored.
func fill(t *testing.T, s *store.Store, path string, runID int64) int {
	t.Helper()
	for n := range 1000 {
		large := trial(n + 1)
		large.Samples[0].Checksum = strings.Repeat("x", 20_000)
		if err := s.AddTrial(context.Background(), runID, large); err != nil {
			wantError(t, err, path, "no space left")
			return n
		}
	}
	t.Fatal("the store was never full")
	return 0
}
