package jobtest

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/sqlite3perf/sqlite3perf/worker"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// serve lets the worker answer a request for a job on the database at path.
func (b *base) serve(path string, s driver.Settings, j *protocol.Job) []protocol.Response {
	b.t.Helper()
	req := protocol.Request{Type: protocol.TypeJob, Protocol: protocol.Version, Path: path, Settings: s, Seed: 42, Job: j}
	list, err := worker.Exchange(b.t.Context(), b.driver, req)
	if err != nil || len(list) == 0 {
		b.t.Fatalf("%v, %+v", err, list)
	}
	return list
}

// The test "attached" checks that tables of a workload can be in an attached database, and that the
// hashes of the tables are the same as if all tables were in one database. A job of the kind
// "judge" must be able to read both databases. The test also checks which tables are refused, and
// that the workload's own ATTACH is refused.
func attached(t *testing.T, b *base) {
	s := driver.Settings{"journal_mode": "delete", "synchronous": "off", "pool_size": "1"}
	c := &protocol.Commit{Plan: transfers(), Transactions: 12, Attempts: 1, Digests: true}
	want := b.commit(*c).Digests
	b.path = filepath.Join(t.TempDir(), "it's.db")
	c.Attach = []string{"ENTRIES"}
	list := b.serve(b.path, s, &protocol.Job{Commit: c})
	last := list[len(list)-1]
	if last.Result == nil || strings.Join(last.Result.Commit.Digests, " ") != strings.Join(want, " ") {
		t.Fatalf("%+v, %+v, want the hashes %v", last.Result, last.Reason, want)
	}
	b.want("SELECT group_concat(name) FROM sqlite_master WHERE type = 'table' AND name NOT LIKE '%commits'", "accounts")
	judge := &protocol.Job{Judge: &protocol.Judge{Paths: []string{b.path}, Attached: true}}
	list = b.serve(filepath.Join(t.TempDir(), "test.db"), s, judge)
	if r := list[len(list)-1].Result; r == nil || r.Judge[0].Digest != want[12] || r.Judge[0].Transaction != 12 {
		t.Errorf("judged: %+v, want the hash %s", list[len(list)-1], want[12])
	}
	refused := func(what string) {
		t.Helper()
		list := b.serve(filepath.Join(t.TempDir(), "test.db"), s, &protocol.Job{Commit: c})
		if r := list[len(list)-1].Reason; r == nil || r.Code != protocol.CodeUnsupported || !strings.Contains(r.Message, what) {
			t.Errorf("%+v, want an error that says %q", list[len(list)-1], what)
		}
	}
	c.Attach = []string{"nosuch"}
	refused("no table nosuch")
	c.Attach = []string{"entries"}
	schema := c.Plan.Schema
	c.Plan.Schema = strings.Replace(schema, "-- the end", "; CREATE TRIGGER t AFTER INSERT ON entries BEGIN SELECT 1; END", 1)
	refused("want a plain table without triggers")
	c.Plan.Schema = schema + "\n; ATTACH ':memory:' AS other"
	refused("ATTACH")
}
