package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// Errors that callers can distinguish with errors.Is.
var (
	ErrNoStore = errors.New("no runs yet")    // the store's file does not exist
	ErrRefused = errors.New("cannot be used") // the file is not a store, or it is a store that this version cannot use
	ErrNewer   = errors.New("it was made by a newer sqlite3perf")
	ErrNoRun   = errors.New("no such run") // the store has no run with that number
	ErrDamaged = errors.New("is damaged")  // the contents of the store contradict themselves
)

// UnusableError is an error caused by the store's file. The same operation may succeed with another
// file.
type UnusableError struct {
	Remedy bool  // the error's text also says what the user can do about this file
	Why    error // if the file was refused, the error without the file's name; otherwise nil
	err    error
}

func (e *UnusableError) Error() string { return e.err.Error() }
func (e *UnusableError) Unwrap() error { return e.err }

// refuse returns the error that the file at path cannot be used as the store.
func refuse(path string, err error) error {
	if p, ok := errors.AsType[*fs.PathError](err); ok && p.Path == path {
		err = p.Err // otherwise the path would be named twice
	}
	return &UnusableError{Why: err, err: fmt.Errorf("store %s %w: %w", path, ErrRefused, err)}
}

// explain adds three things to an error of SQLite: the file's name, what the error means for a
// store, and a remedy. If the store's file is the cause, the result is an [UnusableError]. Errors
// that are not of SQLite are returned unchanged.
func (s *Store) explain(err error) error {
	e, ok := errors.AsType[*sqlite.Error](err)
	if !ok {
		return err
	}
	explained := fmt.Errorf("store %s: %s (SQLite: %w)", s.path, meaning(e.Code()), err)
	if e.Code() == sqlite3.SQLITE_READONLY_DBMOVED {
		return explained
	}
	switch primary := e.Code() & 0xff; primary {
	case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB,
		sqlite3.SQLITE_ERROR, sqlite3.SQLITE_MISMATCH: // another program changed the tables
		return s.broken(err)
	case sqlite3.SQLITE_FULL, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_IOERR:
		return &UnusableError{Remedy: primary != sqlite3.SQLITE_IOERR, err: explained}
	}
	return explained
}

// broken returns the error that the whole file is damaged, not only one run.
func (s *Store) broken(err error) error {
	remedy := "move it away"
	if s.foreign {
		remedy = "ask for another copy"
	}
	return &UnusableError{Remedy: true, err: fmt.Errorf("store %s %w: %s (SQLite: %w)", s.path, ErrDamaged, remedy, err)}
}

func meaning(code int) string {
	switch code {
	case sqlite3.SQLITE_READONLY_DBMOVED:
		return "was deleted, moved or replaced while in use: start again, and make sure that no other program cleans up that directory"
	case sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY, sqlite3.SQLITE_CONSTRAINT_UNIQUE:
		return "already contains this: another process has overwritten the file, or is measuring the same run"
	case sqlite3.SQLITE_CONSTRAINT_FOREIGNKEY:
		return "has no such run, or the run no such case: another process may have overwritten the file"
	}
	switch code & 0xff {
	case sqlite3.SQLITE_FULL:
		return "no space left on its disk: free some"
	case sqlite3.SQLITE_READONLY:
		return "is read-only: make it and its directory writable"
	case sqlite3.SQLITE_CANTOPEN:
		return "it or its journal cannot be opened: make its directory writable"
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED:
		return "is locked by another process: end that"
	case sqlite3.SQLITE_IOERR:
		return "its disk cannot be read or written"
	case sqlite3.SQLITE_TOOBIG:
		return fmt.Sprintf("has a value of more than %d MiB, which is in no store", limits[sqlite3.SQLITE_LIMIT_LENGTH]>>20)
	case sqlite3.SQLITE_INTERRUPT:
		return context.Canceled.Error()
	}
	return "SQLite failed"
}
