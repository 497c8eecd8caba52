// Package snapshot takes a copy of somebody's database, which it only reads. The copy has
// what was committed, that in a write-ahead log beside the file included. SQLite never
// opens the original, so nothing is created beside it and no lock of its is taken.
package snapshot

import (
	"bytes"
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

	"github.com/sqlite3perf/sqlite3perf/internal/directory"

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

	path    string        // of the original
	before  []fs.FileInfo // of the original's files, as suffixes lists them
	file    *os.File
	db      *sql.DB // of one connection, which stays open when the copy has lost its name
	stopped bool    // a query of rows did not end
}

// suffixes are those of a database's files.
var suffixes = []string{"", "-wal", "-shm", "-journal"}

// busyError says why a database cannot be copied now, though perhaps later.
type busyError string

func (e busyError) Error() string { return string(e) }

// attempts at a copy are made at growing intervals, of pause at first: for about 6 seconds
// in all.
const (
	attempts = 13
	pause    = 80 * time.Millisecond
)

// Take copies the database at path into a directory. If a program writes to it in the
// meantime, it may have to be copied again, which Take does up to a few times. The copy is
// kept open; where the system allows that, the directory can be removed.
func Take(ctx context.Context, path, dir string) (*Snapshot, error) {
	return take(ctx, path, dir, pause)
}

func take(ctx context.Context, path, dir string, pause time.Duration) (*Snapshot, error) {
	s, err := takeQuiet(ctx, path, dir, pause)
	if err != nil {
		return nil, fmt.Errorf("database %s: %w", path, err)
	}
	return s, nil
}

func takeQuiet(ctx context.Context, path, dir string, pause time.Duration) (*Snapshot, error) {
	if err := Check(path); err != nil {
		return nil, err
	}
	s := &Snapshot{Name: filepath.Base(path), path: path, before: files(path)}
	to := filepath.Join(dir, "database")
	var err error
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

// files returns what the system says of a database's files, or nil for those that do not
// exist.
func files(path string) []fs.FileInfo {
	list := make([]fs.FileInfo, len(suffixes))
	for i, suffix := range suffixes {
		list[i], _ = os.Stat(path + suffix)
	}
	return list
}

// same reports whether a file has not been written in between.
func same(x, y fs.FileInfo) bool {
	if x == nil || y == nil {
		return x == nil && y == nil
	}
	return os.SameFile(x, y) && x.Size() == y.Size() && x.ModTime().Equal(y.ModTime())
}

// ErrUnreadable is the error of a database that SQLite cannot read.
var ErrUnreadable = errors.New("SQLite cannot read it")

// unreadable explains an error of SQLite's about the copy.
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

// remove removes a copy and what is beside it.
func remove(path string) {
	for _, suffix := range suffixes {
		os.Remove(path + suffix)
	}
}

// magic begins every database that is not encrypted.
const magic = "SQLite format 3\x00"

// Check finds what cannot be a database, before anything is copied.
func Check(path string) error {
	fi, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return errors.New("there is no such file: name a database")
	case err != nil:
		return reason(err)
	case fi.IsDir():
		return errors.New("it is a directory: name the file of a database")
	case !fi.Mode().IsRegular():
		return errors.New("it is not a regular file: name the file of a database")
	case fi.Size() == 0:
		return errors.New("it is empty, 0 bytes long: name a database that has tables")
	}
	first, err := head(path, len(magic))
	if err != nil {
		return err
	}
	if string(first) != magic {
		return errors.New("it does not begin as a SQLite database does: it is another kind of file, or encrypted")
	}
	return nil
}

// head returns the first n bytes of a file, or fewer if it is shorter.
func head(path string, n int) ([]byte, error) {
	f, err := directory.OpenRegular(path) // what is beside a database may be anything
	if err != nil {
		return nil, reason(err)
	}
	defer f.Close()
	first := make([]byte, n)
	n, err = io.ReadFull(f, first)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = nil
	}
	return first[:n], reason(err)
}

// headOfLog returns the header of the write-ahead log, or nil if nothing is in the log.
func headOfLog(path string) ([]byte, error) {
	first, err := head(path+"-wal", 32)
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(first) < 32 {
		return nil, nil
	}
	return first, err
}

// reason returns the error of a file operation without the file's name.
func reason(err error) error {
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		return pe.Err
	}
	return err
}

// copyQuiet copies a database, with its write-ahead log, in a moment in which no
// transaction is half written, and returns the SHA-256 of the copy without the log.
func copyQuiet(ctx context.Context, path, to string, pause time.Duration) (sum string, err error) {
	for i := range attempts {
		if i > 0 {
			select {
			case <-ctx.Done():
				return "", ctx.Err()
			case <-time.After(time.Duration(i) * pause):
			}
		}
		if sum, err = copyOnce(ctx, path, to); err == nil {
			return sum, nil
		}
		remove(to)
		if _, later := errors.AsType[busyError](err); !later {
			return "", err
		}
	}
	return "", fmt.Errorf(`%w: try again later, or name a copy: sqlite3 "%s" "VACUUM INTO 'copy.db'"`, err, strings.ReplaceAll(filepath.Base(path), `"`, `\"`))
}

