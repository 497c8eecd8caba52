package lab_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sqlite3perf/sqlite3perf/internal/lab"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// mixes is a workload with one mix. Its words in capitals, such as END, are placeholders. By replacing them,
// tests choose how the mix ends, how its transactions begin, and how its clients use connections. The
// operation with the name "move" first reads, then writes.
const mixes = `
name: mixes
settings: {journal_mode: wal, synchronous: "off", busy_timeout: BUSY, txlock: TXLOCK, pool_size: POOL}
schema: CREATE TABLE t(id INTEGER PRIMARY KEY, n INTEGER NOT NULL)
rows:
  t: {count: 100, columns: {id: serial, n: {int: [0, 9]}}}
phases:
  - {name: load, insert: t, untimed: true}
  - name: mix
    mix:
      - {name: get, weight: 3, sql: "SELECT id, n FROM t WHERE id = :id", columns: [int, int], parameters: {id: {pick: t.id}}, expect: {rows: 1}}
      - name: move
        weight: 2
        transaction: true
        statements:
          - {sql: "SELECT n FROM t WHERE id = :id", columns: [int], expect: {rows: 1}}
          - UPDATE t SET n = n + 1 WHERE id = :id
        parameters: {id: {pick: t.id}}
    clients: 4
    connection: CONNECTION
    END
  - name: sum
    query: SELECT count(*), min(id) FROM t
    columns: [int, int]
    expect: {rows: 1}
`

func mixSample(t *testing.T, words ...string) (*lab.Case, *result.Sample) {
	t.Helper()
	c := casesOf(t, pythonWorker(t), 9, nil, nil, parse(t, strings.NewReplacer(words...).Replace(mixes)))[0]
	got := runTrial(t, c, 9)
	if len(got.Samples) != 2 {
		t.Fatalf("%d samples", len(got.Samples))
	}
	s := &got.Samples[0]
	n := int64(0)
	for _, l := range s.Latency {
		n += l.Count
	}
	if s.Checksum == "" || n != s.Operations || len(s.Latency) != 2 {
		t.Errorf("%+v", s)
	}
	return c, s
}

// TestPythonMixCount checks that the requested number of operations runs, whether they
// succeed or not, and that failed operations are counted by SQLite's extended result code.
func TestPythonMixCount(t *testing.T) {
	for _, c := range []struct{ lock, connection, pool string }{
		{"immediate", "own", "4"},
		{"immediate", "pool", "2"},
	} {
		_, s := mixSample(t, "BUSY", "60s", "TXLOCK", c.lock, "POOL", c.pool, "CONNECTION", c.connection, "END", "count: 401")
		if s.Operations != 401 || len(s.Errors) > 0 || s.Metric != "time/op" || s.Rows != 401 {
			t.Errorf("%v: %d operations, %d rows, %+v, %s", c, s.Operations, s.Rows, s.Errors, s.Metric)
		}
	}
	// A deferred transaction that has read fails at once if another transaction is writing,
	// or has written meanwhile, however long its busy timeout is. By chance, no two transactions of a
	// mix may overlap, so the mix is tried several times.
	failed := int64(0)
	for tries := 0; failed == 0 && tries < 10; tries++ {
		_, s := mixSample(t, "BUSY", "60s", "TXLOCK", "deferred", "POOL", "4", "CONNECTION", "own", "END", "count: 4001")
		for _, e := range s.Errors {
			failed += e.Count
			if want := map[int]string{5: "SQLITE_BUSY", 517: "SQLITE_BUSY_SNAPSHOT"}[e.Code]; e.Name != want || e.WaitNS <= 0 {
				t.Errorf("%+v", e)
			}
		}
		if s.Operations != 4001 || s.Failed != failed {
			t.Errorf("%d operations, %d failed, %d errors", s.Operations, s.Failed, failed)
		}
	}
	if failed == 0 {
		t.Error("no transaction failed")
	}
}

