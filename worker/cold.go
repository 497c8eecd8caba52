package worker

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/pagecache"
	"github.com/sqlite3perf/sqlite3perf/worker/plan"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// coldFiles drops a database from the system's page cache.
type coldFiles struct {
	path     string
	database *os.File // stays open until SQLite has closed the database, because closing this file would release all POSIX locks of the process on it, including SQLite's
}

func newColdFiles(path string) (*coldFiles, error) {
	return &coldFiles{path: path}, pagecache.Check(filepath.Dir(path))
}

func (c *coldFiles) close() {
	if c != nil && c.database != nil {
		c.database.Close()
	}
}

// drop drops the database and its write-ahead log from the system's page cache. It may close the
// log at once, because SQLite holds no locks on the log.
func (c *coldFiles) drop() (*protocol.Caches, error) {
	if c.database == nil {
		f, err := os.Open(c.path)
		if err != nil {
			return nil, err
		}
		c.database = f
	}
	files := []*os.File{c.database}
	log, err := os.Open(c.path + "-wal")
	if err == nil {
		defer log.Close()
		files = append(files, log)
	} else if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	said := &protocol.Caches{}
	said.FileBytes, said.CachedBytes, err = pagecache.Drop(files...)
	return said, err
}

// forget empties the page cache of every connection if the phase is to begin with cold caches. No connection
// may be in use.
func (t *trial) forget(ctx context.Context, p *plan.Phase) error {
	if t.cold == nil || p.Untimed {
		return nil
	}
	return t.ours(ctx, "emptying SQLite's page caches", func(ctx context.Context) error {
		conns, err := t.takePools(ctx)
		if err != nil {
			return err
		}
		for _, c := range conns {
			err = errors.Join(err, shrink(ctx, c))
		}
		return errors.Join(err, giveBack(conns))
	})
}

// shrink empties the page cache of a connection. It also ends the memory mapping of the database, because the
// system does not drop pages that are mapped. SQLite maps the database again when it next reads.
func shrink(ctx context.Context, c driver.Conn) error {
	got, err := readSettings(ctx, c)
	if err != nil {
		return err
	}
	script := "PRAGMA shrink_memory"
	if n := got["mmap_size"]; n != "0" {
		script += "; PRAGMA mmap_size=0; PRAGMA mmap_size=" + n
	}
	return of(script, c.Script(ctx, script))
}
