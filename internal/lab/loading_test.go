package lab_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sqlite3perf/sqlite3perf/internal/lab"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
)

// loadedOf returns a workload with this schema and these phases, and rows for the table t.
func loadedOf(schema string, phases ...string) string {
	return `
name: loaded
settings: {journal_mode: delete, synchronous: off}
schema: ` + schema + `
rows: {t: {count: 300, columns: {id: serial, n: {int: [0, 9]}}}}
phases:
  - ` + strings.Join(phases, "\n  - ") + "\n"
}

const (
	loadedSchema = "CREATE TABLE t(id INTEGER PRIMARY KEY, n INTEGER NOT NULL)"
	fillTable    = "{name: load, untimed: true, insert: t}"
	readTable    = "{name: read, query: SELECT id FROM t ORDER BY id, columns: int, expect: {returns: {t: [id]}}}"
)

// untimed returns the YAML of an untimed phase with a script.
func untimed(name, sql string) string {
	return "{name: " + name + ", untimed: true, script: \"" + sql + "\"}"
}

// TestLoading checks which phases run once for all trials. These are the phases that only fill
// the database file. Phases that also affect the process that runs them must run in each trial.
func TestLoading(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, yaml string
		settings   map[string][]string
		want       int
	}{
		{"an insert", loadedOf(loadedSchema, fillTable, readTable), nil, 1},
		{"scripts", loadedOf(loadedSchema, untimed("more", "BEGIN; INSERT INTO t VALUES (1000, 1); COMMIT"), fillTable, untimed("tidy", "CREATE INDEX ns ON t(n); ANALYZE; VACUUM"), readTable), nil, 3},
		{"rows in the schema", loadedOf(loadedSchema+"; INSERT INTO t VALUES (1000, 1)", fillTable, readTable), nil, 1},
		{"a trigger", loadedOf("|\n  "+loadedSchema+";\n  CREATE TRIGGER a AFTER INSERT ON t BEGIN SELECT 1; END;", fillTable, readTable), nil, 1},
		{"nothing but a schema", loadedOf(loadedSchema, "{name: insert, insert: t}", readTable), nil, 0},
		{"an insert that is timed first", loadedOf(loadedSchema, "{name: insert, insert: t}", untimed("tidy", "ANALYZE"), readTable), nil, 0},
		{"a query that warms up", loadedOf(loadedSchema, fillTable, "{name: warm, untimed: true, query: SELECT id FROM t, columns: int}", untimed("tidy", "ANALYZE"), readTable), nil, 1},
		{"a script that warms up", loadedOf(loadedSchema, fillTable, untimed("warm", "SELECT sum(n) FROM t"), readTable), nil, 1},
		{"a WITH that warms up", loadedOf(loadedSchema, fillTable, untimed("warm", "WITH s(n) AS (SELECT n FROM t) SELECT sum(n) FROM s"), readTable), nil, 1},
		{"a mix", loadedOf(loadedSchema, fillTable, "{name: wear, untimed: true, count: 9, mix: [{name: w, sql: UPDATE t SET n = n + 1}]}", readTable), nil, 1},
		{"a PRAGMA in a script", loadedOf(loadedSchema, fillTable, untimed("relax", "PRAGMA cache_spill = OFF"), readTable), nil, 1},
		{"a PRAGMA in the schema", loadedOf(loadedSchema+"; PRAGMA cache_spill = OFF", fillTable, readTable), nil, 0},
		{"a temporary table in the schema", loadedOf(loadedSchema+"; CREATE TEMP TABLE u(id)", fillTable, readTable), nil, 0},
		{"a temporary view", loadedOf(loadedSchema, fillTable, untimed("look", "CREATE VIEW temp.v AS SELECT id FROM t"), readTable), nil, 1},
		{"a transaction that stays open", loadedOf(loadedSchema, fillTable, untimed("stay", "BEGIN; DELETE FROM t WHERE id > 1000"), readTable), nil, 1},
		{"what a connection remembers", loadedOf(loadedSchema, fillTable, "{name: read, query: SELECT total_changes(), columns: int}"), nil, 0},
		{"what a connection remembers, in a mix", loadedOf(loadedSchema, fillTable, "{name: read, count: 9, mix: [{name: r, sql: SELECT last_insert_rowid(), columns: int}]}"), nil, 0},
		{"PRAGMA optimize", loadedOf(loadedSchema, fillTable, "{name: tidy, script: PRAGMA optimize}"), nil, 0},
		{"memory", loadedOf(loadedSchema, fillTable, readTable), map[string][]string{"mode": {"memory"}, "journal_mode": {"memory"}}, 0},
		{"a journal that stays", loadedOf(loadedSchema, fillTable, readTable), map[string][]string{"journal_mode": {"persist"}}, 0},
		{"a journal that is emptied", loadedOf(loadedSchema, fillTable, readTable), map[string][]string{"journal_mode": {"truncate"}}, 1},
		{"128 MiB", loadedOf(loadedSchema, fillTable, readTable), nil, 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := casesOf(t, faulty(t, "none"), 7, test.settings, nil, parse(t, test.yaml))[0]
			if got := lab.Loading(c); got != test.want {
				t.Errorf("%d phases, want %d", got, test.want)
			}
			if test.name != "128 MiB" {
				return
			}
			set := &c.Plan.DataSets[0]
			set.Count, set.Total = 10_000_000, 10_000_000
			if got := lab.Loading(c); got != 0 {
				t.Errorf("%d phases of ten million rows, want 0", got)
			}
		})
	}
}

