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

// sqlScript is the command "sql" of test scripts. It runs SQL on a database. With a third argument,
// it fails unless the SQL returns exactly this value, as in: sql a.db 'SELECT count(*) FROM bench' 10
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

// locker is a process that holds an exclusive lock on a database until its standard input ends. The
// test itself cannot hold the lock, because a process that closes a file loses all its POSIX locks
// on it.
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

// lockKey is the key under which a script stores the function that releases the lock of the command
// "lock".
type lockKey struct{}

// lock is the command "lock" of test scripts, as in: lock a.db. It starts a process that locks the
// database until the script calls the command "unlock".
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
