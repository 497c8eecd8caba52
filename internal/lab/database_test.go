package lab_test

import (
	"database/sql"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sqlite3perf/sqlite3perf/internal/lab"
	"github.com/sqlite3perf/sqlite3perf/internal/lab/build"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/workload"
	"github.com/sqlite3perf/sqlite3perf/internal/workload/snapshot"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
)

// onDatabase returns a workload that begins with a database created by the statements.
func onDatabase(t *testing.T, yaml string, statements ...string) *workload.Workload {
	t.Helper()
	dir := t.TempDir()
	db, err := sql.Open("sqlite", filepath.Join(dir, "app.db"))
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range statements {
		if _, err := db.Exec(s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "mine.yaml")
	if err := os.WriteFile(file, []byte("name: mine\ndatabase: app.db\n"+yaml), 0o600); err != nil {
		t.Fatal(err)
	}
	w, err := workload.Load(file)
	if err != nil {
		t.Fatal(err)
	}
	s, err := snapshot.Take(t.Context(), w.DatabasePath(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	if err := w.Begin(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	return w
}

const written = `
schema: CREATE TABLE more(id INTEGER PRIMARY KEY)
rows:
  known: {query: SELECT id FROM t ORDER BY id, columns: {id: int}}
  more: {count: 5, columns: {id: serial}}
phases:
  - {name: read, query: SELECT id FROM t ORDER BY id, columns: int, expect: {returns: known}}
  - {name: add, insert: more}
  - {name: write, script: UPDATE t SET id = id + 10}
  - {name: sum, query: SELECT sum(id) FROM t, columns: int}
`

// TestUserDatabase checks that real workers begin each trial with an unchanged copy of a user's database,
// although earlier trials changed their copies. It tests databases with and without a WAL.
func TestUserDatabase(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"delete", "wal"} {
		w := onDatabase(t, written, "PRAGMA journal_mode = "+mode, "CREATE TABLE t(id INTEGER PRIMARY KEY)", "INSERT INTO t VALUES (1), (2), (3)")
		for name, executable := range realWorkers(t) {
			for _, c := range casesOf(t, executable, 7, map[string][]string{"journal_mode": {"delete", "wal"}}, nil, w) {
				t.Run(mode+"/"+name+"/"+c.Settings["journal_mode"], func(t *testing.T) {
					dir := t.TempDir()
					p := &lab.Processes{Dir: dir, Limit: time.Minute}
					for n := range 2 {
						got, err := p.Trial(t.Context(), c, 7)
						if err != nil || got.Status != result.OK || got.Loaded != w.Snapshot().SHA256 || len(got.Samples) != 4 {
							t.Fatalf("trial %d: %+v, %v", n, got, err)
						}
						if want := c.Expect["read"].Checksum; n == 0 && (want == "" || got.Samples[0].Checksum != want) {
							t.Errorf("checksum %q, want %q", got.Samples[0].Checksum, want)
						}
					}
					empty(t, dir)
				})
			}
		}
	}
}

// TestUserDatabaseDecides checks that WithSettings refuses settings that the database file
// determines.
func TestUserDatabaseDecides(t *testing.T) {
	t.Parallel()
	w := onDatabase(t, written, "CREATE TABLE t(id INTEGER PRIMARY KEY)", "INSERT INTO t VALUES (1)")
	c := casesOf(t, faulty(t, "none"), 7, nil, nil, w)[0]
	for _, set := range []driver.Settings{{"page_size": "8192"}, {"auto_vacuum": "full"}, {"mode": "memory"}} {
		if _, err := c.WithSettings(set); err == nil || !strings.Contains(err.Error(), "app.db") {
			t.Errorf("%v: %v", set, err)
		}
	}
	if _, err := c.WithSettings(driver.Settings{"cache_size": "-100"}); err != nil {
		t.Error(err)
	}
}

// TestDatabaseNeeds checks that a driver is measured as a variant with the features that the
// schema of the workload's database needs.
func TestDatabaseNeeds(t *testing.T) {
	w := onDatabase(t, "phases: [{name: read, query: SELECT count(*) FROM notes, columns: int}]\n", "CREATE VIRTUAL TABLE notes USING fts5(body)")
	known := build.Known{Manifest: build.Manifest{Info: driver.Info{Name: "c", Kind: driver.Cgo, Module: "example.com/c"}, Variants: map[string]string{"fts5": "tags=z_fts5"}}, Version: "v1.0.0"}
	ref, err := build.ParseRef(t.Context(), "c", []build.Known{known})
	if err != nil {
		t.Fatal(err)
	}
	cases, err := (&lab.Matrix{Drivers: []build.Ref{ref}, Workloads: []*workload.Workload{w}, Scale: workload.Full}).Cases()
	if err != nil {
		t.Fatal(err)
	}
	if c := cases[0]; c.Driver != "c:tags=z_fts5" || len(c.Needed) != 1 || c.Needed[0] != "fts5" {
		t.Errorf("the driver is %s because of %q: want c:tags=z_fts5 because of fts5", c.Driver, c.Needed)
	}
}
