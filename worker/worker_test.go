package worker_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/sqlite3perf/sqlite3perf/worker"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/plan"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// story returns the part of the fake's log after the execution of the schema. The plan's schema must
// be the text PHASES. Before the schema, the log has only probes of settings. story leaves out entries
// about closing databases.
func story(f *fake) []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	start := slices.Index(f.log, "script PHASES")
	return slices.DeleteFunc(slices.Clone(f.log[start+1:]), func(s string) bool { return s == "close" })
}

func insertPhase(in plan.Insert) plan.Phase {
	return plan.Phase{Name: "insert", Insert: &in}
}

func TestInsert(t *testing.T) {
	for _, test := range []struct {
		name string
		in   plan.Insert
		want string
	}{
		{"one transaction", plan.Insert{Sets: []string{"users", "articles"}, Transaction: "one", RowsPerStatement: 1},
			"begin, users 1, users 2, users 3, articles 1 1, articles 2 1, articles 3 2, articles 4 2, articles 5 3, articles 6 3, commit"},
		{"one per set", plan.Insert{Sets: []string{"users", "articles"}, Transaction: "set", RowsPerStatement: 4},
			"begin, users 1 | 2 | 3, commit, begin, articles 1 1 | 2 1 | 3 2 | 4 2, articles 5 3 | 6 3, commit"},
		{"each statement", plan.Insert{Sets: []string{"users"}, Transaction: "each", RowsPerStatement: 2},
			"users 1 | 2, users 3"},
		{"every two rows", plan.Insert{Sets: []string{"users"}, Transaction: "every", Every: 2, RowsPerStatement: 1},
			"begin, users 1, users 2, commit, begin, users 3, commit"},
		{"per user", plan.Insert{Sets: []string{"users", "articles"}, Transaction: "per", Per: "users", RowsPerStatement: 1},
			"begin, users 1, articles 1 1, articles 2 1, commit, begin, users 2, articles 3 2, articles 4 2, commit, begin, users 3, articles 5 3, articles 6 3, commit"},
	} {
		t.Run(test.name, func(t *testing.T) {
			f := newFake()
			p := blog(3, insertPhase(test.in))
			p.Schema = "PHASES"
			got := serve(t, f, trialOf(t, p, nil))
			if diff := cmp.Diff(test.want, strings.Join(story(f), ", ")); diff != "" {
				t.Error(diff)
			}
			last := got[len(got)-1]
			if last.Type != protocol.TypeDone {
				t.Fatalf("ended with %+v", last.Reason)
			}
			rows := int64(3)
			if len(test.in.Sets) == 2 {
				rows = 9
			}
			if s := got[len(got)-2].Sample; s.Rows != rows || s.Operations != rows || s.WallNS <= 0 {
				t.Errorf("sample %+v, want %d rows", s, rows)
			}
			if f.open != 0 {
				t.Errorf("%d connections were not returned to the pool", f.open)
			}
		})
	}
}

func TestInsertStopsAtError(t *testing.T) {
	f := newFake()
	f.execFail = func(_ string, row []any) error {
		if len(row) == 1 && row[0] == int64(2) {
			return &driver.Error{Code: 1555, Err: errors.New("UNIQUE constraint failed")}
		}
		return nil
	}
	p := blog(3, insertPhase(plan.Insert{Sets: []string{"users"}, Transaction: "one", RowsPerStatement: 1}))
	p.Schema = "PHASES"
	got := serve(t, f, trialOf(t, p, nil))
	last := got[len(got)-1]
	if last.Type != protocol.TypeFailed || last.Reason.Code != protocol.CodeSQLite || last.Reason.SQLite != 1555 || last.Reason.Phase != "insert" ||
		!strings.HasPrefix(last.Reason.Message, "SQLITE_CONSTRAINT_PRIMARYKEY: inserting into users, rows 0 to 2: UNIQUE") {
		t.Errorf("answered %+v", last.Reason)
	}
	if s := strings.Join(story(f), ", "); s != "begin, users 1, rollback" {
		t.Errorf("ran %s, want begin, users 1, rollback", s)
	}
}

