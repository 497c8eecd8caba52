package snapshot

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sqlite3perf/sqlite3perf/worker/driver"
)

// TestMain runs the tests or, if SNAPSHOT_APPLICATION is set, an application that uses a database
// during a test. The application needs its own process, because SQLite's locks belong to a process.
func TestMain(m *testing.M) {
	if script := os.Getenv("SNAPSHOT_APPLICATION"); script != "" {
		if err := application(script, os.Getenv("SNAPSHOT_DATABASE")); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// application opens the database, runs a script, reports that the script has run, and waits for the
// end of its input. If the script ends with "write", it commits transactions of two rows until its
// input ends, and does not wait for locks.
func application(script, path string) error {
	db, err := sql.Open("sqlite", path)
	if err != nil {
		return err
	}
	db.SetMaxOpenConns(1)
	stop := make(chan struct{})
	go func() {
		_, _ = bufio.NewReader(os.Stdin).ReadString('\n')
		close(stop)
	}()
	script, write := strings.CutSuffix(script, "write")
	if _, err := db.Exec(script); err != nil {
		return err
	}
	if !write {
		fmt.Println("ready")
		<-stop
		return nil
	}
	for n := 0; ; n++ {
		if _, err := db.Exec("BEGIN IMMEDIATE; INSERT INTO t VALUES ('one'); INSERT INTO t VALUES ('two'); COMMIT"); err != nil {
			return err
		}
		if n == 10 {
			fmt.Println("ready")
		}
		select {
		case <-stop:
			return db.Close()
		default:
		}
	}
}

// beside starts a process that runs the function "application", and returns when the process has
// run the script. The returned function stops the process, and fails the test if the process
// failed.
func beside(t *testing.T, path, script string) func() {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "SNAPSHOT_APPLICATION="+script, "SNAPSHOT_DATABASE="+path)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	r := bufio.NewReader(out)
	if line, _ := r.ReadString('\n'); line != "ready\n" {
		t.Fatalf("the application says %q", line)
	}
	ended := false
	end := func() {
		if ended {
			return
		}
		ended = true
		in.Close()
		line, _ := r.ReadString('\n')
		if err := cmd.Wait(); err != nil {
			t.Errorf("the application: %v: %s", err, line)
		}
	}
	t.Cleanup(end)
	return end
}

// open opens a database as an application would.
func open(t *testing.T, path string, statements ...string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	t.Cleanup(func() { db.Close() })
	for _, s := range statements {
		if _, err := db.Exec(s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
	return db
}

// listing returns the names, sizes, times and contents of the files of a directory.
func listing(t *testing.T, dir string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	list := map[string]string{}
	for _, e := range entries {
		fi, err := e.Info()
		if err != nil {
			t.Fatal(err)
		}
		var data []byte
		if !e.IsDir() {
			if data, err = os.ReadFile(filepath.Join(dir, e.Name())); err != nil {
				t.Fatal(err)
			}
		}
		list[e.Name()] = fmt.Sprintf("%v %d %v %x", fi.Mode(), fi.Size(), fi.ModTime(), sha256.Sum256(data))
	}
	return list
}

// taken takes a copy, and checks that the original's directory has not changed.
func taken(t *testing.T, path string) *Snapshot {
	t.Helper()
	before := listing(t, filepath.Dir(path))
	dir := t.TempDir()
	s, err := Take(t.Context(), path, dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, listing(t, filepath.Dir(path))); diff != "" {
		t.Errorf("the directory of the original has changed (-before +after):\n%s", diff)
	}
	return s
}

// column returns the values of a query with one column, in JSON.
func column(t *testing.T, s *Snapshot, query string, typ driver.ColumnType) string {
	t.Helper()
	lists, err := s.Rows(t.Context(), query, []driver.ColumnType{typ})
	if err != nil {
		t.Fatal(err)
	}
	var words []string
	for _, v := range lists[0] {
		words = append(words, string(v))
	}
	return strings.Join(words, " ")
}

var (
	anInt  = driver.ColumnType{Type: driver.Int}
	aText  = driver.ColumnType{Type: driver.Text}
	maybes = driver.ColumnType{Type: driver.Text, Nullable: true}
)

// TestAtRest checks the copy of a file that nobody has open. It must have the same bytes. Copy must
// return an error if the copy has changed since it was taken.
func TestAtRest(t *testing.T) {
	path := filepath.Join(t.TempDir(), "app.db")
	open(t, path, "PRAGMA page_size = 8192", "CREATE TABLE t(a)", "CREATE VIRTUAL TABLE f USING fts5(x)", "CREATE VIEW v AS SELECT 1", "INSERT INTO t VALUES (1), (2)").Close()
	s := taken(t, path)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(data)
	if s.SHA256 != hex.EncodeToString(sum[:]) || s.Bytes != int64(len(data)) || s.PageSize != 8192 || s.WAL || s.Name != "app.db" {
		t.Errorf("%+v", s)
	}
	if len(s.Schema) < 3 || s.Schema[0] != "CREATE VIRTUAL TABLE f USING fts5(x)" || s.Schema[len(s.Schema)-1] != "CREATE VIEW v AS SELECT 1" {
		t.Errorf("schema %q", s.Schema)
	}
	for _, share := range []bool{false, true} {
		to := filepath.Join(t.TempDir(), "trial.db")
		if err := s.Copy(t.Context(), to, share, !share); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(to); err != nil || !bytes.Equal(got, data) {
			t.Errorf("share %v: the copy differs, %v", share, err)
		}
	}
	s.SHA256 = strings.Repeat("0", 64)
	if err := s.Copy(t.Context(), filepath.Join(t.TempDir(), "trial.db"), false, false); err == nil || !strings.Contains(err.Error(), "the copy of app.db has changed: its SHA-256 is ") {
		t.Errorf("a copy that has changed: %v", err)
	}
}

// TestLog checks that a copy has only the committed transactions of the write-ahead log. It copies a
// database that an application has open, and a database whose application was killed.
func TestLog(t *testing.T) {
	path := filepath.Join(t.TempDir(), "app.db")
	db := open(t, path, "PRAGMA journal_mode = wal", "PRAGMA wal_autocheckpoint = 0", "CREATE TABLE t(a)", "INSERT INTO t VALUES (1)",
		"PRAGMA wal_checkpoint(TRUNCATE)", "PRAGMA cache_size = 5", "INSERT INTO t VALUES (2)")
	tx, err := db.Begin()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tx.Rollback() })
	if _, err := tx.Exec("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 2000) INSERT INTO t SELECT zeroblob(500) FROM n"); err != nil {
		t.Fatal(err)
	}
	if fi, err := os.Stat(path + "-wal"); err != nil || fi.Size() < 500_000 {
		t.Fatalf("the transaction has not spilled into the log: %v, %v", fi, err)
	}
	s := taken(t, path)
	if got := column(t, s, "SELECT a FROM t ORDER BY a", anInt); got != "1 2" || !s.WAL {
		t.Errorf("rows %s, WAL %v", got, s.WAL)
	}

	killed := filepath.Join(t.TempDir(), "app.db")
	for _, suffix := range []string{"", "-wal"} {
		data, err := os.ReadFile(path + suffix)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(killed+suffix, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	again := taken(t, killed)
	if got := column(t, again, "SELECT a FROM t ORDER BY a", anInt); got != "1 2" {
		t.Errorf("rows %s of the database without a -shm", got)
	}
	if again.SHA256 != s.SHA256 {
		t.Error("the same content has another hash")
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	if more := taken(t, path); more.SHA256 == s.SHA256 || column(t, more, "SELECT count(*) FROM t", anInt) != "2002" {
		t.Error("the copy lacks the rows committed since the earlier copy")
	}
}

// made creates a database with 2000 rows and the given journal mode, and returns its path.
func made(t *testing.T, mode string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "app.db")
	open(t, path, "PRAGMA journal_mode = "+mode, "CREATE TABLE t(text TEXT)",
		"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 2000) INSERT INTO t SELECT hex(randomblob(10)) FROM n").Close()
	return path
}

// TestUntouched checks that not a byte of a database's files changes, with and without a log,
// and with and without an application that has them open.
func TestUntouched(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, mode, application string
		want                    string // expected number of rows
	}{
		{"journal", "delete", "", "2000"},
		{"log at rest", "wal", "", "2000"},
		{"journal that is open", "delete", "PRAGMA cache_size = 10; SELECT count(*) FROM t", "2000"},
		{"log that is open", "wal", "INSERT INTO t VALUES ('more')", "2001"},
		{"log of a transaction", "wal", "BEGIN; INSERT INTO t VALUES ('more')", "2000"},
		{"log that is locked", "wal", "PRAGMA locking_mode = exclusive; INSERT INTO t VALUES ('more')", "2001"},
		{"persistent journal", "persist", "INSERT INTO t VALUES ('more')", "2001"},
		{"lock of a transaction", "delete", "BEGIN IMMEDIATE; INSERT INTO t VALUES ('more')", "2000"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			path := made(t, test.mode)
			if test.application != "" {
				beside(t, path, "PRAGMA journal_mode = "+test.mode+"; "+test.application)
			}
			s := taken(t, path)
			if got := column(t, s, "SELECT count(*) FROM t", anInt); got != test.want {
				t.Errorf("%s rows, want %s", got, test.want)
			}
			if list := s.Written(); len(list) > 0 {
				t.Errorf("Written returns %q, want nothing", list)
			}
		})
	}
}

// TestBesideWriter copies a database while an application writes to it all the time. The application must
// not have to wait for a lock. Each copy must have only complete transactions. The function "take", which
// makes the copy, must return an error if it cannot be sure of that.
func TestBesideWriter(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, script string
		always       bool // the database can always be copied
	}{
		{"log", "PRAGMA journal_mode = wal", true},
		{"log with checkpoints", "PRAGMA journal_mode = wal; PRAGMA wal_autocheckpoint = 3; PRAGMA synchronous = off", false},
		{"journal", "PRAGMA journal_mode = delete; PRAGMA synchronous = off", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			path := made(t, "delete")
			end := beside(t, path, test.script+"; write") // the application fails if the database is locked
			said := false                                 // whether Written reported a write during a copy; without a free CPU, the application may not write during a copy
			for i := 0; i < 2 || !said && i < 1000; i++ {
				dir := t.TempDir()
				s, err := take(t.Context(), path, dir, pause/4)
				if err != nil {
					if test.always || !strings.HasSuffix(err.Error(), `: try again later, or name a copy: sqlite3 "app.db" "VACUUM INTO 'copy.db'"`) {
						t.Error(err)
					}
					if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
						t.Errorf("files left in the directory of the copy: %v, %v", left, err)
					}
					break
				}
				if got := column(t, s, "SELECT count(*) % 2 FROM t", anInt) + " " + column(t, s, "SELECT * FROM pragma_integrity_check", aText); got != `0 "ok"` {
					t.Errorf("half of a transaction, integrity: %s", got)
				}
				said = said || len(s.Written()) > 0
				s.Close()
			}
			if test.always && !said {
				t.Error("Written never returned a file, although the application wrote")
			}
			end()
		})
	}
}

// TestWrittenSince checks which files are reported as written since the copy was taken.
func TestWrittenSince(t *testing.T) {
	t.Parallel()
	path := made(t, "delete")
	s := taken(t, path)
	beside(t, path, "INSERT INTO t VALUES ('more')")()
	if list := s.Written(); len(list) != 1 || list[0] != "app.db" {
		t.Errorf("Written returns %q, want app.db", list)
	}
}
