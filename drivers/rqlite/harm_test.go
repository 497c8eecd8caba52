package rqlite_test

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sqlite3perf/sqlite3perf/drivers/rqlite"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/job"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// openCluster opens a database with its own nodes.
func openCluster(t *testing.T, s driver.Settings) (driver.ClusterDB, *job.Database) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "test.db")
	db, err := rqlite.New().Open(t.Context(), path, s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db.(driver.ClusterDB), &job.Database{
		DB: db, Path: path, Settings: s, CPU: func() (own, children int64) { return 0, 0 }, PeakRSS: func(bool) int64 { return 0 },
	}
}

// TestSoakHarm kills the leader of three real nodes twice under load, and isolates it once. It expects
// that no acknowledged row is lost.
func TestSoakHarm(t *testing.T) {
	const nodes = 3
	_, d := openCluster(t, driver.Settings{"nodes": strconv.Itoa(nodes), "pool_size": "1", "node_delay": "0"})
	r, err := job.Run(t.Context(), &protocol.Job{Cluster: &protocol.Cluster{Harm: &protocol.ClusterHarm{
		Clients: 3, Kills: 2, Cuts: 1, LoadMS: 300, LimitMS: 2_000, Patience: 120_000, Levels: driver.ReadLevels,
	}}}, d, func(p protocol.Progress) { t.Logf("%+v", p.Harm) })
	if err != nil {
		t.Fatal(err)
	}
	h := r.Cluster.Harmed
	t.Logf("%+v", h)
	if len(h.Harms) != 3 || h.Acknowledged == 0 || h.Lost != 0 {
		t.Errorf("acknowledged %d, lost %d: %v", h.Acknowledged, h.Lost, h.LostIDs)
	}
	for _, m := range h.Missing {
		if m.Lost != 0 || m.Rows != 0 {
			t.Errorf("node %s lacks %d acknowledged rows, and %d rows that another node has", m.Member, m.Lost, m.Rows)
		}
	}
	for _, l := range h.Reads {
		if l.Reads == 0 || l.Reads == l.Failed || l.Stale > 0 && (l.Level == "linearizable" || l.Level == "strong") {
			t.Errorf("%+v", l)
		}
	}
}

// TestNodeDelay expects the median time of a write to be at least twice the delay between nodes:
// once for the message from the leader to another node, and once for the answer.
func TestNodeDelay(t *testing.T) {
	const delay = 40 * time.Millisecond
	db, d := openCluster(t, driver.Settings{"nodes": "3", "pool_size": "2", "node_delay": strconv.FormatInt(delay.Milliseconds(), 10)})
	shown, err := db.(driver.Shower).Shown(t.Context())
	if err != nil || shown["node_delay"] != "40" {
		t.Errorf("shown %v, %v", shown, err)
	}
	r, err := job.Run(t.Context(), &protocol.Job{Cluster: &protocol.Cluster{Loads: []protocol.ClusterLoad{{Clients: 1, Batch: 1}}, DurationMS: 300}}, d, func(protocol.Progress) {})
	if err != nil {
		t.Fatal(err)
	}
	l := r.Cluster.Loads[0]
	t.Logf("%+v", l)
	for _, s := range []int64{l.Acknowledged.P50NS, l.Visible.P50NS} {
		if time.Duration(s) < 2*delay {
			t.Errorf("half of the writes took %v or less with %v between the nodes", time.Duration(s), delay)
		}
	}
	for _, m := range r.Cluster.Members {
		if m.DelayNS != int64(delay) || m.DiskBytes == 0 {
			t.Errorf("%+v", m)
		}
	}
}

