// Package store keeps runs in one SQLite file. It writes each result as soon as it is measured,
// so a process that is killed loses at most the current trials. docs/store.md describes the
// file, for people who query it with other tools.
package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"embed"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	_ "modernc.org/sqlite" // the driver "sqlite"

	"github.com/sqlite3perf/sqlite3perf/internal/directory"
)

// ApplicationID is the application_id in the header of a SQLite file that is a store: "S3pf".
const ApplicationID = 0x53337066

//go:embed schema*.sql
var schemas embed.FS

// migrations[i] upgrades a store from version i to version i+1. A migration that has
// been released is never edited.
var migrations = readMigrations()

func readMigrations() (list []string) {
	for i := 1; ; i++ {
		text, err := schemas.ReadFile(fmt.Sprintf("schema%d.sql", i))
		if err != nil {
			return list
		}
		list = append(list, string(text))
	}
}

// busyTimeout is how long a store waits for another process to finish writing.
const busyTimeout = 30 * time.Second

// Store is an open store. Its methods may be called by multiple goroutines
// simultaneously.
type Store struct {
	path     string
	db       *sql.DB
	readOnly bool
	foreign  bool // somebody else may have made the store, so it is not upgraded
	version  int  // version of the schema, if the store is foreign
}

// Open opens the store at path for adding runs. If there is none, Open creates it and its
// directories. If an older sqlite3perf made the store, Open upgrades it. A file that is not a store
// is refused and stays unchanged. If another process has locked the file, Open waits until the file
// is free or ctx ends.
func Open(ctx context.Context, path string) (*Store, error) {
	return open(ctx, path, false, migrations, busyTimeout)
}

// OpenReadOnly opens the store at path for reading runs. If there is no file at path, the error
// is [ErrNoStore].
func OpenReadOnly(ctx context.Context, path string) (*Store, error) {
	return open(ctx, path, true, migrations, busyTimeout)
}

// Close closes the file.
func (s *Store) Close() error {
	return s.explain(s.db.Close())
}

// transactions prevents code other than SQLite from opening a store's file during a transaction. Under POSIX,
// closing such a file would release the locks that SQLite holds on the file in this process. A transaction
// locks the mutex for reading. Code that opens a store's file without SQLite locks the mutex for writing.
var transactions sync.RWMutex

func open(ctx context.Context, path string, readOnly bool, migrations []string, busy time.Duration) (*Store, error) {
	undo := func() {}
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && readOnly:
		return nil, absent(path)
	case errors.Is(err, fs.ErrNotExist):
		undo, err = create(path)
	case err == nil:
		err = check(path, info, len(migrations))
	}
	if err != nil {
		return nil, refuse(path, err)
	}
	s, err := connect(path, path, url.Values{
		"mode": {"rw"},
		"_pragma": {
			fmt.Sprintf("busy_timeout(%d)", busy.Milliseconds()),
			"foreign_keys(1)",
			// The mode EXTRA is like FULL, but SQLite also syncs the directory after it has removed
			// the rollback journal.
			"synchronous(extra)",
			"trusted_schema(0)", "cell_size_check(1)", // protects against stores that somebody else made
		},
	})
	if err == nil {
		if err = s.prepare(ctx, readOnly, migrations); err == nil {
			s.readOnly = readOnly
			return s, nil
		}
		s.db.Close()
	}
	undo()
	return nil, err
}

// absent returns the error that there is no store at path. If the directory does not exist either, the user
// may have mistyped the path, so the error says that the directory is missing.
func absent(path string) error {
	without := ""
	if dir := filepath.Dir(path); len(directory.Missing(dir)) > 0 {
		without = fmt.Sprintf(" (its directory %s does not exist)", dir)
	}
	return fmt.Errorf("%w at %s%s: sqlite3perf run makes one", ErrNoStore, path, without)
}

// create creates an empty file and its missing directories. The function "undo" removes them again, but only
// if they are still empty.
func create(path string) (undo func(), err error) {
	dir := filepath.Dir(path)
	made := directory.Missing(dir)
	undo = func() {
		if info, err := os.Stat(path); err == nil && info.Size() == 0 {
			os.Remove(path)
		}
		for _, dir := range made {
			os.Remove(dir) // fails if the directory is not empty, as intended
		}
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		undo()
		return nil, err
	}
	transactions.Lock()
	defer transactions.Unlock()
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		undo()
		return nil, err
	}
	return undo, f.Close()
}

