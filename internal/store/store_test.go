package store_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
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

func TestLoadCases(t *testing.T) {
	ctx, s := context.Background(), mustOpen(t, newPath(t))
	want := fullRun(t)
	if err := s.Begin(ctx, want); err != nil {
		t.Fatal(err)
	}
	keep := func(c *result.Case) bool { return c.ID == 2 }
	got, err := s.LoadCases(ctx, want.ID, keep)
	if err != nil {
		t.Fatal(err)
	}
	all := want.Trials
	want.Cases, want.Trials, want.Warnings, want.Profiles.Cases, want.Answer = want.Cases[1:2], nil, nil, nil, nil
	for _, tr := range all {
		if tr.Case == 2 {
			tr.Warnings = nil
			want.Trials = append(want.Trials, tr)
		}
	}
	if d := cmp.Diff(want, got); d != "" || len(want.Trials) == 0 {
		t.Errorf("-stored +loaded:\n%s", d)
	}
	if _, err := s.LoadCases(ctx, 9, keep); !errors.Is(err, store.ErrNoRun) {
		t.Error(err)
	}
}

func TestLatest(t *testing.T) {
	ctx, s := context.Background(), mustOpen(t, newPath(t))
	for range 3 {
		if err := s.Begin(ctx, smallRun()); err != nil {
			t.Fatal(err)
		}
	}
	list, err := s.Latest(ctx, 2)
	if err != nil || len(list) != 2 || list[0].ID != 3 || list[1].ID != 2 {
		t.Errorf("%+v, %v", list, err)
	}
	if _, err := s.Extent(ctx, 9); !errors.Is(err, store.ErrNoRun) {
		t.Error(err)
	}
	before, err := s.Extent(ctx, 3)
	if err != nil {
		t.Fatal(err)
	}
	tr := trial(1)
	if err := s.AddTrial(ctx, 3, tr); err != nil {
		t.Fatal(err)
	}
	if after, err := s.Extent(ctx, 3); err != nil || after == before || after.Trials != 1 || !after.Last.Equal(tr.Started) || after.Ended {
		t.Errorf("%+v, then %+v, %v", before, after, err)
	}
}

