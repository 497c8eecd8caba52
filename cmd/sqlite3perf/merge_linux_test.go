package main

import (
	"database/sql"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestMergeLog merges a store whose runs are in a write-ahead log, because a program has the
// store open. Neither the store nor the log may be changed.
func TestMergeLog(t *testing.T) {
	p := newPlace(t)
	command := func(args ...string) string {
		t.Helper()
		out, err := p.command(args...).CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
		return string(out)
	}
	measure := []string{"run", "--drivers", "./good", "--workloads", "./tiny.yaml", "--rounds", "6", "--quiet", "--store", "a.db"}
	command(measure...)
	db, err := sql.Open("sqlite", filepath.Join(p.dir, "a.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	if _, err := db.Exec("PRAGMA journal_mode = wal; UPDATE runs SET json = json"); err != nil {
		t.Fatal(err)
	}
	command(measure...)
	if info, err := os.Stat(filepath.Join(p.dir, "a.db-wal")); err != nil || info.Size() == 0 {
		t.Fatalf("there is no log: %v", err)
	}
	before := bytesOf(t, p.dir)
	if out := command("merge", "a.db", "--store", "all.db"); !strings.Contains(out, "2 runs merged into all.db (") {
		t.Errorf("%s", out)
	}
	after := bytesOf(t, p.dir)
	delete(after, "all.db")
	if d := cmp.Diff(before, after); d != "" {
		t.Errorf("-before +after:\n%s", d)
	}
}

// bytesOf returns, by file name, the contents of a directory's files that belong to stores.
func bytesOf(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	names, err := filepath.Glob(filepath.Join(dir, "*.db*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		files[filepath.Base(name)] = string(data)
	}
	return files
}