func TestProof(t *testing.T) {
	f := newFake()
	f.pragmas = map[string]string{"journal_mode": "WAL", "synchronous": "1", "busy_timeout": "5000"}
	got := serve(t, f, trialOf(t, blog(1), driver.Settings{"pool_size": "3"}))
	ready := got[0]
	if ready.Type != protocol.TypeReady || ready.Protocol != protocol.Version {
		t.Fatalf("answered %+v", ready)
	}
	want := driver.Settings{
		"journal_mode": "wal", "synchronous": "normal", "busy_timeout": "5000", "mmap_size": "0",
		"pool_size": "3", "txlock": "deferred", "cache": "private",
	}
	if diff := cmp.Diff([]driver.Settings{want, want, want}, ready.Proof.Connections); diff != "" {
		t.Error(diff)
	}
	if ready.Proof.SQLiteVersion != "3.0.0" || !slices.Contains(ready.Proof.CompileOptions, "THREADSAFE=1") {
		t.Errorf("proof %+v", ready.Proof)
	}
}

// TestProofOfMemory checks that the proof shows mode=rwc if memory was requested and the driver
// created a file.
func TestProofOfMemory(t *testing.T) {
	got := serve(t, newFake(), trialOf(t, blog(1), driver.Settings{"mode": "memory"}))
	if r := got[0]; r.Type != protocol.TypeReady || r.Proof.Connections[0]["mode"] != "rwc" {
		t.Errorf("answered %+v, proof %+v; want mode=rwc", r, r.Proof)
	}
}

// selectUsers returns a query phase that reads each user by its ID.
func selectUsers(rows int64) plan.Phase {
	return plan.Phase{Name: "query", Query: &plan.Query{
		Call: plan.Call{
			SQL: "SELECT id FROM users WHERE id = ?", Rows: rows,
			Parameters: []plan.Parameter{{Name: "id", Type: driver.Int, Column: "users.id"}},
			Columns:    []driver.ColumnType{{Type: driver.Int}},
		},
		ForEach: "users", Repeat: 2, Clients: 2,
		Returns: &plan.Returns{Set: "users", Columns: []string{"users.id"}},
	}}
}

func TestQuery(t *testing.T) {
	f := newFake()
	f.answer = func(_ string, params []any) ([]driver.Row, error) {
		return []driver.Row{{{Int: params[0].(int64)}}}, nil
	}
	p := blog(3, selectUsers(1))
	got := serve(t, f, trialOf(t, p, driver.Settings{"pool_size": "2"}))
	s := got[len(got)-2].Sample
	if s == nil {
		t.Fatalf("ended with %+v", got[len(got)-1].Reason)
	}
	if s.Rows != 12 || s.Operations != 12 || len(s.Latency) != 1 || s.Latency[0].Count != 12 {
		t.Errorf("3 users, twice, by 2 clients: %+v", s)
	}
	gen, err := plan.NewGenerator(1, p)
	if err != nil {
		t.Fatal(err)
	}
	want, _, err := gen.Expected(p.Phases[0].Query.Returns, func(int64, int64) {})
	if err != nil {
		t.Fatal(err)
	}
	if s.Checksum != want {
		t.Errorf("checksum %s, want %s", s.Checksum, want)
	}
}

// TestUndeclaredNull checks that NULL and 0 have different checksums in a column that is
// declared without NULL.
func TestUndeclaredNull(t *testing.T) {
	sum := func(null bool) []string {
		f := newFake()
		f.answer = func(string, []any) ([]driver.Row, error) { return []driver.Row{{{Null: null}}}, nil }
		query := plan.Phase{Name: "query", Query: &plan.Query{Repeat: 1, Clients: 1, Call: plan.Call{
			SQL: "SELECT 1", Rows: 1, Columns: []driver.ColumnType{{Type: driver.Int}}}}}
		got := serve(t, f, trialOf(t, blog(1, query, mixOf(plan.Mix{Clients: 1, Count: 10})), nil))
		var sums []string
		for _, a := range got {
			if a.Sample != nil {
				sums = append(sums, a.Sample.Checksum)
			}
		}
		return sums
	}
	null, zero := sum(true), sum(false)
	if len(null) != 2 || len(zero) != 2 || null[0] == zero[0] || null[1] == zero[1] {
		t.Errorf("checksums with NULL %q, with zero %q", null, zero)
	}
}

func TestQueryWrongRows(t *testing.T) {
	f := newFake()
	f.answer = func(string, []any) ([]driver.Row, error) { return []driver.Row{{{}}, {{}}}, nil }
	got := serve(t, f, trialOf(t, blog(3, selectUsers(1)), driver.Settings{"pool_size": "2"}))
	last := got[len(got)-1]
	if last.Type != protocol.TypeFailed || last.Reason.Code != "rows" || !strings.Contains(last.Reason.Message, "2 rows, expected 1") {
		t.Errorf("answered %+v", last.Reason)
	}
}

