package store_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/sqlite3perf/sqlite3perf/internal/store"
)

func TestRoundTrip(t *testing.T) {
	ctx := context.Background()
	s := mustOpen(t, newPath(t))

	t.Run("whole", func(t *testing.T) {
		want := fullRun(t)
		if err := s.Begin(ctx, want); err != nil {
			t.Fatal(err)
		}
		got, err := s.Load(ctx, want.ID)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("-stored +loaded:\n%s", d)
		}
	})

	t.Run("as it comes", func(t *testing.T) {
		want := fullRun(t)
		r := *want
		r.Ended, r.Rounds, r.Stopped, r.Steal = time.Time{}, 0, "", nil
		r.Trials, r.Warnings = nil, nil
		check := func(err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
		}
		check(s.Begin(ctx, &r))
		early, err := s.Load(ctx, r.ID)
		check(err)
		if d := cmp.Diff(&r, early, cmpopts.EquateEmpty()); d != "" {
			t.Errorf("before the first trial: -stored +loaded:\n%s", d)
		}
		for i := range want.Trials {
			check(s.AddTrial(ctx, r.ID, &want.Trials[i]))
			check(s.Continue(ctx, early))
			if d := cmp.Diff(want.Trials[:i+1], early.Trials); d != "" {
				t.Errorf("after trial %d: -stored +continued:\n%s", i+1, d)
			}
		}
		for _, w := range want.Warnings {
			check(s.AddWarning(ctx, r.ID, w))
		}
		want.ID = r.ID
		check(s.Finish(ctx, want))
		check(s.Continue(ctx, early))
		if len(early.Trials) != len(want.Trials) || early.ID != r.ID || early.Stopped != want.Stopped || early.Seed != want.Seed || len(early.Cases) != len(want.Cases) {
			t.Errorf("continued to the end: %+v", early)
		}
		got, err := s.Load(ctx, r.ID)
		check(err)
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("-stored +loaded:\n%s", d)
		}
	})
}

func TestOpenMakesDirectories(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a b", "50%?#", "results.db")
	s := mustOpen(t, path)
	if err := s.Begin(context.Background(), smallRun()); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Size() == 0 {
		t.Errorf("Stat: %v, %v", info, err)
	}
}

func TestOpenAgainKeepsRuns(t *testing.T) {
	ctx, path := context.Background(), newPath(t)
	s := mustOpen(t, path)
	if err := s.Begin(ctx, smallRun()); err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	r := smallRun()
	again := mustOpen(t, path)
	if after, err := os.ReadFile(path); err != nil || !cmp.Equal(before, after) {
		t.Errorf("opening changed the file (%v)", err)
	}
	if err := again.Begin(ctx, r); err != nil || r.ID != 2 {
		t.Errorf("Begin gave run %d, %v; want 2", r.ID, err)
	}
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(entries) != 1 {
		t.Errorf("the store is %v, %v; want one file", entries, err)
	}
}

