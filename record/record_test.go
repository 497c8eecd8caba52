package record_test

import (
	"bytes"
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sqlite3perf/sqlite3perf/record"
)

// open opens a pool of connections of the driver d. A recorder records the use of these connections
// and writes the recording to w.
func open(t testing.TB, w io.Writer, o record.Options, d driver.Driver) (*sql.DB, *record.Recorder) {
	t.Helper()
	rec := record.New(w, o)
	c, err := rec.Driver(d).(driver.DriverContext).OpenConnector("")
	if err != nil {
		t.Fatal(err)
	}
	db := sql.OpenDB(c)
	t.Cleanup(func() { db.Close() })
	return db, rec
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// finish closes a recorder and reads what it has written.
func finish(t testing.TB, rec *record.Recorder, b *bytes.Buffer) *record.Recording {
	t.Helper()
	must(t, rec.Close())
	r, err := record.Read(bytes.NewReader(b.Bytes()))
	if err != nil {
		t.Fatalf("%v:\n%s", err, b)
	}
	return r
}

// run uses the database as an application might.
func run(t testing.TB, db *sql.DB) {
	t.Helper()
	_, err := db.Exec("INSERT INTO users VALUES (?, ?, ?, ?, ?, ?, ?)", 1, "Ünï \"q\"\n", []byte{0, 255}, 2.0, nil, true, time.UnixMilli(1700000000123).UTC())
	must(t, err)
	tx, err := db.Begin()
	must(t, err)
	rows, err := tx.Query("SELECT n FROM t WHERE a = :a", sql.Named("a", "secret"))
	must(t, err)
	defer rows.Close()
	for n := 0; rows.Next(); n++ {
		if n == 1 {
			_, err = tx.Exec("UPDATE t SET n = 1")
			must(t, err)
		}
	}
	must(t, rows.Err())
	must(t, tx.Commit())
	st, err := db.Prepare("DELETE FROM t WHERE id = ?")
	must(t, err)
	defer st.Close()
	_, err = st.Exec(300)
	must(t, err)
	if _, err := db.Exec("INSERT twice"); err == nil {
		t.Fatal("no error")
	}
	for _, sql := range []string{"BEGIN IMMEDIATE", "INSERT INTO t VALUES (1)", "COMMIT"} {
		_, err := db.Exec(sql)
		must(t, err)
	}
}

// told returns a description of an event, for comparisons.
func told(e *record.Event) string {
	var b strings.Builder
	fmt.Fprintf(&b, "conn %d tx %d ", e.Connection, e.Transaction)
	if e.Do != record.Run {
		b.WriteString(string(e.Do))
	} else {
		fmt.Fprintf(&b, "%q prepared %v rows %d affected %d", e.Statement.SQL, e.Statement.Prepared, e.Rows, e.Affected)
	}
	for _, a := range e.Args {
		fmt.Fprintf(&b, " [%s %s %d %v %v]", a.Name, a.Type, a.Length, a.Known, a.Value)
	}
	if e.Error != nil {
		fmt.Fprintf(&b, " error %d %q", e.Error.Code, e.Error.Message)
	}
	return b.String()
}

func tell(r *record.Recording) string {
	var list []string
	for i := range r.Events {
		list = append(list, told(&r.Events[i]))
	}
	return strings.Join(list, "\n")
}

func TestValues(t *testing.T) {
	var b bytes.Buffer
	db, rec := open(t, &b, record.Options{Values: true}, library{})
	run(t, db)
	r := finish(t, rec, &b)
	want := `conn 1 tx 0 "INSERT INTO users VALUES (?, ?, ?, ?, ?, ?, ?)" prepared false rows -1 affected 1 [ int 1 true 1] [ text 10 true Ünï "q"
] [ blob 2 true [0 255]] [ real 8 true 2] [ null 0 true <nil>] [ bool 1 true true] [ time 8 true 2023-11-14 22:13:20.123 +0000 UTC]
conn 1 tx 1 begin
conn 1 tx 1 "SELECT n FROM t WHERE a = :a" prepared false rows 3 affected -1 [a text 6 true secret]
conn 1 tx 1 "UPDATE t SET n = 1" prepared false rows -1 affected 1
conn 1 tx 1 commit
conn 1 tx 0 "DELETE FROM t WHERE id = ?" prepared true rows -1 affected 1 [ int 2 true 300]
conn 1 tx 0 "INSERT twice" prepared false rows -1 affected -1 error 2067 "UNIQUE constraint failed: users.email"
conn 1 tx 2 "BEGIN IMMEDIATE" prepared false rows -1 affected 1
conn 1 tx 2 "INSERT INTO t VALUES (1)" prepared false rows -1 affected 1
conn 1 tx 2 "COMMIT" prepared false rows -1 affected 1`
	if got := tell(r); got != want {
		t.Errorf("recorded\n%s\nwant\n%s", got, want)
	}
	if !r.Values || !r.Timed || r.Began.IsZero() || r.Rest != "" {
		t.Errorf("recording %+v", r)
	}
	for i := range r.Events {
		if e := &r.Events[i]; e.Took < 0 || i > 0 && e.At < r.Events[i-1].At {
			t.Errorf("event %d: at %v, took %v", i, e.At, e.Took)
		}
	}
}

// TestTimes checks that the properties of a time.Time that a library may store are recorded: the
// instant, the name of the zone, and whether there is a reading of the monotonic clock.
func TestTimes(t *testing.T) {
	for _, values := range []bool{true, false} {
		var b bytes.Buffer
		db, rec := open(t, &b, record.Options{Values: values}, library{})
		cet := time.FixedZone("CET", 3600)
		now := time.Now()
		_, err := db.Exec("INSERT INTO t VALUES (?, ?, ?, ?)", now, now.In(cet), now.UTC(), sql.Named("d", time.Date(2026, 3, 2, 0, 0, 0, 0, time.FixedZone("", 60))))
		must(t, err)
		args := finish(t, rec, &b).Events[0].Args
		local, _ := now.Zone()
		for i, want := range []struct {
			zone      string
			monotonic bool
		}{{local, true}, {"CET", false}, {"UTC", false}, {"", false}} {
			a := args[i]
			if a.Type != "time" || a.Length != 8 || a.Known != values || a.Monotonic != want.monotonic {
				t.Errorf("time %d is recorded as %+v in %s", i, a, &b)
			}
			if !values {
				continue
			}
			at := a.Value.(time.Time)
			if zone, _ := at.Zone(); zone != want.zone || i < 3 && !at.Equal(now) {
				t.Errorf("time %d is %v", i, at)
			}
		}
		if args[3].Name != "d" {
			t.Errorf("%+v", args[3])
		}
	}
}

// TestPrivacy checks that no values of parameters are written by default.
func TestPrivacy(t *testing.T) {
	var b bytes.Buffer
	db, rec := open(t, &b, record.Options{}, library{})
	run(t, db)
	r := finish(t, rec, &b)
	without := regexp.MustCompile(`"(at|took)":\d+|"began":"[^"]*"`).ReplaceAllString(b.String(), "") // these members may have any digits
	for _, secret := range []string{"secret", "Ünï", "300", "users.email", "2023"} {
		if strings.Contains(without, secret) {
			t.Errorf("the recording has %q:\n%s", secret, &b)
		}
	}
	want := ` [ int 1 false <nil>] [ text 10 false <nil>] [ blob 2 false <nil>] [ real 8 false <nil>] [ null 0 true <nil>] [ bool 1 false <nil>] [ time 8 false <nil>]`
	if got := told(&r.Events[0]); !strings.HasSuffix(got, want) {
		t.Errorf("parameters are recorded as %s, want %s", got, want)
	}
	if e := r.Events[6].Error; e == nil || e.Code != 2067 || e.Message != "" {
		t.Errorf("error %+v, want code 2067 alone", e)
	}
}

func TestNumbers(t *testing.T) {
	var b bytes.Buffer
	db, rec := open(t, &b, record.Options{Values: true}, library{})
	values := []any{int64(math.MinInt64), int64(math.MaxInt64), 1e300, -0.5, math.Inf(-1), math.NaN(), 3.0, "not \xff UTF-8", "\x00", ""}
	_, err := db.Exec("x", values...)
	must(t, err)
	r := finish(t, rec, &b)
	for i, v := range values {
		if got := r.Events[0].Args[i].Value; got != v && fmt.Sprint(got) != fmt.Sprint(v) {
			t.Errorf("%#v is recorded as %#v", v, got)
		}
	}
}

// TestBare uses a library that implements no optional interface of database/sql. The library must
// work as it does without recording. Its statements must be recorded with the parameters that it
// received.
func TestBare(t *testing.T) {
	var b bytes.Buffer
	db, rec := open(t, &b, record.Options{Values: true}, bare{})
	_, err := db.Exec("UPDATE t SET a = ?", 21)
	must(t, err)
	if _, err := db.Exec("UPDATE t SET a = ?", "no int"); err == nil {
		t.Error("the statement's converter was not asked")
	}
	rows, err := db.Query("SELECT ?", 1)
	must(t, err)
	defer rows.Close()
	types, err := rows.ColumnTypes()
	must(t, err)
	if _, ok := types[0].Length(); ok || types[0].DatabaseTypeName() != "" {
		t.Errorf("types %v", types[0])
	}
	if rows.NextResultSet() || rows.Err() != nil {
		t.Errorf("another result: %v", rows.Err())
	}
	must(t, rows.Close()) //nolint:sqlclosecheck // its error matters
	must(t, db.Ping())
	if _, err := db.BeginTx(context.Background(), &sql.TxOptions{ReadOnly: true}); err == nil {
		t.Error("no error for a read-only transaction, which the library does not support")
	}
	want := `conn 1 tx 0 "UPDATE t SET a = ?" prepared false rows -1 affected 1 [ int 1 true 42]
conn 1 tx 0 "SELECT ?" prepared false rows 0 affected -1 [ int 1 true 2]
conn 1 tx 1 begin error 0 "sql: driver does not support read-only transactions"`
	if got := tell(finish(t, rec, &b)); got != want {
		t.Errorf("recorded\n%s\nwant\n%s", got, want)
	}
}

func TestErrorOfRows(t *testing.T) {
	var b bytes.Buffer
	db, rec := open(t, &b, record.Options{}, library{})
	rows, err := db.Query("SELECT broken")
	must(t, err)
	defer rows.Close()
	for rows.Next() {
	}
	if rows.Err() == nil {
		t.Error("no error")
	}
	if got := tell(finish(t, rec, &b)); !strings.HasSuffix(got, `rows 2 affected -1 error 266 ""`) {
		t.Error(got)
	}
}

// TestNotTold checks that the number of rows affected is unknown if the library does not return
// that number.
func TestNotTold(t *testing.T) {
	var b bytes.Buffer
	db, rec := open(t, &b, record.Options{}, library{})
	_, err := db.Exec("CREATE TABLE t (n)")
	must(t, err)
	if got := tell(finish(t, rec, &b)); !strings.HasSuffix(got, "rows -1 affected -1") {
		t.Error(got)
	}
}

// TestLastInsertID checks that the ID of an inserted row is recorded only if the application asks
// for the ID and Options.Values is set.
func TestLastInsertID(t *testing.T) {
	for _, values := range []bool{true, false} {
		var b bytes.Buffer
		db, rec := open(t, &b, record.Options{Values: values}, library{})
		var results []sql.Result
		for range 3 {
			res, err := db.Exec("INSERT INTO t DEFAULT VALUES")
			must(t, err)
			results = append(results, res)
		}
		for range 2 {
			if id, err := results[1].LastInsertId(); err != nil || id != 57 {
				t.Errorf("ID %d, %v", id, err)
			}
		}
		if n, err := results[2].RowsAffected(); err != nil || n != 1 {
			t.Errorf("%d rows affected, %v", n, err)
		}
		var got []bool
		for _, e := range finish(t, rec, &b).Events {
			got = append(got, e.LastInsertID != nil)
			if e.LastInsertID != nil && *e.LastInsertID != 57 {
				t.Errorf("ID %d, want 57", *e.LastInsertID)
			}
		}
		if want := fmt.Sprint([]bool{false, values, false}); fmt.Sprint(got) != want {
			t.Errorf("values %v: IDs of %v, want of %v:\n%s", values, got, want, &b)
		}
	}
}

// TestSavepoints expects the numbers of the transactions in which the statements of a script run. A
// recorded program that runs the same statements must get the same numbers.
func TestSavepoints(t *testing.T) {
	for script, want := range map[string]string{
		"SAVEPOINT a; R; RELEASE a; R":                                          "[1 1 1 0]",
		"SAVEPOINT a; SAVEPOINT A; RELEASE a; R; RELEASE SAVEPOINT a; R":        "[1 1 1 1 1 0]",
		"SAVEPOINT a; SAVEPOINT b; SAVEPOINT a; RELEASE b; R; RELEASE a; R":     "[1 1 1 1 1 1 0]",
		"SAVEPOINT a; SAVEPOINT b; RELEASE a; R":                                "[1 1 1 0]",
		"SAVEPOINT a; ROLLBACK TO a; R; ROLLBACK; R; SAVEPOINT a; RELEASE a":    "[1 1 1 1 0 2 2]",
		"BEGIN; SAVEPOINT a; RELEASE a; R; COMMIT; R; SAVEPOINT b; RELEASE b":   "[1 1 1 1 1 0 2 2]",
		"SAVEPOINT a; SAVEPOINT b; COMMIT; R; SAVEPOINT b; RELEASE b; R; BEGIN": "[1 1 1 0 2 2 0 3]",
	} {
		var b bytes.Buffer
		db, rec := open(t, &b, record.Options{}, library{})
		conn, err := db.Conn(t.Context())
		must(t, err)
		var list []record.Executed
		for sql := range strings.SplitSeq(script, "; ") {
			list = append(list, record.Executed{SQL: sql})
			_, err := conn.ExecContext(t.Context(), sql)
			must(t, err)
		}
		must(t, conn.Close())
		for name, r := range map[string]*record.Recording{"script": record.FromStatements(list), "program": finish(t, rec, &b)} {
			var got []int64
			for _, e := range r.Events {
				got = append(got, e.Transaction)
			}
			if fmt.Sprint(got) != want {
				t.Errorf("%s as a %s: transactions %v, want %s", script, name, got, want)
			}
		}
	}
}

func TestUnwrap(t *testing.T) {
	db, _ := open(t, io.Discard, record.Options{}, library{})
	c, err := db.Conn(context.Background())
	must(t, err)
	must(t, c.Raw(func(dc any) error {
		if _, ok := record.Unwrap(dc).(*libraryConn); !ok {
			t.Errorf("Unwrap returns a %T", record.Unwrap(dc))
		}
		return nil
	}))
	must(t, c.Close())
	must(t, db.Ping()) // takes the same connection from the pool again, which resets its session
	c, err = db.Conn(context.Background())
	must(t, err)
	must(t, c.Raw(func(dc any) error {
		if n := record.Unwrap(dc).(*libraryConn).reset; n == 0 {
			t.Error("the session was never reset")
		}
		return nil
	}))
	must(t, c.Close())
}

func TestConcurrent(t *testing.T) {
	var b bytes.Buffer
	db, rec := open(t, &b, record.Options{Buffer: 1 << 10, Interval: time.Microsecond}, library{})
	const clients, each = 8, 500
	var wg sync.WaitGroup
	for range clients {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for i := range each {
				if _, err := db.Exec(fmt.Sprintf("statement %d", i%7), i); err != nil {
					t.Error(err)
				}
			}
		}()
	}
	wg.Wait()
	r := finish(t, rec, &b)
	if len(r.Events) != clients*each {
		t.Errorf("%d events, want %d", len(r.Events), clients*each)
	}
}

