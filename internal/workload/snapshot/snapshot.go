// Package snapshot takes a copy of a user's database, which it only reads. The copy has all
// that was committed, including transactions in the write-ahead log. SQLite never opens the
// original, so no file is created beside it and no lock is taken.
package snapshot

import (
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// Snapshot is a copy of a database. Trials begin with copies of it.
type Snapshot struct {
	Name     string   // base name of the original file
	SHA256   string   // hash of the copy, in hexadecimal
	Bytes    int64    // size of the copy
	PageSize int      // in bytes
	WAL      bool     // whether the file is in WAL mode
	Version  string   // version of the SQLite that wrote to it last; "" if the file does not have it
	Tables   int      // how many tables it has, virtual ones included
	Schema   []string // the statements that make its tables, indexes, views and triggers

	path    string        // path of the original
	before  []fs.FileInfo // the original's files when Take was called, in the order of suffixes
	file    *os.File
	db      *sql.DB // has one connection, which stays open when the copy's directory is removed
	stopped bool    // a query of rows did not end
}

// suffixes are appended to a database's path to get the paths of its files.
var suffixes = []string{"", "-wal", "-shm", "-journal"}

// Take copies the database at path into a directory. If a program writes to the database
// meanwhile, Take tries again for some seconds. The copy is kept open. Where the system allows
// it, the directory can be removed then.
func Take(ctx context.Context, path, dir string) (*Snapshot, error) {
	return take(ctx, path, dir, pause)
}

func take(ctx context.Context, path, dir string, pause time.Duration) (s *Snapshot, err error) {
	defer func() {
		if err != nil {
			s, err = nil, fmt.Errorf("database %s: %w", path, err)
		}
	}()
	if err := Check(path); err != nil {
		return nil, err
	}
	s = &Snapshot{Name: filepath.Base(path), path: path, before: files(path)}
	to := filepath.Join(dir, "database")
	if s.SHA256, err = copyQuiet(ctx, path, to, pause); err != nil {
		return nil, err
	}
	if _, err := os.Stat(to + "-wal"); err == nil {
		if err := checkpoint(ctx, to); err != nil {
			remove(to)
			return nil, unreadable(err)
		}
		if s.SHA256, err = hash(ctx, to); err != nil {
			return nil, err
		}
	}
	if err := s.open(ctx, to); err != nil {
		s.Close()
		remove(to)
		return nil, unreadable(err)
	}
	return s, nil
}

// Written returns the names of the original's files that somebody has written, created or
// removed since Take was called.
func (s *Snapshot) Written() []string {
	var list []string
	for i, now := range files(s.path) {
		if !same(s.before[i], now) {
			list = append(list, s.Name+suffixes[i])
		}
	}
	return list
}

// files returns the file information of a database's files, in the order of suffixes. It is
// nil for files that do not exist.
func files(path string) []fs.FileInfo {
	list := make([]fs.FileInfo, len(suffixes))
	for i, suffix := range suffixes {
		list[i], _ = os.Stat(path + suffix)
	}
	return list
}

// same reports whether two states of a file are equal: nothing wrote to it in between.
func same(x, y fs.FileInfo) bool {
	if x == nil || y == nil {
		return x == nil && y == nil
	}
	return os.SameFile(x, y) && x.Size() == y.Size() && x.ModTime().Equal(y.ModTime())
}

// ErrUnreadable is the error of a database that SQLite cannot read.
var ErrUnreadable = errors.New("SQLite cannot read it")

// unreadable explains an error of SQLite about the copy.
func unreadable(err error) error {
	e, ok := errors.AsType[*sqlite.Error](err)
	switch {
	case !ok:
		return err
	case e.Code()&0xff == sqlite3.SQLITE_NOTADB:
		return fmt.Errorf("%w: it is encrypted or damaged: name a database that sqlite3 can open", ErrUnreadable)
	}
	return fmt.Errorf("%w: %w", ErrUnreadable, err)
}

// remove removes a copy, its log and its journal.
func remove(path string) {
	for _, suffix := range suffixes {
		os.Remove(path + suffix)
	}
}

// checkpoint moves the write-ahead log of a copy into the copy.
func checkpoint(ctx context.Context, path string) error {
	db, err := sql.Open("sqlite", address(path, ""))
	if err != nil {
		return err
	}
	defer db.Close()
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	var n, busy int64
	if err := conn.QueryRowContext(ctx, "SELECT count(*) FROM sqlite_schema").Scan(&n); err != nil {
		return err
	}
	if err := conn.QueryRowContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)").Scan(&busy, &n, &n); err != nil {
		return err
	}
	if busy != 0 {
		return errors.New("the write-ahead log of the copy cannot be written into it")
	}
	if err := errors.Join(conn.Close(), db.Close()); err != nil {
		return err
	}
	for _, suffix := range []string{"-wal", "-shm"} {
		if err := os.Remove(path + suffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return reason(err)
		}
	}
	return nil
}

