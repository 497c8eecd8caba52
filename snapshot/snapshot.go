// Package snapshot takes a copy of somebody's database, which it only reads. The copy has
// what was committed, that in a write-ahead log beside the file included. SQLite never
// opens the original, so nothing is created beside it and no lock of its is taken.
package snapshot

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// Snapshot is a copy of a database. Trials begin with copies of it.
type Snapshot struct {
	Name     string   // of the file that it is a copy of
	SHA256   string   // of the copy
	Bytes    int64    // of the copy
	PageSize int      // in bytes
	WAL      bool     // whether the file is in WAL mode
	Version  string   // of the SQLite that wrote to it last; "" if it does not say
	Tables   int      // virtual ones included
	Schema   []string // the statements that make its tables, indexes, views and triggers

	file *os.File
	db   *sql.DB
	conn *sql.Conn
}

// The tries to copy a file that is being written, and the pause between them.
const (
	tries = 5
	pause = 300 * time.Millisecond
)

// changing says that a database cannot be copied now.
type changing string

func (c changing) Error() string { return string(c) }

// Take copies the database at path into a directory. If a program writes to the database
// in the meantime, it is copied again, up to a few times. The copy is kept open; where the
// system allows that, the directory can be removed.
func Take(ctx context.Context, path, dir string) (*Snapshot, error) {
	s, err := take(ctx, path, dir)
	if err != nil {
		return nil, fmt.Errorf("database %s: %w", path, err)
	}
	return s, nil
}

func take(ctx context.Context, path, dir string) (*Snapshot, error) {
	if err := check(path); err != nil {
		return nil, err
	}
	to := filepath.Join(dir, "database")
	var sum string
	for n := 1; ; n++ {
		var err error
		if sum, err = copyAll(ctx, path, to); err == nil {
			break
		}
		remove(to)
		if _, later := errors.AsType[changing](err); !later || n == tries {
			return nil, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(pause):
		}
	}
	if _, err := os.Stat(to + "-wal"); err == nil {
		if err := checkpoint(ctx, to); err != nil {
			remove(to)
			return nil, unreadable(err)
		}
		if sum, err = hash(ctx, to); err != nil {
			return nil, err
		}
	}
	s := &Snapshot{Name: filepath.Base(path), SHA256: sum}
	if err := s.open(ctx, to); err != nil {
		s.Close()
		remove(to)
		return nil, unreadable(err)
	}
	return s, nil
}

// unreadable explains an error of SQLite's about the copy.
func unreadable(err error) error {
	if e, ok := errors.AsType[*sqlite.Error](err); ok && e.Code()&0xff == sqlite3.SQLITE_NOTADB {
		return errors.New("SQLite cannot read it: it is encrypted or damaged: name a database that sqlite3 can open")
	}
	return err
}

// remove removes a copy and what is beside it.
func remove(path string) {
	for _, suffix := range []string{"", "-wal", "-shm", "-journal"} {
		os.Remove(path + suffix)
	}
}

// magic begins every database that is not encrypted.
const magic = "SQLite format 3\x00"

// check finds what cannot be a database before anything is copied.
func check(path string) error {
	fi, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return errors.New("there is no such file: name a database, with a path that begins at the workload's file")
	case err != nil:
		return reason(err)
	case fi.IsDir():
		return errors.New("it is a directory: name the file of a database")
	case !fi.Mode().IsRegular():
		return errors.New("it is not a regular file: name the file of a database")
	case fi.Size() == 0:
		return errors.New("it is empty, 0 bytes long: name a database that has tables")
	}
	f, err := os.Open(path)
	if err != nil {
		return reason(err)
	}
	defer f.Close()
	head := make([]byte, len(magic))
	if _, err := io.ReadFull(f, head); err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		return reason(err)
	}
	if string(head) != magic {
		return errors.New("it does not begin as a SQLite database does: it is another kind of file, or encrypted")
	}
	return nil
}

// reason returns the error of a file operation without the file's name.
func reason(err error) error {
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		return pe.Err
	}
	return err
}

// state is what the system says of the files of a database.
type state struct {
	size, walSize         int64
	changed, walChanged   time.Time
	hot                   bool // a rollback journal has content
	identity, walIdentity fs.FileInfo
}

func look(path string) (s state, err error) {
	if s.identity, err = os.Stat(path); err != nil {
		return s, reason(err)
	}
	s.size, s.changed = s.identity.Size(), s.identity.ModTime()
	switch fi, err := os.Stat(path + "-wal"); {
	case err == nil:
		s.walIdentity, s.walSize, s.walChanged = fi, fi.Size(), fi.ModTime()
	case !errors.Is(err, fs.ErrNotExist):
		return s, reason(err)
	}
	s.hot, err = hot(path + "-journal")
	return s, err
}

// hot reports whether a rollback journal belongs to a transaction that has not ended. One
// that has ended may have left a journal that begins with a zero.
func hot(journal string) (bool, error) {
	f, err := os.Open(journal)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("its journal %s: %w", filepath.Base(journal), reason(err))
	}
	defer f.Close()
	var first [1]byte
	n, err := f.Read(first[:])
	if err != nil && !errors.Is(err, io.EOF) {
		return false, fmt.Errorf("its journal %s: %w", filepath.Base(journal), reason(err))
	}
	return n == 1 && first[0] != 0, nil
}

