package sqldriver_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"testing"

	contract "github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/driver/sqldriver"
)

// library is a library for database/sql whose connections record the calls of their methods.
type library struct {
	conns []*conn
	wrap  func(*conn) driver.Conn
	fail  error // the error that Commit returns
}

func (l *library) Driver() driver.Driver { return nil }

func (l *library) Connect(context.Context) (driver.Conn, error) {
	c := &conn{lib: l}
	l.conns = append(l.conns, c)
	if l.wrap != nil {
		return l.wrap(c), nil
	}
	return c, nil
}

// open opens a database whose connections are made by l. The parameter s has the other properties
// of the library.
func (l *library) open(t testing.TB, s sqldriver.Library, size string) contract.DB {
	t.Helper()
	s.Connector = func(string, contract.Settings) (driver.Connector, error) { return l, nil }
	s.Code = func(error) int { return 0 }
	db, err := sqldriver.New(s).Open(t.Context(), "", contract.Settings{"pool_size": size})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

// conn implements the interfaces that a library must implement. wholeConn also implements the
// optional interfaces that sqldriver passes on.
type conn struct {
	lib      *library
	prepared []string // SQL that was prepared, with the context's mark if it has one
	ran      []string
}

func (c *conn) Prepare(string) (driver.Stmt, error) { panic("without a context") }
func (c *conn) Begin() (driver.Tx, error)           { panic("without a context") }
func (c *conn) Close() error                        { return nil }

func (c *conn) PrepareContext(ctx context.Context, sql string) (driver.Stmt, error) {
	c.prepared = append(c.prepared, strings.TrimSpace(fmt.Sprint(sql, " ", marks(ctx))))
	return &stmt{c, sql}, nil
}

func (c *conn) BeginTx(context.Context, driver.TxOptions) (driver.Tx, error) {
	c.ran = append(c.ran, "BEGIN")
	return (*tx)(c), nil
}

type wholeConn struct{ *conn }

func (c wholeConn) Ping(context.Context) error { return nil }

func (c wholeConn) ExecContext(_ context.Context, sql string, _ []driver.NamedValue) (driver.Result, error) {
	c.ran = append(c.ran, sql)
	return driver.ResultNoRows, nil
}

func (c wholeConn) QueryContext(_ context.Context, sql string, _ []driver.NamedValue) (driver.Rows, error) {
	c.ran = append(c.ran, sql)
	return noRows{}, nil
}

type tx conn

func (t *tx) Commit() error   { return t.lib.fail }
func (t *tx) Rollback() error { t.ran = append(t.ran, "Rollback"); return nil }

type stmt struct {
	*conn
	sql string
}

func (s *stmt) NumInput() int                              { return 0 }
func (s *stmt) Exec([]driver.Value) (driver.Result, error) { panic("without a context") }
func (s *stmt) Query([]driver.Value) (driver.Rows, error)  { panic("without a context") }

func (s *stmt) ExecContext(context.Context, []driver.NamedValue) (driver.Result, error) {
	s.ran = append(s.ran, s.sql)
	return driver.ResultNoRows, nil
}

func (s *stmt) QueryContext(context.Context, []driver.NamedValue) (driver.Rows, error) {
	s.ran = append(s.ran, s.sql)
	return noRows{}, nil
}

type noRows struct{}

func (noRows) Columns() []string         { return nil }
func (noRows) Close() error              { return nil }
func (noRows) Next([]driver.Value) error { return io.EOF }

type persist struct{}

func withPersist(ctx context.Context) context.Context { return context.WithValue(ctx, persist{}, true) }

func marks(ctx context.Context) string {
	if ctx.Value(persist{}) != nil {
		return "persist"
	}
	return ""
}

func visit(contract.Row) error { return nil }

// TestPreparedOnEveryConnection checks that a statement of a pool is prepared in the same way on
// each connection. It must not matter which call makes database/sql prepare the statement on the
// connection.
func TestPreparedOnEveryConnection(t *testing.T) {
	l := &library{}
	db := l.open(t, sqldriver.Library{Prepared: withPersist}, "4")
	ctx := t.Context()
	s, err := db.Prepare(ctx, contract.Statement{SQL: "Q"})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	inTx := func() error {
		t, err := db.Begin(ctx)
		if err != nil {
			return err
		}
		_, err = t.Stmt(ctx, s)
		return errors.Join(err, t.Commit(ctx))
	}
	for _, use := range []func() error{
		func() error { return s.Exec(ctx, nil, 0, 0) },
		func() error { return s.Exec(ctx, nil, 0, 0) },
		func() error { return s.Query(ctx, nil, 0, visit) },
		inTx,
	} {
		if err := use(); err != nil {
			t.Fatal(err)
		}
		c, err := db.Conn(ctx) // takes the connection that was used, so that the next use needs another connection
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
	}
	if len(l.conns) != 4 {
		t.Fatalf("%d connections, want 4", len(l.conns))
	}
	for i, c := range l.conns {
		if got := strings.Join(c.prepared, "; "); got != "Q persist" {
			t.Errorf("connection %d prepared: %q, want once, with the context for prepared statements", i, got)
		}
	}
}

// TestAdHocIsNotPersisted checks that the adapter does not pass the context of ad hoc SQL to
// Library.Prepared, so that the library prepares such SQL as it does by default.
func TestAdHocIsNotPersisted(t *testing.T) {
	l := &library{}
	db := l.open(t, sqldriver.Library{Prepared: withPersist}, "1")
	s, err := db.Prepare(t.Context(), contract.Statement{SQL: "Q", AdHoc: true})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := s.Exec(t.Context(), nil, 0, 0); err != nil {
			t.Fatal(err)
		}
	}
	if got := strings.Join(l.conns[0].prepared, "; "); got != "Q; Q" {
		t.Errorf("prepared %q, want \"Q; Q\"", got)
	}
}

