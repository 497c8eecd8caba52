package lab_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sqlite3perf/sqlite3perf/internal/lab"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/workload"
	"github.com/sqlite3perf/sqlite3perf/worker/pagecache"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// sliced is a workload with phases of all kinds that can be measured in slices.
const sliced = `
name: sliced
settings: {journal_mode: wal, synchronous: "off", busy_timeout: 5000, pool_size: 3}
schema: |
  CREATE TABLE a(id INTEGER PRIMARY KEY, n INT);
  CREATE TABLE b(id INTEGER PRIMARY KEY, a INT);
rows:
  a: {count: 40, columns: {id: serial, n: {int: [1, 9]}}}
  b: {per: a, count: 2, columns: {id: serial, a: a.id}}
phases:
  - {name: one, insert: [a], transaction: one}
  - {name: none, query: "SELECT count(*) FROM a", columns: int}
  - {name: each, for each: a, query: "SELECT id, n FROM a WHERE id = :id", columns: [int, int], parameters: {id: a.id}, expect: {rows: 1}}
  - {name: all, for each: a, clients: 3, query: "SELECT id, n FROM a WHERE id = :id", columns: [int, int], parameters: {id: a.id}, expect: {rows: 1}}
  - {name: clear, untimed: true, script: DELETE FROM a}
  - {name: trees, insert: [a, b], transaction: per a}
  - name: alone
    count: 60
    mix:
      - {name: read, sql: "SELECT n FROM a WHERE id = :id", parameters: {id: {pick: a.id}}, columns: int, expect: {rows: 1}}
      - {name: write, sql: "UPDATE a SET n = n + 1 WHERE id = :id", parameters: {id: {pick: a.id}}}
  - name: several
    count: 90
    clients: 3
    connection: own
    mix:
      - {name: read, sql: "SELECT n FROM a WHERE id = :id", parameters: {id: {pick: a.id}}, columns: int, expect: {rows: 1}}
      - {name: write, sql: "UPDATE a SET n = n + 1 WHERE id = :id", parameters: {id: {pick: a.id}}}
  - {name: timed, duration: 50ms, mix: [{name: read, sql: SELECT 1, columns: int}]}
`

// TestSlices measures the same cases in one piece and then in slices of one operation. The workers must do the
// same work and give the same answers in both ways.
func TestSlices(t *testing.T) {
	t.Parallel()
	for name, executable := range realWorkers(t) {
		t.Run(name, func(t *testing.T) { t.Parallel(); testSlices(t, executable, name != "python") })
	}
}