// TestManyTexts checks that statements are recorded correctly if there are more different texts
// than a recorder remembers, because the application puts values into its SQL.
func TestManyTexts(t *testing.T) {
	var b bytes.Buffer
	db, rec := open(t, &b, record.Options{}, library{})
	const texts = 25_000
	for i := range texts {
		_, err := db.Exec(fmt.Sprint("INSERT ", i))
		must(t, err)
	}
	r := finish(t, rec, &b)
	for i := range r.Events {
		if want := fmt.Sprint("INSERT ", i); r.Events[i].Statement.SQL != want {
			t.Fatalf("event %d is %s, want %s", i, r.Events[i].Statement.SQL, want)
		}
	}
}

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errors.New("no space left on device") }

// TestFailingWriter checks that the application can go on if the recording cannot be written.
func TestFailingWriter(t *testing.T) {
	db, rec := open(t, fullDisk{}, record.Options{Buffer: 1}, library{})
	for range 3 {
		_, err := db.Exec("UPDATE t")
		must(t, err)
	}
	if err := rec.Err(); err == nil || !strings.Contains(err.Error(), "no space left") {
		t.Errorf("error %v", err)
	}
	if rec.Close() == nil {
		t.Error("Close returns no error")
	}
	_, err := db.Exec("UPDATE t") // after Close
	must(t, err)
}

func TestCreate(t *testing.T) {
	path := filepath.Join(t.TempDir(), "app.jsonl")
	rec, err := record.Create(path, record.Options{})
	must(t, err)
	if _, err := record.Create(path, record.Options{}); err == nil || !strings.Contains(err.Error(), "exists already") {
		t.Errorf("error %v", err)
	}
	must(t, rec.Close())
	must(t, rec.Close())
	fi, err := os.Stat(path)
	must(t, err)
	if fi.Mode().Perm()&0o077 != 0 {
		t.Errorf("mode %v: others may read it", fi.Mode())
	}
}
