package connpool_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/driver/connpool"
)

// fake is a connection that records the calls of its methods.
type fake struct {
	number int
	log    []string
	guards []string         // the calls of Guard and of the functions that it returned, with the names of the contexts
	fail   map[string]error // the error of each recorded call that is to fail
	inTx   bool
	copied int // number of bytes of scripts that Script has copied
}

func (f *fake) Number() int         { return f.number }
func (f *fake) InTransaction() bool { return f.inTx }
func (f *fake) Close() error        { return f.do("close") }

// Script counts the bytes that some libraries copy: the rest of the script for each statement.
func (f *fake) Script(sql string) error {
	f.copied += len(sql) * strings.Count(sql, ";") / 2
	return f.do("script " + sql)
}

func (f *fake) Guard(ctx context.Context) func() {
	f.guards = append(f.guards, fmt.Sprint("guard ", ctx.Value(name{})))
	return func() { f.guards = append(f.guards, fmt.Sprint("release ", ctx.Value(name{}))) }
}

func (f *fake) do(what string) error {
	f.log = append(f.log, what)
	return f.fail[what]
}

func (f *fake) Run(sql string) error {
	err := f.do(sql)
	if err == nil {
		f.inTx = sql != "COMMIT" && sql != "ROLLBACK"
	}
	return err
}

func (f *fake) Prepare(st driver.Statement, pooled bool) (connpool.Stmt, error) {
	return &fakeStmt{f, st.SQL}, f.do(fmt.Sprintf("prepare %s, pooled %v", st.SQL, pooled))
}

type fakeStmt struct {
	*fake
	sql string
}

func (s *fakeStmt) Exec(*driver.Batch, int, int) error { return s.do("exec " + s.sql) }
func (s *fakeStmt) Close() error                       { return s.do("finalize " + s.sql) }

func (s *fakeStmt) Query(_ *driver.Batch, _ int, visit func(driver.Row) error) error {
	return errors.Join(s.do("query "+s.sql), visit(nil))
}

