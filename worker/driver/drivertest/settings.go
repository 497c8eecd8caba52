package drivertest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
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
			list = append(list, Check{Name: "settings/" + key, Key: key, Test: alone(func(t test) {
				applied(t, driver.Settings{def.Name: v})
			})})
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

// appliedUnlessLimited returns a test. The test checks that the settings in s take effect on every
// connection. It leaves out the settings that the driver cannot apply.
func appliedUnlessLimited(s driver.Settings) testFunc {
	return alone(func(t test) {
		can := s.With(nil)
		for name, value := range s {
			if _, limited := t.driver.Info().Limit(name, value); limited {
				delete(can, name)
			}
		}
		applied(t, can)
	})
}

// The function "checkpoints" checks that a PRAGMA can checkpoint a write-ahead log, as the worker
// does after a phase.
func checkpoints(x *db) {
	list := x.rows("PRAGMA wal_checkpoint(TRUNCATE)", columns(driver.Int, driver.Int, driver.Int)...)
	if len(list) != 1 || list[0][0] != int64(0) {
		fatalf("the checkpoint returned %v, want a first column of 0", list)
	}
}

// The function "applied" checks that the settings in s take effect. It opens a new database,
// creates a table in it, and reads the settings back on every connection of the pool at once. Then
// it closes the database and does the same again with the file that now exists.
func applied(t test, s driver.Settings) {
	over := s.With(driver.Settings{"pool_size": "3"})
	if s["locking_mode"] == "exclusive" {
		over["pool_size"] = "1" // the first connection locks the file, so no other connection could use it
	}
	for i, script := range []string{intRow, ""} {
		within(fmt.Sprint("opening ", i+1), func() {
			t.open(over, script, func(x *db) {
				x.onAll(over.PoolSize(), func(c runner) {
					if bad := driver.Differences(s, []driver.Settings{readBack(c, s)}, nil); bad != "" {
						fatalf("%s", bad)
					}
				})
			})
		})
	}
}

func readBack(c runner, s driver.Settings) driver.Settings {
	got := driver.Settings{}
	for _, def := range driver.Vocabulary {
		if _, ok := s[def.Name]; !ok || !def.Pragma {
			continue
		}
		t := driver.ColumnType{Type: driver.Int}
		if def.Name == "journal_mode" || def.Name == "locking_mode" {
			t.Type = driver.Text
		}
		within("PRAGMA "+def.Name, func() {
			list := c.rows("PRAGMA "+def.Name, t)
			if len(list) == 0 {
				return // the library was built without this PRAGMA
			}
			value, err := def.Canonical(fmt.Sprint(list[0][0]))
			must(err)
			got[def.Name] = value
		})
	}
	return got
}

// exclusiveWAL checks that there is a -wal file but no -shm file, which shows that locking_mode was
// set before journal_mode.
func exclusiveWAL(x *db) {
	if _, err := os.Stat(x.test.path() + "-wal"); err != nil {
		fatalf("no WAL: %w", err)
	}
	if _, err := os.Stat(x.test.path() + "-shm"); err == nil {
		fatalf("the WAL index is in a file: locking_mode was set after journal_mode")
	}
}

// mapsFile checks that the database file is mapped into memory. It checks this only on systems that
// list mapped files.
func mapsFile(x *db) {
	x.want("SELECT count(*) FROM t", 1)
	maps, err := os.ReadFile("/proc/self/maps")
	if errors.Is(err, os.ErrNotExist) {
		return // this system does not list mapped files
	}
	must(err)
	if !strings.Contains(string(maps), x.test.path()) {
		fatalf("mmap_size is set, but the file is not mapped")
	}
}

func openChecks() []Check {
	return []Check{
		{Name: "open/mode=rwc", Key: "mode=rwc", Test: on(driver.Settings{"mode": "rwc"}, intTable, func(*db) {})},
		{Name: "open/mode=rw", Key: "mode=rw", Test: alone(func(t test) {
			rw := driver.Settings{"mode": "rw"}
			wantPrimary("opening what is not there", driver.CodeCantOpen, func() { t.use(rw, intTable) })
			t.use(nil, intTable)
			t.use(rw, "INSERT INTO t VALUES (1, 1)")
		})},
		{Name: "open/mode=ro", Key: "mode=ro", Test: alone(readOnly)},
		{Name: "open/mode=memory", Key: "mode=memory", Test: on(driver.Settings{"mode": "memory"}, intRow, inMemory)},
		{Name: "open/cache=private", Key: "cache=private", Test: sharing(driver.Settings{"cache": "private"}, 0)},
		{Name: "open/cache=shared", Key: "cache=shared", Test: sharing(driver.Settings{"cache": "shared"}, 1)},
		{Name: "open/cache=shared in memory", Key: "cache=shared", Test: sharing(driver.Settings{"cache": "shared", "mode": "memory"}, 1)},
		{Name: "open/strange names", Test: alone(strangeNames)},
		{Name: "open/not a database", Test: alone(func(t test) {
			must(os.WriteFile(t.path(), []byte(strings.Repeat("not a database. ", 100)), 0o600))
			wantCode("opening a text file", driver.CodeNotADB, func() { t.use(nil, intTable) })
		})},
		{Name: "open/no such directory", Test: alone(func(t test) {
			t.dir = filepath.Join(t.dir, "absent")
			wantPrimary("opening in a directory that is not there", driver.CodeCantOpen, func() { t.use(nil, intTable) })
		})},
	}
}

func readOnly(t test) {
	ro := driver.Settings{"mode": "ro"}
	wantPrimary("opening what is not there", driver.CodeCantOpen, func() { t.use(ro, "SELECT 1 FROM t") })
	t.use(nil, intRow)
	t.open(ro, "", func(x *db) {
		wantCode("writing", driver.CodeReadonly, func() { x.exec("INSERT INTO t VALUES (2, 2)", nil) })
		x.want("SELECT count(*) FROM t", 1)
	})
}

func inMemory(x *db) {
	x.want("SELECT count(*) FROM t", 1)
	if _, err := os.Stat(x.test.path()); err == nil {
		fatalf("there is a file")
	}
}

// sharing returns a test in which one connection reads while another connection has inserted a row
// without committing it. The reader must see as many rows as the parameter "seen": 1 if the two
// connections share a page cache, otherwise 0.
func sharing(over driver.Settings, seen int64) testFunc {
	over = over.With(driver.Settings{"pool_size": "2"})
	return on(over, intTable, func(x *db) {
		x.conn(func(writer runner) {
			x.conn(func(reader runner) {
				writer.script("BEGIN; INSERT INTO t VALUES (1, 1)")
				finally(func() {
					reader.script("PRAGMA read_uncommitted=1")
					reader.want("SELECT count(*) FROM t", seen)
				}, func() error { return writer.Script(x.ctx, "ROLLBACK") })
			})
		})
	})
}

func strangeNames(t test) {
	for _, name := range []string{"a b.db", "a?b=c&d.db", "a%20b.db", "a#b.db", "100%.db", "ü世.db", "a+b;c.db", "it's.db"} {
		for _, s := range []driver.Settings{noWait, noWait.With(driver.Settings{"mode": "rwc", "journal_mode": "wal"})} {
			path := t.dir + "/" + name
			within(fmt.Sprintf("%q", name), func() {
				x, err := t.driver.Open(t.ctx, path, s)
				must(err)
				must(errors.Join(x.Script(t.ctx, intTable), x.Close()))
			})
			must(os.Remove(path))
		}
	}
	left, err := os.ReadDir(t.dir)
	must(err)
	if len(left) > 0 {
		fatalf("a file of another name was made: %q", left[0].Name())
	}
}
