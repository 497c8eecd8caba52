package lab_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sqlite3perf/sqlite3perf/internal/lab"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/workload"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

const verified = `
name: verified
settings: {journal_mode: wal, pool_size: 2}
schema: CREATE TABLE bench (ID int PRIMARY KEY ASC, rand TEXT, hash TEXT)
rows:
  bench: {count: 50, columns: {ID: {serial: 0}, rand: {hex: 8}, hash: HASH}}
phases:
  - {name: load, insert: bench}
`

// TestAddBench checks that another process verifies a table that a trial created, and that the
// times of this verification are phases of the case.
func TestAddBench(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		hash, table string
		status      result.Status
		code        string
		part        string
	}{
		{"{sha256: rand, decode: hex}", "bench", result.OK, "", ""},
		{"{hex: 32}", "bench", result.Wrong, "answer", "the hashes of 50 of 50 rows do not match their content; the first such row has ID 0: "},
		{"{sha256: rand, decode: hex}", "other", result.Failed, "database", "there is no table other"},
	} {
		w, err := workload.Parse("test.yaml", []byte(strings.Replace(verified, "HASH", test.hash, 1)), nil)
		if err != nil {
			t.Fatal(err)
		}
		c := casesOf(t, faulty(t, "server-none"), 7, nil, nil, w)[0]
		c.AddBench(test.table)
		if d := cmp.Diff([]string{"load", "after-query", "first-row", "verify"}, c.Phases); d != "" {
			t.Fatal(d)
		}
		dir := t.TempDir()
		p := &lab.Processes{Dir: dir, Limit: time.Minute}
		got, err := p.Trial(t.Context(), c, 7)
		if err != nil {
			t.Fatal(err)
		}
		empty(t, dir)
		if got.Status != test.status {
			t.Errorf("%s: %s: %+v", test.hash, got.Status, got.Reason)
			continue
		}
		if test.status != result.OK {
			if got.Reason.Code != test.code || got.Reason.Phase != "verify" || !strings.Contains(got.Reason.Message, test.part) {
				t.Errorf("%+v", got.Reason)
			}
			continue
		}
		if len(got.Samples) != 4 {
			t.Fatalf("%+v", got.Samples)
		}
		for i, name := range lab.BenchPhases {
			if s := got.Samples[i+1]; s.Phase != name || s.Metric != "time" || s.Operations != 1 || s.WallNS <= 0 {
				t.Errorf("%s: %+v", name, s)
			}
		}
		if s := got.Samples; s[1].WallNS+s[2].WallNS > s[3].WallNS {
			t.Errorf("the query took %d ns, the first row %d, all %d", s[1].WallNS, s[2].WallNS, s[3].WallNS)
		}
		if n := got.Samples[3].Rows; n != 50 {
			t.Errorf("%d rows, want 50", n)
		}
	}
}

// TestBenchTimes checks that the time to the first row counts from the moment when the library
// has accepted the query.
func TestBenchTimes(t *testing.T) {
	got := lab.BenchTimes(&protocol.Benched{AfterQueryNS: 5, FirstRowNS: 7, WallNS: 100})
	if d := cmp.Diff([]int64{5, 2, 100}, got); d != "" {
		t.Error(d)
	}
}
