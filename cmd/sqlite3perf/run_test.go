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
	for _, dir := range []string{"run-1/trial-1", "run-1/trial-2", "run-2/trial-1", "run-3", "run-4/trial-1", "mine", "run-6"} {
		if err := os.MkdirAll(filepath.Join(parent, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range []string{"run-2/trial-1/a.db", "run-5"} {
		if err := os.WriteFile(filepath.Join(parent, file), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("mine", filepath.Join(parent, "run-7")); err != nil {
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
		if path != "run-4/trial-1" && path != "run-7" {
			if err := os.Chtimes(filepath.Join(parent, path), then, then.Add(-time.Second)); err != nil {
				t.Fatal(err)
			}
		}
	}
	sweep(parent, then)
	want := []string{".", "mine", "run-2", "run-2/trial-1", "run-2/trial-1/a.db", "run-4", "run-4/trial-1", "run-5", "run-7"}
	if d := cmp.Diff(want, list()); d != "" {
		t.Errorf("-want +got: %s", d)
	}
}
