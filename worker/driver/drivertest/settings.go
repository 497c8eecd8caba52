package drivertest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/sqlite3perf/sqlite3perf/worker/driver"
)

func settingChecks() []Check {
	var list []Check
	for _, def := range driver.Vocabulary {
		if !def.Pragma {
			continue
		}
		for _, v := range def.Examples() {
			key := def.Name + "=" + v
			list = append(list, Check{Name: "settings/" + key, Key: key, Test: applied(driver.Settings{def.Name: v})})
		}
	}
	return append(list,
		Check{Name: "settings/page size and auto-vacuum of a WAL database", Test: appliedUnlessLimited(driver.Settings{
			"page_size": "16384", "auto_vacuum": "incremental", "journal_mode": "wal", "synchronous": "full",
		})},
		Check{Name: "settings/exclusive WAL database", Test: on(driver.Settings{
			"locking_mode": "exclusive", "journal_mode": "wal",
		}, intTable, exclusiveWAL), Needs: "locking_mode"},
		Check{Name: "settings/mmap_size maps the file", Key: "mmap_size=mapped", Test: on(rollbackMode.With(driver.Settings{"mmap_size": "1048576"}), intRow, mapsFile)},
		Check{Name: "settings/all", Test: appliedUnlessLimited(driver.Settings{
			"busy_timeout": "4321", "page_size": "2048", "auto_vacuum": "full", "locking_mode": "normal", "journal_mode": "wal",
			"synchronous": "off", "foreign_keys": "on", "cache_size": "-5000", "mmap_size": "2097152", "temp_store": "memory",
			"wal_autocheckpoint": "123", "secure_delete": "fast",
		})},
		Check{Name: "settings/a checkpoint empties the log", Key: "checkpoint", Test: on(driver.Settings{"journal_mode": "wal"}, intRow, checkpoints)},
	)
}

// appliedUnlessLimited is like applied, but leaves out the settings that the driver declares
// it cannot apply.
func appliedUnlessLimited(s driver.Settings) func(context.Context, driver.Driver, string) error {
	return func(ctx context.Context, d driver.Driver, dir string) error {
		can := s.With(nil)
		for name, value := range s {
			if _, limited := d.Info().Limit(name, value); limited {
				delete(can, name)
			}
		}
		return applied(can)(ctx, d, dir)
	}
}

// checkpoints expects that a write-ahead log can be checkpointed by SQL, as the worker does
// after each phase.
func checkpoints(ctx context.Context, x *db) error {
	list, err := rows(ctx, x, "PRAGMA wal_checkpoint(TRUNCATE)", columns(driver.Int, driver.Int, driver.Int)...)
	if err == nil && (len(list) != 1 || list[0][0] != int64(0)) {
		err = fmt.Errorf("the checkpoint returned %v, want a first column of 0", list)
	}
	return err
}

// applied returns a test that opens a new database, creates a table in it, and reads the
// settings back on every connection of the pool at once. Then it does the same with
// the existing database.
func applied(s driver.Settings) func(context.Context, driver.Driver, string) error {
	over := s.With(driver.Settings{"pool_size": "3"})
	if s["locking_mode"] == "exclusive" {
		over["pool_size"] = "1" // the first connection locks out the others
	}
	readsBack := func(ctx context.Context, x *db) error {
		return onAll(ctx, x, over.PoolSize(), func(c driver.Conn) error {
			got, err := readBack(ctx, c, s)
			if err != nil {
				return err
			}
			var errs []error
			for _, m := range driver.Check(s, got) {
				errs = append(errs, errors.New(m.String()))
			}
			return errors.Join(errs...)
		})
	}
	return func(ctx context.Context, d driver.Driver, dir string) error {
		for i, script := range []string{intRow, ""} {
			if err := on(over, script, readsBack)(ctx, d, dir); err != nil {
				return fmt.Errorf("opening %d: %w", i+1, err)
			}
		}
		return nil
	}
}

// onAll takes n connections, runs f on each, and returns them to the pool.
func onAll(ctx context.Context, x driver.DB, n int, f func(driver.Conn) error) error {
	if n == 0 {
		return nil
	}
	return withConn(ctx, x, func(c driver.Conn) error {
		if err := onAll(ctx, x, n-1, f); err != nil {
			return err
		}
		if err := f(c); err != nil {
			return fmt.Errorf("connection %d: %w", n, err)
		}
		return nil
	})
}

// readBack reads the values that a connection has for the settings in s.
func readBack(ctx context.Context, c driver.Conn, s driver.Settings) (driver.Settings, error) {
	got := driver.Settings{}
	for _, def := range driver.Vocabulary {
		if _, ok := s[def.Name]; !ok || !def.Pragma {
			continue
		}
		t := driver.ColumnType{Type: driver.Int}
		if def.Name == "journal_mode" || def.Name == "locking_mode" {
			t.Type = driver.Text
		}
		list, err := rows(ctx, c, "PRAGMA "+def.Name, t)
		if err != nil {
			return nil, fmt.Errorf("PRAGMA %s: %w", def.Name, err)
		}
		if len(list) == 0 {
			continue // the library is built without this PRAGMA
		}
		if got[def.Name], err = def.Canonical(fmt.Sprint(list[0][0])); err != nil {
			return nil, err
		}
	}
	return got, nil
}

// exclusiveWAL expects no -shm file, since locking_mode is set before journal_mode.
func exclusiveWAL(_ context.Context, x *db) error {
	if _, err := os.Stat(x.path + "-wal"); err != nil {
		return fmt.Errorf("no WAL: %w", err)
	}
	if _, err := os.Stat(x.path + "-shm"); err == nil {
		return errors.New("the WAL index is in a file: locking_mode was set after journal_mode")
	}
	return nil
}