func (s *state) same(o *state) bool {
	return s.size == o.size && s.walSize == o.walSize && s.changed.Equal(o.changed) && s.walChanged.Equal(o.walChanged) && !s.hot && !o.hot &&
		os.SameFile(s.identity, o.identity) && (s.walIdentity == nil) == (o.walIdentity == nil) &&
		(s.walIdentity == nil || os.SameFile(s.walIdentity, o.walIdentity))
}

// copyAll copies a database with its write-ahead log, and proves that neither has changed
// in the meantime: both are read again. The database was the same from the end of its
// first reading to the beginning of its second, and the log from the end of its first,
// which is in between, to the beginning of its second, which is later. So there was a
// moment at which both were as they have been copied.
func copyAll(ctx context.Context, path, to string) (sum string, err error) {
	before, err := look(path)
	if err != nil {
		return "", err
	}
	quoted := strings.ReplaceAll(filepath.Base(path), `"`, `\"`)
	remedy := fmt.Sprintf(`sqlite3 "%s" "VACUUM INTO 'copy.db'"`, quoted)
	if before.hot {
		return "", changing("a program is in the middle of a transaction, or died in one: there is a " + filepath.Base(path) + "-journal: end the program, or name a copy: " + remedy)
	}
	written := changing("a program writes to it: stop the program, or name a copy: " + remedy)
	if sum, err = copyFile(ctx, path, to, true); err != nil {
		return "", err
	}
	log := ""
	if before.walSize > 0 {
		if log, err = copyFile(ctx, path+"-wal", to+"-wal", true); errors.Is(err, fs.ErrNotExist) {
			return "", written
		} else if err != nil {
			return "", err
		}
	}
	again, err := hash(ctx, path)
	if err != nil {
		return "", err
	}
	logAgain := ""
	if before.walSize > 0 {
		if logAgain, err = hash(ctx, path+"-wal"); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
	}
	after, err := look(path)
	if err != nil {
		return "", err
	}
	if sum != again || log != logAgain || !before.same(&after) {
		return "", written
	}
	return sum, nil
}

// checkpoint writes what is in the write-ahead log of a copy into the copy.
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

// schemaOf lists what a database has, in an order in which it can be made again. A virtual
// table makes tables of its own.
const schemaOf = `SELECT type, sql FROM sqlite_schema WHERE sql <> '' AND name NOT LIKE 'sqlite\_%' ESCAPE '\'
ORDER BY CASE WHEN sql LIKE 'CREATE VIRTUAL%' THEN 0 WHEN type = 'table' THEN 1 WHEN type = 'index' THEN 2 WHEN type = 'view' THEN 3 ELSE 4 END, rowid`

// open opens the copy, and reads what there is to know about it.
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
	if s.conn, err = s.db.Conn(ctx); err != nil {
		return err
	}
	rows, err := s.conn.QueryContext(ctx, schemaOf)
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

// Close closes the copy.
func (s *Snapshot) Close() error {
	var errs []error
	if s.conn != nil {
		errs = append(errs, s.conn.Close())
	}
	if s.db != nil {
		errs = append(errs, s.db.Close())
	}
	if s.file != nil {
		errs = append(errs, s.file.Close())
	}
	return errors.Join(errs...)
}

// Copy makes a copy for one trial. With share, it has the same blocks as the snapshot on
// file systems that can do that; the first write to each of them then takes longer. The
// whole file has been read when Copy returns, and with sync it is on the disk.
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

// copyFile copies a file and returns the SHA-256 of the copy.
func copyFile(ctx context.Context, from, to string, share bool) (string, error) {
	f, err := os.Open(from)
	if err != nil {
		return "", reason(err)
	}
	defer f.Close()
	if share && clone(f, to) {
		return hash(ctx, to)
	}
	return write(ctx, f, to, false)
}

// write makes a file of what it reads, and returns its SHA-256.
func write(ctx context.Context, from io.Reader, to string, sync bool) (string, error) {
	f, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return "", err
	}
	sum, err := drain(ctx, f, from)
	if err == nil && sync {
		err = f.Sync()
	}
	return sum, errors.Join(err, f.Close())
}

// hash returns the SHA-256 of a file.
func hash(ctx context.Context, path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", reason(err)
	}
	defer f.Close()
	return drain(ctx, io.Discard, f)
}

// drain copies to the end, and returns the SHA-256 of what it has copied.
func drain(ctx context.Context, to io.Writer, from io.Reader) (string, error) {
	h := sha256.New()
	buffer := make([]byte, 1<<20)
	for {
		n, err := from.Read(buffer)
		h.Write(buffer[:n]) // writing to a hash never fails
		if _, err := to.Write(buffer[:n]); err != nil {
			return "", err
		}
		switch {
		case errors.Is(err, io.EOF):
			return hex.EncodeToString(h.Sum(nil)), nil
		case err != nil:
			return "", reason(err)
		case ctx.Err() != nil:
			return "", ctx.Err()
		}
	}
}
