package rqlite_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sqlite3perf/sqlite3perf/drivers/rqlite"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// TestRecover commits transactions on a node that is then killed. Then new nodes start with the
// files that the killed node has left: with all files, without Raft's log, and with a truncated
// log. With all files, the database must have all transactions. Without the log, it must be empty.
// A truncated log must be an error.
func TestRecover(t *testing.T) {
	const last = 2 // number of the last transaction
	job := func(path string, s driver.Settings, j protocol.Job) *protocol.JobResult {
		t.Helper()
		answers := request(t, protocol.Request{Type: protocol.TypeJob, Protocol: protocol.Version, Seed: 3, Path: path, Settings: s, Job: &j})
		a := answers[len(answers)-1]
		if a.Result == nil {
			t.Fatalf("%+v", a.Reason)
		}
		return a.Result
	}
	for _, queued := range []string{"off", "on"} {
		dir := t.TempDir()
		done := job(filepath.Join(dir, "test.db"), driver.Settings{"queued_writes": queued},
			protocol.Job{Commit: &protocol.Commit{Plan: builtin(t, "ledger"), Transactions: last, Attempts: 1, Digests: true}}).Commit
		if done.Acknowledged != last || len(done.Digests) != last+1 || done.Digests[last] == done.Digests[last-1] {
			t.Fatalf("queued_writes=%s: %+v", queued, done)
		}
		var paths []string
		for _, change := range []func(log string) error{
			func(string) error { return nil },
			os.Remove,
			func(log string) error { return os.Truncate(log, 100) },
		} {
			to := filepath.Join(t.TempDir(), "copy")
			if err := os.CopyFS(to, os.DirFS(dir)); err != nil {
				t.Fatal(err)
			}
			logs, err := filepath.Glob(filepath.Join(to, "rqlite-*", "node1", "raft.db"))
			if err != nil || len(logs) != 1 {
				t.Fatalf("logs %q, %v: want one", logs, err)
			}
			if err := change(logs[0]); err != nil {
				t.Fatal(err)
			}
			paths = append(paths, filepath.Join(to, "test.db"))
		}
		found := job(filepath.Join(t.TempDir(), "test.db"), nil, protocol.Job{Judge: &protocol.Judge{Paths: paths}}).Judge
		if all := found[0]; all.Transaction != last || all.Digest != done.Digests[last] || all.Error+all.Unwritable != "" || all.Integrity != nil {
			t.Errorf("queued_writes=%s, with all files: %+v, want transaction %d and %s", queued, all, last, done.Digests[last])
		}
		if none := found[1]; none.Transaction != -1 || none.Error != "" {
			t.Errorf("queued_writes=%s, without the log: %+v, want an empty database", queued, none)
		}
		if cut := found[2]; !strings.Contains(cut.Error, "rqlited ended") {
			t.Errorf("queued_writes=%s, with a cut log: %+v, want an error", queued, cut)
		}
	}
}

// TestNotRecovered checks that Recover refuses settings with which it cannot recover files.
func TestNotRecovered(t *testing.T) {
	for _, c := range []struct {
		settings  driver.Settings
		addresses string
		says      string
	}{
		{driver.Settings{"nodes": "3"}, "", "want nodes=1"},
		{driver.Settings{"node_delay": "1"}, "", "node_delay"},
		{nil, "http://127.0.0.1:1", "RQLITE_ADDRESSES is set"},
	} {
		t.Setenv("RQLITE_ADDRESSES", c.addresses)
		_, err := rqlite.New().(driver.Recoverer).Recover(t.Context(), filepath.Join(t.TempDir(), "test.db"), c.settings)
		if err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%v: %v, want %s", c.settings, err, c.says)
		}
	}
}