// address returns a path as a URI that SQLite takes.
func address(path, query string) string {
	u := url.URL{Scheme: "file", Path: filepath.ToSlash(path), RawQuery: query}
	return u.String()
}

// schemaOf lists the statements of a schema in an order in which they can be run again.
// Virtual tables come first, because they create tables themselves.
const schemaOf = `SELECT type, sql FROM sqlite_schema WHERE sql <> '' AND name NOT LIKE 'sqlite\_%' ESCAPE '\'
ORDER BY CASE WHEN sql LIKE 'CREATE VIRTUAL%' THEN 0 WHEN type = 'table' THEN 1 WHEN type = 'index' THEN 2 WHEN type = 'view' THEN 3 ELSE 4 END, rowid`

// open opens the copy, and reads its header and schema.
func (s *Snapshot) open(ctx context.Context, path string) (err error) {
	if s.file, err = os.Open(path); err != nil {
		return reason(err)
	}
	var head [100]byte
	if _, err := s.file.ReadAt(head[:], 0); err != nil {
		return errors.New("it is too short for a database")
	}
	if s.PageSize = int(binary.BigEndian.Uint16(head[16:])); s.PageSize == 1 {
		s.PageSize = 65536
	}
	s.WAL = head[18] == 2 && head[19] == 2
	if v := binary.BigEndian.Uint32(head[96:]); v > 0 {
		s.Version = fmt.Sprintf("%d.%d.%d", v/1e6, v/1e3%1e3, v%1e3)
	}
	fi, err := s.file.Stat()
	if err != nil {
		return reason(err)
	}
	s.Bytes = fi.Size()
	if s.db, err = sql.Open("sqlite", address(path, "mode=ro&immutable=1")); err != nil {
		return err
	}
	s.db.SetMaxOpenConns(1)
	conn, err := s.db.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	// It is the only connection, and stays open. A workload's queries can attach nothing.
	if _, err := sqlite.Limit(conn, sqlite3.SQLITE_LIMIT_ATTACHED, 0); err != nil {
		return err
	}
	rows, err := conn.QueryContext(ctx, schemaOf)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var typ, text string
		if err := rows.Scan(&typ, &text); err != nil {
			return err
		}
		if typ == "table" {
			s.Tables++
		}
		s.Schema = append(s.Schema, text)
	}
	return rows.Err()
}

// File returns the name that the copy has in the directory that it was made in.
func (s *Snapshot) File() string { return s.file.Name() }

// DB returns the copy, opened for reading, with one connection.
func (s *Snapshot) DB() *sql.DB { return s.db }

// Close closes the copy.
func (s *Snapshot) Close() error {
	var errs []error
	if s.db != nil {
		errs = append(errs, s.db.Close())
	}
	if s.file != nil {
		errs = append(errs, s.file.Close())
	}
	return errors.Join(errs...)
}

// Copy makes a copy for one trial. With share, the copy has the same blocks as the snapshot on
// file systems that can do that. The first write to each of these blocks takes longer. When
// Copy returns, all of the file has been read. With sync, it is also on the disk.
func (s *Snapshot) Copy(ctx context.Context, path string, share, sync bool) error {
	sum := ""
	var err error
	if share && clone(s.file, path) {
		sum, err = hash(ctx, path)
	} else {
		sum, err = write(ctx, io.NewSectionReader(s.file, 0, s.Bytes), path, sync)
	}
	if err == nil && sum != s.SHA256 {
		err = fmt.Errorf("the copy of %s has changed: its SHA-256 is %.12s, and was %.12s", s.Name, sum, s.SHA256)
	}
	return err
}