func TestUntimed(t *testing.T) {
	f := newFake()
	p := insertPhase(plan.Insert{Sets: []string{"users"}, Transaction: "one", RowsPerStatement: 1})
	p.Untimed = true
	got := serve(t, f, trialOf(t, blog(2, p), nil))
	for _, a := range got {
		if a.Type == protocol.TypeSample {
			t.Errorf("an untimed phase has a sample: %+v", a.Sample)
		}
	}
	if !slices.Contains(f.log, "users 2") {
		t.Errorf("the untimed phase inserted no user 2: %q", f.log)
	}
}

func TestServeRefuses(t *testing.T) {
	existing := trialOf(t, blog(1), nil)
	if err := os.WriteFile(existing.Path, []byte("somebody's"), 0o600); err != nil {
		t.Fatal(err)
	}
	old := trialOf(t, blog(1), nil)
	old.Protocol = 99
	for name, req := range map[string]protocol.Request{
		"protocol 99":              old,
		"unknown request":          {Type: "dance", Protocol: protocol.Version},
		"path and a plan":          {Type: protocol.TypeTrial, Protocol: protocol.Version},
		"exists already":           existing,
		"unknown data set \"nil\"": trialOf(t, blog(1, insertPhase(plan.Insert{Sets: []string{"nil"}, Transaction: "one", RowsPerStatement: 1})), nil),
	} {
		got := serve(t, newFake(), req)
		last := got[len(got)-1]
		if last.Type != protocol.TypeFailed || !strings.Contains(last.Reason.Message, name) {
			t.Errorf("%s: answered %+v", name, last)
		}
	}
	if data, err := os.ReadFile(existing.Path); err != nil || string(data) != "somebody's" {
		t.Errorf("the file that existed is now %q, %v", data, err)
	}
}