// loadDirectories returns the directories in which databases were loaded.
func loadDirectories(t *testing.T, dir string) []string {
	t.Helper()
	list, err := filepath.Glob(filepath.Join(dir, "load-*"))
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// TestLoaded checks that real workers load a database once, and that each trial begins with its own copy. If
// a trial writes to its copy, the next trial must not see the change.
func TestLoaded(t *testing.T) {
	t.Parallel()
	yaml := loadedOf(loadedSchema+"; CREATE TABLE u(id INTEGER PRIMARY KEY)", untimed("before", "INSERT INTO t VALUES (5000, 5)"), fillTable, untimed("tidy", "CREATE INDEX ns ON t(n); ANALYZE"),
		"{name: sum, query: SELECT sum(n) FROM t, columns: int}",
		"{name: write, script: UPDATE t SET n = n + 1}",
		"{name: later, query: SELECT sum(n) FROM t, columns: int}")
	settings := map[string][]string{"journal_mode": {"delete", "truncate", "wal"}, "locking_mode": {"normal", "exclusive"}, "page_size": {"8192"}, "auto_vacuum": {"incremental"}}
	for name, executable := range realWorkers(t) {
		for _, c := range casesOf(t, executable, 7, settings, nil, parse(t, yaml)) {
			t.Run(name+"/"+c.Settings["journal_mode"]+"/"+c.Settings["locking_mode"], func(t *testing.T) {
				t.Parallel()
				dir := t.TempDir()
				p := &lab.Processes{Dir: dir, Limit: time.Minute}
				var first *result.Trial
				for n := range 3 {
					got, err := p.Trial(t.Context(), c, 7)
					if err != nil || got.Status != result.OK {
						t.Fatalf("trial %d: %+v, %v", n, got, err)
					}
					if first == nil {
						first = got
					}
					if len(got.Loaded) != 64 || got.Loaded != first.Loaded {
						t.Errorf("trial %d began with %q, the first with %q", n, got.Loaded, first.Loaded)
					}
					for i, s := range got.Samples {
						if s.Checksum != "" && s.Checksum != first.Samples[i].Checksum {
							t.Errorf("trial %d: the answer to %s differs from the first trial", n, s.Phase)
						}
					}
				}
				left, err := os.ReadDir(dir)
				if err != nil || len(left) != 1 || len(loadDirectories(t, dir)) != 1 {
					t.Errorf("left: %v, %v", left, err)
				}
			})
		}
	}
}

// TestLoadedServer checks that trials with an http phase also begin with a loaded database.
func TestLoadedServer(t *testing.T) {
	t.Parallel()
	c := casesOf(t, faulty(t, "server-none"), 7, nil, nil, parse(t, loadedOf(loadedSchema, fillTable,
		"{name: serve, http: SELECT id FROM t WHERE id = :id, parameters: {id: {pick: t.id}}, columns: {id: int}, expect: {returns: {t: [id]}}, count: 50}")))[0]
	p := &lab.Processes{Dir: t.TempDir(), Limit: time.Minute}
	p.SetCeiling(1, 1e6)
	for range 2 {
		if got, err := p.Trial(t.Context(), c, 7); err != nil || got.Status != result.OK || got.Loaded == "" {
			t.Errorf("%+v, %v", got, err)
		}
	}
}

// TestLoadedChanges changes a loaded database file after the first trial. The next trial must fail,
// and the file must be deleted.
func TestLoadedChanges(t *testing.T) {
	t.Parallel()
	c := casesOf(t, faulty(t, "server-none"), 7, nil, nil, parse(t, loadedOf(loadedSchema, fillTable, readTable)))[0]
	dir := t.TempDir()
	p := &lab.Processes{Dir: dir, Limit: time.Minute}
	if got, err := p.Trial(t.Context(), c, 7); err != nil || got.Status != result.OK {
		t.Fatalf("%+v, %v", got, err)
	}
	path := filepath.Join(loadDirectories(t, dir)[0], "test.db")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	data[len(data)-1]++
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := p.Trial(t.Context(), c, 7)
	if err != nil || got.Status != result.Failed || got.Reason.Code != "database" || !strings.Contains(got.Reason.Message, "has changed: its SHA-256 is ") {
		t.Errorf("%+v, %v", got, err)
	}
	empty(t, dir) // after a failure, the case's loaded database is deleted
}

// TestLoadingFails checks that a case fails if its database cannot be loaded, and that no
// files are left.
func TestLoadingFails(t *testing.T) {
	t.Parallel()
	c := casesOf(t, faulty(t, "server-none"), 7, nil, nil, parse(t, loadedOf(loadedSchema, fillTable, untimed("break", "INSERT INTO t VALUES (1, 1)"), readTable)))[0]
	dir := t.TempDir()
	got, err := (&lab.Processes{Dir: dir, Limit: time.Minute}).Trial(t.Context(), c, 7)
	if err != nil || got.Case != c.ID || got.Status != result.Failed || got.Reason.Code != "sqlite" || got.Reason.Phase != "break" || got.TookNS <= 0 {
		t.Errorf("%+v, %v", got, err)
	}
	empty(t, dir)

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if got, err := (&lab.Processes{Dir: dir, Limit: time.Minute}).Trial(ctx, c, 7); got != nil || !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted: %+v, %v", got, err)
	}
	empty(t, dir)
}
