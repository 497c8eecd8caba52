package store_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/store"
)

// told returns a wall time that no other sample has. From the wall time, the test can see to which run, trial
// and phase a sample belongs.
func told(run int64, trial, phase int) int64 {
	return run*1_000_000 + int64(trial)*1000 + int64(phase) + 1
}

// tellingStore creates a store with three runs, each with two cases and six trials.
func tellingStore(t *testing.T) (path string) {
	t.Helper()
	path = newPath(t)
	s := mustOpen(t, path)
	for id := int64(1); id <= 3; id++ {
		r := smallRun()
		r.Cases = append(r.Cases, result.Case{ID: 2, Workload: "simple", Driver: "modernc", Phases: r.Cases[0].Phases})
		r.Warnings = []result.Warning{{Code: "load", Message: fmt.Sprint("run ", id)}}
		for n := 1; n <= 6; n++ {
			tr := trial(n)
			tr.Case, tr.Round = n%2+1, (n+1)/2
			tr.Warnings = []result.Warning{{Code: "load", Message: fmt.Sprintf("run %d trial %d", id, n)}}
			for i := range tr.Samples {
				tr.Samples[i].WallNS = told(id, n, i)
			}
			r.Trials = append(r.Trials, *tr)
		}
		if err := s.Begin(context.Background(), r); err != nil {
			t.Fatal(err)
		}
	}
	return path
}

// hurt runs a query on a store, as a user could with SQLite's shell. Foreign keys and check
// constraints are turned off, and errors about other constraints are ignored.
func hurt(t *testing.T, path, query string) {
	t.Helper()
	db := plain(t, path)
	defer db.Close()
	db.SetMaxOpenConns(1)
	if _, err := db.Exec(`PRAGMA foreign_keys = off; PRAGMA ignore_check_constraints = on; ` + query); err != nil && !strings.Contains(err.Error(), "constraint") {
		t.Fatalf("%s: %v", query, err)
	}
}

func copyOf(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	to := filepath.Join(t.TempDir(), "results.db")
	if err := os.WriteFile(to, b, 0o644); err != nil {
		t.Fatal(err)
	}
	return to
}

// look reads runs 1 to 4 of a store, the list of runs and the orphans. It checks that each sample and
// warning belongs to its trial, and returns the runs that could be read and all errors.
func look(t *testing.T, path string) (runs map[int64]*result.Run, errs []error) {
	t.Helper()
	ctx := context.Background()
	s, err := store.OpenReadOnly(context.Background(), path)
	if err != nil {
		return nil, []error{err}
	}
	defer s.Close()
	note := func(err error) {
		if err != nil {
			errs = append(errs, err)
		}
	}
	list, err := s.List(ctx)
	note(err)
	_, err = s.Orphans(ctx)
	note(err)
	runs = map[int64]*result.Run{}
	for id := int64(1); id <= 4; id++ {
		r, err := s.Load(ctx, id)
		if err != nil {
			note(err)
			continue
		}
		runs[id] = r
		for _, tr := range r.Trials {
			for i, m := range tr.Samples {
				if i >= 2 || m.WallNS != told(id, tr.Order, slices.Index([]string{"insert", "query"}, m.Phase)) {
					t.Errorf("trial %d of run %d has the wrong sample %+v", tr.Order, id, m)
				}
			}
			for _, w := range tr.Warnings {
				if want := fmt.Sprintf("run %d trial %d", id, tr.Order); w.Message != want {
					t.Errorf("trial %d of run %d has the wrong warning %q", tr.Order, id, w.Message)
				}
			}
		}
		for _, e := range list {
			if e.ID == id && e.Damaged == "" && e.Trials != len(r.Trials) {
				t.Errorf("run %d is listed with %d trials, and has %d", id, e.Trials, len(r.Trials))
			}
		}
	}
	return runs, errs
}

