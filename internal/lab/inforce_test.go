package lab_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sqlite3perf/sqlite3perf/internal/lab"
	"github.com/sqlite3perf/sqlite3perf/internal/lab/build"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/workload"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
)

// realWorkers returns the paths of two workers that use a real SQLite. One uses the Go engine (package worker).
// The other is written in Python, and shares no code with the engine.
func realWorkers(t *testing.T) map[string]string {
	t.Helper()
	return map[string]string{"engine": faulty(t, "server-none"), "python": pythonWorker(t)}
}

func trialOf(t *testing.T, c *lab.Case) *result.Trial {
	t.Helper()
	got, err := (&lab.Processes{Dir: t.TempDir(), Limit: time.Minute}).Trial(t.Context(), c, 7)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// TestSettingsInForce runs workloads whose schema or phases have a PRAGMA that changes settings
// during the measurement. A trial must be refused unless the workload declares exactly the changes
// that happen on all connections.
func TestSettingsInForce(t *testing.T) {
	t.Parallel()
	const head = `
name: changing
settings: {journal_mode: delete, synchronous: full, pool_size: 4}
rows: {t: {count: 5, columns: {id: serial}}}
`
	const table, insert = "CREATE TABLE t(id INTEGER PRIMARY KEY)", "{name: insert, insert: t}"
	for _, test := range []struct{ name, yaml, phase, want string }{
		{"one connection in the schema",
			head + "schema: PRAGMA synchronous=OFF; " + table + "\nphases: [" + insert + "]", "",
			"synchronous: wanted full, got off, on connection "},
		{"the file in the schema",
			head + "schema: PRAGMA journal_mode=WAL; " + table + "\nphases: [" + insert + "]", "",
			"journal_mode: wanted delete, got wal, on all 4 connections, after the schema of changing: "},
		{"what is wanted",
			head + "schema: PRAGMA journal_mode=DELETE; PRAGMA synchronous=2; " + table + "\nphases: [" + insert + "]", "", ""},
		{"an untimed phase",
			head + "schema: " + table + "\nphases: [{name: load, untimed: true, script: PRAGMA synchronous=0}, " + insert + "]", "load",
			"of 4 alone, after phase load of changing: "},
		{"the last phase",
			head + "schema: " + table + "\nphases: [" + insert + ", {name: odd, query: PRAGMA journal_mode=WAL, columns: text}]", "odd",
			"journal_mode: wanted delete, got wal, on all 4 connections, after phase odd of changing: "},
		{"a mix",
			head + "schema: " + table + "\nphases: [{name: odd, count: 10, mix: [{name: a, sql: PRAGMA foreign_keys=ON}]}]", "odd",
			"foreign_keys: off when it was opened, now on, on "},
		{"a setting that was not asked for",
			head + "schema: PRAGMA cache_size=77; " + table + "\nphases: [" + insert + "]", "",
			"now 77, on connection "},
		{"declared for the file",
			head + "schema: PRAGMA journal_mode=WAL; " + table + "\nchanges settings: {journal_mode: wal}\nphases: [" + insert + "]", "", ""},
		{"declared and not done",
			head + "schema: " + table + "\nchanges settings: {journal_mode: wal}\nphases: [" + insert + "]", "",
			"journal_mode: wanted wal, as the workload declares, got delete, on all 4 connections, after the schema of changing: no PRAGMA journal_mode there changes it: leave it out"},
		{"declared otherwise",
			strings.Replace(head, "pool_size: 4", "pool_size: 1", 1) + "schema: PRAGMA synchronous=OFF; " + table + "\nchanges settings: {synchronous: normal}\nphases: [" + insert + "]", "",
			"synchronous: wanted normal, as the workload declares, got off, on the connection, after the schema of changing: correct PRAGMA synchronous there, or declare the new value: changes settings: {synchronous: off}"},
		{"declared for one connection of four",
			head + "schema: " + table + "\nphases: [{name: fast, script: PRAGMA synchronous=0, changes settings: {synchronous: off}}]", "fast",
			"synchronous: wanted off, as the workload declares, got full, on 3 connections of 4"},
		{"declared for one connection of one",
			strings.Replace(head, "pool_size: 4", "pool_size: 1", 1) + "schema: " + table + "\nphases: [{name: fast, script: PRAGMA synchronous=0, changes settings: {synchronous: off}}, " + insert + "]", "", ""},
	} {
		for name, executable := range realWorkers(t) {
			t.Run(test.name+"/"+name, func(t *testing.T) {
				t.Parallel()
				got := trialOf(t, casesOf(t, executable, 7, nil, nil, parse(t, test.yaml))[0])
				if test.want == "" {
					if got.Status != result.OK || got.ReadBack != nil {
						t.Errorf("%s: %+v, %+v", got.Status, got.Reason, got.ReadBack)
					}
					return
				}
				if !deviates(got.ReadBack, test.phase, got.Reason.Message) {
					t.Errorf("%+v does not show %q", got.ReadBack, got.Reason.Message)
				}
				if got.Status != result.Refused || got.Reason.Code != "setting" || got.Reason.Phase != test.phase || !strings.Contains(got.Reason.Message, test.want) {
					t.Errorf("%s: %+v, want %q", got.Status, got.Reason, test.want)
				}
			})
		}
	}
}

// deviates reports whether r has settings that were read back after the given schema or phase, and whether
// some connection had a wrong value. It checks only the setting whose name is the beginning of the parameter
// "reason".
func deviates(r *result.ReadBack, after, reason string) bool {
	if r == nil || r.After != after {
		return false
	}
	name, _, _ := strings.Cut(reason, ":")
	want, ok := r.Wanted[name]
	return ok && slices.ContainsFunc(r.Connections, func(got driver.Settings) bool { return got[name] != want })
}

// TestSchemaIsReadBeforeTheClock checks that each connection reads the schema again before the clock
// starts. All connections are opened before the table "later" exists. In the mix, a connection may use this
// table for the first time while another connection writes. At that moment it could not read the schema,
// because the writer locks out readers if there is a rollback journal, and the connection does not wait if
// there is no busy timeout.
func TestSchemaIsReadBeforeTheClock(t *testing.T) {
	t.Parallel()
	const yaml = `
name: impatient
settings: {journal_mode: delete, synchronous: "off", busy_timeout: 0, txlock: exclusive, pool_size: 8}
schema: CREATE TABLE events(id INTEGER PRIMARY KEY, at INTEGER)
rows: {events: {count: 50, columns: {id: serial, at: 1}}}
phases:
  - {name: load, untimed: true, insert: events}
  - {name: index, script: "CREATE TABLE later(id INTEGER PRIMARY KEY, at INTEGER)"}
  - name: mix
    clients: 8
    count: 400
    mix:
      - name: write
        weight: 4
        transaction: true
        statements: ["INSERT INTO later(at) WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i+1 FROM n WHERE i < 1000) SELECT i FROM n"]
      - {name: read, sql: SELECT min(id) FROM events, columns: int or null}
      - {name: late, sql: SELECT min(id) FROM later, columns: int or null}
`
	for name, executable := range realWorkers(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			// With the race detector, this takes longer than other trials.
			p := &lab.Processes{Dir: t.TempDir(), Limit: 5 * time.Minute}
			got, err := p.Trial(t.Context(), casesOf(t, executable, 7, nil, nil, parse(t, yaml))[0], 7)
			if err != nil || got.Status != result.OK {
				t.Errorf("%+v, %v", got, err)
			}
		})
	}
}

