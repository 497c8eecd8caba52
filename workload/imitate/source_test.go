package imitate_test

import (
	"bufio"
	"crypto/sha256"
	"database/sql"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sqlite3perf/sqlite3perf/workload/imitate"
)

// TestMain is also the application that uses a database beside the tests: locks of SQLite
// are those of a process.
func TestMain(m *testing.M) {
	if script := os.Getenv("IMITATE_APPLICATION"); script != "" {
		if err := application(script, os.Getenv("IMITATE_DATABASE")); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// application opens the database, runs a script, says so, and waits for the end of its
// input. With the script "write" it commits transactions of two rows until then, and waits
// for no lock.
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
	if script != "write" {
		if _, err := db.Exec(script); err != nil {
			return err
		}
		fmt.Println("ready")
		<-stop
		return nil
	}
	for n := 0; ; n++ {
		if _, err := db.Exec("BEGIN IMMEDIATE; INSERT INTO t(text) VALUES ('one'); INSERT INTO t(text) VALUES ('two'); COMMIT"); err != nil {
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

// beside starts the application, and returns when its script has run. The function that it
// returns ends it and fails if the application has.
func beside(t *testing.T, path, script string) func() {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "IMITATE_APPLICATION="+script, "IMITATE_DATABASE="+path)
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

// files returns what a directory has: names, sizes, times of change and contents.
func files(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		data, err := os.ReadFile(path)
		fmt.Fprintf(&b, "%s %d %s %x\n", d.Name(), info.Size(), info.ModTime(), sha256.Sum256(data))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func makeRows(t *testing.T, db *sql.DB) {
	execute(t, db, "CREATE TABLE t (id INTEGER PRIMARY KEY, text TEXT); CREATE INDEX t_text ON t(text)")
	fill(t, db, "INSERT INTO t(text) VALUES (?)", 2000, func(int) []any { return []any{name(4)} })
}

// TestUntouched checks that a database's files stay as they are, to the byte, with and
// without a log, at rest and beside an application that has them open.
func TestUntouched(t *testing.T) {
	for _, tc := range []struct{ name, mode, application string }{
		{"journal", "delete", ""},
		{"log at rest", "wal", ""},
		{"journal that is open", "delete", "PRAGMA cache_size = 10; SELECT count(*) FROM t"},
		{"log that is open", "wal", "INSERT INTO t(text) VALUES ('more')"},
		{"log of a transaction", "wal", "BEGIN; INSERT INTO t(text) VALUES ('more')"},
		{"persistent journal", "persist", "INSERT INTO t(text) VALUES ('more')"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			path := create(t, "app", func(t *testing.T, db *sql.DB) {
				makeRows(t, db)
				execute(t, db, "PRAGMA journal_mode = "+tc.mode)
			})
			if tc.application != "" {
				end := beside(t, path, "PRAGMA journal_mode = "+tc.mode+"; "+tc.application)
				defer end()
			}
			time.Sleep(60 * time.Millisecond) // the file has settled
			before := files(t, filepath.Dir(path))
			w, _ := imitateFile(t, path, imitate.Options{})
			if after := files(t, filepath.Dir(path)); after != before {
				t.Errorf("the files were\n%sand are\n%s", before, after)
			}
			want := int64(2000)
			if tc.application != "" && !strings.Contains(tc.application, "SELECT") && !strings.Contains(tc.application, "BEGIN") {
				want++
			}
			if len(w.Tables) != 1 || w.Tables[0].Rows != want {
				t.Errorf("the tables are %v, want %d rows", w.Tables, want)
			}
		})
	}
}

// TestBesideWriter checks that an application that writes all the time is not kept waiting,
// and that what is read are whole transactions.
func TestBesideWriter(t *testing.T) {
	path := create(t, "app", func(t *testing.T, db *sql.DB) {
		makeRows(t, db)
		execute(t, db, "PRAGMA journal_mode = wal")
	})
	end := beside(t, path, "write") // it fails if the database is locked
	for range 3 {
		source, err := imitate.Open(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		var rows int
		var check string
		if err := source.DB.QueryRow("SELECT count(*), (SELECT * FROM pragma_integrity_check) FROM t").Scan(&rows, &check); err != nil || rows%2 != 0 || check != "ok" {
			t.Errorf("%d rows, %s, %v", rows, check, err)
		}
		if err := source.Close(); err != nil {
			t.Error(err)
		}
	}
	end()
}

// TestRefused checks what is said of files that cannot be read, and that they and their
// directory stay as they are.
func TestRefused(t *testing.T) {
	for _, tc := range []struct {
		name, want  string
		make        func(t *testing.T, path string)
		application string
	}{
		{name: "nothing", want: "there is no such file"},
		{name: "directory", want: "it is a directory", make: func(t *testing.T, path string) { check(t, os.Mkdir(path, 0o777)) }},
		{name: "empty", want: "it is empty", make: func(t *testing.T, path string) { write(t, path, "") }},
		{name: "text", want: "it is not an SQLite database, or it is encrypted", make: func(t *testing.T, path string) { write(t, path, strings.Repeat("some text\n", 1000)) }},
		{name: "encrypted", want: "it is not an SQLite database, or it is encrypted", make: func(t *testing.T, path string) {
			var b strings.Builder
			for range 8192 {
				b.WriteByte(byte(random.Uint32()))
			}
			write(t, path, b.String())
		}},
		{name: "damaged", want: "SQLite cannot read it", make: func(t *testing.T, path string) {
			write(t, path, "SQLite format 3\x00"+strings.Repeat("\x10\x00\x01\x01\x00\x40\x20\x20", 600))
		}},
		{name: "without tables", want: "it has no tables", make: func(t *testing.T, path string) {
			db := open(t, path)
			execute(t, db, "PRAGMA user_version = 1")
			check(t, db.Close())
		}},
		{name: "locked", want: "it is locked by", application: "PRAGMA journal_mode = delete; PRAGMA cache_size = 5; BEGIN EXCLUSIVE; UPDATE t SET text = text || 'x'"},
		{name: "locked without a journal", want: "it is locked by process", application: "PRAGMA locking_mode = exclusive; BEGIN EXCLUSIVE; SELECT count(*) FROM t"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "app.db")
			if tc.make != nil {
				tc.make(t, path)
			}
			if tc.application != "" {
				path = create(t, "app", makeRows)
				beside(t, path, tc.application)
			}
			before := files(t, filepath.Dir(path))
			source, err := imitate.Open(t.Context(), path)
			if err == nil {
				source.Close()
				t.Fatal("it is opened")
			}
			if !strings.Contains(err.Error(), tc.want) || strings.Contains(err.Error(), "\n") || !strings.HasPrefix(err.Error(), path) {
				t.Errorf("%v, want %q", err, tc.want)
			}
			if after := files(t, filepath.Dir(path)); after != before {
				t.Errorf("the files were\n%sand are\n%s", before, after)
			}
		})
	}
}

// TestWritten checks that Open does without a copy that may be torn, and that it is said if
// an application has written meanwhile.
func TestWritten(t *testing.T) {
	path := create(t, "app", makeRows)
	source, err := imitate.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer source.Close()
	if w := source.Written(); len(w) != 0 {
		t.Errorf("%q are written", w)
	}
	end := beside(t, path, "PRAGMA journal_mode = delete; INSERT INTO t(text) VALUES ('more')")
	end()
	if w := source.Written(); len(w) != 1 || w[0] != "" {
		t.Errorf("%q are written, want the file", w)
	}
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	check(t, os.WriteFile(path, []byte(text), 0o666))
}
