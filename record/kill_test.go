//go:build unix

package record_test

import (
	"bufio"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sqlite3perf/sqlite3perf/record"
)

const (
	killedFile   = "RECORD_TEST_FILE"
	killedBuffer = 4 << 10
)

// TestMain runs the tests. In a process that TestKill has started, it runs runUntilKilled
// instead.
func TestMain(m *testing.M) {
	if path := os.Getenv(killedFile); path != "" {
		if err := runUntilKilled(path); err != nil {
			fmt.Println(err)
		}
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// runUntilKilled runs statements forever. It prints the number of each statement that has ended.
func runUntilKilled(path string) error {
	rec, err := record.Create(path, record.Options{Values: true, Buffer: killedBuffer, Interval: time.Hour})
	if err != nil {
		return err
	}
	c, err := rec.Driver(library{}).(driver.DriverContext).OpenConnector("")
	if err != nil {
		return err
	}
	db := sql.OpenDB(c)
	for i := 0; ; i++ {
		if _, err := db.Exec("INSERT INTO t VALUES (?)", i); err != nil {
			return err
		}
		if _, err := fmt.Println(i); err != nil {
			return err
		}
	}
}

// TestKill kills a process with SIGKILL while it records. The lost lines together must not be longer than
// the recorder's buffer, and no line before them may be missing.
func TestKill(t *testing.T) {
	for _, after := range []int{300, 1_000, 5_000} {
		path := filepath.Join(t.TempDir(), "app.jsonl")
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), killedFile+"="+path)
		out, err := cmd.StdoutPipe()
		must(t, err)
		must(t, cmd.Start())
		done := -1
		lines := bufio.NewScanner(out)
		for lines.Scan() {
			if done, err = strconv.Atoi(lines.Text()); err != nil {
				t.Fatal(lines.Text())
			}
			if done == after {
				must(t, cmd.Process.Kill())
			}
		}
		if err := cmd.Wait(); err == nil || !strings.Contains(err.Error(), "killed") {
			t.Fatalf("the program ended with %v", err)
		}

		text, err := os.ReadFile(path)
		must(t, err)
		r, err := record.Read(strings.NewReader(string(text)))
		must(t, err)
		for i := range r.Events {
			if got := r.Events[i].Args[0].Value; got != int64(i) {
				t.Fatalf("event %d has the value %v", i, got)
			}
		}
		// The lengths of lost lines are not known, but each is at least as long as the shortest
		// recorded line.
		shortest := len(text)
		for i, line := range strings.SplitAfter(string(text), "\n") {
			if i > 1 && strings.HasSuffix(line, "\n") {
				shortest = min(shortest, len(line))
			}
		}
		lost := done + 1 - len(r.Events)
		if len(r.Events) == 0 || lost*shortest > killedBuffer {
			t.Errorf("of %d statements %d are recorded: %d are lost, of %d bytes or more each, with a buffer of %d", done+1, len(r.Events), lost, shortest, killedBuffer)
		}
	}
}