// settled is how long a file must not have been written before it is copied. Clocks of file
// systems are coarse, so a write in the same tick would not be seen.
const settled = 50 * time.Millisecond

func copyOnce(ctx context.Context, path, to string) (string, error) {
	before, err := os.Stat(path)
	if err != nil {
		return "", reason(err)
	}
	if time.Since(before.ModTime()).Abs() < settled {
		return "", busyError("a program writes to it")
	}
	if err := idle(path); err != nil {
		return "", err
	}
	log, err := headOfLog(path)
	if err != nil {
		return "", err
	}
	if err := fits(path, filepath.Dir(to)); err != nil {
		return "", err
	}
	sum, err := copyFile(ctx, path, to)
	if err == nil && log != nil {
		_, err = copyFile(ctx, path+"-wal", to+"-wal")
	}
	if errors.Is(err, fs.ErrNotExist) {
		return "", busyError("its files come and go")
	}
	if err != nil {
		return "", err
	}
	again, err := headOfLog(path)
	if err != nil {
		return "", err
	}
	// With a log, the file itself is written only by checkpoints, and transactions are
	// appended to the log until it begins again with other salts in its header. Frames that
	// were not copied in full have wrong checksums, so SQLite leaves them out.
	if after, _ := os.Stat(path); !same(before, after) || !bytes.Equal(log, again) {
		return "", busyError("a program writes to it faster than it can be copied")
	}
	return sum, idle(path)
}

// idle returns an error if a transaction may be writing to the file itself, or has died
// while it did.
func idle(path string) error {
	journal := filepath.Base(path) + "-journal"
	// A transaction that has ended may leave a journal that begins with a zero.
	first, err := head(path+"-journal", 1)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return fmt.Errorf("its journal %s: %w", journal, err)
	case len(first) == 1 && first[0] != 0:
		return busyError("a program is in the middle of a transaction, or died in one: there is a " + journal)
	}
	if first, err = head(path, 20); err != nil {
		return err
	}
	if len(first) == 20 && first[19] == 2 {
		return nil // with a log, a lock does not mean that the file is written
	}
	if pid := writer(path); pid != 0 {
		return busyError(fmt.Sprintf("process %d has locked it to write to it", pid))
	}
	return nil
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

// copyFile copies a file, as far as it is used, and returns the SHA-256 of the copy.
func copyFile(ctx context.Context, from, to string) (string, error) {
	f, err := directory.OpenRegular(from)
	if err != nil {
		return "", reason(err)
	}
	defer f.Close()
	size, err := used(f)
	if err != nil {
		return "", err
	}
	if clone(f, to) {
		if err := os.Truncate(to, size); err != nil {
			return "", reason(err)
		}
		return hash(ctx, to)
	}
	return write(ctx, io.NewSectionReader(f, 0, size), to, false)
}

// used returns how many bytes of a database's file are pages, or of any other file all.
// SQLite ignores what follows the pages, which could be a hole of any size. See
// https://www.sqlite.org/fileformat2.html#in_header_database_size.
func used(f *os.File) (int64, error) {
	fi, err := f.Stat()
	if err != nil {
		return 0, reason(err)
	}
	var head [100]byte
	if _, err := f.ReadAt(head[:], 0); err != nil || string(head[:len(magic)]) != magic {
		return fi.Size(), nil //nolint:nilerr // a log, or too short
	}
	page, pages := int64(binary.BigEndian.Uint16(head[16:])), int64(binary.BigEndian.Uint32(head[28:]))
	if page == 1 {
		page = 65536
	}
	if pages == 0 || !bytes.Equal(head[24:28], head[92:96]) { // written by an old SQLite
		return fi.Size(), nil
	}
	return min(fi.Size(), page*pages), nil
}

// mostHollow is the maximum ratio of a file's size to the space allocated for it on disk. A
// larger file with a higher ratio is rejected as sparse. Compressing file systems shrink
// databases by less than this.
const mostHollow = 20

// fits returns an error if a copy of a database, with its log, would take more room than
// there is, or far more than the original does: holes of a file become blocks of its copy.
func fits(path, dir string) error {
	total := int64(0)
	for _, name := range []string{path, path + "-wal"} {
		f, err := os.Open(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return reason(err)
		}
		size, err := used(f)
		fi, serr := f.Stat()
		f.Close()
		if err = errors.Join(err, serr); err != nil {
			return reason(err)
		}
		if on := allocated(fi); on >= 0 && size > 1<<24 && size/mostHollow > on {
			return fmt.Errorf("%s is sparse: it has %d bytes, and only %d of them are on its disk: name a database that SQLite has written", filepath.Base(name), size, on)
		}
		total += size
	}
	if free := room(dir); free >= 0 && total > free {
		return fmt.Errorf("a copy has %d bytes, and its disk has room for %d: make room in %s", total, free, dir)
	}
	return nil
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