func TestOpenReadOnly(t *testing.T) {
	ctx, path := context.Background(), newPath(t)
	absent := func() {
		t.Helper()
		_, err := store.OpenReadOnly(context.Background(), path)
		want := "no runs yet at " + path + ": sqlite3perf run makes one"
		if !errors.Is(err, store.ErrNoStore) || err.Error() != want {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	absent()
	lost := filepath.Join(filepath.Dir(path), "no", "such", "x.db")
	want := "no runs yet at " + lost + " (its directory " + filepath.Dir(lost) + " does not exist): sqlite3perf run makes one"
	if _, err := store.OpenReadOnly(ctx, lost); !errors.Is(err, store.ErrNoStore) || err.Error() != want {
		t.Errorf("got %v, want %q", err, want)
	}
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Errorf("OpenReadOnly created the file: %v", err)
	}
	if err := os.WriteFile(path, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	absent()

	if err := mustOpen(t, path).Begin(ctx, smallRun()); err != nil {
		t.Fatal(err)
	}
	s, err := store.OpenReadOnly(context.Background(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if r, err := s.Load(ctx, 1); err != nil || r.Version != "test" {
		t.Errorf("Load: %v, %v", r, err)
	}
	wantError(t, s.Begin(ctx, smallRun()), path, "reading only")
}

// TestPragmas checks the settings of a store's connection. Among them are the settings that make AddTrial
// durable, and the setting that lets SQLite delete the rows of a deleted run in all tables.
func TestPragmas(t *testing.T) {
	s := mustOpen(t, newPath(t))
	schemas, err := filepath.Glob("schema*.sql")
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"application_id": fmt.Sprint(store.ApplicationID), "user_version": fmt.Sprint(len(schemas)),
		"journal_mode": "delete", "synchronous": "3", "foreign_keys": "1", "busy_timeout": "30000",
	} {
		var got string
		if err := s.DB().QueryRow(`PRAGMA ` + name).Scan(&got); err != nil || got != want {
			t.Errorf("%s is %s, %v; want %s", name, got, err, want)
		}
	}
}

func TestMigration(t *testing.T) {
	ctx, path := context.Background(), newPath(t)
	const busy = time.Second
	if err := mustOpen(t, path).Begin(ctx, smallRun()); err != nil {
		t.Fatal(err)
	}
	known := len(store.Migrations)
	newer := append(slices.Clone(store.Migrations), `ALTER TABLE runs ADD COLUMN governor TEXT AS (json_extract(json, '$.machine.governor'))`)
	broken := append(slices.Clone(newer), `CREATE TABLE fine (a); CREATE TABLE runs (a)`)

	if s, err := store.OpenWith(path, false, broken, busy); err == nil {
		s.Close()
		t.Fatal("no error although a migration fails")
	}
	version := func() (v int) {
		if err := plain(t, path).QueryRow(`PRAGMA user_version`).Scan(&v); err != nil {
			t.Fatal(err)
		}
		return v
	}
	if v := version(); v != known {
		t.Fatalf("version after a failed migration is %d, want %d", v, known)
	}

	// The store is upgraded even if it is opened only for reading.
	s, err := store.OpenWith(path, true, newer, busy)
	if err != nil {
		t.Fatal(err)
	}
	if r, err := s.Load(ctx, 1); err != nil || r.Version != "test" {
		t.Errorf("Load after a migration: %v, %v", r, err)
	}
	s.Close()
	if v := version(); v != known+1 {
		t.Errorf("version is %d, want %d", v, known+1)
	}
	if _, err := plain(t, path).Exec(`SELECT governor FROM runs`); err != nil {
		t.Error(err)
	}

	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, open := range []func(context.Context, string) (*store.Store, error){store.Open, store.OpenReadOnly} {
		_, err = open(context.Background(), path)
		wantError(t, err, path, "newer sqlite3perf")
	}
	if after, err := os.ReadFile(path); err != nil || !cmp.Equal(before, after) {
		t.Errorf("the refused store was changed (%v)", err)
	}
}

func TestDefaultPath(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("XDG_DATA_HOME", dir)
	if p, err := store.DefaultPath(); err != nil || p != filepath.Join(dir, "sqlite3perf", "results.db") {
		t.Errorf("with XDG_DATA_HOME: %q, %v", p, err)
	}
	t.Setenv("XDG_DATA_HOME", "relative")
	t.Setenv("HOME", dir)
	t.Setenv("USERPROFILE", dir)
	t.Setenv("LocalAppData", "")
	for goos, want := range map[string]string{
		"linux":   filepath.Join(dir, ".local", "share"),
		"darwin":  filepath.Join(dir, "Library", "Application Support"),
		"windows": filepath.Join(dir, "AppData", "Local"),
	} {
		if got, err := store.DataDir(goos); err != nil || got != want {
			t.Errorf("%s: %q, %v; want %q", goos, got, err, want)
		}
	}
	t.Setenv("HOME", "")
	t.Setenv("USERPROFILE", "")
	_, err := store.DefaultPath()
	wantError(t, err, "no home directory")
}

// wantError fails the test unless err is one line and contains every part.
func wantError(t *testing.T, err error, parts ...string) {
	t.Helper()
	if err == nil {
		t.Errorf("no error, want one with %q", parts)
		return
	}
	if strings.Contains(err.Error(), "\n") {
		t.Errorf("the error has several lines: %v", err)
	}
	for _, p := range parts {
		if !strings.Contains(err.Error(), p) {
			t.Errorf("error %q lacks %q", err, p)
		}
	}
}