func TestPooledStatementIsPreparedOncePerConnection(t *testing.T) {
	p, fakes := open(t, 2)
	db := connpool.New(p, 2, "BEGIN")
	s, err := db.Prepare(t.Context(), driver.Statement{SQL: "Q"})
	if err != nil {
		t.Fatal(err)
	}
	visit := func(driver.Row) error { return nil }
	run := func() error {
		return errors.Join(s.Exec(t.Context(), nil, 0, 0), s.Query(t.Context(), nil, 0, visit))
	}
	for _, held := range []bool{false, true} {
		if held { // take the connection that was returned last, so that the statement runs on the other connection
			c, err := db.Conn(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
		}
		for range 2 {
			if err := run(); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, f := range fakes {
		if n := len(slices.DeleteFunc(slices.Clone(f.log), func(s string) bool { return s != "prepare Q, pooled true" })); n != 1 {
			t.Errorf("connection %d: prepared %d times: %v", f.number, n, f.log)
		}
		if len(f.log) != 5 {
			t.Errorf("connection %d: %v, want 1 preparation and 4 executions", f.number, f.log)
		}
	}
}

func TestStatementGivesItsConnectionBack(t *testing.T) {
	p, fakes := open(t, 1)
	db := connpool.New(p, 1, "BEGIN")
	s, err := db.Prepare(t.Context(), driver.Statement{SQL: "Q"})
	if err != nil {
		t.Fatal(err)
	}
	broken := errors.New("broken")
	fakes[0].fail["exec Q"] = broken
	if err := s.Exec(t.Context(), nil, 0, 0); !errors.Is(err, broken) {
		t.Errorf("Exec: %v", err)
	}
	if err := s.Query(t.Context(), nil, 0, func(driver.Row) error { return broken }); !errors.Is(err, broken) {
		t.Errorf("Query: %v", err)
	}
	fakes[0].fail["prepare R, pooled true"] = broken
	if _, err := db.Prepare(t.Context(), driver.Statement{SQL: "R"}); !errors.Is(err, broken) {
		t.Errorf("Prepare: %v", err)
	}
	fakes[0].fail["script S"] = broken
	if err := db.Script(t.Context(), "S"); !errors.Is(err, broken) {
		t.Errorf("Script: %v", err)
	}
	fakes[0].fail["BEGIN"] = broken
	if _, err := db.Begin(t.Context()); !errors.Is(err, broken) {
		t.Errorf("Begin: %v", err)
	}
	if err := db.Close(); err != nil {
		t.Errorf("the connection was not returned to the pool: %v", err)
	}
}

func TestCancelledContextRunsNothing(t *testing.T) {
	p, fakes := open(t, 1)
	db := connpool.New(p, 1, "BEGIN")
	c, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	s, err := c.Prepare(t.Context(), driver.Statement{SQL: "Q"})
	if err != nil {
		t.Fatal(err)
	}
	tx, err := c.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	before := len(fakes[0].log)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for name, err := range map[string]error{
		"Exec":   s.Exec(ctx, nil, 0, 0),
		"Query":  s.Query(ctx, nil, 0, func(driver.Row) error { return nil }),
		"Script": c.Script(ctx, "S"),
		"Commit": tx.Commit(ctx),
	} {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v, want the context's error", name, err)
		}
	}
	if got := fakes[0].log[before:]; len(got) > 0 {
		t.Errorf("with a canceled context, these calls reached the library: %v", got)
	}
	if err := tx.Rollback(ctx); err != nil || fakes[0].inTx {
		t.Errorf("Rollback: %v, still in a transaction: %v", err, fakes[0].inTx)
	}
}

// name is the key of a context's name.
type name struct{}

func TestGuard(t *testing.T) {
	p, fakes := open(t, 1)
	db := connpool.New(p, 1, "BEGIN")
	named := func(s string) context.Context {
		ctx, cancel := context.WithCancel(context.WithValue(t.Context(), name{}, s))
		t.Cleanup(cancel)
		return ctx
	}
	a, b, endless := named("a"), named("b"), context.WithoutCancel(named("endless"))
	for _, step := range []struct {
		what  string
		ctxs  []context.Context // the first context takes the connection
		wants []string
	}{
		{"one context", []context.Context{a, a, a}, []string{"guard a", "release a"}},
		{"another", []context.Context{a, b}, []string{"guard a", "release a", "guard b", "release b"}},
		{"one that cannot end", []context.Context{endless, endless}, nil},
		{"one that cannot end after one that can", []context.Context{a, endless, endless}, []string{"guard a", "release a", "guard endless", "release endless"}},
	} {
		fakes[0].guards = nil
		c, err := db.Conn(step.ctxs[0])
		if err != nil {
			t.Fatal(err)
		}
		s, err := c.Prepare(step.ctxs[0], driver.Statement{SQL: "Q"})
		if err != nil {
			t.Fatal(err)
		}
		for _, ctx := range step.ctxs {
			if err := s.Exec(ctx, nil, 0, 0); err != nil {
				t.Fatal(err)
			}
		}
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(step.wants, fakes[0].guards); diff != "" {
			t.Errorf("%s: -want +got\n%s", step.what, diff)
		}
	}
}

func TestConnComesBackOnce(t *testing.T) {
	p, _ := open(t, 1)
	db := connpool.New(p, 1, "BEGIN")
	c, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	if err := c.Close(); err == nil {
		t.Error("second Close: no error")
	}
}

func TestCommitThatFails(t *testing.T) {
	for _, ended := range []bool{false, true} {
		t.Run(fmt.Sprintf("ended by SQLite %v", ended), func(t *testing.T) {
			p, fakes := open(t, 1)
			db := connpool.New(p, 1, "BEGIN IMMEDIATE")
			tx, err := db.Begin(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			busy := &driver.Error{Code: driver.CodeBusy, Err: errors.New("busy")}
			fakes[0].fail["COMMIT"] = busy
			fakes[0].inTx = !ended
			if err := tx.Commit(t.Context()); !errors.Is(err, busy) {
				t.Errorf("Commit: %v", err)
			}
			for range 2 { // the second call has nothing to do
				if err := tx.Rollback(t.Context()); err != nil {
					t.Errorf("Rollback: %v", err)
				}
			}
			want := []string{"BEGIN IMMEDIATE", "COMMIT"}
			if !ended {
				want = append(want, "ROLLBACK")
			}
			if diff := cmp.Diff(want, fakes[0].log); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
			if err := tx.Commit(t.Context()); err == nil {
				t.Error("Commit after the end: no error")
			}
			if err := db.Close(); err != nil {
				t.Errorf("the connection was not returned to the pool: %v", err)
			}
		})
	}
}

func TestTxStmt(t *testing.T) {
	p, fakes := open(t, 2)
	db := connpool.New(p, 2, "BEGIN")
	pooled, err := db.Prepare(t.Context(), driver.Statement{SQL: "P"})
	if err != nil {
		t.Fatal(err)
	}
	c, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	own, err := c.Prepare(t.Context(), driver.Statement{SQL: "Q"})
	if err != nil {
		t.Fatal(err)
	}
	onConn, err := c.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if s, err := onConn.Stmt(t.Context(), own); err != nil || s != own {
		t.Errorf("a connection's statement in its transaction: %v, %v, want the statement itself", s, err)
	}
	onPool, err := db.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := onPool.Stmt(t.Context(), own); err == nil {
		t.Error("a statement of one connection in a transaction of another connection: no error")
	}
	s, err := onPool.Stmt(t.Context(), pooled)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Exec(t.Context(), nil, 0, 0); err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(fakes, func(f *fake) bool { return slices.Contains(f.log, "exec P") })
	if i < 0 || slices.Contains(fakes[i].log, "prepare Q, pooled false") || !slices.Contains(fakes[i].log, "BEGIN") {
		t.Errorf("ran on connection %d: %v, %v", i, fakes[0].log, fakes[1].log)
	}
}

// TestScriptIsLinear checks that a long script is passed to the library in pieces. The fake library
// copies the rest of the text for each statement. If the script is four times as long, the library must
// copy only about four times as many bytes. Without pieces, it would copy sixteen times as many.
func TestScriptIsLinear(t *testing.T) {
	copied := func(statements int) int {
		p, fakes := open(t, 1)
		db := connpool.New(p, 1, "BEGIN")
		c, err := db.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		script := strings.Repeat("INSERT INTO t VALUES (1, 'a; b');\n", statements)
		if err := c.Script(t.Context(), script); err != nil {
			t.Fatal(err)
		}
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
		if err := db.Script(t.Context(), script); err != nil {
			t.Fatal(err)
		}
		var ran string
		for _, s := range fakes[0].log {
			ran += strings.TrimPrefix(s, "script ")
		}
		if ran != script+script {
			t.Errorf("%d statements: the SQL that ran differs from two copies of the script", statements)
		}
		return fakes[0].copied
	}
	short, long := copied(1000), copied(4000)
	if growth := float64(long) / float64(short); growth > 4.5 {
		t.Errorf("a script with 4 times the statements copied %.1f times the bytes, want about 4 times", growth)
	}
}

// TestScriptStopsAtAnError checks that no piece of a script runs after a piece that failed.
func TestScriptStopsAtAnError(t *testing.T) {
	p, fakes := open(t, 1)
	db := connpool.New(p, 1, "BEGIN")
	broken := errors.New("broken")
	first := strings.Repeat("x", 5000) + ";"
	fakes[0].fail["script "+first] = broken
	if err := db.Script(t.Context(), first+"SELECT 2;"); !errors.Is(err, broken) {
		t.Errorf("Script: %v, want the error of its first piece", err)
	}
	if len(fakes[0].log) != 1 {
		t.Errorf("%d pieces ran, want only the one that failed", len(fakes[0].log))
	}
}

func TestInterrupt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		var n atomic.Int64
		release := connpool.Interrupt(ctx, func() { n.Add(1) })
		time.Sleep(time.Hour)
		if n := n.Load(); n != 0 {
			t.Errorf("%d interrupts before the context was canceled, want none", n)
		}
		cancel()
		time.Sleep(time.Second)
		if n := n.Load(); n < 2 {
			t.Errorf("%d interrupts in the second after the context was canceled, want many", n)
		}
		release()
		before := n.Load()
		time.Sleep(time.Hour)
		if n := n.Load(); n != before {
			t.Errorf("%d interrupts after the call of release, want none", n-before)
		}
	})
}

func TestInterruptReleasedInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		var n atomic.Int64
		connpool.Interrupt(ctx, func() { n.Add(1) })()
		cancel()
		time.Sleep(time.Hour)
		if n := n.Load(); n != 0 {
			t.Errorf("%d interrupts after the call of release, want none", n)
		}
	})
}

func TestInterruptBackgroundIsFree(t *testing.T) {
	interrupt := func() { t.Error("a context that cannot end caused an interrupt") }
	if n := testing.AllocsPerRun(100, func() { connpool.Interrupt(context.Background(), interrupt)() }); n != 0 {
		t.Errorf("%v allocations, want none", n)
	}
}