// TestOrphans checks rows whose run, case or trial was deleted while the rows remained. Such rows
// must be left out and reported, and must never be given to another run.
func TestOrphans(t *testing.T) {
	path := tellingStore(t)
	for _, c := range []struct {
		query string
		want  []store.Orphans
		of    map[int64]string // the expected warning, by run
	}{
		{"DELETE FROM runs WHERE run_id = 2", []store.Orphans{{"cases", 2}, {"trials", 6}, {"samples", 12}, {"warnings", 7}}, nil},
		{"DELETE FROM runs", []store.Orphans{{"cases", 6}, {"trials", 18}, {"samples", 36}, {"warnings", 21}}, nil},
		{"DELETE FROM cases WHERE run_id = 1 AND case_id = 2", nil,
			map[int64]string{1: "6 rows of the table samples, 3 rows of the table trials, 3 rows of the table warnings left out"}},
		{"DELETE FROM trials WHERE run_id = 3 AND trial_id = 1", nil,
			map[int64]string{3: "2 rows of the table samples, 1 row of the table warnings left out"}},
		{"DELETE FROM samples WHERE run_id = 3 AND trial_id = 1", nil, map[int64]string{3: "1 of 6 trials lack the sample of a phase"}},
	} {
		t.Run(c.query, func(t *testing.T) {
			path := copyOf(t, path)
			hurt(t, path, c.query)
			s, err := store.OpenReadOnly(context.Background(), path)
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			got, err := s.Orphans(context.Background())
			if err != nil || !slices.Equal(got, c.want) {
				t.Errorf("orphans %v, %v; want %v", got, err, c.want)
			}
			runs, errs := look(t, path)
			for _, err := range errs {
				if !errors.Is(err, store.ErrNoRun) {
					t.Error(err)
				}
			}
			for id, r := range runs {
				said := ""
				for _, w := range r.Warnings {
					if w.Code == result.WarningStore {
						said = w.Message
					}
				}
				if !strings.HasPrefix(said, c.of[id]) || (said == "") != (c.of[id] == "") {
					t.Errorf("run %d says %q, want %q", id, said, c.of[id])
				}
			}
		})
	}
}

// TestOrphansAreNotAdopted checks that the number of a run is not used again while there are
// orphans of the run.
func TestOrphansAreNotAdopted(t *testing.T) {
	ctx, path := context.Background(), tellingStore(t)
	hurt(t, path, "DELETE FROM runs WHERE run_id = 3; DELETE FROM cases WHERE run_id = 3; DELETE FROM sqlite_sequence")
	r := smallRun()
	s := mustOpen(t, path)
	if err := s.Begin(ctx, r); err != nil || r.ID != 4 {
		t.Fatalf("Begin: run %d, %v; want 4", r.ID, err)
	}
	if got, err := s.Load(ctx, r.ID); err != nil || len(got.Trials) > 0 || len(got.Warnings) > 0 {
		t.Errorf("Load: %+v, %v", got, err)
	}
}

func TestContradictions(t *testing.T) {
	path := tellingStore(t)
	for query, want := range map[string]string{
		"UPDATE trials SET case_id = 2 WHERE run_id = 1 AND trial_id = 2":                                                                          "its record says that it is trial 2 of case 1",
		"UPDATE trials SET trial_id = 9 WHERE run_id = 1 AND trial_id = 2":                                                                         "its record says that it is trial 2",
		"UPDATE cases SET case_id = 3 WHERE run_id = 1 AND case_id = 2":                                                                            "its record says that it is case 2",
		"UPDATE trials SET json = json_set(json, '$.status', 'fine') WHERE run_id = 1":                                                             `there is no status "fine"`,
		"UPDATE trials SET json = json_set(json, '$.status', 'failed') WHERE run_id = 1":                                                           "failed without a reason",
		"UPDATE trials SET json = json_set(json, '$.round', -1) WHERE run_id = 1":                                                                  "below 0",
		"UPDATE trials SET case_id = 'one' WHERE run_id = 1":                                                                                       "is damaged",
		"UPDATE samples SET trial_id = 1, sample_id = 9 WHERE run_id = 1 AND trial_id = 2 AND sample_id = 1":                                       "two samples",
		"UPDATE samples SET json = json_set(json, '$.wall_ns', 0) WHERE run_id = 1":                                                                "it took 0 ns",
		"UPDATE samples SET json = json_set(json, '$.wall_ns', NULL) WHERE run_id = 1":                                                             "it took 0 ns",
		"UPDATE samples SET json = json_set(json, '$.wall_ns', 'long') WHERE run_id = 1":                                                           "cannot unmarshal",
		"UPDATE samples SET json = json_set(json, '$.operations', -1) WHERE run_id = 1":                                                            "-1 operations",
		`UPDATE samples SET json = json_set(json, '$.results', json('[{"code": 2067, "name": "x", "count": -1, "wait_ns": 0}]')) WHERE run_id = 1`: "below 0",
		`UPDATE samples SET json = json_set(json, '$.latency', json('[{"operation": "x", "count": 1, "ended_early": -1}]')) WHERE run_id = 1`:      "below 0",
		"UPDATE samples SET json = json_set(json, '$.rows', -1) WHERE run_id = 1":                                                                  "below 0",
		"UPDATE samples SET json = json_set(json, '$.metric', 'weight') WHERE run_id = 1":                                                          `no metric "weight"`,
		"UPDATE samples SET json = json_set(json, '$.phase', 'x') WHERE run_id = 1 AND trial_id=1 AND sample_id=1":                                 "no such phase",
		"UPDATE samples SET json = 'null' WHERE run_id = 1":                                                                                        "not a JSON object",
		"UPDATE warnings SET json = '[]' WHERE run_id = 1":                                                                                         "not a JSON object",
		"UPDATE cases SET json = x'00' WHERE run_id = 1":                                                                                           "not a JSON object",
		"UPDATE cases SET json = json_set(json, '$.phases', json_array('insert', 'insert')) WHERE run_id = 1":                                      "twice",
		"UPDATE runs SET seed = 'x' WHERE run_id = 1":                                                                                              `its seed is "x"`,
	} {
		t.Run(query, func(t *testing.T) {
			path := copyOf(t, path)
			hurt(t, path, query)
			s, err := store.OpenReadOnly(context.Background(), path)
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			_, err = s.Load(context.Background(), 1)
			wantError(t, err, path, "is damaged", want)
			if !errors.Is(err, store.ErrDamaged) {
				t.Errorf("%v is not ErrDamaged", err)
			}
			if _, err := s.List(context.Background()); err != nil && !errors.Is(err, store.ErrDamaged) {
				t.Errorf("List: %v", err)
			}
		})
	}
}

