package main

import (
	"crypto/sha256"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// The function "live" is the command "live" of test scripts. Like an application, it opens a database in
// WAL mode, runs statements, and keeps the database open. So the committed rows are only in the
// write-ahead log. For example: live app.db 'INSERT …'
func live(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: live file statements")
	}
	db, err := sql.Open("sqlite", ts.MkAbs(args[0])+"?_pragma=journal_mode(wal)&_pragma=wal_autocheckpoint(0)")
	ts.Check(err)
	ts.Defer(func() { _ = db.Close() })
	_, err = db.Exec(args[1])
	ts.Check(err)
	fi, err := os.Stat(ts.MkAbs(args[0]) + "-wal")
	ts.Check(err)
	if fi.Size() == 0 {
		ts.Fatalf("the write-ahead log is empty")
	}
}

// The function "listing" is the command "listing" of test scripts. It writes the names, sizes,
// times and hashes of a directory's files to a file, as in: listing dir got.txt
func listing(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: listing directory file")
	}
	entries, err := os.ReadDir(ts.MkAbs(args[0]))
	ts.Check(err)
	var b strings.Builder
	for _, e := range entries {
		fi, err := e.Info()
		ts.Check(err)
		data, err := os.ReadFile(filepath.Join(ts.MkAbs(args[0]), e.Name()))
		ts.Check(err)
		fmt.Fprintf(&b, "%s %d %v %x\n", e.Name(), fi.Size(), fi.ModTime(), sha256.Sum256(data))
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), []byte(b.String()), 0o644))
}
