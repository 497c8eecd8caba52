// Package imitate makes a workload out of a database: its schema, and rows that are like
// its rows without being them. It reads a private copy, so that the database is never
// written, locked or otherwise disturbed.
package imitate

import (
	"bytes"
	"cmp"
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

	_ "modernc.org/sqlite" // the SQLite that reads the copy
)

// Source is a private copy of a database.
type Source struct {
	DB     *sql.DB
	path   string
	dir    string            // of the copy
	before map[string]status // of the files, by their suffixes
}

// status is what tells whether a file has been written.
type status struct {
	info fs.FileInfo // nil if there is no file
}

// suffixes are those of a database's files.
var suffixes = []string{"", "-wal", "-shm", "-journal"}

// busyError says why the files cannot be copied now, though perhaps later.
type busyError struct{ why string }

func (e busyError) Error() string { return e.why }

// attempts at a copy are made at growing intervals, for about 6 seconds in all.
const attempts = 12

// Open copies a database to a temporary directory and opens the copy. The database's files
// are only read, without a lock: SQLite would create or write a shared memory file beside a
// write-ahead log, and a lock could keep the application waiting. Instead the copy is made
// again if the application has written meanwhile.
func Open(ctx context.Context, path string) (*Source, error) {
	s := &Source{path: path, before: map[string]status{}}
	if err := s.check(); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	for _, suffix := range suffixes {
		s.before[suffix] = statusOf(path + suffix)
	}
	var err error
	if s.dir, err = os.MkdirTemp("", "sqlite3perf-"); err != nil {
		return nil, fmt.Errorf("a copy of %s: %w", path, err)
	}
	if err = s.copy(ctx); err == nil {
		err = s.open(ctx)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", path, err), s.Close())
	}
	return s, nil
}

// Close removes the copy.
func (s *Source) Close() error {
	var err error
	if s.DB != nil {
		err = s.DB.Close()
	}
	return cmp.Or(err, os.RemoveAll(s.dir))
}

// Written returns the suffixes of the database's files that somebody has written, created
// or removed since Open was called.
func (s *Source) Written() []string {
	var list []string
	for _, suffix := range suffixes {
		if !s.before[suffix].same(statusOf(s.path + suffix)) {
			list = append(list, suffix)
		}
	}
	return list
}

func statusOf(path string) status {
	info, err := os.Stat(path)
	if err != nil {
		return status{}
	}
	return status{info}
}

func (s status) same(t status) bool {
	if s.info == nil || t.info == nil {
		return s.info == nil && t.info == nil
	}
	return os.SameFile(s.info, t.info) && s.info.Size() == t.info.Size() && s.info.ModTime().Equal(t.info.ModTime())
}

const magic = "SQLite format 3\x00"

// check says why the file cannot be a database.
func (s *Source) check() error {
	info, err := os.Stat(s.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return errors.New("there is no such file: want a database")
	case err != nil:
		return reason(err)
	case info.IsDir():
		return errors.New("it is a directory: want a database file")
	case !info.Mode().IsRegular():
		return errors.New("it is not a regular file: want a database file")
	case info.Size() == 0:
		return errors.New("it is empty: want a database with tables")
	}
	head, err := s.head("", 100)
	if err != nil {
		return reason(err)
	}
	if !bytes.HasPrefix(head, []byte(magic)) {
		return errors.New("it is not an SQLite database, or it is encrypted: its first 16 bytes are not SQLite's; want a database that is not encrypted")
	}
	return nil
}

// head returns the first n bytes of one of the files, or fewer if it is shorter.
func (s *Source) head(suffix string, n int) ([]byte, error) {
	f, err := os.Open(s.path + suffix)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	head := make([]byte, n)
	n, err = io.ReadFull(f, head)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = nil
	}
	return head[:n], err
}

// copy copies the files in a state in which no transaction is half written.
func (s *Source) copy(ctx context.Context) error {
	var busy busyError
	for i := range attempts {
		err := s.attempt()
		if err == nil || !errors.As(err, &busy) {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Duration(i+1) * 80 * time.Millisecond):
		}
	}
	return fmt.Errorf("%w: try again later, or give a copy: sqlite3 %s '.backup copy.db'", busy, filepath.Base(s.path))
}