// testSlices tests a worker. The parameter "reports" says whether the worker reports the times of slices.
func testSlices(t *testing.T, executable string, reports bool) {
	cases := casesOf(t, executable, 7, nil, nil, parse(t, sliced))
	other := *cases[0]
	other.ID = 2
	cases = append(cases, &other)
	var lists [2][]*result.Trial
	for i, slice := range []time.Duration{-1, 1} {
		p := &lab.Processes{Dir: t.TempDir(), Limit: time.Minute, Slice: slice}
		var err error
		if lists[i], err = p.Trials(t.Context(), cases, 7); err != nil {
			t.Fatal(err)
		}
	}
	first, second := lists[0], lists[1]
	for i := range cases {
		a, b := first[i], second[i]
		if a.Status != result.OK || b.Status != result.OK || !b.Alternated {
			t.Fatalf("%s %+v, %s %+v", a.Status, a.Reason, b.Status, b.Reason)
		}
		got := map[string]int64{}
		for k, s := range b.Samples {
			before := a.Samples[k]
			if before.Slices != 0 {
				t.Errorf("phase %s: %d slices in one piece", s.Phase, before.Slices)
			}
			if s.Phase != "timed" && (s.Operations != before.Operations || s.Rows != before.Rows) {
				t.Errorf("phase %s: %d operations and %d rows in slices, %d and %d in one piece", s.Phase, s.Operations, s.Rows, before.Operations, before.Rows)
			}
			if s.Phase == "none" && s.Checksum == "" {
				t.Errorf("phase %s is not verified in the first trial that counts", s.Phase)
			}
			if s.SeenNS < s.WallNS {
				t.Errorf("phase %s: the clock ran for %d ns, the lab saw %d", s.Phase, s.WallNS, s.SeenNS)
			}
			got[s.Phase] = s.Slices
			n := s.Slices
			if n == 0 {
				n = s.Repeats
			}
			if reports && int64(len(s.SliceNS)) != n || !reports && s.SliceNS != nil {
				t.Errorf("phase %s: times of %d slices, want %d", s.Phase, len(s.SliceNS), n)
			}
			var sum int64
			for _, ns := range s.SliceNS {
				sum += ns
			}
			if all := (s.WallNS + s.ColdNS) * max(1, s.Repeats); s.SliceNS != nil && sum != all {
				t.Errorf("phase %s: the slices take %d ns, the phase %d", s.Phase, sum, all)
			}
			if repeated := s.Phase == "none"; (s.Repeats > 1) != repeated || before.Repeats != 0 || repeated && (s.Slices > 25 || 2*s.Slices > s.Repeats) {
				t.Errorf("phase %s: executed %d times in %d slices, and %d times in one piece", s.Phase, s.Repeats, s.Slices, before.Repeats)
			}
		}
		if got["timed"] < 10 {
			t.Errorf("the phase that lasts 50 ms has %d slices", got["timed"])
		}
		// A slice ends when the three clients have counted one operation. Meanwhile each of the other two may
		// have begun an operation, which it finishes. So a slice has one to three operations.
		for name, most := range map[string]int64{"all": 120, "several": 90} {
			if n := got[name]; n < most/3 || n > most {
				t.Errorf("the phase %s of three clients has %d slices", name, n)
			}
			delete(got, name)
		}
		delete(got, "timed")
		delete(got, "none")
		want := map[string]int64{"one": 40, "each": 40, "trees": 40, "alone": 60}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("slices: -want +got:\n%s", diff)
		}
	}
}

// TestSlicesOfRows measures two slow queries that the plan executes once. If most of a query's time comes
// after its first row, the engine divides each execution by rows, but the Python worker does not. Other queries
// are divided only between executions, so a slice has several executions.
func TestSlicesOfRows(t *testing.T) {
	t.Parallel()
	const yaml = `
name: rows
schema: CREATE TABLE a(id INTEGER PRIMARY KEY)
phases:
  - {name: evenly, query: "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 40000) SELECT x, hex(zeroblob(300)) FROM n", columns: [int, text], expect: {rows: 40000}}
  - {name: sorted, query: "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 40000) SELECT x FROM n ORDER BY x % 1000, x LIMIT 100", columns: int, expect: {rows: 100}}
`
	for name, executable := range realWorkers(t) {
		cases := casesOf(t, executable, 7, nil, nil, parse(t, yaml))
		other := *cases[0]
		other.ID = 2
		for i, slice := range []time.Duration{-1, 100 * time.Microsecond} {
			p := &lab.Processes{Dir: t.TempDir(), Limit: time.Minute, Slice: slice}
			list, err := p.Trials(t.Context(), []*lab.Case{cases[0], &other}, 7)
			if err != nil {
				t.Fatal(err)
			}
			for _, got := range list {
				if got.Status != result.OK {
					t.Fatalf("%s, trial %d: %+v", name, i+1, got.Reason)
				}
				for _, s := range got.Samples {
					divided := i == 1 && name == "engine" && s.Phase == "evenly"
					if divided && s.Slices <= 2*s.Repeats || !divided && 2*s.Slices > s.Repeats {
						t.Errorf("%s, trial %d, %s: %d slices of %d executions", name, i+1, s.Phase, s.Slices, s.Repeats)
					}
					if (s.FirstRowNS > 0) != (name == "engine") || s.FirstRowNS > s.WallNS && i == 0 {
						t.Errorf("%s, trial %d, %s: the first row took %d of %d ns", name, i+1, s.Phase, s.FirstRowNS, s.WallNS)
					}
				}
			}
		}
	}
}