// check returns an error if a file's header is not the header of a store. It does not use SQLite,
// which could change the file or create files next to it. See
// https://www.sqlite.org/fileformat2.html.
func check(path string, info fs.FileInfo, version int) error {
	switch {
	case info.IsDir():
		return errors.New("it is a directory")
	case !info.Mode().IsRegular():
		return errors.New("it is not a regular file")
	case info.Size() == 0:
		return nil // to SQLite, an empty file is a database without tables
	}
	transactions.Lock()
	defer transactions.Unlock()
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	var h [100]byte
	if _, err := io.ReadFull(f, h[:]); err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		return err
	}
	if !strings.HasPrefix(string(h[:]), "SQLite format 3\x00") {
		return errors.New("it is not a SQLite database")
	}
	return ours(int64(binary.BigEndian.Uint32(h[68:])), int64(binary.BigEndian.Uint32(h[60:])), version)
}

// ours returns nil if this version of sqlite3perf can use a database as a store, and otherwise an error. The
// parameter "id" is the application_id of the database, "version" is its user_version, and "newest" is the
// newest version that this program knows.
func ours(id, version int64, newest int) error {
	switch {
	case id != ApplicationID:
		return errors.New("it is a SQLite database of something else")
	case version > int64(newest):
		return fmt.Errorf("%w (its version is %d, known are up to %d)", ErrNewer, version, newest)
	}
	return nil
}

// connect opens the file at path with SQLite. The parameter "query" has the parameters of the file's URI.
// Errors contain the parameter "name" instead of the path.
func connect(path, name string, query url.Values) (*Store, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, refuse(name, err)
	}
	abs = filepath.ToSlash(abs)
	if !strings.HasPrefix(abs, "/") {
		abs = "/" + abs // C:/dir becomes /C:/dir
	}
	u := url.URL{Scheme: "file", Path: abs, RawQuery: query.Encode()}
	db, err := sql.Open("sqlite", u.String())
	if err != nil {
		return nil, refuse(name, err)
	}
	db.SetMaxOpenConns(1)
	return &Store{path: name, db: db}, nil
}

// prepare creates or migrates the schema. If the store is opened for writing, it also checks
// that the file can be written to, so that the user learns this before the first trial.
func (s *Store) prepare(ctx context.Context, readOnly bool, migrations []string) error {
	begin := "BEGIN EXCLUSIVE"
	if readOnly {
		begin = "BEGIN"
	}
	var version int64
	err := s.transaction(ctx, begin, func(ctx context.Context, c *sql.Conn) error {
		var id, objects int64
		for query, to := range map[string]*int64{`PRAGMA application_id`: &id, `PRAGMA user_version`: &version, `SELECT count(*) FROM sqlite_schema`: &objects} {
			if err := c.QueryRowContext(ctx, query).Scan(to); err != nil {
				return err
			}
		}
		// A store without tables is new, or a process was killed while creating it.
		empty := id == 0 && version == 0 && objects == 0
		if empty && readOnly {
			return absent(s.path)
		}
		if !empty {
			if err := ours(id, version, len(migrations)); err != nil {
				return refuse(s.path, err)
			}
			if err := s.ordinary(ctx, c, migrations[:max(version, 0)]); err != nil {
				return err
			}
			if err := s.quickCheck(ctx, c); err != nil {
				return err
			}
		}
		if readOnly {
			return nil
		}
		if int(version) == len(migrations) {
			if _, err := c.ExecContext(ctx, fmt.Sprintf("PRAGMA user_version = %d", version)); err != nil {
				return err
			}
			return errRollback
		}
		return migrate(ctx, c, migrations[version:], len(migrations))
	})
	if readOnly && err == nil && int(version) < len(migrations) {
		return s.prepare(ctx, false, migrations)
	}
	if errors.Is(err, errRollback) {
		return nil
	}
	return err
}

// checkedSize is the size in bytes up to which a store is checked completely when it is opened.
// Checking this much takes a fraction of a second.
const checkedSize = 64 << 20

