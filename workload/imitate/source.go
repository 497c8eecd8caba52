// Package imitate makes a workload out of a database: its schema, and rows that are like
// its rows without being them. It reads a private copy, so that the database is never
// written, locked or otherwise disturbed.
package imitate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/sqlite3perf/sqlite3perf/snapshot"
)

// Source is a private copy of a database.
type Source struct {
	copy *snapshot.Snapshot
	path string
	dir  string // of the copy
}

// ErrNoTables is returned by Open if there is nothing to imitate.
var ErrNoTables = errors.New("it has no tables: name a database that has tables")

// Open copies a database to a temporary directory and opens the copy.
func Open(ctx context.Context, path string) (*Source, error) {
	dir, err := os.MkdirTemp("", "sqlite3perf-")
	if err != nil {
		return nil, fmt.Errorf("a copy of %s: %w", path, err)
	}
	s := &Source{path: path, dir: dir}
	if s.copy, err = snapshot.Take(ctx, path, dir); err == nil && s.copy.Tables == 0 {
		err = errors.Join(fmt.Errorf("database %s: %w", path, ErrNoTables), s.copy.Close())
	}
	if _, ok := errors.AsType[*fs.PathError](err); ok { // of the copy
		err = fmt.Errorf("%w: set TMPDIR to a directory with more room", err)
	}
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return s, nil
}

// Close removes the copy.
func (s *Source) Close() error {
	return cmp.Or(s.copy.Close(), os.RemoveAll(s.dir))
}

// Written returns the names of the database's files that somebody has written, created or
// removed since Open was called.
func (s *Source) Written() []string { return s.copy.Written() }