// TestAlone checks that a trial that runs alone has no slices, but executes a query as often as trials that take
// turns do. Otherwise its figures would mean something else.
func TestAlone(t *testing.T) {
	t.Parallel()
	c := casesOf(t, faulty(t, "server-none"), 7, nil, nil, parse(t, sliced))[0]
	for i, slice := range []time.Duration{-1, 1} {
		p := &lab.Processes{Dir: t.TempDir(), Limit: time.Minute, Slice: slice}
		list, err := p.Trials(t.Context(), []*lab.Case{c}, 7)
		if err != nil {
			t.Fatal(err)
		}
		got := list[0]
		if got.Status != result.OK || got.Alternated {
			t.Fatalf("%s, alternated %v: %+v", got.Status, got.Alternated, got.Reason)
		}
		for _, s := range got.Samples {
			if query := s.Phase == "none"; (s.Repeats > 1) != (query && i == 1) || s.Slices > 0 && !query {
				t.Errorf("trial %d, phase %s: %d executions, %d slices", i+1, s.Phase, s.Repeats, s.Slices)
			}
		}
	}
}

// TestNotSliced checks that a mix at a fixed rate is measured in one piece, because a worker must not interrupt
// it.
func TestNotSliced(t *testing.T) {
	t.Parallel()
	yaml := `
name: whole
schema: CREATE TABLE a(id INTEGER PRIMARY KEY)
phases:
  - {name: open, duration: 50ms, rate: 1000, mix: [{name: read, sql: SELECT 1, columns: int}]}
`
	cases := casesOf(t, faulty(t, "server-none"), 7, map[string][]string{"processes": {"1"}}, nil, parse(t, yaml))
	other := *cases[0]
	other.ID = 2
	p := &lab.Processes{Dir: t.TempDir(), Limit: time.Minute, Slice: 1}
	for range 2 {
		list, err := p.Trials(t.Context(), []*lab.Case{cases[0], &other}, 7)
		if err != nil {
			t.Fatal(err)
		}
		for _, got := range list {
			if got.Status != result.OK || got.Samples[0].Slices != 0 {
				t.Errorf("%s, %d slices: %+v", got.Status, got.Samples[0].Slices, got.Reason)
			}
		}
	}
}

// TestColdCaches checks that phases with cold caches are measured in one piece, while the same phases with
// warm caches are measured in slices. Little of the database may stay in the page cache. The samples must say
// how much stayed, also in trials that another machine reports. In a mix of two processes, no process may load
// the database into the page cache before the other process begins.
func TestColdCaches(t *testing.T) {
	t.Parallel()
	if err := pagecache.Check(t.TempDir()); err != nil {
		t.Skipf("caches cannot be dropped here: %v", err)
	}
	both := map[string][]string{"cold_caches": {"off", "on"}, "mmap_size": {"1048576"}}
	inTwo := strings.NewReplacer("PROCESSES", "2", "CLIENTS", "2", "END", "count: 100").Replace(upgrades)
	for _, text := range []string{sliced, inTwo} {
		p := &lab.Processes{Dir: t.TempDir(), Limit: time.Minute, Slice: 1}
		cases := casesOf(t, faulty(t, "server-none"), 7, both, nil, parse(t, text))
		list, err := p.Trials(t.Context(), cases, 7)
		if err != nil {
			t.Fatal(err)
		}
		for i, got := range list {
			if got.Status != result.OK {
				t.Fatalf("%s: %+v", got.Status, got.Reason)
			}
			divided := int64(0)
			for _, m := range got.Samples {
				divided += m.Slices + m.Repeats
				if cold := i == 1; (m.Caches != nil) != cold || cold && (m.Caches.FileBytes < 4096 || m.Caches.Share() > result.CachedShare) {
					t.Errorf("%s, %s: %+v", cases[i].Settings["cold_caches"], m.Phase, m.Caches)
				}
			}
			if (divided > 0) != (i == 0) {
				t.Errorf("%s: %d slices and repetitions", cases[i].Settings["cold_caches"], divided)
			}
			reported := *got
			reported.Samples = slices.Clone(got.Samples)
			lab.CheckTrial(cases[i], &reported, time.Minute, true)
			if diff := cmp.Diff(got.Samples, reported.Samples); diff != "" || reported.Status != result.OK {
				t.Errorf("%s: %+v, samples of another machine (-reported +checked):\n%s", reported.Status, reported.Reason, diff)
			}
		}
	}
}