// TestExtentChanges checks that a run's [store.Extent] changes when the run gets a warning or a stored answer,
// and when another answer of the same length replaces the stored one.
func TestExtentChanges(t *testing.T) {
	ctx, s := t.Context(), mustOpen(t, newPath(t))
	run := smallRun()
	if err := s.Begin(ctx, run); err != nil {
		t.Fatal(err)
	}
	seen := map[store.Extent]string{}
	note := func(what string, err error) {
		t.Helper()
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		e, err := s.Extent(ctx, run.ID)
		if err != nil {
			t.Fatal(err)
		}
		if again, err := s.Extent(ctx, run.ID); err != nil || again != e {
			t.Errorf("%s: the extent changes although the run does not: %+v, %+v, %v", what, e, again, err)
		}
		if before, ok := seen[e]; ok {
			t.Errorf("%s: the extent is the same as of %s", what, before)
		}
		seen[e] = what
	}
	answer := func(value string) error {
		return s.SetAnswer(ctx, run.ID, &result.Answer{Question: result.QuestionTune, Version: 1, Value: []byte(value)})
	}
	note("the new run", nil)
	note("an answer", answer(`{"a": 1}`))
	note("another answer", answer(`{"a": 2}`))
	run.Ended, run.Stopped = run.Started.Add(time.Minute), result.StoppedRounds
	note("the end", s.Finish(ctx, run))
	note("a warning", s.AddWarning(ctx, run.ID, result.Warning{Code: "load", Message: "busy"}))
	note("another warning", s.AddWarning(ctx, run.ID, result.Warning{Code: "load", Message: "busy"}))
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
		t.Errorf("reading made the file: %v", err)
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

func TestList(t *testing.T) {
	ctx := context.Background()
	s := mustOpen(t, newPath(t))
	if list, err := s.List(ctx); err != nil || list == nil || len(list) != 0 {
		t.Errorf("of none: %v, %v", list, err)
	}
	full := smallRun()
	full.Cases = append(full.Cases,
		result.Case{ID: 2, Workload: "real", Driver: "mattn"}, result.Case{ID: 3, Workload: "real", Driver: "modernc"})
	for _, r := range []*result.Run{full, smallRun()} {
		if err := s.Begin(ctx, r); err != nil {
			t.Fatal(err)
		}
	}
	for i, status := range []result.Status{result.OK, result.Wrong, result.OK} {
		tr := trial(i + 1)
		tr.Status = status
		if err := s.AddTrial(ctx, full.ID, tr); err != nil {
			t.Fatal(err)
		}
	}
	ended := full.Started.Add(time.Minute)
	if err := s.Finish(ctx, &result.Run{ID: full.ID, Ended: ended, Rounds: 6, Stopped: result.StoppedSettled}); err != nil {
		t.Fatal(err)
	}
	want := []store.Entry{
		{
			ID: 1, Version: "test", Started: full.Started, Ended: ended, Stopped: "settled", Command: full.Command,
			Drivers: []string{"mattn", "modernc"}, Workloads: []string{"simple", "real"},
			Trials: 3, Statuses: map[result.Status]int{result.OK: 2, result.Wrong: 1},
			Cases: 3, Bad: map[result.Status]int{result.Wrong: 1}, Warnings: codesOf(full.Warnings),
		},
		{
			ID: 2, Version: "test", Started: full.Started, Command: full.Command,
			Drivers: []string{"mattn"}, Workloads: []string{"simple"}, Statuses: map[result.Status]int{},
			Cases: 1, Bad: map[result.Status]int{}, Warnings: codesOf(full.Warnings),
		},
	}
	got, err := s.List(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
}

func TestResolve(t *testing.T) {
	ctx := context.Background()
	path := newPath(t)
	s := mustOpen(t, path)
	_, err := s.Resolve(ctx, "last")
	wantError(t, err, path, "it has none yet")
	for range 3 {
		if err := s.Begin(ctx, smallRun()); err != nil {
			t.Fatal(err)
		}
	}
	_, err = s.Resolve(ctx, "last")
	wantError(t, err, path, "none has ended: give the number 3 of the newest", "it has 1 to 3")
	for id := range int64(2) { // the third run is still being measured
		if err := s.Finish(ctx, &result.Run{ID: id + 1, Ended: time.Date(2026, 11, 21, 11, 0, 0, 0, time.UTC), Rounds: 6, Stopped: result.StoppedRounds}); err != nil {
			t.Fatal(err)
		}
	}
	for ref, want := range map[string]int64{"1": 1, "3": 3, "last": 2} {
		if id, err := s.Resolve(ctx, ref); err != nil || id != want {
			t.Errorf("Resolve(%q) = %d, %v; want %d", ref, id, err, want)
		}
	}
	_, err = s.Resolve(ctx, "4")
	wantError(t, err, path, "no such run as 4", "it has 1 to 3")
	if !errors.Is(err, store.ErrNoRun) {
		t.Errorf("%v is not ErrNoRun", err)
	}
	_, err = s.Resolve(ctx, "first")
	wantError(t, err, `run "first"`, "last, or the name of a baseline")
	_, err = s.Load(ctx, 9)
	wantError(t, err, path, "no such run as 9", "it has 1 to 3")
	if !errors.Is(err, store.ErrNoRun) {
		t.Errorf("%v is not ErrNoRun", err)
	}
}

// TestBaseline checks which run has the name of a baseline (a run that later runs are compared
// with): the newest run that has ended, was not interrupted, and was measured into this store.
func TestBaseline(t *testing.T) {
	ctx := context.Background()
	s := mustOpen(t, newPath(t))
	for i, stopped := range []string{result.StoppedRounds, result.StoppedTime, result.StoppedInterrupted, "", result.StoppedRounds, result.StoppedRounds} {
		r := smallRun()
		r.Started = time.Date(2026, 11, 21, 10+i, 0, 0, 0, time.UTC)
		r.Baseline, r.Stopped = "main", stopped
		if r.Ended = r.Started.Add(time.Minute); stopped == "" {
			r.Ended = time.Time{}
		}
		switch i {
		case 4:
			r.Merged = "theirs.db"
		case 5:
			r.Baseline = "other"
		}
		if err := s.Begin(ctx, r); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]int64{"main": 2, "other": 6, "none": 0} {
		if id, err := s.Baseline(ctx, name); err != nil || id != want {
			t.Errorf("Baseline(%q) = %d, %v; want %d", name, id, err, want)
		}
	}
	if id, err := s.Resolve(ctx, "main"); err != nil || id != 2 {
		t.Errorf("Resolve: %d, %v", id, err)
	}
}

// TestLast checks that "last" means the run that started last. This need not be the run that was
// stored last, because a merge adds older runs of another store.
func TestLast(t *testing.T) {
	ctx, s := context.Background(), mustOpen(t, newPath(t))
	if id, err := s.Newest(ctx); id != 0 || err != nil {
		t.Errorf("the newest run of an empty store is %d, %v", id, err)
	}
	noon := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	east := time.FixedZone("east", 9*60*60)
	for i, started := range []time.Time{noon, noon.Add(time.Minute), noon.Add(-time.Hour).In(east), noon.Add(time.Hour)} {
		r := smallRun()
		r.Started = started
		if err := s.Begin(ctx, r); err != nil {
			t.Fatal(err)
		}
		if i == 3 {
			break // the run is still being measured
		}
		r.Ended = started.Add(time.Second)
		if err := s.Finish(ctx, r); err != nil {
			t.Fatal(err)
		}
	}
	if id, err := s.Resolve(ctx, "last"); err != nil || id != 2 {
		t.Errorf("the last run is %d, %v; want 2", id, err)
	}
	if id, err := s.Newest(ctx); err != nil || id != 4 {
		t.Errorf("the newest run is %d, %v; want 4", id, err)
	}
}

func TestRanges(t *testing.T) {
	for _, c := range []struct {
		ids  []int64
		want string
	}{
		{nil, "none yet"},
		{[]int64{7}, "7"},
		{[]int64{1, 2}, "1, 2"},
		{[]int64{1, 2, 3, 5, 8, 9, 10}, "1 to 3, 5, 8 to 10"},
	} {
		if got := store.Ranges(c.ids); got != c.want {
			t.Errorf("%v: got %q, want %q", c.ids, got, c.want)
		}
	}
}

// TestDeletedRun checks that no number is used for two runs, because users refer to runs by
// their numbers.
func TestDeletedRun(t *testing.T) {
	ctx, path := context.Background(), newPath(t)
	s := mustOpen(t, path)
	r := fullRun(t)
	if err := s.Begin(ctx, r); err != nil {
		t.Fatal(err)
	}
	db := plain(t, path)
	if _, err := db.Exec(`PRAGMA foreign_keys = on; DELETE FROM runs WHERE run_id = 1`); err != nil {
		t.Fatal(err)
	}
	for _, table := range []string{"runs", "cases", "trials", "samples", "warnings"} {
		var n int
		if err := db.QueryRow(`SELECT count(*) FROM ` + table).Scan(&n); err != nil || n != 0 {
			t.Errorf("%s has %d rows, %v; want 0", table, n, err)
		}
	}
	wantError(t, s.AddTrial(ctx, 1, trial(9)), path, "no such run")
	wantError(t, s.Finish(ctx, &result.Run{ID: 1}), path, "no run 1")
	if err := s.Begin(ctx, r); err != nil || r.ID != 2 {
		t.Errorf("Begin gave run %d, %v; want 2", r.ID, err)
	}
}

func TestMisuse(t *testing.T) {
	ctx := context.Background()
	path := newPath(t)
	s := mustOpen(t, path)
	r := smallRun()
	if err := s.Begin(ctx, r); err != nil {
		t.Fatal(err)
	}
	if err := s.AddTrial(ctx, r.ID, trial(1)); err != nil {
		t.Fatal(err)
	}
	wantError(t, s.AddTrial(ctx, r.ID, trial(1)), path, "has that already", "trial 1 of run 1")
	stray := trial(2)
	stray.Case = 5
	wantError(t, s.AddTrial(ctx, r.ID, stray), path, "no such case", "trial 2 of run 1")
	wantError(t, s.AddTrial(ctx, r.ID, trial(0)), path, "trial 0 of run 1")
	// The failed write has stored nothing, and does not block the next write.
	if err := s.AddTrial(ctx, r.ID, trial(2)); err != nil {
		t.Fatal(err)
	}
	got, err := s.Load(ctx, r.ID)
	if err != nil || len(got.Trials) != 2 || len(got.Trials[1].Samples) != 2 {
		t.Errorf("Load: %+v, %v", got, err)
	}
}

// TestPragmas checks the settings of a store's connection. Among them are the settings that make AddTrial
// durable, and the setting that lets SQLite delete the rows of a deleted run in all tables.
func TestPragmas(t *testing.T) {
	s := mustOpen(t, newPath(t))
	for name, want := range map[string]string{
		"application_id": fmt.Sprint(store.ApplicationID), "user_version": "7",
		"journal_mode": "delete", "synchronous": "3", "foreign_keys": "1", "busy_timeout": "30000",
	} {
		var got string
		if err := s.DB().QueryRow(`PRAGMA ` + name).Scan(&got); err != nil || got != want {
			t.Errorf("%s is %s, %v; want %s", name, got, err, want)
		}
	}
}

// TestCancelled checks that trials that were measured before the user interrupted the run are
// still stored.
func TestCancelled(t *testing.T) {
	s := mustOpen(t, newPath(t))
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	r := smallRun()
	if err := s.Begin(ctx, r); err != nil {
		t.Errorf("Begin: %v", err)
	}
	if err := s.AddTrial(ctx, r.ID, trial(1)); err != nil {
		t.Errorf("AddTrial: %v", err)
	}
	if got, err := s.Load(context.Background(), r.ID); err != nil || len(got.Trials) != 1 {
		t.Errorf("Load: %v, %v", got, err)
	}
}

// TestCancelledAtCommit checks that a transaction is either committed or rolled back, even if it
// is canceled at the last moment.
func TestCancelledAtCommit(t *testing.T) {
	s := mustOpen(t, newPath(t))
	ctx, cancel := context.WithCancel(context.Background())
	err := s.Write(ctx, func(c *sql.Conn) error {
		defer cancel()
		_, err := c.ExecContext(ctx, `INSERT INTO runs (seed, json) VALUES ('1', '{}')`)
		return err
	})
	if err != nil {
		t.Errorf("commit: %v", err)
	}
	if list, err := s.List(context.Background()); err != nil || len(list) != 1 {
		t.Errorf("List: %v, %v; want one run", list, err)
	}
}

func TestConcurrentWriters(t *testing.T) {
	ctx, path := context.Background(), newPath(t)
	const writers, trials = 4, 10
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			// Each goroutine has its own Store. All create the file at the same time.
			s, err := store.Open(context.Background(), path)
			if err != nil {
				t.Error(err)
				return
			}
			defer s.Close()
			r := smallRun()
			r.Version = fmt.Sprint("writer ", w)
			if err := s.Begin(ctx, r); err != nil {
				t.Error(err)
				return
			}
			for i := range trials {
				if err := s.AddTrial(ctx, r.ID, trial(i+1)); err != nil {
					t.Error(err)
					return
				}
				// Opening reads the file's header, which must not release the
				// locks that the other writers hold.
				o, err := store.OpenReadOnly(context.Background(), path)
				if err != nil {
					t.Error(err)
					return
				}
				o.Close()
			}
		})
	}
	wg.Wait()
	checkIntact(t, path)
	list, err := mustOpen(t, path).List(ctx)
	if err != nil || len(list) != writers {
		t.Fatalf("List: %v, %v", list, err)
	}
	for _, e := range list {
		if e.Trials != trials {
			t.Errorf("run %d (%s) has %d trials, want %d", e.ID, e.Version, e.Trials, trials)
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
		t.Fatal("a migration that fails was not reported")
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
		t.Errorf("error is of several lines: %v", err)
	}
	for _, p := range parts {
		if !strings.Contains(err.Error(), p) {
			t.Errorf("error %q lacks %q", err, p)
		}
	}
}