// mapsFile looks for the database among the files that the process has mapped, if
// the system lists them.
func mapsFile(ctx context.Context, x *db) error {
	if err := want(ctx, x, "SELECT count(*) FROM t", 1); err != nil {
		return err
	}
	maps, err := os.ReadFile("/proc/self/maps")
	if errors.Is(err, os.ErrNotExist) {
		return nil // this system has no such list
	}
	if err == nil && !strings.Contains(string(maps), x.path) {
		err = errors.New("mmap_size is set, but the file is not mapped")
	}
	return err
}

// openErr tries to open and use a database and returns the first error.
func openErr(ctx context.Context, d driver.Driver, dir string, over driver.Settings, script string) error {
	return with(ctx, d, dir, over, script, func(*db) error { return nil })
}

func openChecks() []Check {
	return []Check{
		{Name: "open/mode=rwc", Key: "mode=rwc", Test: func(ctx context.Context, d driver.Driver, dir string) error {
			return openErr(ctx, d, dir, driver.Settings{"mode": "rwc"}, intTable)
		}},
		{Name: "open/mode=rw", Key: "mode=rw", Test: func(ctx context.Context, d driver.Driver, dir string) error {
			if err := wantPrimary("opening what is not there", openErr(ctx, d, dir, driver.Settings{"mode": "rw"}, intTable), 14); err != nil {
				return err
			}
			if err := openErr(ctx, d, dir, nil, intTable); err != nil {
				return err
			}
			return openErr(ctx, d, dir, driver.Settings{"mode": "rw"}, "INSERT INTO t VALUES (1, 1)")
		}},
		{Name: "open/mode=ro", Key: "mode=ro", Test: readOnly},
		{Name: "open/mode=memory", Key: "mode=memory", Test: on(driver.Settings{"mode": "memory"}, intRow, inMemory)},
		{Name: "open/cache=private", Key: "cache=private", Test: sharing(driver.Settings{"cache": "private"}, 0)},
		{Name: "open/cache=shared", Key: "cache=shared", Test: sharing(driver.Settings{"cache": "shared"}, 1)},
		{Name: "open/cache=shared in memory", Key: "cache=shared", Test: sharing(driver.Settings{"cache": "shared", "mode": "memory"}, 1)},
		{Name: "open/strange names", Test: strangeNames},
		{Name: "open/not a database", Test: func(ctx context.Context, d driver.Driver, dir string) error {
			if err := os.WriteFile(dir+"/test.db", []byte(strings.Repeat("not a database. ", 100)), 0o600); err != nil {
				return err
			}
			return wantCode("opening a text file", openErr(ctx, d, dir, nil, intTable), 26)
		}},
		{Name: "open/no such directory", Test: func(ctx context.Context, d driver.Driver, dir string) error {
			return wantPrimary("opening in a directory that is not there", openErr(ctx, d, dir+"/absent", nil, intTable), 14)
		}},
	}
}

func readOnly(ctx context.Context, d driver.Driver, dir string) error {
	ro := driver.Settings{"mode": "ro"}
	if err := wantPrimary("opening what is not there", openErr(ctx, d, dir, ro, "SELECT 1 FROM t"), 14); err != nil {
		return err
	}
	if err := openErr(ctx, d, dir, nil, intRow); err != nil {
		return err
	}
	return with(ctx, d, dir, ro, "", func(x *db) error {
		if err := wantCode("writing", exec(ctx, x, "INSERT INTO t VALUES (2, 2)", nil), 8); err != nil {
			return err
		}
		return want(ctx, x, "SELECT count(*) FROM t", 1)
	})
}

func inMemory(ctx context.Context, x *db) error {
	if err := want(ctx, x, "SELECT count(*) FROM t", 1); err != nil {
		return err
	}
	if _, err := os.Stat(x.path); err == nil {
		return errors.New("there is a file")
	}
	return nil
}

// sharing checks whether two connections share one page cache: whether one can read
// what the other has not committed.
func sharing(over driver.Settings, seen int64) func(context.Context, driver.Driver, string) error {
	over = over.With(driver.Settings{"pool_size": "2"})
	return on(over, intTable, func(ctx context.Context, x *db) error {
		return withConn(ctx, x, func(writer driver.Conn) error {
			return withConn(ctx, x, func(reader driver.Conn) error {
				if err := writer.Script(ctx, "BEGIN; INSERT INTO t VALUES (1, 1)"); err != nil {
					return err
				}
				err := reader.Script(ctx, "PRAGMA read_uncommitted=1")
				if err == nil {
					err = want(ctx, reader, "SELECT count(*) FROM t", seen)
				}
				return errors.Join(err, writer.Script(ctx, "ROLLBACK"))
			})
		})
	})
}

func strangeNames(ctx context.Context, d driver.Driver, dir string) error {
	for _, name := range []string{"a b.db", "a?b=c&d.db", "a%20b.db", "a#b.db", "100%.db", "ü世.db", "a+b;c.db", "it's.db"} {
		for _, s := range []driver.Settings{noWait, noWait.With(driver.Settings{"mode": "rwc", "journal_mode": "wal"})} {
			path := dir + "/" + name
			x, err := d.Open(ctx, path, s)
			if err == nil {
				err = errors.Join(x.Script(ctx, intTable), x.Close())
			}
			if err != nil {
				return fmt.Errorf("%q: %w", name, err)
			}
			if err := os.Remove(path); err != nil {
				return err
			}
		}
	}
	left, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	if len(left) > 0 {
		return fmt.Errorf("a file of another name was made: %q", left[0].Name())
	}
	return nil
}