// TestPythonMixUndeclared checks errors that an operation does not declare. Such an error must end the trial,
// and the reason must say how to declare it. An error that rolls back more than its statement cannot be
// declared as a result. The Go worker must give the same reasons.
func TestPythonMixUndeclared(t *testing.T) {
	text := `name: taken
about: A name is taken.
schema: CREATE TABLE guests (name TEXT UNIQUE)
phases:
  - name: mix
    mix: [{name: sign up, sql: INSERT HOW INTO guests VALUES (1), results: CODE}]
    count: 10
`
	for _, c := range []struct{ how, code, want string }{
		{"OR ABORT", "SQLITE_CONSTRAINT_CHECK", "(if this error is expected, declare it in the operation: results: [SQLITE_CONSTRAINT_UNIQUE])"},
		{"OR ROLLBACK", "SQLITE_CONSTRAINT_UNIQUE", "a statement rolled back the whole transaction, as OR ROLLBACK and RAISE(ROLLBACK) do: write OR ABORT or RAISE(ABORT)"},
	} {
		w := parse(t, strings.NewReplacer("HOW", c.how, "CODE", c.code).Replace(text))
		python := casesOf(t, pythonWorker(t), 1, nil, nil, w)[0]
		p := &lab.Processes{Dir: t.TempDir(), Limit: time.Minute}
		got, err := p.Trial(t.Context(), python, 1)
		if err != nil {
			t.Fatal(err)
		}
		if got.Reason == nil || got.Reason.Code != "sqlite" || !strings.Contains(got.Reason.Message, c.want) {
			t.Errorf("%s: Python: %+v, want %s", c.how, got.Reason, c.want)
		}
		r := engineReason(t, python)
		if r == nil || r.Code != "sqlite" || !strings.Contains(r.Message, c.want) {
			t.Errorf("%s: Go: %+v, want %s", c.how, r, c.want)
		}
		if r != nil && strings.Contains(r.Message, "cannot rollback") {
			t.Errorf("%s: Go: the message also says that nothing can be rolled back: %s", c.how, r.Message)
		}
		if c.how == "OR ABORT" && got.Reason.SQLite != 2067 {
			t.Errorf("Python: SQLite's code %d, want 2067", got.Reason.SQLite)
		}
	}
}

// TestMixRolledBack checks the reason for a failed trial after SQLite has rolled back a transaction. The
// reason must contain only the cause, and not the message that there is no transaction to roll back.
func TestMixRolledBack(t *testing.T) {
	const text = `name: taken
about: A name is taken.
schema: CREATE TABLE guests (name TEXT UNIQUE)
phases:
  - name: mix
    mix: [{name: sign up, transaction: true, statements: [INSERT OR ROLLBACK INTO guests VALUES (1)]}]
    count: 10
`
	r := engineReason(t, casesOf(t, faulty(t, "none"), 1, nil, nil, parse(t, text))[0])
	if r == nil || !strings.Contains(r.Message, "UNIQUE constraint failed: guests.name") || strings.Contains(r.Message, "cannot rollback") {
		t.Errorf("%+v", r)
	}
}

// TestSoakPythonMixDuration runs mixes with a duration. The trial fails if a mix ends earlier, because
// [lab.CheckSample] checks its wall time. At a fixed rate, every operation that is due must run: 200 in a
// second.
func TestSoakPythonMixDuration(t *testing.T) {
	_, s := mixSample(t, "BUSY", "5s", "TXLOCK", "immediate", "POOL", "4", "CONNECTION", "own", "END", "duration: 1s")
	if s.Operations < 1 || s.Metric != "time/op" {
		t.Errorf("%d operations, %s", s.Operations, s.Metric)
	}
	_, s = mixSample(t, "BUSY", "60s", "TXLOCK", "immediate", "POOL", "4", "CONNECTION", "own", "END", "duration: 1s\n    rate: 200")
	if s.Operations != 200 || s.Metric != "latency" || s.Value() <= 0 {
		t.Errorf("%d operations, %s", s.Operations, s.Metric)
	}
}

// long is a query that takes SQLite tens of milliseconds.
const long = "WITH RECURSIVE c(x) AS (VALUES (1) UNION ALL SELECT x + 1 FROM c WHERE x < 200000) SELECT sum(x) FROM c"