// TestListReadsIndexes checks that a list reads cases and trials only from indexes, which contain
// everything that the list shows. In a large store, reading the records would take minutes.
func TestListReadsIndexes(t *testing.T) {
	path := newPath(t)
	mustOpen(t, path)
	for query, index := range map[string]string{store.ListCases: "cases_listed", store.ListTrials: "trials_by_case"} {
		rows, err := plain(t, path).Query("EXPLAIN QUERY PLAN " + query)
		if err != nil {
			t.Fatal(err)
		}
		defer rows.Close()
		steps := 0
		for ; rows.Next(); steps++ {
			var id, parent, unused int
			var step string
			if err := rows.Scan(&id, &parent, &unused, &step); err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(step, "USING INDEX "+index) {
				t.Errorf("%s\nof %s", step, query)
			}
		}
		if rows.Err() != nil || steps == 0 {
			t.Error(steps, rows.Err())
		}
	}
}

// TestResumeTwice resumes a run twice, as two processes would. The second Resume must be refused,
// even if nothing has been measured since the first Resume.
func TestResumeTwice(t *testing.T) {
	ctx := t.Context()
	s := mustOpen(t, newPath(t))
	r := smallRun()
	if err := s.Begin(ctx, r); err != nil {
		t.Fatal(err)
	}
	again := func() *result.Run {
		x, err := s.Load(ctx, r.ID)
		if err != nil {
			t.Fatal(err)
		}
		x.Resumed = append(x.Resumed, result.Resumption{PauseNS: 5})
		return x
	}
	first, second := again(), again()
	if err := s.Resume(ctx, first, nil); err != nil {
		t.Fatal(err)
	}
	if err := s.Resume(ctx, second, nil); err == nil || !strings.Contains(err.Error(), "somebody else has just resumed it") {
		t.Errorf("the second: %v", err)
	}
	if err := s.Resume(ctx, again(), nil); err != nil {
		t.Errorf("later: %v", err)
	}
}

