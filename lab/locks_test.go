package lab_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sqlite3perf/sqlite3perf/lab"
	"github.com/sqlite3perf/sqlite3perf/workload"
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

// lockCases returns the cases of a text, each as a line of its settings.
func lockCases(t *testing.T, text string, ways lab.LockWays, given map[string][]string) []string {
	t.Helper()
	m := lab.Matrix{Drivers: []lab.Ref{{Name: "a"}}, Workloads: []*workload.Workload{parse(t, text)}, Scale: "quick", Settings: given}
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

// Each case is patient for as long as its busy timeout and some more.
func TestLockPatience(t *testing.T) {
	m := lab.Matrix{Drivers: []lab.Ref{{Name: "a"}}, Workloads: []*workload.Workload{parse(t, contendedWith("txlock: deferred", "pool"))}, Scale: "quick", Settings: map[string][]string{"busy_timeout": {"0", "700"}}}
	cases, err := m.LockCases(lab.LockWays{Patience: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	var got []int64
	for _, c := range cases[:2] {
		got = append(got, c.Plan.Phases[0].Mix.PatienceMS)
	}
	if !slices.Equal(got, []int64{1000, 1700}) {
		t.Errorf("patience %v ms", got)
	}
}

func TestLockCasesWithoutMix(t *testing.T) {
	m := lab.Matrix{Drivers: []lab.Ref{{Name: "a"}}, Workloads: []*workload.Workload{parse(t, "name: none\nphases: [{name: s, script: SELECT 1}]")}, Scale: "quick"}
	_, err := m.LockCases(lab.LockWays{})
	if none, ok := errors.AsType[*lab.NoMixError](err); !ok || none.Workload != "none" {
		t.Errorf("error %v", err)
	}
}

// TestSharedConnectionsRefused expects combinations that cannot work to be named.
func TestSharedConnectionsRefused(t *testing.T) {
	own := strings.Replace(contendedWith("busy_timeout: 0", "pool"), "clients: 3", "clients: 3\n    mutex: false", 1)
	for want, c := range map[string]struct {
		text string
		over map[string][]string
	}{
		"pool_readers=2: each pool would have its own database in memory":   {own, map[string][]string{"pool_readers": {"2"}, "mode": {"memory"}}},
		"pool_readers=2: with locking_mode=exclusive one pool locks out":    {own, map[string][]string{"pool_readers": {"2"}, "locking_mode": {"exclusive"}}},
		"pool_readers=2: 3 clients of a mix keep a connection of each pool": {contendedWith("pool_size: 3", "own"), map[string][]string{"pool_readers": {"2"}}},
		"write_mutex=on: phase mix already has a mutex of its own, which would": {strings.Replace(own, "{name: write, sql: UPDATE t SET v = 2 WHERE id = 1}",
			"{name: write, statements: [{sql: UPDATE t SET v = 2 WHERE id = 1, mutex: true}]}", 1), map[string][]string{"write_mutex": {"on"}}},
	} {
		m := lab.Matrix{Drivers: []lab.Ref{{Name: "a"}}, Workloads: []*workload.Workload{parse(t, c.text)}, Scale: "quick", Settings: c.over}
		if _, err := m.Cases(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

// Settings of mixes change nothing where there is none.
func TestSharedConnectionsIdle(t *testing.T) {
	m := lab.Matrix{Drivers: []lab.Ref{{Name: "a"}}, Workloads: []*workload.Workload{parse(t, "name: none\nphases: [{name: s, script: SELECT 1}]")}, Scale: "quick",
		Settings: map[string][]string{"pool_readers": {"2"}, "write_mutex": {"on"}}}
	cases, err := m.Cases()
	if err != nil {
		t.Fatal(err)
	}
	if got := cases[0].Beforehand; len(got) != 2 || !strings.Contains(got[0].Message, "pool_readers=2 changes nothing here: no phase is a mix") {
		t.Errorf("%+v", got)
	}
}
