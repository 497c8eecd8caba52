package main

import (
	"bufio"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// sqlScript runs SQL on a database. It fails if the single value of a query is not the
// expected one: sql a.db 'SELECT count(*) FROM bench' 10
func sqlScript(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 || len(args) > 3 {
		ts.Fatalf("usage: sql file statements [value]")
	}
	db, err := sql.Open("sqlite", ts.MkAbs(args[0]))
	ts.Check(err)
	defer db.Close()
	if len(args) == 2 {
		_, err := db.Exec(args[1])
		ts.Check(err)
		return
	}
	var got string
	ts.Check(db.QueryRow(args[1]).Scan(&got))
	if got != args[2] {
		ts.Fatalf("%s: got %s, want %s", args[1], got, args[2])
	}
}

// locker is a process that holds the only lock on a database until its input ends. It
// is a separate process, because a process that reads the file would lose its POSIX
// locks when it closes the file.
func locker() {
	db, err := sql.Open("sqlite", os.Args[1])
	if err == nil {
		db.SetMaxOpenConns(1)
		_, err = db.Exec("BEGIN EXCLUSIVE")
	}
	fmt.Println("locked", err)
	_, _ = io.Copy(io.Discard, os.Stdin)
	if err = errors.Join(err, db.Close()); err != nil {
		os.Exit(1)
	}
}

// lockKey is the key under which a script stores the function that releases its lock.
type lockKey struct{}

// lock makes another process lock a database until unlock: lock a.db
func lock(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: lock file")
	}
	cmd := exec.Command("locker", ts.MkAbs(args[0]))
	in, err := cmd.StdinPipe()
	ts.Check(err)
	out, err := cmd.StdoutPipe()
	ts.Check(err)
	ts.Check(cmd.Start())
	*ts.Value(lockKey{}).(*func() error) = func() error { return errors.Join(in.Close(), cmd.Wait()) }
	ts.Defer(func() { _ = in.Close() }) // needed if the script does not call unlock
	said, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || strings.TrimSpace(said) != "locked <nil>" {
		ts.Fatalf("locker says %q, %v", said, err)
	}
}

func unlock(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 0 {
		ts.Fatalf("usage: unlock")
	}
	ts.Check((*ts.Value(lockKey{}).(*func() error))())
}