// TestOverwrittenStore replaces, overwrites, damages or removes the store's file while a run
// is measured. Finish must then return an error that names the store, even if its context is
// canceled.
func TestOverwrittenStore(t *testing.T) {
	for _, how := range []string{"replaced", "overwritten", "removed", "before the last trial", "in part"} {
		t.Run(how, func(t *testing.T) {
			ctx, path, other := context.Background(), newPath(t), newPath(t)
			s, o := mustOpen(t, path), mustOpen(t, other)
			r, theirs := smallRun(), smallRun()
			r.Ended = r.Started.Add(time.Minute)
			if err := errors.Join(s.Begin(ctx, r), o.Begin(ctx, theirs), o.Close()); err != nil {
				t.Fatal(err)
			}
			data, err := os.ReadFile(other)
			if how == "before the last trial" {
				data, err = os.ReadFile(path)
				r.Trials = append(r.Trials, *trial(1))
			}
			if err == nil && how != "before the last trial" {
				r.Trials = append(r.Trials, *trial(1))
				err = s.AddTrial(ctx, r.ID, &r.Trials[0])
			}
			if err != nil {
				t.Fatal(err)
			}
			switch how {
			case "replaced":
				err = os.Rename(other, path)
			case "removed":
				err = os.Remove(path)
			case "in part":
				var page, size int64
				if err = s.DB().QueryRow(`SELECT pageno, pgsize FROM dbstat WHERE name = 'samples'`).Scan(&page, &size); err == nil {
					err = writeAt(path, make([]byte, size), (page-1)*size)
				}
			default:
				err = os.WriteFile(path, data, 0o644)
			}
			if err != nil {
				t.Fatal(err)
			}
			over, cancel := context.WithCancel(ctx)
			cancel()
			for _, ctx := range []context.Context{ctx, over} {
				if err := s.Finish(ctx, r); err == nil || !strings.Contains(err.Error(), path) {
					t.Errorf("%v, want an error that names the store", err)
				}
			}
		})
	}
}

// writeAt overwrites a part of a file.
func writeAt(path string, data []byte, offset int64) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteAt(data, offset)
	return errors.Join(err, f.Close())
}

// TestFinishInterrupted checks that a run whose context has ended is still stored. There must be
// no error that would hide the interruption.
func TestFinishInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	s, r := mustOpen(t, newPath(t)), smallRun()
	r.Ended = r.Started.Add(time.Minute)
	if err := s.Begin(ctx, r); err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := s.Finish(ctx, r); err != nil {
		t.Error(err)
	}
	if id, err := s.Resolve(context.Background(), "last"); err != nil || id != r.ID {
		t.Errorf("the last run is %d, %v", id, err)
	}
}

// codesOf returns the codes of warnings, sorted, without duplicates.
func codesOf(ws []result.Warning) (codes []string) {
	for _, w := range ws {
		codes = append(codes, w.Code)
	}
	slices.Sort(codes)
	return slices.Compact(codes)
}
