package store_test

import (
	"bufio"
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sqlite3perf/sqlite3perf/internal/store"
)

// childVariable is the name of an environment variable. A test that starts the test binary as a
// separate process sets it to say what the process must do.
const childVariable = "STORE_TEST_CHILD"

var children = map[string]func(args []string) error{"record": record, "lock": lock, "merge": mergeAll}

func TestMain(m *testing.M) {
	if name := os.Getenv(childVariable); name != "" {
		if err := children[name](os.Args[1:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func child(t *testing.T, name string, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, args...)
	cmd.Env = append(os.Environ(), childVariable+"="+name)
	cmd.Stderr = os.Stderr
	return cmd
}

// record adds trials to a new run of the store forever. After each trial has been stored, it prints the
// numbers of the run and of the trial.
func record(args []string) error {
	s, err := store.Open(context.Background(), args[0])
	if err != nil {
		return err
	}
	r := smallRun()
	if err := s.Begin(context.Background(), r); err != nil {
		return err
	}
	for i := 1; ; i++ {
		if err := s.AddTrial(context.Background(), r.ID, trial(i)); err != nil {
			return err
		}
		fmt.Println(r.ID, i)
	}
}

// TestKilled checks that a process that is killed at any moment loses at most the current trial.
func TestKilled(t *testing.T) {
	const kills = 20
	ctx, path := context.Background(), newPath(t)
	stored := map[int64]int{} // number of trials that were reported, by run
	journals := 0
	for k := range kills {
		if k%5 == 0 {
			path, stored = newPath(t), map[int64]int{} // a new store, so that processes are also killed while they create it
		}
		cmd := child(t, "record", path)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		// The process is killed after some reports, at a random moment.
		reports, wait := rand.IntN(8), time.Duration(rand.IntN(20_000))*time.Microsecond
		if reports == 0 {
			time.AfterFunc(wait, func() { _ = cmd.Process.Kill() }) // the child may have ended already
		}
		lines := bufio.NewScanner(out)
		for n := 1; lines.Scan(); n++ {
			id, order, ok := strings.Cut(lines.Text(), " ")
			run, err1 := strconv.ParseInt(id, 10, 64)
			last, err2 := strconv.Atoi(order)
			if !ok || err1 != nil || err2 != nil {
				t.Fatalf("the child printed %q", lines.Text())
			}
			stored[run] = last
			if n == reports {
				time.AfterFunc(wait, func() { _ = cmd.Process.Kill() }) // the child may have ended already
			}
		}
		if err := cmd.Wait(); cmd.ProcessState.ExitCode() >= 0 && err != nil {
			t.Fatalf("the child ended by itself: %v", err)
		}

		if _, err := os.Stat(path + "-journal"); err == nil {
			journals++
		}
		s, err := store.Open(context.Background(), path)
		if err != nil {
			t.Fatalf("after kill %d: %v", k+1, err)
		}
		list, err := s.List(ctx)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range list {
			r, err := s.Load(ctx, e.ID)
			if err != nil {
				t.Fatal(err)
			}
			// The child may have been killed between AddTrial and printing.
			if n := len(r.Trials); n < stored[e.ID] || n > stored[e.ID]+1 {
				t.Errorf("after kill %d: run %d has %d trials, %d were reported", k+1, e.ID, n, stored[e.ID])
			}
			for i, tr := range r.Trials {
				if tr.Order != i+1 || len(tr.Samples) != 2 {
					t.Errorf("after kill %d: trial %d of run %d is %+v", k+1, i+1, e.ID, tr)
				}
			}
			delete(stored, e.ID)
			stored[e.ID] = len(r.Trials)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if len(list) < len(stored) {
			t.Errorf("after kill %d: %d runs of %d are left", k+1, len(list), len(stored))
		}
		if _, err := os.Stat(path + "-journal"); !os.IsNotExist(err) {
			t.Errorf("after kill %d: a journal is left: %v", k+1, err)
		}
		checkIntact(t, path)
	}
	t.Logf("%d of %d kills left a transaction to roll back", journals, kills)
}

// lock tries to begin a transaction that writes to the store, and prints the error. It prints
// "<nil>" if the process could write to the store.
func lock(args []string) error {
	db, err := sql.Open("sqlite", args[0])
	if err != nil {
		return err
	}
	db.SetMaxOpenConns(1)
	_, err = db.Exec(`BEGIN IMMEDIATE`)
	fmt.Print(err)
	return nil
}

// TestOpenKeepsLocks checks that opening a store, which reads the file's header and
// closes the file, does not release the locks that another Store of this process holds
// on the file.
func TestOpenKeepsLocks(t *testing.T) {
	path := newPath(t)
	s := mustOpen(t, path)
	opened := make(chan error)
	err := s.Write(context.Background(), func(*sql.Conn) error {
		go func() {
			second, err := store.OpenReadOnly(context.Background(), path)
			if err == nil {
				err = second.Close()
			}
			opened <- err
		}()
		// The second Store should open only after this transaction. If it can open earlier, it does
		// so during this sleep.
		time.Sleep(50 * time.Millisecond)
		out, err := child(t, "lock", path).Output()
		if err != nil || !strings.Contains(string(out), "database is locked") {
			t.Errorf("another process got %q, %v; want it locked out", out, err)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	if err := <-opened; err != nil {
		t.Error(err)
	}
}
