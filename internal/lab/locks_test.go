package lab_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sqlite3perf/sqlite3perf/internal/lab"
	"github.com/sqlite3perf/sqlite3perf/internal/lab/build"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/workload"
)

const contended = `
name: contended
settings: {journal_mode: wal, SETTINGS}
schema: CREATE TABLE t(id INTEGER PRIMARY KEY, v INTEGER)
phases:
  - name: mix
    mix:
      - {name: read, sql: SELECT v FROM t WHERE id = 1, columns: [int]}
      - {name: write, sql: UPDATE t SET v = 2 WHERE id = 1}
    clients: 3
    connection: CONNECTION
    duration: 1s
`

// lockCases returns the settings of each case of the workload in the parameter "text", one line for each
// case.
func lockCases(t *testing.T, text string, ways lab.LockWays, given map[string][]string) []string {
	t.Helper()
	m := lab.Matrix{Drivers: []build.Ref{{Name: "a"}}, Workloads: []*workload.Workload{parse(t, text)}, Scale: "quick", Settings: given}
	cases, err := m.LockCases(ways)
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, line := range names(cases) {
		_, line, _ = strings.Cut(line, "contended ")
		list = append(list, strings.TrimSuffix(line, " map[]"))
	}
	return list
}

func contendedWith(settings, connection string) string {
	return strings.NewReplacer("SETTINGS", settings, "CONNECTION", connection).Replace(contended)
}

var varyLock = lab.LockWays{Vary: []lab.Varied{{Name: "txlock", Values: []string{"deferred", "immediate"}}}, Patience: time.Second}