// TestPythonMixWaits checks which waits the worker counts. It counts waits for the pool only if clients share
// connections, waits for the mutex only if the mix has one, and waits for further attempts only if the mix
// has retries.
func TestPythonMixWaits(t *testing.T) {
	// While one client runs a long query, the two other clients begin to wait.
	const text = `
name: waits
settings: {journal_mode: delete, synchronous: "off", busy_timeout: 0, txlock: immediate, pool_size: POOL}
schema: CREATE TABLE t (n INTEGER)
phases:
  - name: mix
    mix: [{name: op, STATEMENTS}]
    clients: 3
    count: 9
    connection: CONNECTION
    MORE
`
	read := "sql: " + long + ", columns: [int]"
	write := "transaction: true, statements: [INSERT INTO t VALUES (1), {sql: " + long + ", columns: [int]}]"
	for name, c := range map[string]struct {
		words []string
		want  map[string]bool // kinds of waits that must be reported, and whether some client must have waited
	}{
		"own connections": {[]string{"STATEMENTS", read, "POOL", "3", "CONNECTION", "own", "MORE", ""}, map[string]bool{"connection": false}},
		"pool":            {[]string{"STATEMENTS", read, "POOL", "1", "CONNECTION", "pool", "MORE", ""}, map[string]bool{"connection": true}},
		"mutex":           {[]string{"STATEMENTS", read, "POOL", "3", "CONNECTION", "pool", "MORE", "mutex: true"}, map[string]bool{"connection": false, "mutex": true}},
		"retry":           {[]string{"STATEMENTS", write, "POOL", "3", "CONNECTION", "pool", "MORE", "retry: {attempts: 4, backoff: 1ms}"}, map[string]bool{"connection": false, "retry": true}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := runTrial(t, casesOf(t, pythonWorker(t), 9, nil, nil, parse(t, strings.NewReplacer(c.words...).Replace(text)))[0], 9).Samples[0]
			if len(s.Waits) != len(c.want) {
				t.Errorf("waits %+v, want those of %v", s.Waits, c.want)
			}
			for _, w := range s.Waits {
				waited, known := c.want[w.For]
				if !known || waited != (w.Count > 0) || waited != (w.WaitNS > 0) {
					t.Errorf("wait %+v, want those of %v", w, c.want)
				}
				if w.For == protocol.WaitRetry && (w.Count != s.Retries || w.WaitNS < s.Retries*int64(time.Millisecond)) {
					t.Errorf("%+v of %d retries, each after 1 ms or more", w, s.Retries)
				}
			}
		})
	}
}

// TestSoakPythonMixTimeout checks that an operation ends at its timeout, in a running statement and while
// waiting for the pool. Its writes must be rolled back, without effect on other operations or on the next
// operation that uses the connection.
func TestSoakPythonMixTimeout(t *testing.T) {
	t.Parallel()
	text := `
name: timeouts
settings: {journal_mode: wal, synchronous: "off", busy_timeout: 60s, pool_size: POOL}
schema: CREATE TABLE t (n INTEGER)
phases:
  - name: mix
    mix:
      - {name: keep, statements: [INSERT INTO t VALUES (1)], transaction: true}
      - {name: run, sql: LONG, columns: [int], timeout: 1ms}
      - {name: write, transaction: true, statements: [INSERT INTO t VALUES (2), {sql: LONG, columns: [int]}], timeout: 1ms}
    clients: 3
    count: 24
    connection: CONNECTION
  - {name: kept, query: SELECT n FROM t, columns: [int]}
  - {name: undone, query: SELECT n FROM t WHERE n = 2, columns: [int], expect: {rows: 0}}
`
	for _, c := range []struct{ connection, pool string }{{"own", "3"}, {"pool", "1"}} {
		words := []string{"LONG", long, "POOL", c.pool, "CONNECTION", c.connection}
		got := runTrial(t, casesOf(t, pythonWorker(t), 9, nil, nil, parse(t, strings.NewReplacer(words...).Replace(text)))[0], 9)
		s, kept := got.Samples[0], int64(0)
		for _, l := range s.Latency {
			switch {
			case l.Operation == "keep":
				kept = l.Count
				if l.Failed > 0 {
					t.Errorf("%s: %d operations \"keep\" failed, although \"keep\" has no timeout", c.connection, l.Failed)
				}
			case l.Count == 0 || l.Failed != l.Count:
				t.Errorf("%s: operation %s: %d of %d failed, want all", c.connection, l.Operation, l.Failed, l.Count)
			}
		}
		if len(s.Errors) != 1 || s.Errors[0].Code != driver.CodeCanceled || s.Errors[0].Name != "canceled" || s.Errors[0].Count != s.Failed {
			t.Errorf("%s: errors %+v", c.connection, s.Errors)
		}
		if got.Samples[1].Rows != kept {
			t.Errorf("%s: %d rows, want %d, one for each operation \"keep\"", c.connection, got.Samples[1].Rows, kept)
		}
	}
}

// refusal returns the reason with which the Python worker ends a trial.
func refusal(t *testing.T, req protocol.Request) *protocol.Reason {
	t.Helper()
	cmd := exec.Command(pythonWorker(t))
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	var answer protocol.Response
	cmd.Stdout = writer(func(p []byte) {
		for line := range strings.Lines(string(p)) {
			if err := json.Unmarshal([]byte(line), &answer); err != nil {
				t.Errorf("%s: %v", line, err)
			}
		}
	})
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if err := json.NewEncoder(in).Encode(req); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil || answer.Reason == nil {
		t.Fatalf("%v, %+v", err, answer)
	}
	return answer.Reason
}

type writer func([]byte)

func (w writer) Write(p []byte) (int, error) {
	w(p)
	return len(p), nil
}

