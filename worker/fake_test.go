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
	"strings"
	"sync"
	"testing"

	"github.com/sqlite3perf/sqlite3perf/worker"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/plan"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// fake is a driver that records its calls in the field "log". It answers PRAGMAs from the map
// "pragmas" and queries with the function "answer".
type fake struct {
	mu       sync.Mutex
	log      []string
	pragmas  map[string]string
	answer   func(sql string, params []any) ([]driver.Row, error)
	execFail func(sql string, row []any) error
	limits   map[string]string
	rollback error         // the error that every rollback returns
	onTx     func(int)     // called with +1 when a transaction begins and -1 when it ends
	open     int           // connections taken from the pool
	quiet    bool          // inserted rows are not recorded in log
	checks   int           // how often quick_check was run
	hang     chan struct{} // if not nil, quick_check waits until this channel is closed
	classes  driver.Row    // the SQLite types of the values in a row that has a wrong type; nil if all values have the declared types
}

func newFake() *fake {
	return &fake{pragmas: map[string]string{"journal_mode": "delete", "synchronous": "2"}}
}

func (f *fake) note(format string, args ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.log = append(f.log, fmt.Sprintf(format, args...))
}

func (f *fake) Info() driver.Info {
	return driver.Info{Name: "fake", Kind: driver.OtherLanguage, Interface: driver.Direct, Limits: f.limits}
}

func (f *fake) Open(_ context.Context, path string, s driver.Settings) (driver.DB, error) {
	return &fakeDB{f}, os.WriteFile(path, []byte("a database"), 0o644)
}

type fakeDB struct{ *fake }

func (d *fakeDB) Conn(context.Context) (driver.Conn, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.open++
	return &fakeConn{d}, nil
}
func (d *fakeDB) Close() error { d.note("close"); return nil }

func (d *fakeDB) Script(_ context.Context, sql string) error {
	d.note("script %s", sql)
	if d.execFail != nil {
		return d.execFail(sql, nil)
	}
	return nil
}

func (d *fakeDB) Prepare(_ context.Context, st driver.Statement) (driver.Stmt, error) {
	return &fakeStmt{d.fake, st}, nil
}

func (d *fakeDB) Begin(context.Context) (driver.Tx, error) {
	d.note("begin")
	if d.onTx != nil {
		d.onTx(1)
	}
	return fakeTx{d.fake}, nil
}

type fakeConn struct{ *fakeDB }

func (c *fakeConn) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open--
	return nil
}

type fakeTx struct{ *fake }

func (t fakeTx) Stmt(_ context.Context, st driver.Stmt) (driver.Stmt, error) { return st, nil }
func (t fakeTx) Commit(context.Context) error                                { return t.end("commit") }

func (t fakeTx) end(how string) error {
	t.note("%s", how)
	if t.onTx != nil {
		t.onTx(-1)
	}
	return nil
}
func (t fakeTx) Rollback(context.Context) error { return errors.Join(t.end("rollback"), t.rollback) }

type fakeStmt struct {
	*fake
	st driver.Statement
}

func (s *fakeStmt) Close() error { return nil }

func params(b *driver.Batch, r int) []any {
	if b == nil {
		return nil
	}
	var list []any
	for i := range b.Columns {
		v := b.Columns[i].Any(r)
		if text, ok := v.(string); ok {
			v = strings.Clone(text)
		}
		list = append(list, v)
	}
	return list
}

func (s *fakeStmt) Exec(_ context.Context, b *driver.Batch, lo, hi int) error {
	if b == nil {
		s.note("exec %s", s.st.SQL)
		return nil
	}
	if s.quiet {
		return nil
	}
	for r := lo; r < hi; r += b.PerExec {
		var rows []string
		for k := r; k < r+b.PerExec; k++ {
			if s.execFail != nil {
				if err := s.execFail(s.st.SQL, params(b, k)); err != nil {
					return err
				}
			}
			rows = append(rows, strings.Trim(fmt.Sprint(params(b, k)), "[]"))
		}
		if n := strings.Count(s.st.SQL, "?"); n != len(s.st.Params) || n != len(b.Columns)*b.PerExec {
			return fmt.Errorf("%s: %d parameters declared, %d given", s.st.SQL, len(s.st.Params), len(b.Columns)*b.PerExec)
		}
		table := strings.Split(s.st.SQL, `"`)[1]
		s.note("%s %s", table, strings.Join(rows, " | "))
	}
	return nil
}