// settled is how long a file must not have been written before it is copied. Clocks of file
// systems are coarse, so a write in the same tick would not be seen.
const settled = 50 * time.Millisecond

func (s *Source) attempt() error {
	before := statusOf(s.path)
	if before.info == nil {
		return fmt.Errorf("the file is gone")
	}
	if time.Since(before.info.ModTime()).Abs() < settled {
		return busyError{"it is being written"}
	}
	head, err := s.head("", 100)
	if err != nil {
		return reason(err)
	}
	log := len(head) > 19 && head[19] == 2 // the file's read version: a write-ahead log
	if err := s.idle(log); err != nil {
		return err
	}
	salts, err := s.salts(log)
	if err != nil {
		return err
	}
	if err := s.duplicate(""); err != nil {
		return err
	}
	if salts != nil {
		if err := s.duplicate("-wal"); err != nil {
			return err
		}
	}
	again, err := s.salts(log)
	if err != nil {
		return err
	}
	// With a log, the file itself is written only by checkpoints, and transactions are
	// appended to the log until it begins again with other salts. Frames that were not
	// copied in full have wrong checksums, so SQLite leaves them out.
	if !before.same(statusOf(s.path)) || !bytes.Equal(salts, again) {
		return busyError{"it is written faster than it can be copied"}
	}
	return s.idle(log)
}

// idle says whether a transaction may be writing to a file without a log.
func (s *Source) idle(log bool) error {
	if log {
		return nil
	}
	head, err := s.head("-journal", 8)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return reason(err)
	}
	if len(head) == 8 && binary.BigEndian.Uint64(head) != 0 {
		return busyError{fmt.Sprintf("it is locked by a transaction that has not ended: there is %s-journal", filepath.Base(s.path))}
	}
	if pid := writer(s.path); pid != 0 {
		return busyError{fmt.Sprintf("it is locked by process %d, which writes to it", pid)}
	}
	return nil
}

// salts returns the header of the write-ahead log, or nil if there is nothing in the log.
func (s *Source) salts(log bool) ([]byte, error) {
	if !log {
		return nil, nil
	}
	head, err := s.head("-wal", 32)
	if errors.Is(err, fs.ErrNotExist) || len(head) < 32 && err == nil {
		return nil, nil
	}
	if err != nil {
		return nil, reason(err)
	}
	return head, nil
}

// duplicate copies one of the files. Where the file system can, the copy shares its blocks.
func (s *Source) duplicate(suffix string) error {
	in, err := os.Open(s.path + suffix)
	if errors.Is(err, fs.ErrNotExist) {
		return busyError{"its files come and go"}
	}
	if err != nil {
		return reason(err)
	}
	defer in.Close()
	out, err := os.Create(filepath.Join(s.dir, "copy.db"+suffix))
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	if err = cmp.Or(err, out.Close()); err != nil {
		return fmt.Errorf("copying it to %s: %w: set TMPDIR to a directory with more room", s.dir, reason(err))
	}
	return nil
}

// open opens the copy and reads its schema.
func (s *Source) open(ctx context.Context) error {
	db, err := openFile(filepath.Join(s.dir, "copy.db"))
	if err != nil {
		return err
	}
	s.DB = db
	var tables int
	if err := db.QueryRowContext(ctx, `SELECT count(*) FROM sqlite_schema WHERE type = 'table'`).Scan(&tables); err != nil {
		return fmt.Errorf("SQLite cannot read it: %w", err)
	}
	if tables == 0 {
		return errors.New("it has no tables: want a database with tables")
	}
	return nil
}

// openFile opens a database with one connection.
func openFile(path string) (*sql.DB, error) {
	db, err := sql.Open("sqlite", (&url.URL{Scheme: "file", Opaque: (&url.URL{Path: path}).EscapedPath()}).String())
	if err == nil {
		db.SetMaxOpenConns(1)
	}
	return db, err
}

// reason returns the error of a file operation without the file's name.
func reason(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err
	}
	return err
}