// TestContextIsMadeOnce checks that a context used for many executions is converted for the
// library only a few times, and that a new context for each execution is converted each time.
func TestContextIsMadeOnce(t *testing.T) {
	var made atomic.Int64
	lib := sqldriver.Library{Cancellable: func(ctx context.Context) context.Context { made.Add(1); return ctx }}
	db := new(library).open(t, lib, "1")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	s, err := db.Prepare(ctx, contract.Statement{SQL: "Q"})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	made.Store(0)
	const n = 1000
	for range n {
		if err := s.Exec(ctx, nil, 0, 0); err != nil {
			t.Fatal(err)
		}
	}
	if got := made.Load(); got > n/2 { // with the race detector, a sync.Pool drops some of its values, so some contexts are converted again
		t.Errorf("%d contexts were converted for %d executions with the same context, want few", got, n)
	}
	made.Store(0)
	for range n {
		ctx, cancel := context.WithCancel(t.Context())
		if err := s.Exec(ctx, nil, 0, 0); err != nil {
			t.Fatal(err)
		}
		cancel()
	}
	if got := made.Load(); got != n {
		t.Errorf("%d contexts were converted for %d executions, each with its own context", got, n)
	}
}

// conns has functions that return a connection with only the methods that a library must have, or
// with all methods that a library may have.
var conns = map[string]func(*conn) driver.Conn{
	"required methods": func(c *conn) driver.Conn { return c },
	"all methods":      func(c *conn) driver.Conn { return wholeConn{c} },
}

// TestDirtyCommit checks that after a failed Commit there is a ROLLBACK on the same connection if
// DirtyCommit is set, and only then. The transaction begins on the pool or on a connection.
func TestDirtyCommit(t *testing.T) {
	for shape, wrap := range conns {
		for _, dirty := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, DirtyCommit %v", shape, dirty), func(t *testing.T) {
				l := &library{wrap: wrap, fail: errors.New("busy")}
				db := l.open(t, sqldriver.Library{DirtyCommit: dirty}, "1")
				want := "BEGIN"
				if dirty {
					want = "BEGIN ROLLBACK"
				}
				commit := func(r contract.Runner) {
					t.Helper()
					l.conns[0].ran = nil
					x, err := r.Begin(t.Context())
					if err != nil {
						t.Fatal(err)
					}
					if err := x.Commit(t.Context()); !errors.Is(err, l.fail) {
						t.Errorf("Commit: %v, want the library's error", err)
					}
					if err := x.Rollback(t.Context()); err != nil {
						t.Errorf("Rollback after the Commit: %v", err)
					}
					if got := strings.Join(l.conns[0].ran, " "); got != want {
						t.Errorf("ran %q, want %q", got, want)
					}
				}
				commit(db)
				c, err := db.Conn(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				commit(c)
				if err := c.Close(); err != nil {
					t.Fatal(err)
				}
			})
		}
	}
}

// TestDirtyCommitHidesNothing checks that database/sql uses the same methods of a wrapped
// connection as of the library's own connection.
func TestDirtyCommitHidesNothing(t *testing.T) {
	for shape, wrap := range conns {
		var prepared [2]string
		for i, dirty := range []bool{false, true} {
			l := &library{wrap: wrap}
			db := l.open(t, sqldriver.Library{DirtyCommit: dirty}, "1")
			s, err := db.Prepare(t.Context(), contract.Statement{SQL: "Q", AdHoc: true})
			if err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(s.Exec(t.Context(), nil, 0, 0), s.Query(t.Context(), nil, 0, visit)); err != nil {
				t.Fatal(err)
			}
			prepared[i] = fmt.Sprint(l.conns[0].prepared, l.conns[0].ran)
		}
		if prepared[0] != prepared[1] {
			t.Errorf("%s: calls with DirtyCommit: %s, without: %s", shape, prepared[1], prepared[0])
		}
	}
}

type resetting struct{ *conn }

func (resetting) ResetSession(context.Context) error { return nil }

type pinging struct{ *conn }

func (pinging) Ping(context.Context) error { return nil }