// TestSoakPythonWorkerCannot checks that the Python worker reports requests that it cannot
// fulfill, and that it does not touch an existing file.
func TestSoakPythonWorkerCannot(t *testing.T) {
	there := filepath.Join(t.TempDir(), "there.db")
	if err := os.WriteFile(there, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	c := casesOf(t, pythonWorker(t), 1, nil, nil, parse(t, tiny))[0]
	bad := *c.Plan
	bad.DataSets = append(bad.DataSets[:0:0], bad.DataSets...)
	bad.DataSets[0].Columns = append(bad.DataSets[0].Columns[:0:0], bad.DataSets[0].Columns...)
	bad.DataSets[0].Columns[0].Generator.Kind = "oracle"
	narrow := *c.Plan
	narrow.Phases = slices.Clone(narrow.Phases)
	for i := range narrow.Phases {
		if q := narrow.Phases[i].Query; q != nil {
			fewer := *q
			fewer.Columns = append(slices.Clone(fewer.Columns), fewer.Columns[0])
			narrow.Phases[i].Query = &fewer
		}
	}
	empty := *c.Plan
	empty.Phases = append(empty.Phases[:0:0], empty.Phases...)
	empty.Phases[0].Insert = nil
	for name, r := range map[string]struct {
		change func(*protocol.Request)
		code   string
		want   string
	}{
		"there":     {func(r *protocol.Request) { r.Path = there }, "path", "there.db exists already"},
		"generator": {func(r *protocol.Request) { r.Plan = &bad }, "unsupported", `no generator of kind 'oracle'`},
		"columns":   {func(r *protocol.Request) { r.Plan = &narrow }, "error", "declared: SELECT"},
		"phase":     {func(r *protocol.Request) { r.Plan = &empty }, "plan", "want exactly one of insert"},
		"setting":   {func(r *protocol.Request) { r.Settings = driver.Settings{"shape": "round"} }, "setting", "shape"},
		"pipeline": {func(r *protocol.Request) {
			r.Type, r.Path, r.Job = protocol.TypeJob, there, &protocol.Job{Bench: &protocol.Bench{Table: "t", Pipeline: true}}
		}, "usage", "leave it out"},
		"serving":      {func(r *protocol.Request) { r.Type = protocol.TypeServe }, "unsupported", "serves no HTTP"},
		"no path":      {func(r *protocol.Request) { r.Path = "" }, "protocol", "needs a path"},
		"no plan":      {func(r *protocol.Request) { r.Plan = nil }, "protocol", "needs a path"},
		"no directory": {func(r *protocol.Request) { r.Path = filepath.Join(filepath.Dir(there), "no", "x.db") }, "sqlite", "SQLITE_CANTOPEN: unable to open database file"},
	} {
		t.Run(name, func(t *testing.T) {
			req := protocol.Request{Type: protocol.TypeTrial, Protocol: protocol.Version, Path: filepath.Join(t.TempDir(), "test.db"), Plan: c.Plan}
			r.change(&req)
			got := refusal(t, req)
			if got.Code != r.code || !strings.Contains(got.Message, r.want) {
				t.Errorf("%+v; want %s, %s", got, r.code, r.want)
			}
		})
	}
	if data, err := os.ReadFile(there); err != nil || string(data) != "precious" {
		t.Errorf("the file that was there: %q, %v", data, err)
	}
}

// TestPythonInterpreter checks that the Python worker reports features that its interpreter
// lacks, and that it refuses unknown arguments.
func TestPythonInterpreter(t *testing.T) {
	script := pythonWorker(t)
	for name, c := range map[string]struct{ before, want string }{
		"old":       {"import sys; sys.version_info = (3, 9, 2)", "Python 3.11 or newer is needed, and this is CPython"},
		"no module": {"import sys; sys.modules['sqlite3'] = None", "Python's sqlite3 module is needed, and this is CPython"},
	} {
		code := fmt.Sprintf("%s; import runpy; sys.argv = ['worker.py']; runpy.run_path(%q, run_name='__main__')", c.before, script)
		cmd := exec.Command("python3", "-c", code)
		cmd.Stdin = strings.NewReader(`{"type":"describe","protocol":2}` + "\n")
		out, err := cmd.CombinedOutput()
		if err != nil || !strings.Contains(string(out), c.want) || !strings.Contains(string(out), `"unsupported"`) {
			t.Errorf("%s: %s, %v", name, out, err)
		}
	}
	out, err := exec.Command(script, "--fetchsome").CombinedOutput()
	if err == nil || !strings.Contains(string(out), "usage: ") {
		t.Errorf("--fetchsome: %s, %v", out, err)
	}
}
