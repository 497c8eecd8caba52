// Package imitate makes a workload from a database. The workload has the database's schema, and
// rows that are similar to the database's rows but not the same. The package reads a private copy,
// so that the database is never written, locked or otherwise disturbed.
package imitate

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/sqlite3perf/sqlite3perf/internal/workload/snapshot"
)

// Source is a private copy of a database.
type Source struct {
	*snapshot.Snapshot
	path string
	dir  string // directory of the copy
}

// ErrNoTables is returned by Open if the database has no tables.
var ErrNoTables = errors.New("it has no tables: name a database that has tables")

// Open copies a database into a directory and opens the copy. Where the system allows it, the
// copy is unlinked at once, so that no other user can read it and it disappears if the process
// is killed. The caller removes the directory after Close.
func Open(ctx context.Context, path, dir string) (*Source, error) {
	s := &Source{path: path, dir: dir}
	var err error
	if s.Snapshot, err = snapshot.Take(ctx, path, dir); err == nil && s.Tables == 0 {
		err = errors.Join(fmt.Errorf("database %s: %w", path, ErrNoTables), s.Close())
	}
	if _, ok := errors.AsType[*fs.PathError](err); ok { // an error of a file operation on the copy
		err = fmt.Errorf("%w: set TMPDIR to a directory with more room", err)
	}
	if err != nil {
		return nil, err
	}
	_ = os.Remove(s.File()) // fails on Windows, where open files cannot be removed
	return s, nil
}