func (s *fakeStmt) ExecResult(ctx context.Context, b *driver.Batch, r int) (driver.Result, error) {
	return nil, s.Exec(ctx, b, r, r+1)
}

func (s *fakeStmt) Query(_ context.Context, b *driver.Batch, r int, visit func(driver.Row) error) error {
	if name, ok := strings.CutPrefix(s.st.SQL, "PRAGMA "); ok {
		switch name {
		case "quick_check(1)":
			s.checks++
			if s.hang != nil {
				<-s.hang
			}
			return visit(driver.Row{{Text: "ok"}})
		case "compile_options":
			return visit(driver.Row{{Text: "THREADSAFE=1"}})
		}
		v, ok := s.pragmas[name]
		if !ok {
			return nil
		}
		var n int64
		_, _ = fmt.Sscan(v, &n) // n stays 0 if v is a word
		return visit(driver.Row{{Text: v, Int: n}})
	}
	if strings.Contains(s.st.SQL, "sqlite_version") {
		return visit(driver.Row{{Text: "3.0.0"}, {Text: "source"}})
	}
	if strings.HasPrefix(s.st.SQL, "WITH sqlite3perf_result(") {
		if s.classes == nil {
			return nil // all values have the declared types
		}
		return visit(s.classes)
	}
	if s.st.SQL == "SELECT count(*) FROM sqlite_master" {
		return visit(driver.Row{{Int: 1}})
	}
	if s.answer == nil {
		return errors.New("no answer to " + s.st.SQL)
	}
	rows, err := s.answer(s.st.SQL, params(b, r))
	if err != nil {
		return err
	}
	for _, row := range rows {
		for i := range row {
			// Like some libraries, the fake reports NULL only in columns that are declared with
			// NULL.
			row[i].Null = row[i].Null && s.st.Columns[i].Nullable
		}
		if err := visit(row); err != nil {
			return err
		}
	}
	return nil
}

// serve sends the worker a request and returns its answers.
func serve(t *testing.T, d driver.Driver, req protocol.Request) []protocol.Response {
	t.Helper()
	line, err := json.Marshal(req)
	if err != nil {
		t.Fatal(err)
	}
	return serveLine(t, d, string(line))
}

// serveLine sends the worker a request that is given as text, and returns its answers.
func serveLine(t *testing.T, d driver.Driver, line string) []protocol.Response {
	t.Helper()
	// Like the lab (sqlite3perf itself), keep the writing end of the pipe open until the worker has ended.
	r, w := io.Pipe()
	defer w.Close()
	go func() { _, _ = io.WriteString(w, line+"\n") }() // if writing fails, Serve reports the missing request
	var out bytes.Buffer
	if err := worker.Serve(t.Context(), d, r, &out); err != nil {
		t.Fatal(err)
	}
	return answers(t, &out)
}

func answers(t *testing.T, out io.Reader) []protocol.Response {
	t.Helper()
	var list []protocol.Response
	dec := json.NewDecoder(out)
	for dec.More() {
		var a protocol.Response
		if err := dec.Decode(&a); err != nil {
			t.Fatal(err)
		}
		list = append(list, a)
	}
	return list
}

// blog returns a plan with users that have two articles each.
func blog(users int64, phases ...plan.Phase) *plan.Plan {
	id := plan.Column{Name: "id", Type: driver.Int, Generator: plan.Generator{Kind: plan.GenSerial, Low: 1, Step: 1}}
	return &plan.Plan{
		DataSets: []plan.DataSet{
			{Name: "users", Table: "users", Count: users, Total: users, Columns: []plan.Column{id}},
			{Name: "articles", Table: "articles", Parent: "users", Count: 2, Total: 2 * users, Columns: []plan.Column{
				id,
				{Name: "user", Type: driver.Int, Generator: plan.Generator{Kind: plan.GenRef, Of: []string{"users.id"}}},
			}},
		},
		Phases: phases,
	}
}

func trialOf(t *testing.T, p *plan.Plan, s driver.Settings) protocol.Request {
	return protocol.Request{
		Type: protocol.TypeTrial, Protocol: protocol.Version, Seed: 1,
		Path: filepath.Join(t.TempDir(), "test.db"), Settings: s, Plan: p,
	}
}