func TestLockCases(t *testing.T) {
	for name, c := range map[string]struct {
		text  string
		ways  lab.LockWays
		given map[string][]string
		want  []string
	}{
		"every way": {contendedWith("busy_timeout: 0", "pool"), varyLock, nil, []string{
			"busy_timeout=0 journal_mode=wal pool_size=3 txlock=deferred",
			"busy_timeout=0 journal_mode=wal pool_size=3 txlock=immediate",
			"busy_timeout=0 journal_mode=wal pool_readers=3 pool_size=1 txlock=deferred",
			"busy_timeout=0 journal_mode=wal pool_readers=3 pool_size=1 txlock=immediate",
			"busy_timeout=0 journal_mode=wal pool_size=3 txlock=deferred write_mutex=on",
			"busy_timeout=0 journal_mode=wal pool_size=3 txlock=immediate write_mutex=on",
			"busy_timeout=0 journal_mode=wal pool_size=1 txlock=immediate",
		}},
		"clients that keep their connections": {contendedWith("pool_size: 3", "own"), varyLock, map[string][]string{"busy_timeout": {"7"}}, []string{
			"busy_timeout=7 journal_mode=wal pool_size=3 txlock=deferred",
			"busy_timeout=7 journal_mode=wal pool_size=3 txlock=immediate",
			"busy_timeout=7 journal_mode=wal pool_readers=3 pool_size=3 txlock=deferred",
			"busy_timeout=7 journal_mode=wal pool_readers=3 pool_size=3 txlock=immediate",
			"busy_timeout=7 journal_mode=wal pool_size=3 txlock=deferred write_mutex=on",
			"busy_timeout=7 journal_mode=wal pool_size=3 txlock=immediate write_mutex=on",
		}},
		"as the user shares them": {contendedWith("busy_timeout: 0", "pool"), lab.LockWays{Vary: varyLock.Vary, Shared: true, Patience: time.Second},
			map[string][]string{"pool_size": {"2"}}, []string{
				"busy_timeout=0 journal_mode=wal pool_size=2 txlock=deferred",
				"busy_timeout=0 journal_mode=wal pool_size=2 txlock=immediate",
			}},
		"only reads, with a second connection": {strings.Replace(contendedWith("busy_timeout: 0", "pool"),
			"{name: write, sql: UPDATE t SET v = 2 WHERE id = 1}",
			"{name: nested, transaction: true, statements: [{sql: SELECT 1, columns: [int], connection: another}]}", 1), varyLock, nil, []string{
			"busy_timeout=0 journal_mode=wal pool_size=3",
			"busy_timeout=0 journal_mode=wal pool_size=1",
			"busy_timeout=0 journal_mode=wal pool_size=6",
		}},
		"a file with two pools and a mutex": {contendedWith("pool_readers: 9, pool_size: 1, write_mutex: on", "pool"), varyLock, nil, []string{
			"journal_mode=wal pool_readers=9 pool_size=1 write_mutex=on",
			"journal_mode=wal pool_readers=0 pool_size=3 txlock=deferred write_mutex=off",
			"journal_mode=wal pool_readers=0 pool_size=3 txlock=immediate write_mutex=off",
			"journal_mode=wal pool_readers=3 pool_size=1 txlock=deferred write_mutex=off",
			"journal_mode=wal pool_readers=3 pool_size=1 txlock=immediate write_mutex=off",
			"journal_mode=wal pool_readers=0 pool_size=3 txlock=deferred write_mutex=on",
			"journal_mode=wal pool_readers=0 pool_size=3 txlock=immediate write_mutex=on",
			"journal_mode=wal pool_readers=0 pool_size=1 txlock=immediate write_mutex=off",
		}},
	} {
		if diff := cmp.Diff(c.want, lockCases(t, c.text, c.ways, c.given)); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
}

const contendedRecording = `{"format":"sqlite3perf-recording","version":1,"began":"2026-11-23T01:24:04Z","args":"values"}
{"sql":1,"text":"INSERT INTO t (v) VALUES (1)"}
{"sql":2,"text":"SELECT v FROM t"}
{"at":0,"took":9,"conn":1,"tx":1,BEGIN}
{"at":10,"took":9,"conn":1,"tx":1,"sql":1,"affected":1}
{"at":20,"took":9,"conn":2,"sql":2,"rows":0}
{"at":30,"took":9,"conn":1,"tx":1,"do":"commit"}
`

// replayed returns a workload that replays a recording of two connections. The parameter "more" is added to
// the replay's YAML.
func replayed(t *testing.T, begin, more string) *workload.Workload {
	t.Helper()
	text := "name: contended\nsettings: {journal_mode: wal}\nschema: CREATE TABLE t (v)\nphases:\n  - {name: replay, replay: app.jsonl" + more + "}\n"
	fsys := fstest.MapFS{"app.jsonl": {Data: []byte(strings.Replace(contendedRecording, "BEGIN", begin, 1))}}
	w, err := workload.Parse("replay.yaml", []byte(text), fsys)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// TestLockCasesOfReplay checks that a replay is tried in two ways: with its own clients, and with one client
// on one connection. A warning must list the ways that are not tried.
func TestLockCasesOfReplay(t *testing.T) {
	vary := lab.LockWays{Vary: append([]lab.Varied{{Name: "busy_timeout", Values: []string{"0", "5s"}}}, varyLock.Vary...)}
	bySQL := `"sql":1`
	for name, c := range map[string]struct {
		begin, more string
		want        []string
		says        string
	}{
		"begun by the library": {`"do":"begin"`, "", []string{
			"2 clients: foreign_keys=off journal_mode=wal pool_size=2",
			"2 clients: busy_timeout=0 foreign_keys=off journal_mode=wal pool_size=2 txlock=deferred",
			"2 clients: busy_timeout=0 foreign_keys=off journal_mode=wal pool_size=2 txlock=immediate",
			"2 clients: busy_timeout=5000 foreign_keys=off journal_mode=wal pool_size=2 txlock=deferred",
			"2 clients: busy_timeout=5000 foreign_keys=off journal_mode=wal pool_size=2 txlock=immediate",
			"1 clients: busy_timeout=5000 foreign_keys=off journal_mode=wal pool_size=1 txlock=immediate",
		}, "to try them, describe the work as a mix"},
		"dealt to three": {`"do":"begin"`, ", clients: 3", []string{
			"3 clients: foreign_keys=off journal_mode=wal pool_size=3",
			"3 clients: busy_timeout=0 foreign_keys=off journal_mode=wal pool_size=3 txlock=deferred",
			"3 clients: busy_timeout=0 foreign_keys=off journal_mode=wal pool_size=3 txlock=immediate",
			"3 clients: busy_timeout=5000 foreign_keys=off journal_mode=wal pool_size=3 txlock=deferred",
			"3 clients: busy_timeout=5000 foreign_keys=off journal_mode=wal pool_size=3 txlock=immediate",
			"1 clients: busy_timeout=5000 foreign_keys=off journal_mode=wal pool_size=1 txlock=immediate",
		}, "to try them, describe the work as a mix"},
		"begun in SQL": {bySQL, "", []string{
			"2 clients: foreign_keys=off journal_mode=wal pool_size=2",
			"2 clients: busy_timeout=0 foreign_keys=off journal_mode=wal pool_size=2",
			"2 clients: busy_timeout=5000 foreign_keys=off journal_mode=wal pool_size=2",
			"1 clients: busy_timeout=5000 foreign_keys=off journal_mode=wal pool_size=1",
		}, "replace BEGIN in the recording by BEGIN IMMEDIATE"},
	} {
		m := lab.Matrix{Drivers: []build.Ref{{Name: "a"}}, Workloads: []*workload.Workload{replayed(t, c.begin, c.more)}, Scale: "quick"}
		cases, err := m.LockCases(vary)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for i, line := range names(cases) {
			_, line, _ = strings.Cut(line, "contended ")
			got = append(got, fmt.Sprintf("%d clients: %s", cases[i].Plan.Phases[0].Replay.AtOnce(), strings.TrimSuffix(line, " map[]")))
			if n := len(cases[i].Beforehand); n != 1 || !strings.Contains(cases[i].Beforehand[n-1].Message, c.says) {
				t.Errorf("%s: %+v", name, cases[i].Beforehand)
			}
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
}

// TestLockCasesOfOneClient checks that a replay with one client is refused, because nothing
// in it waits for locks.
func TestLockCasesOfOneClient(t *testing.T) {
	m := lab.Matrix{Drivers: []build.Ref{{Name: "a"}}, Workloads: []*workload.Workload{replayed(t, `"do":"begin"`, ", clients: 1")}, Scale: "quick"}
	_, err := m.LockCases(lab.LockWays{})
	if one, ok := errors.AsType[*lab.OneClientError](err); !ok || one.Phase != "replay" {
		t.Errorf("error %v", err)
	}
}

// TestLockCasesProcesses checks the cases with several processes. A mutex must not be tried, because it works
// only within one process. A pool of one connection must be tried with all values of txlock and busy_timeout,
// because processes wait for each other's locks.
func TestLockCasesProcesses(t *testing.T) {
	const two = "busy_timeout=0 journal_mode=wal "
	want := []string{
		two + "pool_size=3 processes=1 txlock=deferred",
		two + "pool_size=3 processes=1 txlock=immediate",
		two + "pool_readers=3 pool_size=1 processes=1 txlock=deferred",
		two + "pool_readers=3 pool_size=1 processes=1 txlock=immediate",
		two + "pool_size=3 processes=1 txlock=deferred write_mutex=on",
		two + "pool_size=3 processes=1 txlock=immediate write_mutex=on",
		two + "pool_size=1 processes=1 txlock=immediate",
		two + "pool_size=2 processes=2 txlock=deferred",
		two + "pool_size=2 processes=2 txlock=immediate",
		two + "pool_readers=2 pool_size=1 processes=2 txlock=deferred",
		two + "pool_readers=2 pool_size=1 processes=2 txlock=immediate",
		two + "pool_size=1 processes=2 txlock=deferred",
		two + "pool_size=1 processes=2 txlock=immediate",
		two + "pool_size=1 processes=3 txlock=deferred",
		two + "pool_size=1 processes=3 txlock=immediate",
	}
	got := lockCases(t, contendedWith("busy_timeout: 0", "pool"), varyLock, map[string][]string{"processes": {"1", "2", "3"}})
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	inFile := lockCases(t, contendedWith("busy_timeout: 0, processes: 2", "pool"), varyLock, nil)
	if diff := cmp.Diff(want[7:13], inFile); diff != "" {
		t.Errorf("as the file says:\n%s", diff)
	}
}

// TestLockCasesProcessesVary checks a workload in which a parameter determines the number of
// processes.
func TestLockCasesProcessesVary(t *testing.T) {
	text := strings.Replace(contendedWith("processes: $n", "pool"), "schema:", "scales: {quick: {n: [1, 2]}, full: {n: 1}}\nschema:", 1)
	m := lab.Matrix{Drivers: []build.Ref{{Name: "a"}}, Workloads: []*workload.Workload{parse(t, text)}, Scale: "quick"}
	cases, err := m.LockCases(varyLock)
	if err != nil {
		t.Fatal(err)
	}
	byProcesses := map[string]int{}
	for _, c := range cases {
		byProcesses[c.Settings["processes"]]++
		if c.Settings["processes"] == "2" && (c.Settings["write_mutex"] != "" || c.Settings.PoolSize() > 2) {
			t.Errorf("in two processes %v", c.Settings)
		}
	}
	if len(cases) != 13 || byProcesses["1"] != 7 || byProcesses["2"] != 6 {
		t.Errorf("%d cases, by processes %v", len(cases), byProcesses)
	}
}

// TestLockCasesCache checks that a private cache is tried in addition to a shared cache. It must not be tried
// if the user sets the cache, or if the database is in memory, where each connection would then get its own
// database.
func TestLockCasesCache(t *testing.T) {
	reads := strings.Replace(contendedWith("SETTINGS", "pool"), "      - {name: write, sql: UPDATE t SET v = 2 WHERE id = 1}\n", "", 1)
	for _, c := range []struct {
		settings string
		given    map[string][]string
		want     string
	}{
		{"cache: shared", nil, "private shared"},
		{"cache: private", nil, "private"},
		{"busy_timeout: 0", nil, ""},
		{"cache: shared", map[string][]string{"cache": {"shared"}}, "shared"},
		{"cache: shared, mode: memory, journal_mode: memory", nil, "shared"},
	} {
		text := strings.Replace(reads, "journal_mode: wal, SETTINGS", c.settings, 1)
		m := lab.Matrix{Drivers: []build.Ref{{Name: "a"}}, Workloads: []*workload.Workload{parse(t, text)}, Scale: "quick", Settings: c.given}
		cases, err := m.LockCases(varyLock)
		if err != nil {
			t.Fatal(err)
		}
		caches := map[string]bool{}
		for _, c := range cases {
			caches[c.Settings["cache"]] = true
		}
		if got := strings.Join(slices.Sorted(maps.Keys(caches)), " "); got != c.want {
			t.Errorf("%s: measured with %q, want %q", c.settings, got, c.want)
		}
	}
}

// TestLockCasesOfToday checks that one case of each driver is marked as the workload's own. If a tried case
// has the workload's own settings, that case is marked. Otherwise a case with these settings is added before
// all others.
func TestLockCasesOfToday(t *testing.T) {
	for own, want := range map[string]string{
		"busy_timeout: 0":                                "1: busy_timeout=0 journal_mode=wal pool_size=3 txlock=deferred",
		"busy_timeout: 0, txlock: immediate":             "2: busy_timeout=0 journal_mode=wal pool_size=3 txlock=immediate",
		"busy_timeout: 10s, txlock: immediate":           "2: busy_timeout=10000 journal_mode=wal pool_size=3 txlock=immediate",
		"busy_timeout: 0, cache_size: -64000":            "1: busy_timeout=0 cache_size=-2000 journal_mode=wal pool_size=3 txlock=deferred",
		"busy_timeout: 0, pool_size: 1, pool_readers: 2": "1: busy_timeout=0 journal_mode=wal pool_readers=2 pool_size=1",
		"busy_timeout: 0, synchronous: \"normal\"":       "1: busy_timeout=0 journal_mode=wal pool_size=3 synchronous=normal txlock=deferred",
	} {
		given := map[string][]string{}
		if strings.Contains(own, "cache_size") {
			given["cache_size"] = []string{"-2000"}
		}
		m := lab.Matrix{Drivers: []build.Ref{{Name: "a"}, {Name: "b"}}, Workloads: []*workload.Workload{parse(t, contendedWith(own, "pool"))}, Scale: "quick", Settings: given}
		cases, err := m.LockCases(varyLock)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for i, line := range names(cases) {
			if cases[i].ID != i+1 {
				t.Errorf("%s: case %d has the number %d", own, i+1, cases[i].ID)
			}
			if cases[i].Today {
				_, line, _ = strings.Cut(line, "contended ")
				got = append(got, fmt.Sprintf("%d: %s", (i+2)/2, strings.TrimSuffix(line, " map[]")))
			}
		}
		if !slices.Equal(got, []string{want, want}) {
			t.Errorf("%s:\n%q\nwant %q for each driver", own, got, want)
		}
	}
}

// TestLockPatience checks that each case's patience is its busy timeout plus the given
// patience.
func TestLockPatience(t *testing.T) {
	m := lab.Matrix{Drivers: []build.Ref{{Name: "a"}}, Workloads: []*workload.Workload{parse(t, contendedWith("txlock: deferred", "pool"))}, Scale: "quick", Settings: map[string][]string{"busy_timeout": {"0", "700"}}}
	cases, err := m.LockCases(lab.LockWays{Patience: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	var got []int64
	for _, c := range cases[1:3] { // the first case has the workload's own settings
		got = append(got, c.Plan.Phases[0].Mix.PatienceMS)
	}
	m.Workloads = []*workload.Workload{replayed(t, `"do":"begin"`, "")}
	if cases, err = m.LockCases(lab.LockWays{Patience: time.Second}); err != nil {
		t.Fatal(err)
	}
	for _, c := range cases[1:3] {
		got = append(got, c.Plan.Phases[0].Replay.PatienceMS)
	}
	if !slices.Equal(got, []int64{1000, 1700, 1000, 1700}) {
		t.Errorf("patience %v ms", got)
	}
}

func TestLockCasesWithoutMix(t *testing.T) {
	m := lab.Matrix{Drivers: []build.Ref{{Name: "a"}}, Workloads: []*workload.Workload{parse(t, "name: none\nphases: [{name: s, script: SELECT 1}]")}, Scale: "quick"}
	_, err := m.LockCases(lab.LockWays{})
	if none, ok := errors.AsType[*lab.NoMixError](err); !ok || none.Workload != "none" {
		t.Errorf("error %v", err)
	}
}

// TestSharedConnectionsRefused checks the errors for combinations of settings that cannot
// work.
func TestSharedConnectionsRefused(t *testing.T) {
	own := strings.Replace(contendedWith("busy_timeout: 0", "pool"), "clients: 3", "clients: 3\n    mutex: false", 1)
	for want, c := range map[string]struct {
		text string
		over map[string][]string
	}{
		"pool_readers=2: each pool would have its own database in memory":   {own, map[string][]string{"pool_readers": {"2"}, "mode": {"memory"}}},
		"pool_readers=2: with locking_mode=exclusive one pool locks out":    {own, map[string][]string{"pool_readers": {"2"}, "locking_mode": {"exclusive"}}},
		"pool_readers=2: 3 clients of a mix keep a connection of each pool": {contendedWith("pool_size: 3", "own"), map[string][]string{"pool_readers": {"2"}}},
		"write_mutex=on: phase mix already has its own mutex, so it would wait forever": {strings.Replace(own, "{name: write, sql: UPDATE t SET v = 2 WHERE id = 1}",
			"{name: write, statements: [{sql: UPDATE t SET v = 2 WHERE id = 1, mutex: true}]}", 1), map[string][]string{"write_mutex": {"on"}}},
	} {
		m := lab.Matrix{Drivers: []build.Ref{{Name: "a"}}, Workloads: []*workload.Workload{parse(t, c.text)}, Scale: "quick", Settings: c.over}
		if _, err := m.Cases(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

// TestSharedConnectionsIdle checks the warnings about settings of mixes if no phase is a
// mix.
func TestSharedConnectionsIdle(t *testing.T) {
	m := lab.Matrix{Drivers: []build.Ref{{Name: "a"}}, Workloads: []*workload.Workload{parse(t, "name: none\nphases: [{name: s, script: SELECT 1}]")}, Scale: "quick",
		Settings: map[string][]string{"pool_readers": {"2"}, "write_mutex": {"on"}}}
	cases, err := m.Cases()
	if err != nil {
		t.Fatal(err)
	}
	if got := cases[0].Beforehand; len(got) != 2 || !strings.Contains(got[0].Message, "pool_readers=2 changes nothing here: no phase is a mix") {
		t.Errorf("%+v", got)
	}
}

// TestBeginning checks the estimate of a trial's time from a trial with only the first
// events of its replay.
func TestBeginning(t *testing.T) {
	m := lab.Matrix{Drivers: []build.Ref{{Name: "a"}}, Workloads: []*workload.Workload{replayed(t, `"do":"begin"`, "")}, Scale: "quick"}
	cases, err := m.Cases()
	if err != nil {
		t.Fatal(err)
	}
	c := cases[0]
	cut, whole := c.Beginning(1) // keeps only the read, because clients take it before the transaction that writes
	if got := cut.Plan.Phases[0].Replay.Events.Len(); whole != 4 || got != 1 || cut.Expect["replay"].Operations != 1 || c.Expect["replay"].Operations != 4 {
		t.Errorf("%d of %d events, %+v of %+v", got, whole, cut.Expect, c.Expect)
	}
	trial := &result.Trial{Status: result.OK, TookNS: 5e9, Samples: []result.Sample{{Phase: "replay", WallNS: 2e9}}}
	if got := lab.TakesWhole(trial, cut, c); got != 11*time.Second {
		t.Errorf("TakesWhole returned %v, want 3s and four times 2s", got)
	}
	if trial.Status = result.Failed; lab.TakesWhole(trial, cut, c) != 0 {
		t.Error("TakesWhole must return 0 for a failed trial")
	}
	m.Workloads[0] = replayed(t, `"do":"begin"`, ", speed: 0.5x")
	if cases, err = m.Cases(); err != nil {
		t.Fatal(err)
	}
	if got := cases[0].Lasts(); got != 60*time.Nanosecond {
		t.Errorf("at half the speed, Lasts returns %v, want twice 30ns", got)
	}
}
