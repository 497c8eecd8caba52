package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestSweep(t *testing.T) {
	parent := t.TempDir()
	for _, dir := range []string{"sqlite3perf-run-1/trial-1", "sqlite3perf-run-1/trial-2", "sqlite3perf-run-2/trial-1", "sqlite3perf-run-3", "sqlite3perf-run-4/trial-1", "mine", "sqlite3perf-run-6", "sqlite3perf-run-x"} {
		if err := os.MkdirAll(filepath.Join(parent, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range []string{"sqlite3perf-run-2/trial-1/a.db", "sqlite3perf-run-5"} {
		if err := os.WriteFile(filepath.Join(parent, file), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("mine", filepath.Join(parent, "sqlite3perf-run-7")); err != nil {
		t.Fatal(err)
	}
	then := time.Now().Add(-time.Hour)
	list := func() (left []string) {
		err := filepath.WalkDir(parent, func(path string, d fs.DirEntry, err error) error {
			rel, _ := filepath.Rel(parent, path)
			left = append(left, rel)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return left
	}
	all := list()
	sweep(parent, then)
	if d := cmp.Diff(all, list()); d != "" {
		t.Errorf("young ones were removed: %s", d)
	}
	for _, path := range slices.Backward(all) {
		if path != "sqlite3perf-run-4/trial-1" && path != "sqlite3perf-run-7" {
			if err := os.Chtimes(filepath.Join(parent, path), then, then.Add(-time.Second)); err != nil {
				t.Fatal(err)
			}
		}
	}
	sweep(parent, then)
	want := []string{".", "mine", "sqlite3perf-run-2", "sqlite3perf-run-2/trial-1", "sqlite3perf-run-2/trial-1/a.db", "sqlite3perf-run-4", "sqlite3perf-run-4/trial-1", "sqlite3perf-run-5", "sqlite3perf-run-7", "sqlite3perf-run-x"}
	if d := cmp.Diff(want, list()); d != "" {
		t.Errorf("-want +got: %s", d)
	}
}