// quickCheck asks SQLite to check the structure of the file. If somebody else may have made the file, SQLite
// checks all tables. In any other large store, SQLite checks only the table of runs, and finds faults in
// other tables later, when it reads them. Constraints are not checked here. They are checked when a run is
// loaded, because a bad record does not affect other runs.
func (s *Store) quickCheck(ctx context.Context, c *sql.Conn) error {
	var pages, size int64
	if err := c.QueryRowContext(ctx, `PRAGMA page_count`).Scan(&pages); err != nil {
		return err
	}
	if err := c.QueryRowContext(ctx, `PRAGMA page_size`).Scan(&size); err != nil {
		return err
	}
	what := "1" // argument of quick_check: stop at the first fault
	if pages*size > checkedSize && !s.foreign {
		what = "runs"
	}
	var verdict string
	err := c.QueryRowContext(ctx, `PRAGMA ignore_check_constraints = on; PRAGMA quick_check(`+what+`)`).Scan(&verdict)
	if _, e := c.ExecContext(ctx, `PRAGMA ignore_check_constraints = off`); err == nil {
		err = e
	}
	if err == nil && verdict != "ok" {
		err = s.broken(errors.New(strings.Join(strings.Fields(verdict), " ")))
	}
	return err
}

func migrate(ctx context.Context, c *sql.Conn, migrations []string, version int) error {
	for _, m := range migrations {
		if _, err := c.ExecContext(ctx, m); err != nil {
			return err
		}
	}
	_, err := c.ExecContext(ctx, fmt.Sprintf("PRAGMA application_id = %d; PRAGMA user_version = %d", ApplicationID, version))
	return err
}

// errRollback is the error that a function returns if its transaction must be rolled back although nothing
// went wrong.
var errRollback = errors.New("rollback")

// write calls the function "do" in a transaction. If write returns no error, the transaction is durable. At the
// beginning, write may wait for other processes, but not longer than a [moment] after ctx has ended. If it does
// not have to wait, it writes even if ctx has ended.
func (s *Store) write(ctx context.Context, do work) error {
	if s.readOnly {
		return fmt.Errorf("store %s: was opened for reading only", s.path)
	}
	return s.transaction(ctx, "BEGIN EXCLUSIVE", do)
}

// read calls the function "do" in a transaction that sees a single state of the store.
func (s *Store) read(ctx context.Context, do work) error {
	return s.transaction(ctx, "BEGIN", do)
}

// work is a function that runs in a transaction. It gets the context to use, and the
// transaction's connection.
type work func(context.Context, *sql.Conn) error

// moment is how much longer to wait for a lock after the context has ended. The process that has
// the lock may be about to release it.
const moment = 200 * time.Millisecond

func (s *Store) transaction(ctx context.Context, begin string, do work) error {
	// The transaction is committed or rolled back even if ctx ends. A canceled COMMIT or
	// ROLLBACK would leave the transaction open for the connection's next user.
	whole := context.WithoutCancel(ctx)
	c, err := s.db.Conn(whole)
	if err != nil {
		return s.explain(err)
	}
	defer c.Close()
	if err := limit(c); err != nil {
		return err
	}
	transactions.RLock()
	defer transactions.RUnlock()
	if err := s.begin(ctx, c, begin); err != nil {
		return err
	}
	if begin != "BEGIN" {
		ctx = whole
	}
	if err = do(ctx, c); err == nil {
		_, err = c.ExecContext(whole, "COMMIT")
	}
	if err != nil {
		if _, e := c.ExecContext(whole, "ROLLBACK"); e != nil {
			// SQLite has already rolled back, or cannot roll back. In both cases the connection is
			// discarded, and a new connection starts clean.
			_ = c.Raw(func(any) error { return driver.ErrBadConn })
		}
	}
	return s.explain(err)
}

// momentLonger returns a context that ends a [moment] after ctx.
func momentLonger(ctx context.Context) (context.Context, context.CancelFunc) {
	longer, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(moment, cancel) })
	return longer, func() {
		stop()
		cancel()
	}
}

// begin begins a transaction. It waits for the lock at most until a [moment] after ctx has ended.
func (s *Store) begin(ctx context.Context, c *sql.Conn, begin string) error {
	wait, cancel := momentLonger(ctx)
	defer cancel()
	_, err := c.ExecContext(wait, begin)
	if err != nil && wait.Err() != nil {
		return fmt.Errorf("store %s: is locked by another process, and the wait for it was interrupted: %w", s.path, ctx.Err())
	}
	return s.explain(err)
}