// TestSlicesOfOthers runs a worker that reports a wait for its turn. The report names another phase than the
// one that the worker is measuring. The trial must fail.
func TestSlicesOfOthers(t *testing.T) {
	t.Parallel()
	p := &lab.Processes{Dir: t.TempDir(), Limit: time.Minute}
	got, err := p.Trials(t.Context(), []*lab.Case{tinyCase(t, faulty(t, "none")), tinyCase(t, faulty(t, "waits-elsewhere"))}, 7)
	if err != nil {
		t.Fatal(err)
	}
	if r := got[1].Reason; got[0].Status != result.OK || r == nil || r.Code != protocol.CodeProtocol || !strings.Contains(r.Message, `in phase "later"`) {
		t.Errorf("%+v, %+v", got[0].Reason, r)
	}
}

// TestRoom checks how many trials take turns. Two trials always take turns. More than two take turns only if
// it is known how much memory and disk space they need, and if this is at most half of the free memory and of
// the free disk space.
func TestRoom(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	notes := filepath.Join(dir, "notes") // workers append a line about each step to this file
	var cases []*lab.Case
	for id := range 5 {
		c := tinyCase(t, faulty(t, "large"))
		c.ID = id + 1
		cases = append(cases, c)
	}
	groups := func() (sizes []int) {
		said, err := os.ReadFile(notes)
		if err != nil {
			t.Fatal(err)
		}
		closed := true
		for line := range strings.Lines(string(said)) {
			switch {
			case strings.Contains(line, "begins insert") && closed:
				sizes, closed = append(sizes, 1), false
			case strings.Contains(line, "begins insert"):
				sizes[len(sizes)-1]++
			case strings.Contains(line, "closes"):
				closed = true
			}
		}
		return sizes
	}
	const much = 1 << 40
	memory, disk := uint64(much), uint64(much)
	p := &lab.Processes{Dir: dir, Limit: time.Minute, Room: func(string) (uint64, uint64) { return memory, disk }}
	for _, step := range []struct {
		name         string
		memory, disk uint64
		want         []int
	}{
		{"pilot trials, first trials", much, much, []int{2, 2, 1, 5}},
		{"much of both", much, much, []int{5}},
		{"little memory", 1 << 20, much, []int{2, 2, 1}},
		{"little disk", much, 100, []int{2, 2, 1}},
	} {
		memory, disk = step.memory, step.disk
		if err := os.WriteFile(notes, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := p.Trials(t.Context(), cases, 7); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(step.want, groups()); diff != "" {
			t.Errorf("%s: -want +got:\n%s", step.name, diff)
		}
	}
}

// TestOnePiece checks that there is a warning if a worker takes turns, but does not pause within a phase.
func TestOnePiece(t *testing.T) {
	t.Parallel()
	cases := []*lab.Case{tinyCase(t, faulty(t, "none")), tinyCase(t, faulty(t, "none"))}
	cases[1].ID = 2
	p := &lab.Processes{Dir: t.TempDir(), Limit: time.Minute, Slice: 1}
	got, err := p.Trials(t.Context(), cases, 7)
	if err != nil {
		t.Fatal(err)
	}
	if w := got[0].Warnings; len(w) != 1 || w[0].Code != result.WarningOnePiece || w[0].Phase != "insert" {
		t.Errorf("%+v", w)
	}
}

// TestSliceTimes checks which times of slices follow from the times that a worker reports.
func TestSliceTimes(t *testing.T) {
	for _, tc := range []struct {
		ends  []int64
		total int64
		want  []int64
	}{
		{[]int64{10, 25}, 30, []int64{10, 15, 5}},
		{[]int64{10, 25}, 25, []int64{10, 15, 0}},
		{[]int64{10, 10}, 10, []int64{10, 0, 0}},
		{[]int64{0, 0}, 30, nil}, // the worker does not report the times
		{[]int64{10, 5}, 30, nil},
		{[]int64{10, 25}, 20, nil},
	} {
		if got := lab.SliceTimes(tc.ends, tc.total); !slices.Equal(got, tc.want) {
			t.Errorf("%v, %d: %v, want %v", tc.ends, tc.total, got, tc.want)
		}
	}
}

// TestSlicedReplay measures a replay in one piece and then in slices. One of the two recorded connections does
// much more than the other. A slice must end between two transactions.
func TestSlicedReplay(t *testing.T) {
	t.Parallel()
	recording := `{"format":"sqlite3perf-recording","version":1,"began":"2026-11-23T01:24:04Z","args":"values"}
{"sql":1,"text":"INSERT INTO t (v) VALUES (1)"}
{"sql":2,"text":"SELECT v FROM t WHERE v = 2"}
{"at":0,"took":9,"conn":1,"sql":2,"rows":0}
`
	for i := range 20 {
		recording += fmt.Sprintf(`{"at":%d,"took":9,"conn":2,"tx":%d,"do":"begin"}
{"at":%[1]d,"took":9,"conn":2,"tx":%d,"sql":1,"affected":1}
{"at":%[1]d,"took":9,"conn":2,"tx":%[2]d,"do":"commit"}
`, 10*i, i+1, i+1)
	}
	w, err := workload.Parse("replay.yaml", []byte("name: replayed\nschema: CREATE TABLE t (v)\nphases: [{name: replay, replay: app.jsonl}]\n"),
		fstest.MapFS{"app.jsonl": {Data: []byte(recording)}})
	if err != nil {
		t.Fatal(err)
	}
	c := casesOf(t, faulty(t, "server-none"), 7, map[string][]string{"busy_timeout": {"60000"}}, nil, w)[0]
	for i, s := range twice(t, c) {
		if s.Operations != 61 || s.Failed != 0 || s.Different != 0 {
			t.Errorf("trial %d: %+v", i+1, s)
		}
		if sliced := s.Slices >= 15 && s.Slices <= 21; sliced != (i == 1) {
			t.Errorf("trial %d: %d slices", i+1, s.Slices)
		}
	}
}

// TestSlicedServer measures a server in one piece and then in slices of one request.
func TestSlicedServer(t *testing.T) {
	t.Parallel()
	for i, s := range twice(t, httpCase(t, "none", "", nil)) {
		if s.Operations != 300 || s.Failed != 0 || s.Latency[0].Count != 300 {
			t.Errorf("trial %d: %+v", i+1, s)
		}
		if sliced := s.Slices > 250 && len(s.SliceNS) == int(s.Slices); sliced != (i == 1) {
			t.Errorf("trial %d: %d slices of %d ns", i+1, s.Slices, s.SliceNS)
		}
	}
}

// twice runs two equal cases together, first in one piece and then in slices that are as short as possible. It
// returns the last sample of the first case from both trials.
func twice(t *testing.T, c *lab.Case) (list []*result.Sample) {
	t.Helper()
	other := *c
	other.ID = c.ID + 1
	for _, slice := range []time.Duration{-1, 1} {
		p := &lab.Processes{Dir: t.TempDir(), Limit: time.Minute, Slice: slice}
		p.SetCeiling(4, 1e6)
		got, err := p.Trials(t.Context(), []*lab.Case{c, &other}, 7)
		if err != nil {
			t.Fatal(err)
		}
		for _, trial := range got {
			if trial.Status != result.OK || !trial.Alternated {
				t.Fatalf("%s %+v", trial.Status, trial.Reason)
			}
		}
		list = append(list, &got[0].Samples[len(got[0].Samples)-1])
	}
	return list
}
