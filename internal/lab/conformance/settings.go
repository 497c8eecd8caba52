package conformance

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/sqlite3perf/sqlite3perf/internal/lab/process"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/pagecache"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// settingChecks returns the checks of settings. They check several values of each setting that a
// PRAGMA reports, and the settings that take effect when a database is opened.
func settingChecks() []Check {
	var list []Check
	add := func(settings driver.Settings, name, key string) {
		list = append(list, Check{Name: "settings/" + name, Key: key, test: func(ctx context.Context, s *Subject) error {
			_, _, err := s.trial(ctx, simplest, settings)
			return err
		}})
	}
	for _, def := range driver.Vocabulary {
		switch def.Name {
		case "mode", "cache", "pool_size", "pool_idle", "pool_readers", "write_mutex", "processes", "count_syncs", "cold_caches":
			continue
		}
		if def.Cluster {
			continue // sqlite3perf requests this setting only from clusters
		}
		for _, value := range def.Examples() {
			key := def.Name + "=" + value
			add(driver.Settings{def.Name: value}, key, key)
		}
	}
	add(driver.Settings{"cache": "private"}, "cache=private", "cache=private")
	add(driver.Settings{"cache": "shared"}, "cache=shared", "cache=shared")
	add(driver.Settings{"mode": "rwc"}, "mode=rwc", "mode=rwc")
	add(driver.Settings{"pool_size": "4", "journal_mode": "wal"}, "pool_size=4", "")
	add(driver.Settings{"pool_size": "3", "pool_idle": "1"}, "pool_idle=1", "pool_idle=1")
	add(driver.Settings{"pool_size": "2", "pool_readers": "3", "journal_mode": "wal"}, "pool_readers=3", "pool_readers=3")
	add(driver.Settings{"write_mutex": "on"}, "write_mutex=on", "write_mutex=on")
	list = append(list, Check{Name: "settings/count_syncs=on", Key: "count_syncs=on", test: countsSyncs})
	list = append(list, Check{Name: "settings/cold_caches=on", Key: "cold_caches=on", test: dropsCaches})
	list = append(list, Check{Name: "settings/processes=2", Key: "processes=2", Needs: "transactions=reads", test: verified(yaml("shared"))})
	add(driver.Settings{
		"page_size": "16384", "auto_vacuum": "incremental", "journal_mode": "wal", "synchronous": "full", "pool_size": "2",
	}, "page_size and auto_vacuum of a WAL database", "")
	list[len(list)-1].Needs = "page_size"
	return append(list,
		Check{Name: "settings/changed as declared", Needs: "journal_mode", test: verified(changing)},
		Check{Name: "settings/changed by the schema", Needs: "journal_mode", test: tellsChange("", strings.Replace(changing, "changes settings: {journal_mode: wal}\n", "", 1))},
		Check{Name: "settings/changed by a phase", Needs: "journal_mode", test: tellsChange("relax", strings.Replace(changing, ", changes settings: {synchronous: off}", "", 1))},
	)
}

// countsSyncs checks the worker's count of syncs, which are waits for the disk. Inserting rows must cause
// syncs with synchronous=full, and none with synchronous=off. If the worker says that it cannot count syncs
// here, nothing is checked.
func countsSyncs(ctx context.Context, s *Subject) error {
	for _, synchronous := range []string{"full", "off"} {
		_, t, err := s.trial(ctx, simplest, driver.Settings{"count_syncs": "on", "synchronous": synchronous})
		if failed, ok := errors.AsType[*trialError](err); ok && failed.trial.Reason.Code == protocol.CodeUnsupported {
			return nil
		} else if err != nil {
			return err
		}
		if x := t.Samples[0]; x.Writes == 0 || (x.Syncs > 0) != (synchronous == "full") {
			return fmt.Errorf("phase %s with synchronous=%s: %d syncs and %d writes were counted", x.Phase, synchronous, x.Syncs, x.Writes)
		}
	}
	return nil
}

// dropsCaches checks that with cold_caches=on, a query reads its table from the disk. Without this setting, the
// query would read nothing from the disk, because SQLite's page cache and the system's page cache each have
// room for the whole table.
func dropsCaches(ctx context.Context, s *Subject) error {
	cold := driver.Settings{"cold_caches": "on"}
	_, t, err := s.trial(ctx, yaml("cold"), cold)
	if failed, ok := errors.AsType[*trialError](err); ok && failed.trial.Reason.Code == protocol.CodeUnsupported {
		return nil
	} else if err != nil {
		return err
	}
	if counted, err := readsCount(s.Dir); err != nil || !counted {
		return err
	}
	h, err := s.askTrial(ctx, yaml("cold"), nil, func(r *protocol.Request) { r.Settings = r.Settings.With(cold) })
	if err != nil {
		return err
	}
	if size := t.Samples[0].Caches.FileBytes; h.read < size*3/4 {
		return fmt.Errorf("phase query: the worker read %d bytes from the disk in all, and the database has %d: before the clock starts, "+
			"drop its files from the page cache, and empty SQLite's caches with PRAGMA shrink_memory", h.read, size)
	}
	return nil
}

// readsCount reports whether dropsCaches can check reads in this directory. This is possible only if the
// system drops files from its page cache on request, and counts the bytes that a process then reads from
// the disk.
func readsCount(dir string) (bool, error) {
	data := make([]byte, 1<<20)
	f, err := os.Create(filepath.Join(dir, "dropped"))
	if err != nil {
		return false, err
	}
	defer f.Close()
	if _, err := f.Write(data); err != nil {
		return false, err
	}
	if _, _, err := pagecache.Drop(f); err != nil {
		return false, err
	}
	before := process.OwnBytesRead()
	_, err = f.ReadAt(data, 0)
	return process.OwnBytesRead()-before >= int64(len(data)), err
}

// tellsChange returns a check that runs a workload whose SQL changes a setting, although the workload
// declares no change. The worker must report the changed value, so that package lab refuses the trial. The
// SQL is in the phase that the parameter "phase" names, or in the schema if "phase" is "".
func tellsChange(phase, text string) func(context.Context, *Subject) error {
	after := "the schema"
	if phase != "" {
		after = "phase " + phase
	}
	return func(ctx context.Context, s *Subject) error {
		_, _, err := s.trial(ctx, text, nil)
		bad, ok := errors.AsType[*trialError](err)
		switch {
		case err == nil:
			return fmt.Errorf("a PRAGMA in %s changed a setting, and the answers settings do not show it: read each connection back after %s", after, after)
		case ok && bad.trial.Reason.Code == protocol.CodeSetting && bad.trial.Reason.Phase == phase &&
			bad.trial.Proof != nil && bad.trial.Proof.Connections[0]["journal_mode"] == "delete": // the settings were right when the worker proved them; only the later reading showed the change
			return nil
		}
		return err
	}
}
