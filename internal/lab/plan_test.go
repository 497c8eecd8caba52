package lab_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sqlite3perf/sqlite3perf/internal/lab"
	"github.com/sqlite3perf/sqlite3perf/internal/lab/build"
	"github.com/sqlite3perf/sqlite3perf/internal/workload"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
)

const crowd = `
name: crowd
settings: {journal_mode: wal}
parameters: {clients: [2, 3], depth: 1}
scales: {full: {n: 10}, quick: {n: 3}}
schema: CREATE TABLE t(id INTEGER PRIMARY KEY, v INTEGER)
rows:
  t: {count: $n, columns: {id: serial, v: {int: [1, 9]}}}
phases:
  - {name: load, untimed: true, insert: t}
  - {name: all, query: SELECT id FROM t ORDER BY id, columns: [int], repeat: 5, expect: {rows: $n, returns: {t: [id]}}}
  - {name: each, query: SELECT v FROM t WHERE id = :id, parameters: {id: t.id}, for each: t, columns: [int], expect: {rows: 1}}
  - {name: open, query: SELECT v FROM t, columns: [int]}
  - name: mix
    mix: [{name: get, sql: SELECT v FROM t WHERE id = :id, parameters: {id: {pick: t.id}}, columns: [int]}]
    clients: $clients
    connection: CONNECTION
    count: 10
`

func crowdWith(t *testing.T, connection string) *workload.Workload {
	text := strings.Replace(crowd, "CONNECTION", connection, 1)
	if connection == "own" { // the workload language requires a pool_size for connection: own
		text = strings.Replace(text, "journal_mode: wal", "journal_mode: wal, pool_size: $clients", 1)
	}
	return parse(t, text)
}

// names returns a line for each case, with its ID, driver, workload, settings and parameters.
func names(cases []*lab.Case) []string {
	var list []string
	for _, c := range cases {
		var set []string
		for _, k := range slices.Sorted(maps.Keys(c.Settings)) {
			set = append(set, k+"="+c.Settings[k])
		}
		list = append(list, fmt.Sprintf("%d %s on %s %s %v", c.ID, c.Driver, c.Workload, strings.Join(set, " "), c.Parameters))
	}
	return list
}

// TestComputing checks that progress is reported for all rows that are hashed before the
// run, starting with 0.
func TestComputing(t *testing.T) {
	w := parse(t, tiny)
	m := lab.Matrix{Drivers: []build.Ref{{Name: "./b", Path: "/b"}}, Workloads: []*workload.Workload{w}, Scale: "full", Seed: 1}
	begun, last := 0, int64(-1)
	m.Computing = func(name string, done, total int64) {
		if done == 0 {
			begun++
		} else if done <= last {
			t.Errorf("%d rows after %d", done, last)
		}
		if last = done; name != "tiny" || done >= total {
			t.Errorf("Computing was called with %s, %d, %d: want tiny, and fewer rows done than the total", name, done, total)
		}
	}
	if _, err := m.Cases(); err != nil {
		t.Fatal(err)
	}
	if begun == 0 {
		t.Error("Computing was not called")
	}
}

func TestMatrix(t *testing.T) {
	known := &build.Known{Manifest: build.Manifest{Info: driver.Info{Name: "a", Kind: driver.Cgo}}}
	m := lab.Matrix{
		Drivers:    []build.Ref{{Name: "a", Known: known}, {Name: "./b", Path: "/b"}},
		Workloads:  []*workload.Workload{parse(t, tiny), crowdWith(t, "pool")},
		Scale:      "quick",
		Parameters: map[string][]int64{"clients": {1, 4}},
		Settings:   map[string][]string{"synchronous": {"normal", "full"}, "journal_mode": {"wal", "delete"}},
		Seed:       1,
	}
	cases, err := m.Cases()
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	add := func(workload, set, parameters string) {
		for _, d := range []string{"a", "./b"} {
			want = append(want, fmt.Sprintf("%d %s on %s %s %s", len(want)+1, d, workload, set, parameters))
		}
	}
	for _, mode := range []string{"wal", "delete"} {
		for _, sync := range []string{"normal", "full"} {
			add("tiny", "cache_size=-2000 journal_mode="+mode+" pool_size=1 synchronous="+sync, "map[n:3]")
		}
	}
	for _, clients := range []string{"1", "4"} {
		for _, mode := range []string{"wal", "delete"} {
			for _, sync := range []string{"normal", "full"} {
				add("crowd", "journal_mode="+mode+" pool_size="+clients+" synchronous="+sync, "map[clients:"+clients+" depth:1 n:3]")
			}
		}
	}
	if d := cmp.Diff(want, names(cases)); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
	if d := cmp.Diff([]string{"all", "each", "open", "mix"}, cases[len(cases)-1].Phases); d != "" {
		t.Errorf("timed phases: -want +got:\n%s", d)
	}
	if cases[0].Info.Name != "a" || cases[1].Info.Name != "" || cases[0].Scale != "quick" {
		t.Errorf("got %+v", cases[0].Case)
	}
	for _, c := range cases {
		if c.Plan == nil || len(c.Plan.Phases) < len(c.Phases) || c.Ref.Name != c.Driver {
			t.Errorf("case %d: %+v", c.ID, c)
		}
	}
}