// TestInForce checks that the settings in force in a phase include the changes that the workload makes in
// that phase and in earlier phases.
func TestInForce(t *testing.T) {
	const yaml = `
name: changing
settings: {journal_mode: delete}
schema: PRAGMA journal_mode=WAL; CREATE TABLE t(id INTEGER PRIMARY KEY)
changes settings: {journal_mode: wal}
rows: {t: {count: 5, columns: {id: serial}}}
phases:
  - {name: before, query: SELECT id FROM t, columns: int}
  - {name: change, script: PRAGMA synchronous=OFF, untimed: true, changes settings: {synchronous: 0}}
  - {name: after, query: SELECT id FROM t, columns: int}
`
	cases := func(settings map[string][]string) ([]*lab.Case, error) {
		m := lab.Matrix{Drivers: []build.Ref{{Name: "x", Path: "x"}}, Workloads: []*workload.Workload{parse(t, yaml)}, Scale: "full", Settings: settings}
		return m.Cases()
	}
	list, err := cases(map[string][]string{"synchronous": {"full"}})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]driver.Settings{
		"before": {"journal_mode": "wal", "synchronous": "full", "pool_size": "1"},
		"after":  {"journal_mode": "wal", "synchronous": "off", "pool_size": "1"},
	}
	if diff := cmp.Diff(want, list[0].InForce); diff != "" || list[0].Settings["journal_mode"] != "delete" {
		t.Error(diff, list[0].Settings)
	}
	if _, err := cases(map[string][]string{"journal_mode": {"wal", "delete"}}); err == nil ||
		err.Error() != "workload changing: setting journal_mode=delete: it would never be timed, since the workload changes it to wal: leave it out" {
		t.Errorf("a setting that is never in force: %v", err)
	}
}

// TestIdle checks that there is a warning if the user gives txlock, but no timed phase
// begins a transaction.
func TestIdle(t *testing.T) {
	const yaml = `
name: idle
schema: CREATE TABLE t(id INTEGER PRIMARY KEY)
rows: {t: {count: 5, columns: {id: serial}}}
phases:
  - {name: load, insert: t, untimed: true}
  - {name: warm, untimed: true, count: 1, mix: [{name: read, transaction: true, statements: [{sql: SELECT id FROM t, columns: [int]}]}]}
  - {name: insert, insert: t, transaction: %s}
  - {name: read, query: SELECT id FROM t, columns: int}
`
	for transaction, idle := range map[string]bool{"per statement": true, "one": false} {
		m := lab.Matrix{Drivers: []build.Ref{{Name: "x", Path: "x"}}, Workloads: []*workload.Workload{parse(t, fmt.Sprintf(yaml, transaction))}, Scale: "full",
			Settings: map[string][]string{"txlock": {"immediate"}}}
		list, err := m.Cases()
		if err != nil {
			t.Fatal(err)
		}
		got := slices.ContainsFunc(list[0].Beforehand, func(w result.Warning) bool {
			return w.Code == result.WarningIdle && w.Message == "txlock=immediate changes nothing here: no timed phase begins a transaction"
		})
		if got != idle {
			t.Errorf("transaction: %s: %+v", transaction, list[0].Beforehand)
		}
	}
}
