package rqlite_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sqlite3perf/sqlite3perf/drivers/rqlite"
	"github.com/sqlite3perf/sqlite3perf/drivers/rqlite/nodes/nodestest"
	"github.com/sqlite3perf/sqlite3perf/worker/addedcost"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/suite"
)

func TestMain(m *testing.M) {
	if path := os.Getenv("SHARES"); path != "" { // this is a process that TestProcesses starts
		os.Exit(share(path))
	}
	if err := nodestest.Set(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

func TestDriver(t *testing.T) { suite.Test(t, addedcost.Library{Driver: rqlite.New()}) }

const table = "CREATE TABLE t (id INTEGER PRIMARY KEY, n INTEGER)"

func open(t *testing.T, path string, s driver.Settings, script string) driver.DB {
	t.Helper()
	db, err := rqlite.New().Open(t.Context(), path, s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() }) // the test may already have closed it
	if err := db.Script(t.Context(), script); err != nil {
		t.Fatal(err)
	}
	return db
}

// rows returns the number of rows of the table t.
func rows(ctx context.Context, db driver.Runner) (n int64, err error) {
	s, err := db.Prepare(ctx, driver.Statement{SQL: "SELECT count(*) FROM t", Columns: []driver.ColumnType{{Type: driver.Int}}})
	if err != nil {
		return 0, err
	}
	err = s.Query(ctx, nil, 0, func(r driver.Row) error { n = r[0].Int; return nil })
	return n, errors.Join(err, s.Close())
}

func wantRows(t *testing.T, db driver.Runner, want int64) {
	t.Helper()
	if n, err := rows(t.Context(), db); err != nil || n != want {
		t.Errorf("%d rows (%v), want %d", n, err, want)
	}
}

var pair = driver.Statement{SQL: "INSERT INTO t VALUES (?, ?)", Params: []driver.Type{driver.Int, driver.Int}}

// pairs returns a batch of n rows.
func pairs(n, perExec int) *driver.Batch {
	ids := driver.Column{Type: driver.Int}
	for i := range n {
		ids.Ints = append(ids.Ints, int64(i))
	}
	return &driver.Batch{PerExec: perExec, Columns: []driver.Column{ids, ids}}
}

// TestSettings checks that Shown returns the settings with which the database was opened, and the
// defaults of all other settings.
func TestSettings(t *testing.T) {
	for _, s := range []driver.Settings{
		{"nodes": "1", "read_consistency": "none", "queued_writes": "on", "request_rows": "2"},
		{"nodes": "3", "read_consistency": "linearizable", "queued_writes": "off", "request_rows": "0"},
		{"nodes": "5", "read_consistency": "strong", "queued_writes": "off", "request_rows": "100"},
		{}, // the defaults
	} {
		db := open(t, filepath.Join(t.TempDir(), "test.db"), s, table)
		got, err := db.(driver.Shower).Shown(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		want := driver.Settings{"nodes": "1", "read_consistency": "weak", "queued_writes": "off", "request_rows": "0"}.With(s)
		if !maps.Equal(got, want) {
			t.Errorf("shown %v, want %v", got, want)
		}
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestRequests checks that each request is a transaction: a single statement, or the statements
// that COMMIT sends.
func TestRequests(t *testing.T) {
	two := driver.Statement{SQL: pair.SQL + ", (?, ?)", Params: slices.Repeat(pair.Params, 2)}
	for _, c := range []struct {
		rows    string
		st      driver.Statement
		per     int
		tx      bool
		queue   string
		want    []int
		queued  int
		written int64
	}{
		{"0", pair, 1, false, "off", []int{1, 1, 1, 1, 1, 1}, 0, 6},
		{"0", pair, 1, true, "off", []int{6}, 0, 6},
		{"0", two, 2, true, "off", []int{3}, 0, 6},
		{"4", pair, 1, true, "off", []int{4, 2}, 0, 6},
		{"4", pair, 1, false, "off", []int{4, 2}, 0, 6},
		{"4", two, 2, false, "off", []int{2, 1}, 0, 6},
		{"1", two, 2, true, "off", []int{1, 1, 1}, 0, 6},
		{"0", pair, 1, true, "on", []int{6}, 1, 6},
		{"0", pair, 1, false, "on", []int{1, 1, 1, 1, 1, 1}, 6, 6},
	} {
		db := open(t, filepath.Join(t.TempDir(), "test.db"), driver.Settings{"request_rows": c.rows, "queued_writes": c.queue}, table)
		got, queued := rqlite.Sent(db, func() {
			st, err := db.Prepare(t.Context(), c.st)
			if err != nil {
				t.Fatal(err)
			}
			if c.tx {
				err = inTransaction(t.Context(), db, st, pairs(6, c.per))
			} else {
				err = st.Exec(t.Context(), pairs(6, c.per), 0, 6)
			}
			if err != nil {
				t.Error(err)
			}
		})
		if !slices.Equal(got, c.want) || queued != c.queued {
			t.Errorf("%+v: requests of %v statements, %d queued", c, got, queued)
		}
		if err := db.(driver.Settler).Settle(t.Context()); err != nil {
			t.Error(err)
		}
		wantRows(t, db, c.written)
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}
}

func inTransaction(ctx context.Context, db driver.DB, st driver.Stmt, b *driver.Batch) error {
	tx, err := db.Begin(ctx)
	if err != nil {
		return err
	}
	in, err := tx.Stmt(ctx, st)
	if err == nil {
		err = in.Exec(ctx, b, 0, 6)
	}
	return errors.Join(err, tx.Commit(ctx))
}

// TestUnsupported runs SQL that needs a connection, which rqlite does not have, and SQL that rqlite
// forbids. Each statement must fail with an error that says why. Other PRAGMAs, VACUUM and REINDEX
// must not fail.
func TestUnsupported(t *testing.T) {
	db := open(t, filepath.Join(t.TempDir(), "test.db"), nil, table)
	for sql, want := range map[string]string{
		"CREATE TEMP TABLE x (a)":                      "temporary table",
		" -- c\n create /* c */ temporary table x (a)": "temporary table",
		"ATTACH 'x.db' AS x":                           "nothing can be attached",
		"SAVEPOINT a":                                  "no savepoints",
		"BEGIN; ROLLBACK TO a":                         "no savepoints",
		"PRAGMA cache_size = 5":                        "whose cache_size a PRAGMA could set",
		"PRAGMA main.synchronous(2)":                   "whose synchronous a PRAGMA could set",
		"PRAGMA wal_checkpoint":                        "forbids PRAGMA wal_checkpoint",
		"BEGIN; SELECT 1":                              "nothing can be read in it",
	} {
		err := withConn(t.Context(), db, func(c driver.Conn) error {
			err := c.Script(t.Context(), sql)
			if strings.HasPrefix(sql, "BEGIN") {
				err = errors.Join(err, c.Script(t.Context(), "ROLLBACK"))
			}
			return err
		})
		var cannot *driver.UnsupportedError
		if !errors.As(err, &cannot) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", sql, err, want)
		}
	}
	for _, sql := range []string{"PRAGMA user_version = 7", "PRAGMA table_info(t)", "PRAGMA journal_mode", "VACUUM", "REINDEX"} {
		if err := db.Script(t.Context(), sql); err != nil {
			t.Errorf("%s: %v", sql, err)
		}
	}
}

func withConn(ctx context.Context, db driver.DB, f func(driver.Conn) error) error {
	c, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	return errors.Join(f(c), c.Close())
}

// TestCodes checks that errors have the primary code that belongs to the text of SQLite's message.
func TestCodes(t *testing.T) {
	db := open(t, filepath.Join(t.TempDir(), "test.db"), nil, "CREATE TABLE s (n INTEGER NOT NULL UNIQUE CHECK (n > 0)) STRICT; INSERT INTO s VALUES (1)")
	for sql, code := range map[string]int{
		"INSERT INTO s VALUES ('a text')": driver.CodeConstraint,
		"INSERT INTO s VALUES (1)":        driver.CodeConstraint,
		"INSERT INTO s VALUES (-1)":       driver.CodeConstraint,
		"INSERT INTO absent VALUES (1)":   driver.CodeError,
		"SELECT absent FROM s":            driver.CodeError,
		"VACUUM INTO '/nonexistent/x.db'": driver.CodeError,
	} {
		var e *driver.Error
		if err := db.Script(t.Context(), sql); !errors.As(err, &e) || e.Code != code || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: got %v, want one line and the code %d", sql, err, code)
		}
	}
	st, err := db.Prepare(t.Context(), driver.Statement{SQL: "INSERT INTO s VALUES (?)", Params: []driver.Type{driver.Real}})
	if err != nil {
		t.Fatal(err)
	}
	err = st.Exec(t.Context(), &driver.Batch{PerExec: 1, Columns: []driver.Column{{Type: driver.Real, Reals: []float64{math.Inf(1)}}}}, 0, 1)
	if err == nil || err.Error() != "JSON, which rqlite speaks, has no +Inf" {
		t.Errorf("an infinity: %v", err)
	}
}

// TestAsk checks the values that Ask returns. The library decodes them from JSON, where a blob is a
// base64 text.
func TestAsk(t *testing.T) {
	db := open(t, filepath.Join(t.TempDir(), "test.db"), nil, "CREATE TABLE v (i INTEGER, r REAL, t TEXT, b BLOB)")
	err := withConn(t.Context(), db, func(c driver.Conn) error {
		asker := c.(driver.Asker)
		reply, err := asker.Ask(t.Context(), driver.Question{SQL: "INSERT INTO v VALUES (?, ?, ?, ?), (?, ?, ?, ?)",
			Args: []any{int64(7), 2.0, "a", []byte{0, 255}, true, nil, "", time.UnixMilli(5)}}, nil)
		if err != nil || *reply.Affected != 2 || *reply.LastInsertID != 2 {
			return fmt.Errorf("%+v, %w", reply, err)
		}
		var got [][]any
		reply, err = asker.Ask(t.Context(), driver.Question{SQL: "SELECT * FROM v", Rows: true}, func(row []any) error {
			got = append(got, slices.Clone(row))
			return nil
		})
		want := "[[7 2 a AP8=] [1 <nil>  5]]"
		if fmt.Sprint(got) != want || !slices.Equal(reply.Names, []string{"i", "r", "t", "b"}) {
			return fmt.Errorf("%v %v (%w), want %s", got, reply.Names, err, want)
		}
		for _, sql := range []string{"ATTACH 'x' AS x", "BEGIN", "DELETE FROM t WHERE i = 99; BEGIN"} {
			_, err = asker.Ask(t.Context(), driver.Question{SQL: sql}, nil)
			var cannot *driver.CannotAsk
			if !errors.As(err, &cannot) {
				return fmt.Errorf("%s: %w", sql, err)
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// TestKeep checks that the function returned by Keep restores the database.
func TestKeep(t *testing.T) {
	db := open(t, filepath.Join(t.TempDir(), "test.db"), driver.Settings{"nodes": "3"}, table+"; INSERT INTO t VALUES (1, 1)")
	restore, err := db.(driver.Restorer).Keep(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Script(t.Context(), "DELETE FROM t; INSERT INTO t VALUES (2, 2), (3, 3)"); err != nil {
		t.Fatal(err)
	}
	if err := restore(t.Context()); err != nil {
		t.Fatal(err)
	}
	wantRows(t, db, 1)
}

// TestSizes checks that Sizes includes the data of all nodes.
func TestSizes(t *testing.T) {
	sizes := func(nodes string) int64 {
		db := open(t, filepath.Join(t.TempDir(), "test.db"), driver.Settings{"nodes": nodes}, table)
		all, logs, err := db.(driver.Sizer).Sizes(t.Context())
		if err != nil || logs > all {
			t.Errorf("%d bytes, %d of them logs (%v)", all, logs, err)
		}
		if err := db.Close(); err != nil {
			t.Error(err)
		}
		return all
	}
	if one, three := sizes("1"), sizes("3"); one <= 0 || three < 2*one {
		t.Errorf("1 node has %d bytes, 3 have %d", one, three)
	}
}

// The function "share" opens the database at path and adds a row to the table t. Then it waits
// until it is killed.
func share(path string) int {
	db, err := rqlite.New().Open(context.Background(), path, nil)
	if err == nil {
		err = db.Script(context.Background(), "CREATE TABLE IF NOT EXISTS t (id INTEGER PRIMARY KEY, n INTEGER); INSERT INTO t (n) VALUES (1)")
	}
	fmt.Println("shared:", err)
	time.Sleep(time.Hour)
	return 0
}

// The function "process" runs the function "share" in a new process. It returns when "share" has
// added the row.
func process(t *testing.T, path string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "SHARES="+path)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = cmd.Process.Kill(), cmd.Wait() })
	var failed string
	if _, err := fmt.Fscanf(out, "shared: %s\n", &failed); err != nil || failed != "<nil>" {
		t.Fatalf("%s, %v", failed, err)
	}
	return cmd
}

// TestProcesses checks that other processes use the nodes that the first process has started. They
// must still be able to open the database after the first process was killed.
func TestProcesses(t *testing.T) {
	path := filepath.Join(t.TempDir(), "test.db")
	db := open(t, path, nil, table)
	process(t, path)
	wantRows(t, db, 1)
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}

	path = filepath.Join(t.TempDir(), "test.db")
	first := process(t, path)
	if err := first.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = first.Wait() // returns an error, because the process was killed
	if _, err := os.Stat("/proc/self"); err != nil {
		return // on this system, nodes do not end with the process that started them
	}
	db = open(t, path, nil, "CREATE TABLE t (a)") // the killed process never saved its table
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	onlyDatabase(t, path)
}

// onlyDatabase expects that the database is the only file in its directory.
func onlyDatabase(t *testing.T, path string) {
	t.Helper()
	left, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(left) != 1 {
		t.Errorf("%v is left (%v), want only the database", left, err)
	}
}

// TestBadFile checks that a file that cannot become a database of the cluster is not changed.
func TestBadFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "test.db")
	text := "SQLite format 3\x00" + strings.Repeat("no database", 1000)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	db, err := rqlite.New().Open(t.Context(), path, nil)
	if err == nil {
		err = errors.Join(db.Script(t.Context(), "CREATE TABLE t (a)"), errors.New("it was opened"), db.Close())
	}
	if data, rerr := os.ReadFile(path); rerr != nil || string(data) != text {
		t.Errorf("the file has changed (%v); opening it: %v", rerr, err)
	}
	onlyDatabase(t, path)
}