func TestDirtyCommitRefusesWhatItWouldHide(t *testing.T) {
	for want, wrap := range map[string]func(*conn) driver.Conn{
		"an interface of database/sql": func(c *conn) driver.Conn { return resetting{c} },
		"but not all":                  func(c *conn) driver.Conn { return pinging{c} },
	} {
		l := &library{wrap: wrap}
		_, err := sqldriver.New(sqldriver.Library{
			DirtyCommit: true,
			Connector:   func(string, contract.Settings) (driver.Connector, error) { return l, nil },
			Code:        func(error) int { return 0 },
		}).Open(t.Context(), "", nil)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Open: %v, want an error that says %q", err, want)
		}
	}
}

// TestDirtyCommitScript checks that Library.Script receives the library's own connection, not the
// wrapper.
func TestDirtyCommitScript(t *testing.T) {
	for shape, wrap := range conns {
		l := &library{wrap: wrap}
		var got driver.Conn
		db := l.open(t, sqldriver.Library{DirtyCommit: true, Script: func(_ context.Context, c driver.Conn, _ string) error {
			got = c
			return nil
		}}, "1")
		if err := db.Script(t.Context(), "S"); err != nil {
			t.Fatal(err)
		}
		if got != wrap(l.conns[0]) {
			t.Errorf("%s: Library.Script received a %T, want the library's own connection", shape, got)
		}
	}
}

// TestTransactionOfAnEndedContext checks that the driver's error says that the context of a
// transaction has ended. When that context ends, database/sql rolls back, and later calls fail
// with sql.ErrTxDone.
func TestTransactionOfAnEndedContext(t *testing.T) {
	db := (&library{}).open(t, sqldriver.Library{}, "1")
	st, err := db.Prepare(t.Context(), contract.Statement{SQL: "INSERT"})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	tx, err := db.Begin(ctx)
	if err != nil {
		t.Fatal(err)
	}
	in, err := tx.Stmt(ctx, st)
	if err != nil {
		t.Fatal(err)
	}
	if err := tx.Rollback(ctx); err != nil {
		t.Fatal(err)
	}
	if err := tx.Commit(ctx); !errors.Is(err, sql.ErrTxDone) || errors.Is(err, context.Canceled) {
		t.Errorf("Commit after Rollback: %v, want sql.ErrTxDone and not context.Canceled", err)
	}
	cancel()
	for what, err := range map[string]error{"Commit": tx.Commit(ctx), "Exec": in.Exec(ctx, nil, 0, 0), "Query": in.Query(ctx, nil, 0, nil)} {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s after the context was canceled: %v, want context.Canceled", what, err)
		}
	}
	if err := st.Close(); err != nil {
		t.Error(err)
	}
}

// TestScriptInPieces expects that a long script runs completely, in order and on one connection.
func TestScriptInPieces(t *testing.T) {
	l := &library{wrap: conns["all methods"]}
	db := l.open(t, sqldriver.Library{}, "2")
	script := "BEGIN;" + strings.Repeat("INSERT INTO t VALUES (1, 'a; b');\n", 1000) + "COMMIT;"
	if err := db.Script(t.Context(), script); err != nil {
		t.Fatal(err)
	}
	if len(l.conns) != 1 {
		t.Fatalf("the script ran on %d connections, want 1", len(l.conns))
	}
	ran := l.conns[0].ran
	if strings.Join(ran, "") != script {
		t.Error("the SQL that ran differs from the script")
	}
	for _, piece := range ran {
		if len(piece) > 4<<10 {
			t.Errorf("a piece has %d bytes, want at most 4 KiB", len(piece))
		}
	}
}

// TestDirtyCommitAllocatesNothing checks that a transaction allocates no more memory with
// DirtyCommit than without it.
func TestDirtyCommitAllocatesNothing(t *testing.T) {
	var allocs [2]float64
	for i, dirty := range []bool{false, true} {
		l := &library{}
		db := l.open(t, sqldriver.Library{DirtyCommit: dirty}, "1")
		allocs[i] = testing.AllocsPerRun(1000, func() {
			l.conns[0].ran = l.conns[0].ran[:0]
			x, err := db.Begin(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if err := x.Commit(t.Context()); err != nil {
				t.Fatal(err)
			}
		})
	}
	if allocs[1] > allocs[0]+1 { // database/sql starts a goroutine, for which the runtime sometimes allocates memory
		t.Errorf("%v allocations for a transaction, %v without DirtyCommit", allocs[1], allocs[0])
	}
}

// BenchmarkTransaction begins and commits on a pool.
func BenchmarkTransaction(b *testing.B) {
	for _, dirty := range []bool{false, true} {
		b.Run(fmt.Sprintf("DirtyCommit %v", dirty), func(b *testing.B) {
			l := &library{}
			db := l.open(b, sqldriver.Library{DirtyCommit: dirty}, "1")
			ctx := context.Background()
			for b.Loop() {
				l.conns[0].ran = l.conns[0].ran[:0]
				x, err := db.Begin(ctx)
				if err == nil {
					err = x.Commit(ctx)
				}
				if err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
