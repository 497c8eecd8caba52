// Package snapshot copies a user's database without changing it. The copy has all committed
// data, including transactions in the write-ahead log. SQLite never opens the original, so no
// file is created next to it and no lock is taken.
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

	"github.com/sqlite3perf/sqlite3perf/internal/directory"
)

// Snapshot is a copy of a user's database. Each trial begins with a copy of the Snapshot.
type Snapshot struct {
	Name     string   // base name of the original file
	SHA256   string   // hash of the copy, in hexadecimal
	Bytes    int64    // size of the copy
	PageSize int      // size of a page in bytes
	WAL      bool     // whether the original is in WAL mode
	Version  string   // version of the SQLite that last wrote the original; "" if its header does not say
	Tables   int      // number of tables, including virtual ones
	Schema   []string // the statements that create the tables, indexes, views and triggers

	path    string        // path of the original
	before  []fs.FileInfo // file information of the original's files when Take was called, in the order of the list "suffixes"
	file    *os.File
	db      *sql.DB // has one connection, which stays open after the copy's directory is removed
	stopped bool    // a query of [Snapshot.Rows] exceeded its time limit
}

// suffixes are appended to a database's path to get the paths of its files.
var suffixes = []string{"", "-wal", "-shm", "-journal"}

// Take copies the database at path into a directory. If a program is writing to the database,
// Take tries again for some seconds. The Snapshot keeps the copy open, so most systems allow
// the caller to remove the directory.
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

// files returns the file information of a database's files, in the order of the list "suffixes".
// Elements for missing files are nil.
func files(path string) []fs.FileInfo {
	list := make([]fs.FileInfo, len(suffixes))
	for i, suffix := range suffixes {
		list[i], _ = os.Stat(path + suffix)
	}
	return list
}

// same reports whether a file did not change between two times. The parameters x and y have the file
// information at these times, or nil if the file did not exist.
func same(x, y fs.FileInfo) bool {
	if x == nil || y == nil {
		return x == nil && y == nil
	}
	return os.SameFile(x, y) && x.Size() == y.Size() && x.ModTime().Equal(y.ModTime())
}

// ErrUnreadable says that SQLite cannot read a database.
var ErrUnreadable = errors.New("SQLite cannot read it")

// unreadable explains an error that SQLite returned when it read the copy.
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

// remove removes the copy at path, with its log and its journal.
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
	db.SetMaxOpenConns(1)
	var n, busy int64
	if err := db.QueryRowContext(ctx, "SELECT count(*) FROM sqlite_schema").Scan(&n); err != nil {
		return err
	}
	if err := db.QueryRowContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)").Scan(&busy, &n, &n); err != nil {
		return err
	}
	if busy != 0 {
		return errors.New("the write-ahead log of the copy cannot be written into it")
	}
	if err := db.Close(); err != nil {
		return err
	}
	for _, suffix := range []string{"-wal", "-shm"} {
		if err := os.Remove(path + suffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return directory.Reason(err)
		}
	}
	return nil
}

// address returns a path as a URI for SQLite. The parameter "query" has the URI's parameters.
func address(path, query string) string {
	u := url.URL{Scheme: "file", Path: filepath.ToSlash(path), RawQuery: query}
	return u.String()
}

// schemaOf is a query for the statements of a schema, in an order in which they can be run
// again. Virtual tables come first, because creating a virtual table also creates ordinary tables.
const schemaOf = `SELECT type, sql FROM sqlite_schema WHERE sql <> '' AND name NOT LIKE 'sqlite\_%' ESCAPE '\'
ORDER BY CASE WHEN sql LIKE 'CREATE VIRTUAL%' THEN 0 WHEN type = 'table' THEN 1 WHEN type = 'index' THEN 2 WHEN type = 'view' THEN 3 ELSE 4 END, rowid`

// open opens the copy, and reads its header and schema.
func (s *Snapshot) open(ctx context.Context, path string) (err error) {
	if s.file, err = os.Open(path); err != nil {
		return directory.Reason(err)
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
		return directory.Reason(err)
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
	// Queries of a workload must not attach other files. It is enough to set this limit once,
	// because this is the only connection, and it stays open.
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

// File returns the path of the copy that Take made.
func (s *Snapshot) File() string { return s.file.Name() }

// DB returns the copy as a read-only database with one connection.
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

// Copy copies the snapshot for one trial. If the parameter "share" is true and the file system can do
// it, the copy shares the snapshot's blocks. The first write to a shared block takes longer. If the
// parameter "sync" is true, a copy that shares no blocks is on the disk when Copy returns. Copy computes
// the SHA-256 of the copied bytes, and returns an error if the snapshot has changed since it was taken.
func (s *Snapshot) Copy(ctx context.Context, path string, share, sync bool) error {
	sum := ""
	var err error
	if share && clone(s.file, path) {
		sum, err = hash(ctx, path)
	} else {
		sum, err = Write(ctx, io.NewSectionReader(s.file, 0, s.Bytes), path, sync)
	}
	if err == nil && sum != s.SHA256 {
		err = fmt.Errorf("the copy of %s has changed: its SHA-256 is %.12s, and was %.12s", s.Name, sum, s.SHA256)
	}
	return err
}
