package worker_test

import (
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/plan"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// loads returns an untimed phase that fills the database.
func loads() plan.Phase {
	p := insertPhase(plan.Insert{
		Sets: []string{"users"}, Transaction: "one", RowsPerStatement: 1,
		Verify: []plan.Stored{{Table: "users", Columns: []string{"id"}, Types: []driver.ColumnType{{Type: driver.Int}}}},
	})
	p.Untimed = true
	return p
}

// TestLoaded checks which phases a worker runs. If Load is set, it must run only the schema and the
// first Load phases. If Loaded is set, it must run only the phases after the first Loaded phases.
func TestLoaded(t *testing.T) {
	const query = "query"
	for _, test := range []struct {
		load, loaded int
		does         []string // the parts of the schema and the phases that the worker runs
		says         string   // the types of the answers, with their phases
	}{
		{0, 0, []string{"script SCHEMA", "users 1", "script TIDY", query},
			"ready, settings, phase insert, inserted insert, settings insert, phase tidy, settings tidy, phase query, settings query, sample, done"},
		{2, 0, []string{"script SCHEMA", "users 1", "script TIDY"},
			"ready, settings, phase insert, inserted insert, settings insert, phase tidy, settings tidy, loaded, done"},
		{1, 0, []string{"script SCHEMA", "users 1"},
			"ready, settings, phase insert, inserted insert, settings insert, loaded, done"},
		{0, 2, []string{query}, "ready, settings, loaded, phase query, settings query, sample, done"},
		{0, 1, []string{"script TIDY", query}, "ready, settings, loaded, phase tidy, settings tidy, phase query, settings query, sample, done"},
	} {
		f := newFake()
		var read atomic.Bool // whether any client has read
		f.answer = func(sql string, params []any) ([]driver.Row, error) {
			if strings.Contains(sql, "WHERE") {
				read.Store(true)
				return []driver.Row{{{Int: params[0].(int64)}}}, nil
			}
			return []driver.Row{{{Int: 1}}}, nil
		}
		p := blog(3, loads(), plan.Phase{Name: "tidy", Untimed: true, Script: "TIDY"}, selectUsers(1))
		p.Schema = "SCHEMA"
		req := trialOf(t, p, driver.Settings{"pool_size": "2"})
		req.Load, req.Loaded = test.load, test.loaded
		if test.loaded > 0 {
			if err := os.WriteFile(req.Path, []byte("a database"), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		var says []string
		for _, a := range serve(t, f, req) {
			if a.Reason != nil {
				t.Errorf("%+v", a.Reason)
			}
			says = append(says, strings.TrimSpace(a.Type+" "+a.Phase))
			if want := []protocol.Inserted{{Table: "users", Rows: 1}}; a.Type == protocol.TypeLoaded && !cmp.Equal(a.Tables, want) {
				t.Errorf("load %d, loaded %d: %+v", test.load, test.loaded, a.Tables)
			}
		}
		if diff := cmp.Diff(test.says, strings.Join(says, ", ")); diff != "" {
			t.Errorf("load %d, loaded %d: %s", test.load, test.loaded, diff)
		}
		done := slices.DeleteFunc(slices.Clone(f.log), func(line string) bool {
			return !slices.Contains([]string{"script SCHEMA", "script TIDY", "users 1"}, line)
		})
		if read.Load() {
			done = append(done, query)
		}
		if diff := cmp.Diff(test.does, done); diff != "" {
			t.Errorf("load %d, loaded %d: %s", test.load, test.loaded, diff)
		}
	}
}

// TestLoadedRefused checks that a worker refuses bad values of Load and Loaded.
func TestLoadedRefused(t *testing.T) {
	for _, test := range []struct {
		load, loaded int
		code, words  string
	}{
		{2, 0, "plan", "load is 2, and plan.phases[1] is not an untimed insert or script"},
		{0, 2, "plan", "loaded is 2, and plan.phases[1] is not an untimed insert or script"},
		{3, 0, "plan", "load is 3: want a number from 0 to 2"},
		{0, -1, "plan", "loaded is -1: want a number from 0 to 2"},
		{1, 1, "plan", "loaded is 1 although load is given"},
		{0, 1, "path", "begins with a database that has been loaded"},
	} {
		req := trialOf(t, blog(3, loads(), selectUsers(1)), driver.Settings{"pool_size": "2"})
		req.Load, req.Loaded = test.load, test.loaded
		got := serve(t, newFake(), req)
		if r := got[0].Reason; r == nil || r.Code != test.code || !strings.Contains(r.Message, test.words) {
			t.Errorf("load %d, loaded %d: %+v, want %s: %s", test.load, test.loaded, r, test.code, test.words)
		}
	}
}

// TestLoadedWAL checks that the worker writes to a loaded database if the database has a WAL, and
// does not write to it otherwise.
func TestLoadedWAL(t *testing.T) {
	for _, mode := range []string{"wal", "delete"} {
		f := newFake()
		f.pragmas["journal_mode"], f.pragmas["user_version"], f.pragmas["wal_checkpoint(TRUNCATE)"] = mode, "7", "0"
		f.answer = one
		req := trialOf(t, blog(3, loads()), driver.Settings{})
		req.Loaded = 1
		if err := os.WriteFile(req.Path, []byte("a database"), 0o644); err != nil {
			t.Fatal(err)
		}
		got := serve(t, f, req)
		if last := got[len(got)-1]; last.Type != protocol.TypeDone {
			t.Fatalf("%+v", last.Reason)
		}
		if wrote := slices.Contains(f.log, "script PRAGMA user_version = 7"); wrote != (mode == "wal") {
			t.Errorf("%s: %q", mode, f.log)
		}
	}
}