// TestRefusedAndGone checks that a refused request removes no file, even if the worker's input
// ends.
func TestRefusedAndGone(t *testing.T) {
	req := trialOf(t, blog(3, httpPhase()), nil)
	if err := os.WriteFile(req.Path, []byte("somebody's"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, req.Type = range []string{protocol.TypeServe, protocol.TypeTrial} {
		line, err := json.Marshal(req)
		if err != nil {
			t.Fatal(err)
		}
		for range 500 { // many times, because the refusal and the end of the requests come in random order
			_ = worker.Serve(t.Context(), newFake(), bytes.NewReader(append(line, '\n')), io.Discard)
			if data, err := os.ReadFile(req.Path); err != nil || string(data) != "somebody's" {
				t.Fatalf("%s: the file that existed is now %q, %v", req.Type, data, err)
			}
		}
	}
}

func TestServeGarbage(t *testing.T) {
	var out bytes.Buffer
	if err := worker.Serve(t.Context(), newFake(), strings.NewReader("hello\n"), &out); err != nil {
		t.Fatal(err)
	}
	if got := answers(t, &out); got[0].Type != protocol.TypeFailed || got[0].Reason.Code != "protocol" {
		t.Errorf("answered %+v", got[0])
	}
	if err := worker.Serve(t.Context(), newFake(), strings.NewReader(""), &out); err == nil {
		t.Error("Serve returned no error although there was no request")
	}
}

func TestDescribe(t *testing.T) {
	got := serve(t, newFake(), protocol.Request{Type: protocol.TypeDescribe, Protocol: protocol.Version})
	if got[0].Type != protocol.TypeInfo || got[0].Info.Name != "fake" || got[0].Protocol != protocol.Version {
		t.Errorf("answered %+v", got[0])
	}
}

// unread is a writer that accepts a number of answers. After that it returns EPIPE.
type unread int

func (n *unread) Write(b []byte) (int, error) {
	if *n--; *n < 0 {
		return 0, syscall.EPIPE
	}
	return len(b), nil
}

// TestAnswersNotTaken checks that a worker removes its database if its answers are not read.
func TestAnswersNotTaken(t *testing.T) {
	for taken := range 4 { // the first three answers are ready, settings and phase
		req := trialOf(t, blog(1, insertPhase(plan.Insert{Sets: []string{"users"}, Transaction: "one", RowsPerStatement: 1})), nil)
		requests, in := io.Pipe()
		go func() { _ = json.NewEncoder(in).Encode(req) }()
		left := unread(taken)
		if err := worker.Serve(t.Context(), newFake(), requests, &left); !errors.Is(err, syscall.EPIPE) {
			t.Errorf("after %d answers: returned %v", taken, err)
		}
		if _, err := os.Stat(req.Path); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("after %d answers the database was not removed: %v", taken, err)
		}
		in.Close()
	}
}

// TestLabGone checks that a worker gives up the trial and removes its database when the lab (the
// program that started it) has gone.
func TestLabGone(t *testing.T) {
	p := blog(1, plan.Phase{Name: "query", Context: "cancellable", Query: &plan.Query{
		Call: plan.Call{SQL: "SELECT 1", Rows: -1, Columns: []driver.ColumnType{{Type: driver.Int}}}, Repeat: 1, Clients: 1}})
	for range 200 { // many times, because the end of the trial and the removal come in random order
		req := trialOf(t, p, nil)
		log := req.Path + "-journal"
		lab, in := io.Pipe()
		f := newFake()
		f.answer = func(string, []any) ([]driver.Row, error) {
			if err := os.WriteFile(log, nil, 0o600); err != nil {
				t.Error(err)
			}
			in.Close()
			for {
				if _, err := os.Stat(req.Path); err != nil {
					return nil, context.Canceled
				}
			}
		}
		// Writing to the pipe ends when the worker reads the request.
		go func() { _ = json.NewEncoder(in).Encode(req) }()
		if err := worker.Serve(t.Context(), f, lab, io.Discard); err == nil || !strings.Contains(err.Error(), "the lab has gone") {
			t.Errorf("returned %v", err)
		}
		if _, err := os.Stat(log); !errors.Is(err, os.ErrNotExist) {
			t.Fatalf("the journal was not removed: %v", err)
		}
	}
}

// limited is a driver that declares that it cannot share a cache.
type limited struct{ *fake }

func (limited) Info() driver.Info {
	return driver.Info{Name: "limited", Limits: map[string]string{"cache=shared": "it has none"}}
}

// TestJobBeyondLimits requests a setting that no PRAGMA reports and for which the driver declares a
// limit. The job must refuse the setting before it opens the database.
func TestJobBeyondLimits(t *testing.T) {
	req := protocol.Request{
		Type: protocol.TypeJob, Protocol: protocol.Version, Path: filepath.Join(t.TempDir(), "a.db"), Settings: driver.Settings{"cache": "shared"},
		Job: &protocol.Job{Generate: &protocol.Generate{Table: "bench", Rows: 1, Batch: 1}},
	}
	got := serve(t, limited{newFake()}, req)
	if r := got[0].Reason; r == nil || r.Code != "setting" || r.Message != "cache=shared: it has none" {
		t.Errorf("answered %+v, reason %+v", got[0], r)
	}
	if _, err := os.Stat(req.Path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the database was created although the job was refused: %v", err)
	}
}

// TestJobFailsWhileStopped checks that a job that fails while it is being stopped counts
// as failed.
func TestJobFailsWhileStopped(t *testing.T) {
	requests, in := io.Pipe()
	f := newFake()
	f.answer = func(string, []any) ([]driver.Row, error) { return []driver.Row{{{}}}, nil }
	f.execFail = func(sql string, _ []any) error {
		if !strings.HasPrefix(sql, "INSERT") {
			return nil
		}
		in.Close()
		time.Sleep(50 * time.Millisecond) // most likely the worker has noticed the end of the requests by then
		return &driver.Error{Code: 5, Err: errors.New("database is locked")}
	}
	req := protocol.Request{
		Type: protocol.TypeJob, Protocol: protocol.Version, Path: filepath.Join(t.TempDir(), "a.db"),
		Job: &protocol.Job{Generate: &protocol.Generate{Table: "bench", Rows: 1, Batch: 1}},
	}
	go func() { _ = json.NewEncoder(in).Encode(req) }()
	var out bytes.Buffer
	if err := worker.Serve(t.Context(), f, requests, &out); err != nil {
		t.Fatal(err)
	}
	list := answers(t, &out)
	if last := list[len(list)-1]; last.Type != protocol.TypeFailed || !strings.Contains(last.Reason.Message, "database is locked") {
		t.Errorf("answered %+v, result %+v, reason %+v", last, last.Result, last.Reason)
	}
}

// TestLongMessage checks that the worker shortens an error that contains a long statement.
func TestLongMessage(t *testing.T) {
	f := newFake()
	f.execFail = func(string, []any) error { return fmt.Errorf("INSERT %s: full", strings.Repeat("é", 10_000)) }
	got := serve(t, f, trialOf(t, blog(1), nil))
	m := got[len(got)-1].Reason.Message
	if len(m) > 610 || !strings.Contains(m, "INSERT é") || !strings.HasSuffix(m, "é: full") || !utf8.ValidString(m) {
		t.Errorf("%d bytes: %s", len(m), m)
	}
}