// TestIsolate expects that an isolated leader still answers its clients, but stops being the
// leader, and that it catches up after Heal.
func TestIsolate(t *testing.T) {
	db, _ := openCluster(t, driver.Settings{"nodes": "3", "pool_size": "1", "node_delay": "0"})
	ctx := t.Context()
	old, err := db.Leader(ctx)
	if err == nil {
		err = db.Script(ctx, "CREATE TABLE t (x INTEGER)")
	}
	if err == nil {
		err = db.Isolate(old)
	}
	if err != nil {
		t.Fatal(err)
	}
	leader := old
	for leader == old {
		if leader, err = db.Leader(ctx); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.ExecAt(ctx, leader, "INSERT INTO t VALUES (?)", int64(1)); err != nil {
		t.Fatal(err)
	}
	read := func(level string) ([]int64, error) {
		return db.IntsAt(ctx, old, level, "SELECT x FROM t")
	}
	if got, err := read("none"); err != nil || len(got) > 0 {
		t.Errorf("the node that is cut off has %v, %v", got, err)
	}
	if got, err := read("strong"); err == nil {
		t.Errorf("the node that is cut off reads %v with level strong", got)
	}
	if err := db.Heal(old); err != nil {
		t.Fatal(err)
	}
	for {
		got, err := read("none")
		if err != nil {
			t.Fatal(err)
		}
		if slices.Equal(got, []int64{1}) {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// TestQuorum kills two of three nodes. The remaining node must acknowledge nothing, and its
// error must be one line. When the other nodes are back, it must accept writes again.
func TestQuorum(t *testing.T) {
	db, _ := openCluster(t, driver.Settings{"nodes": "3", "pool_size": "1"})
	ctx := t.Context()
	if err := db.Script(ctx, "CREATE TABLE t (x INTEGER)"); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(db.Kill(0), db.Kill(1)); err != nil {
		t.Fatal(err)
	}
	soon, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	if _, err := db.Leader(soon); err == nil || err.Error() != "the 3 nodes of the cluster have not agreed on a leader: are more than half of them running?" {
		t.Errorf("one node of three leads: %v", err)
	}
	if err := db.ExecAt(ctx, 2, "INSERT INTO t VALUES (?)", int64(1)); err == nil || strings.Contains(err.Error(), "\n") {
		t.Errorf("one node of three has acknowledged a write, or its error is not one line: %v", err)
	}
	if err := db.ExecAt(ctx, 0, "INSERT INTO t VALUES (?)", int64(1)); err == nil || strings.Contains(err.Error(), "\n") {
		t.Errorf("a dead node has acknowledged a write, or its error is not one line: %v", err)
	}
	var both sync.WaitGroup
	for i := range 2 {
		both.Go(func() {
			if err := db.Restart(ctx, i); err != nil {
				t.Error(err)
			}
		})
	}
	both.Wait()
	leader, err := db.Leader(ctx)
	if err == nil {
		err = db.ExecAt(ctx, leader, "INSERT INTO t VALUES (?)", int64(2))
	}
	if err != nil {
		t.Fatal(err)
	}
	if got, err := db.IntsAt(ctx, leader, "strong", "SELECT x FROM t WHERE x = 2"); err != nil || !slices.Equal(got, []int64{2}) {
		t.Errorf("%v, %v", got, err)
	}
}

// TestNotHarmed expects that impossible requests are refused with a message that says what to do
// instead.
func TestNotHarmed(t *testing.T) {
	db, _ := openCluster(t, driver.Settings{"nodes": "1", "pool_size": "1"})
	for _, err := range []error{db.Isolate(0), db.Heal(0)} {
		if cannot, ok := errors.AsType[*driver.UnsupportedError](err); !ok || !strings.Contains(cannot.Reason, "set node_delay, to 0 for no delay") {
			t.Errorf("isolating a node without a proxy: %v", err)
		}
	}
	if err := db.Restart(t.Context(), 0); err == nil || !strings.Contains(err.Error(), "still runs") {
		t.Errorf("restarting a running node: %v", err)
	}
	err := db.ExecAt(t.Context(), 0, "INSERT INTO nowhere VALUES (1)")
	if err == nil || !strings.Contains(err.Error(), "no such table: nowhere") {
		t.Errorf("want SQLite's error message: %v", err)
	}
	if _, err := db.IntsAt(t.Context(), 0, "weak", "SELECT 1, 2"); err == nil {
		t.Error("two columns are read as one")
	}
}