func TestExpectations(t *testing.T) {
	m := lab.Matrix{Drivers: []build.Ref{{Name: "./b", Path: "/b"}}, Workloads: []*workload.Workload{crowdWith(t, "pool")},
		Scale: "full", Parameters: map[string][]int64{"clients": {1}}}
	sums := map[string]bool{}
	for seed := range uint64(2) {
		m.Seed = seed
		cases, err := m.Cases()
		if err != nil {
			t.Fatal(err)
		}
		got := maps.Clone(cases[0].Expect)
		delete(got, "load") // TestInserted checks load
		all := got["all"]
		if len(all.Checksum) != 64 {
			t.Errorf("the checksum of the generated rows is %q", all.Checksum)
		}
		sums[all.Checksum] = true
		all.Checksum = ""
		got["all"] = all
		want := map[string]lab.Expectation{
			"all":  {Operations: 5, Rows: 50},  // 10 rows, 5 times
			"each": {Operations: 10, Rows: 10}, // 10 executions, each of which returns one row
			"open": {Operations: 1, Rows: -1},
			"mix":  {Operations: 10, Executions: []int64{10}, Rows: -1},
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("-want +got:\n%s", d)
		}
	}
	if len(sums) != 1 {
		t.Errorf("the serial numbers depend on the seed: %v", sums)
	}

	// The second workload returns the column v, whose values depend on the seed.
	random := parse(t, strings.Replace(strings.Replace(crowd, "CONNECTION", "pool", 1),
		"SELECT id FROM t ORDER BY id, columns: [int], repeat: 5, expect: {rows: $n, returns: {t: [id]}}",
		"SELECT v FROM t ORDER BY id, columns: [int], repeat: 5, expect: {rows: $n, returns: {t: [v]}}", 1))
	m.Workloads = []*workload.Workload{random}
	clear(sums)
	for seed := range uint64(2) {
		m.Seed = seed
		cases, err := m.Cases()
		if err != nil {
			t.Fatal(err)
		}
		sums[cases[0].Expect["all"].Checksum] = true
	}
	if len(sums) != 2 {
		t.Errorf("two seeds give the same random values: %v", sums)
	}
}

func TestPoolSize(t *testing.T) {
	pool := func(connection string, given ...string) (string, error) {
		m := lab.Matrix{Drivers: []build.Ref{{Name: "./b", Path: "/b"}}, Workloads: []*workload.Workload{crowdWith(t, connection)},
			Scale: "full", Parameters: map[string][]int64{"clients": {4}}}
		if len(given) > 0 {
			m.Settings = map[string][]string{"pool_size": given}
		}
		cases, err := m.Cases()
		if err != nil {
			return "", err
		}
		return cases[0].Settings["pool_size"], nil
	}
	for _, c := range []struct {
		connection string
		given      []string
		want       string
	}{
		{"pool", nil, "4"},
		{"own", nil, "4"},
		{"pool", []string{"2"}, "2"}, // allowed, because such a workload measures clients that wait for each other's connection
		{"own", []string{"9"}, "9"},
	} {
		if got, err := pool(c.connection, c.given...); got != c.want || err != nil {
			t.Errorf("connection %s, pool_size %v: %q, %v; want %s", c.connection, c.given, got, err, c.want)
		}
	}
	if _, err := pool("own", "3"); err == nil || !strings.Contains(err.Error(), "workload crowd: setting pool_size=3") || !strings.Contains(err.Error(), "at least 4") {
		t.Errorf("a pool in which clients would wait forever: %v", err)
	}
}

func TestMatrixMistakes(t *testing.T) {
	both := []*workload.Workload{parse(t, tiny), crowdWith(t, "pool")}
	for _, c := range []struct {
		m    lab.Matrix
		want string
	}{
		{lab.Matrix{Workloads: both, Scale: "full", Parameters: map[string][]int64{"clinets": {1}}},
			`no chosen workload has the parameter "clinets": did you mean "clients"?`},
		{lab.Matrix{Workloads: both, Scale: "full", Parameters: map[string][]int64{"temperature": {1}}},
			`no chosen workload has the parameter "temperature": tiny has n; crowd has clients, depth, n`},
		{lab.Matrix{Workloads: []*workload.Workload{parse(t, strings.ReplaceAll(strings.Replace(tiny, "scales: {full: {n: 10}, quick: {n: 3}}", "", 1), "$n", "3"))},
			Scale: "full", Parameters: map[string][]int64{"n": {1}}},
			`no chosen workload has the parameter "n": they have none`},
		{lab.Matrix{Workloads: both, Scale: "quik"}, `unknown scale "quik": did you mean "quick"?`},
		{lab.Matrix{Workloads: both, Scale: "0"}, `bad scale "0"`},
	} {
		c.m.Drivers = []build.Ref{{Name: "./b", Path: "/b"}}
		cases, err := c.m.Cases()
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %d cases, %v; want %s", len(cases), err, c.want)
		}
	}
}
