package main

import (
	"bytes"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/sqlite3perf/sqlite3perf/cmd/sqlite3perf/internal/cli"
)

// value returns the single value that a query returns. The parameter "name" is the file name of the
// database in the directory p.dir.
func (p *place) value(name, query string) string {
	p.t.Helper()
	db, err := sql.Open("sqlite", filepath.Join(p.dir, name))
	if err != nil {
		p.t.Fatal(err)
	}
	defer db.Close()
	var s string
	if err := db.QueryRow(query).Scan(&s); err != nil {
		p.t.Fatal(err)
	}
	return s
}

// interrupted starts a command, interrupts it as soon as it has printed the text in the parameter
// "said", and returns its output.
func (p *place) interrupted(said string, args ...string) string {
	p.t.Helper()
	s := p.start(args...)
	s.until(said)
	s.signal(os.Interrupt)
	if code := s.wait(); code != cli.ExitInterrupted {
		p.t.Errorf("%v: exit status %d\n%s", args, code, s.said.String())
	}
	if !strings.Contains(s.said.String(), "Ctrl-C again stops at once") {
		p.t.Errorf("%v: it said:\n%s", args, s.said.String())
	}
	p.alone()
	return s.stdout.String()
}

// TestInterruptedGenerate checks that rows inserted before an interruption remain, and that the
// command "generate" prints their number.
func TestInterruptedGenerate(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	out := p.interrupted("written in", "generate", "--driver", "./good", "--db", "a.db", "-r", "1000000000", "-i", "1")
	m := regexp.MustCompile(`interrupted: (\d+) rows of 1000000000 are in the table`).FindStringSubmatch(out)
	if m == nil {
		t.Fatalf("it printed:\n%s", out)
	}
	if n := p.value("a.db", "SELECT count(*) FROM bench"); n != m[1] || n == "0" {
		t.Errorf("%s rows are in the table, it says %s", n, m[1])
	}
	if s := p.value("a.db", "PRAGMA integrity_check"); s != "ok" {
		t.Error(s)
	}
	// Other commands accept the incomplete table, and the command generate recreates it.
	for _, args := range [][]string{{"bench"}, {"generate", "-r", "10"}} {
		if out, err := p.command(append(args, "--driver", "./good", "--db", "a.db", "--quiet")...).CombinedOutput(); err != nil {
			t.Errorf("%v: %v\n%s", args, err, out)
		}
	}
}

func TestInterruptedCommands(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	if out, err := p.command("generate", "--driver", "./good", "--db", "a.db?_sync=0", "-r", "400000", "-b", "1000", "-p", "--quiet").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	out := p.interrupted("first row after", "bench", "--driver", "./good", "--db", "a.db")
	var rows int
	if _, err := fmt.Sscanf(out[strings.Index(out, "rows "):], "rows %d", &rows); err != nil || rows < 1 || rows >= 400_000 || !strings.HasSuffix(out, "interrupted\n") {
		t.Errorf("bench: %d rows, %v\n%s", rows, err, out)
	}

	out = p.interrupted("| writes ", "concurrent", "--driver", "./good", "--db", "c.db?_journal=wal&_busy_timeout=60000", "-r", "2", "-w", "2", "-m", "2", "-d", "1h", "--clear")
	m := regexp.MustCompile(`writers +2 +(\d+) `).FindStringSubmatch(out)
	if m == nil {
		t.Fatalf("concurrent:\n%s", out)
	}
	if n := p.value("c.db", "SELECT count(*) FROM bench"); n != m[1] || n == "0" {
		t.Errorf("concurrent: %s rows are in the table, it says %s\n%s", n, m[1], out)
	}

	out = p.interrupted("repetition", "paginate", "--driver", "./good", "--db", "a.db", "--repetitions", "1000000")
	if !strings.Contains(out, "OFFSET, k keyset") {
		t.Errorf("paginate:\n%s", out)
	}
}

// TestInterruptedJobTwice checks that the second Ctrl-C ends a worker that does not
// react to the first, and that the database is unchanged then.
func TestInterruptedJobTwice(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	if out, err := p.command("generate", "--driver", "./good", "--db", "a.db", "--quiet").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	before, err := os.ReadFile(filepath.Join(p.dir, "a.db"))
	if err != nil {
		t.Fatal(err)
	}
	s := p.start("bench", "--driver", "./sleeps", "--db", "a.db")
	eventually(t, "the worker is asleep", func() bool {
		_, err := os.Stat(filepath.Join(p.dir, "asleep"))
		return err == nil
	})
	s.signal(os.Interrupt)
	s.until("Ctrl-C again stops at once")
	s.signal(os.Interrupt)
	if code := s.wait(); code != cli.ExitInterrupted {
		t.Errorf("exit status %d", code)
	}
	p.alone()
	if after, err := os.ReadFile(filepath.Join(p.dir, "a.db")); err != nil || !bytes.Equal(before, after) {
		t.Errorf("the database has changed, %v", err)
	}
}
