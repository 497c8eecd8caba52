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
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/store"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// merge merges the store at the path "from" into the store at the path "to".
func merge(t *testing.T, from, to string) []store.Merged {
	t.Helper()
	f, err := store.OpenForeign(t.Context(), from, "theirs.db")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	s, err := store.Open(t.Context(), to)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	told := 0
	list, err := s.Merge(t.Context(), f, func(done, of int) {
		if done != told || done >= of {
			t.Errorf("Merge reported %d finished runs of %d, after %d reports", done, of, told)
		}
		told++
	})
	if err != nil {
		t.Fatal(err)
	}
	if told != len(list) {
		t.Errorf("Merge reported %d runs, but merged %d", told, len(list))
	}
	checkIntact(t, to)
	return list
}

// became returns the outcomes of a merge as texts such as "2 new 1". The first number is the run's
// number in the other store, and the last number is its number in this store.
func became(list []store.Merged) (words []string) {
	for _, m := range list {
		words = append(words, fmt.Sprintf("%d %s %d", m.Run, m.What, m.Is))
	}
	return words
}

// loaded reads a run and resets the fields that a merge changes.
func loaded(t *testing.T, path string, id int64) *result.Run {
	t.Helper()
	s, err := store.OpenReadOnly(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	r, err := s.Load(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	r.ID, r.Merged = 0, ""
	return r
}

// apart makes the runs of tellingStore begin at different times.
func apart(t *testing.T, path string) {
	t.Helper()
	hurt(t, path, `UPDATE runs SET json = json_set(json, '$.started', '2026-11-21T10:00:0' || run_id || 'Z')`)
}

func TestMerge(t *testing.T) {
	a, to := tellingStore(t), newPath(t)
	apart(t, a)
	before := snapshot(t, filepath.Dir(a))
	if got, want := became(merge(t, a, to)), []string{"1 new 1", "2 new 2", "3 new 3"}; !slices.Equal(got, want) {
		t.Errorf("first: %q, want %q", got, want)
	}
	if got, want := became(merge(t, a, to)), []string{"1 there 1", "2 there 2", "3 there 3"}; !slices.Equal(got, want) {
		t.Errorf("second: %q, want %q", got, want)
	}
	for id := int64(1); id <= 3; id++ {
		if d := cmp.Diff(loaded(t, a, id), loaded(t, to, id)); d != "" {
			t.Errorf("run %d: -other store +this store:\n%s", id, d)
		}
	}
	if d := cmp.Diff(before, snapshot(t, filepath.Dir(a))); d != "" {
		t.Errorf("the other store has changed: -before +after:\n%s", d)
	}
	s := mustOpen(t, to)
	if r, err := s.Load(t.Context(), 2); err != nil || r.Merged != "theirs.db" {
		t.Errorf("run 2 was merged from %q, %v", r.Merged, err)
	}
}

// TestMergeAlike checks runs that began at the same time. Different runs must be distinguished by
// their trials. Two copies of one run in a store must be merged once.
func TestMergeAlike(t *testing.T) {
	a, to := tellingStore(t), newPath(t)
	if got, want := became(merge(t, a, to)), []string{"1 new 1", "2 new 2", "3 new 3"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	from, path := newPath(t), newPath(t)
	b := mustOpen(t, from)
	for range 2 {
		r := smallRun()
		r.Trials = []result.Trial{*trial(1)}
		if err := b.Begin(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	list, err := b.List(t.Context())
	if err != nil || len(list) != 2 {
		t.Fatal(list, err)
	}
	if got, want := became(merge(t, from, path)), []string{"1 new 1", "2 there 1"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestMergeEveryField(t *testing.T) {
	ctx, a, to := t.Context(), newPath(t), newPath(t)
	r := fullRun(t)
	if err := mustOpen(t, a).Begin(ctx, r); err != nil {
		t.Fatal(err)
	}
	merge(t, a, to)
	want, got := loaded(t, a, 1), loaded(t, to, 1)
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("-other store +this store:\n%s", d)
	}
	if got := became(merge(t, a, to)); !slices.Equal(got, []string{"1 there 1"}) {
		t.Errorf("again: %q", got)
	}
}

// TestMergeDamaged checks that a damaged run is left out, and that the other runs are merged.
func TestMergeDamaged(t *testing.T) {
	whole := tellingStore(t)
	apart(t, whole)
	for query, want := range map[string]string{
		"UPDATE runs SET seed = 'x' WHERE run_id = 2":                                   `its seed is "x"`,
		"UPDATE trials SET json = json_set(json, '$.status', 'fine') WHERE run_id = 2":  `trial 1: there is no status "fine"`,
		"UPDATE samples SET json = json_set(json, '$.wall_ns', -1) WHERE run_id = 2":    "-1 ns",
		"UPDATE cases SET json = 'null' WHERE run_id = 2":                               "not a JSON object",
		"UPDATE runs SET json = json_set(json, '$.cases', json('[]')) WHERE run_id = 2": "cannot unmarshal",
	} {
		t.Run(query, func(t *testing.T) {
			a, to := copyOf(t, whole), newPath(t)
			hurt(t, a, query)
			list := merge(t, a, to)
			if got, want := became(list), []string{"1 new 1", "2 left-out 0", "3 new 2"}; !slices.Equal(got, want) {
				t.Fatalf("%q, want %q", got, want)
			}
			if !strings.Contains(list[1].Reason, want) || strings.Contains(list[1].Reason, "\n") {
				t.Errorf("it was left out because %q, want %q", list[1].Reason, want)
			}
			if d := cmp.Diff(loaded(t, a, 3), loaded(t, to, 2)); d != "" {
				t.Errorf("-other store +this store:\n%s", d)
			}
		})
	}
}

// TestForeignSchema checks that no code in the schema of another store is run.
func TestForeignSchema(t *testing.T) {
	const endless = "(WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n)"
	const noViews = "DROP VIEW workloads; DROP VIEW results; DROP VIEW latencies; DROP VIEW errors; DROP VIEW stacks; "
	whole := tellingStore(t)
	for name, c := range map[string]struct{ query, want string }{
		"view":                   {noViews + "ALTER TABLE samples RENAME TO s; CREATE VIEW samples AS SELECT run_id, trial_id, sample_id, json FROM s WHERE " + endless, "its samples is a view"},
		"computed column":        {noViews + "DROP TABLE warnings; CREATE TABLE warnings(run_id, trial_id, warning_id, json AS (hex(zeroblob(500000000))))", "its table warnings is another one"},
		"virtual table":          {"CREATE VIRTUAL TABLE f USING fts5(a)", "virtual table"},
		"disguised":              {"CREATE VIRTUAL TABLE f USING fts5(a); PRAGMA writable_schema = on; UPDATE sqlite_schema SET sql = 'CREATE /**/ VIRTUAL TABLE f USING fts5(a)' WHERE name = 'f'", "virtual table"},
		"no table":               {noViews + "DROP TABLE samples", "no table samples"},
		"no column":              {noViews + "ALTER TABLE trials RENAME COLUMN trial_id TO t", "its table trials is another one"},
		"something else":         {"PRAGMA application_id = 5", "is a SQLite database of something else"},
		"of the future":          {"PRAGMA user_version = 9999", "newer sqlite3perf"},
		"endless trigger":        {"CREATE TRIGGER t AFTER INSERT ON runs BEGIN SELECT " + endless + "; END", "trigger"},
		"endless index":          {"CREATE VIEW v AS SELECT " + endless, ""},
		"large record":           {"UPDATE warnings SET json = json_object('code', 'a', 'message', hex(zeroblob(35000000))) WHERE warning_id = 1", "more than 64 MiB"},
		"large check":            {"DROP VIEW latencies; ALTER TABLE warnings ADD COLUMN big NOT NULL AS (coalesce(length(zeroblob(900000000)), 1))", "its table warnings is another one"},
		"view as table":          {noViews + "ALTER TABLE runs RENAME TO r; CREATE VIEW runs AS SELECT run_id, seed, json FROM r WHERE " + endless, "its runs is a view"},
		"index of an expression": {"CREATE INDEX e ON runs (hex(seed))", "index"},
		"pragma":                 {"CREATE VIEW pragma_user_version AS SELECT " + endless + " AS user_version; CREATE VIEW pragma_page_count AS SELECT " + endless + " AS page_count", ""},
	} {
		t.Run(name, func(t *testing.T) {
			a := copyOf(t, whole)
			db := plain(t, a)
			db.SetMaxOpenConns(1)
			if _, err := db.Exec(c.query); err != nil {
				t.Fatal(err)
			}
			db.Close()
			s, err := store.OpenForeign(t.Context(), a, "theirs.db")
			if err == nil {
				defer s.Close()
			}
			if c.want == "" {
				if err != nil {
					t.Fatal(err)
				}
				merge(t, a, newPath(t))
				return
			}
			wantError(t, err, "theirs.db", c.want)
			// The flag --store uses these two functions. They must return the same error.
			for _, open := range []func(context.Context, string) (*store.Store, error){store.OpenReadOnly, store.Open} {
				s, err := open(t.Context(), a)
				if err == nil { // only reading a record shows the damage
					_, err = s.Load(t.Context(), 1)
					s.Close()
				}
				wantError(t, err, a, c.want)
			}
		})
	}
}

// TestMergeOlder checks that a store made by an older version is read without being upgraded.
func TestMergeOlder(t *testing.T) {
	for version := 1; version <= len(store.Migrations); version++ {
		a := newPath(t)
		s, err := store.OpenWith(a, false, store.Migrations[:version], time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		_, err = s.DB().Exec(`INSERT INTO runs(seed, json) VALUES ('5', json_object('started', '2026-11-21T10:00:00Z', 'version', 'old'));
			INSERT INTO cases(run_id, case_id, json) VALUES (1, 1, '{"id": 1, "workload": "w", "driver": "d", "phases": ["insert", "query"]}')`)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(s.AddTrial(t.Context(), 1, &result.Trial{Case: 1, Order: 1, Status: result.OK, Samples: trial(1).Samples}), s.Close()); err != nil {
			t.Fatal(err)
		}
		before := snapshot(t, filepath.Dir(a))
		to := newPath(t)
		if got := became(merge(t, a, to)); !slices.Equal(got, []string{"1 new 1"}) {
			t.Errorf("version %d: %q", version, got)
		}
		if r := loaded(t, to, 1); r.Version != "old" || len(r.Trials) != 1 || len(r.Trials[0].Samples) != 2 {
			t.Errorf("version %d: %+v", version, r)
		}
		if d := cmp.Diff(before, snapshot(t, filepath.Dir(a))); d != "" {
			t.Errorf("version %d: the other store has changed:\n%s", version, d)
		}
	}
}

// TestMergeContinued checks a run that continues after it was merged: a later merge adds the new
// parts. A run that was measured into the store must not be changed by a merge.
func TestMergeContinued(t *testing.T) {
	ctx, a, to := t.Context(), newPath(t), newPath(t)
	s := mustOpen(t, a)
	r := smallRun()
	if err := errors.Join(s.Begin(ctx, r), s.AddTrial(ctx, 1, trial(1))); err != nil {
		t.Fatal(err)
	}
	bad := trial(2)
	bad.Status, bad.Samples = result.Failed, nil
	bad.Reason = &protocol.Reason{Code: "killed", Message: "it was killed"}
	if err := s.AddTrial(ctx, 1, bad); err != nil {
		t.Fatal(err)
	}
	if got := became(merge(t, a, to)); !slices.Equal(got, []string{"1 new 1"}) {
		t.Fatalf("at first: %q", got)
	}
	early := copyOf(t, a)
	w := result.Warning{Code: "load", Message: "much"}
	r.Ended, r.Rounds, r.Stopped = time.Date(2026, 11, 21, 11, 0, 0, 0, time.UTC), 2, result.StoppedRounds
	if err := errors.Join(s.AddTrial(ctx, 1, trial(3)), s.AddTrial(ctx, 1, trial(4)), s.AddWarning(ctx, 1, w), s.Finish(ctx, r)); err != nil {
		t.Fatal(err)
	}
	list := merge(t, a, to)
	if got := became(list); !slices.Equal(got, []string{"1 continued 1"}) || list[0].Trials != 2 {
		t.Errorf("later: %q, %+v", got, list)
	}
	if d := cmp.Diff(loaded(t, a, 1), loaded(t, to, 1)); d != "" {
		t.Errorf("-other store +this store:\n%s", d)
	}
	// The run is resumed in its own store, so a trial that failed no longer counts.
	whole := loaded(t, a, 1)
	whole.ID = 1
	whole.Trials[1].Repeated, whole.Resumed = true, []result.Resumption{{At: r.Ended, PauseNS: 5}}
	if err := errors.Join(s.Resume(ctx, whole, []int{2}), s.AddTrial(ctx, 1, trial(5))); err != nil {
		t.Fatal(err)
	}
	if got := became(merge(t, a, to)); !slices.Equal(got, []string{"1 continued 1"}) {
		t.Errorf("resumed: %q", got)
	}
	if d := cmp.Diff(loaded(t, a, 1), loaded(t, to, 1)); d != "" {
		t.Errorf("resumed: -other store +this store:\n%s", d)
	}
	if err := s.Resume(ctx, whole, nil); err == nil || !strings.Contains(err.Error(), "is being measured: it has 5 trials now, and had 4") {
		t.Errorf("Resume while another process measures the run: %v", err)
	}
	for from, want := range map[string]string{a: "1 there 1", early: "1 there 1"} {
		if got := became(merge(t, from, to)); !slices.Equal(got, []string{want}) {
			t.Errorf("at last: %q, want %s", got, want)
		}
	}
	before := loaded(t, early, 1)
	list = merge(t, a, early)
	if got := became(list); !slices.Equal(got, []string{"1 left-out 0"}) || !strings.Contains(list[0].Reason, "measured into this store and has 2 trials, there 5") {
		t.Errorf("merged into a copy of its own store: %+v", list)
	}
	if d := cmp.Diff(before, loaded(t, early, 1)); d != "" {
		t.Errorf("the merge changed a run that was measured into this store:\n%s", d)
	}
}

// mergeAll merges the store at the path args[0] into the store at the path args[1].
func mergeAll(args []string) error {
	ctx := context.Background()
	f, err := store.OpenForeign(ctx, args[0], "theirs.db")
	if err != nil {
		return err
	}
	s, err := store.Open(ctx, args[1])
	if err != nil {
		return err
	}
	fmt.Println("begun")
	_, err = s.Merge(ctx, f, nil)
	return err
}

// TestSoakMergeKilled checks that if a merge is killed, each run was added completely or not at
// all, and that another merge adds the remaining runs.
func TestSoakMergeKilled(t *testing.T) {
	a := tellingStore(t)
	apart(t, a)
	hurt(t, a, `WITH RECURSIVE n(i) AS (SELECT 4 UNION ALL SELECT i + 1 FROM n WHERE i < 250)
		INSERT INTO runs(run_id, seed, json) SELECT i, i, json FROM n, runs WHERE run_id = 1`)
	for _, table := range []string{"cases(run_id, case_id, json) SELECT r.run_id, case_id, ", "trials(run_id, trial_id, case_id, json) SELECT r.run_id, trial_id, case_id, ",
		"samples(run_id, trial_id, sample_id, json) SELECT r.run_id, trial_id, sample_id, "} {
		name, _, _ := strings.Cut(table, "(")
		hurt(t, a, fmt.Sprintf("INSERT INTO %s %s.json FROM runs r, %s WHERE r.run_id > 3 AND %s.run_id = 1", table, name, name, name))
	}
	whole, partial := 0, 0
	for k := range 4 {
		to := newPath(t)
		cmd := child(t, "merge", a, to)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		b := make([]byte, 6)
		if _, err := out.Read(b); err != nil {
			t.Fatal(err)
		}
		// Kill the merge at once, or when some runs have been added.
		for len(committed(t, to)) < 60*k {
			time.Sleep(time.Millisecond)
		}
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		s := mustOpen(t, to)
		list, err := s.List(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range list {
			if r, err := s.Load(t.Context(), e.ID); err != nil || len(r.Trials) != 6 || len(r.Cases) != 2 || len(r.Warnings) > 1 {
				t.Errorf("run %d: %+v, %v", e.ID, r, err)
			}
		}
		if whole++; len(list) < 250 {
			whole--
			partial++
		}
		if got := merge(t, a, to); len(got) != 250 || slices.ContainsFunc(got, func(m store.Merged) bool { return m.What == store.MergedLeftOut }) {
			t.Errorf("again: %d runs: %+v", len(got), got)
		}
		if list := committed(t, to); len(list) != 250 {
			t.Errorf("%d runs, want 250", len(list))
		}
	}
	t.Logf("%d merges were killed before their end, %d after it", partial, whole)
}

// committed returns the numbers of the runs in a file.
func committed(t *testing.T, path string) (ids []int64) {
	t.Helper()
	db, err := sql.Open("sqlite", path+"?_pragma=busy_timeout(60000)")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	rows, err := db.Query("SELECT run_id FROM runs")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var id int64
		if err := rows.Scan(&id); err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return ids
}

func TestForeignRefusesEmpty(t *testing.T) {
	path := newPath(t)
	if err := os.WriteFile(path, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	_, err := store.OpenForeign(t.Context(), path, "theirs.db")
	wantError(t, err, "theirs.db", "it is empty")
}

// TestMergeable checks that Mergeable returns a reason for each run if no run of a store can be
// read. If a run can be read, there must be no reasons.
func TestMergeable(t *testing.T) {
	whole := tellingStore(t)
	for query, want := range map[string]struct {
		some bool
		left int
	}{
		"": {true, 0},
		"UPDATE runs SET seed = 'x' WHERE run_id = 1": {true, 0},
		"UPDATE runs SET seed = 'x'":                  {false, 3},
		"DELETE FROM runs":                            {false, 0},
	} {
		a := copyOf(t, whole)
		if query != "" {
			hurt(t, a, query)
		}
		s, err := store.OpenForeign(t.Context(), a, "theirs.db")
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		some, left, err := s.Mergeable(t.Context())
		if err != nil || some != want.some || len(left) != want.left {
			t.Errorf("%s: %t, %+v, %v", query, some, left, err)
		}
		for _, m := range left {
			if m.What != store.MergedLeftOut || m.Store != "theirs.db" || !strings.Contains(m.Reason, "seed") {
				t.Errorf("%s: %+v", query, m)
			}
		}
	}
}

// TestForeignDamaged checks the error for a damaged copy of somebody else's store. The error must
// advise the user to get another copy.
func TestForeignDamaged(t *testing.T) {
	a := copyOf(t, tellingStore(t))
	info, err := os.Stat(a)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(a, info.Size()/2); err != nil {
		t.Fatal(err)
	}
	_, err = store.OpenForeign(t.Context(), a, "theirs.db")
	wantError(t, err, "theirs.db", "is damaged: ask for another copy")
}