// TestHurtAtRandom changes rows at random. Nothing may panic, and everything that can be read
// must belong to its run, trial and phase.
func TestHurtAtRandom(t *testing.T) {
	path := tellingStore(t)
	tables := map[string][]string{
		"runs": {"run_id", "seed", "json"}, "cases": {"run_id", "case_id", "json"}, "trials": {"run_id", "trial_id", "case_id", "json"},
		"samples": {"json"}, "warnings": {"json"},
	}
	names := slices.Sorted(func(yield func(string) bool) {
		for n := range tables {
			if !yield(n) {
				return
			}
		}
	})
	values := []string{"NULL", "''", "'x'", "x'ff'", "0", "-1", "9", "1.5", "9223372036854775807", "'null'", "'{}'", "'[1]'", "'{\"id\":1}'", `json_set(json, '$.round', 1e300)`,
		`json_set(json, '$.started', 'never')`, `json_set(json, '$.command', 1)`, `json_remove(json, '$.phases')`, `json_remove(json, '$.status')`, `json_set(json, '$.samples', json_array(json('{}')))`}
	outcomes := map[string]int{}
	for seed := range uint64(150) {
		random := rand.New(rand.NewPCG(seed, 8))
		pick := func(list []string) string { return list[random.IntN(len(list))] }
		var script []string
		for range 1 + random.IntN(4) {
			table := pick(names)
			row := fmt.Sprintf("WHERE rowid IN (SELECT rowid FROM %s ORDER BY rowid LIMIT %d OFFSET %d)", table, 1+random.IntN(3), random.IntN(8))
			query := "DELETE FROM " + table + " " + row
			if random.IntN(2) == 0 {
				query = fmt.Sprintf("UPDATE OR IGNORE %s SET %s = %s %s", table, pick(tables[table]), pick(values), row)
			}
			script = append(script, query)
		}
		hurtPath := copyOf(t, path)
		db, err := sql.Open("sqlite", hurtPath)
		if err != nil {
			t.Fatal(err)
		}
		db.SetMaxOpenConns(1)
		for _, q := range append([]string{"PRAGMA foreign_keys = off", "PRAGMA ignore_check_constraints = on"}, script...) {
			_, _ = db.Exec(q) // fails if a value does not fit its column
		}
		db.Close()
		_, errs := look(t, hurtPath)
		for _, err := range errs {
			switch {
			case errors.Is(err, store.ErrNoRun):
				outcomes["no run"]++
			case errors.Is(err, store.ErrDamaged):
				outcomes["damaged"]++
			default:
				t.Errorf("the error is neither ErrNoRun nor ErrDamaged: %v", err)
			}
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("the error has several lines: %v", err)
			}
		}
		if len(errs) == 1 { // the only error is that there is no run 4
			outcomes["whole"]++
		}
		if t.Failed() {
			t.Fatalf("seed %d:\n%s", seed, strings.Join(script, ";\n"))
		}
	}
	t.Log(outcomes)
}
