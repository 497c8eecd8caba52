package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/sqlite3perf/sqlite3perf/internal/lab/build"
	"github.com/sqlite3perf/sqlite3perf/internal/locks"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// queue is a workload with four clients. Their operations take much longer than the time after which
// Go's scheduler preempts a goroutine. So even on one CPU, a client is interrupted within an operation,
// and other clients wait for the end of this operation.
const queue = `
name: queue
settings: {journal_mode: wal, txlock: immediate, busy_timeout: 5s, synchronous: normal}
schema: CREATE TABLE t (id INTEGER PRIMARY KEY, n INTEGER NOT NULL)
rows:
  t: {count: 3000, columns: {id: serial, n: 0}}
phases:
  - {name: load, untimed: true, insert: t}
  - name: mix
    clients: 4
    duration: 200ms
    mix:
      - {name: change all, sql: UPDATE t SET n = n + 1}
`

// TestSoakLocksTimeWaited measures how long clients wait for a pool's only connection or for a
// mutex. If each client has its own connection, it must not wait. The test uses a database/sql
// library with cgo, one without, and a library with its own pool.
func TestSoakLocksTimeWaited(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	env, err := surroundings(dir)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "queue.yaml")
	if err := os.WriteFile(file, []byte(queue), 0o644); err != nil {
		t.Fatal(err)
	}
	cache, err := build.DefaultCache() // the user's cache, so that no worker is built twice
	if err != nil {
		t.Fatal(err)
	}
	drivers := []string{"mattn", "modernc", "zombiezen"}
	cmd := exec.Command("sqlite3perf", "locks", "--drivers", "mattn,modernc,zombiezen", "--workloads", file, "--rounds", "6", "--seed", "1",
		"--set", "journal_mode=wal", "--set", "txlock=immediate", "--set", "busy_timeout=5s", "--format", "json", "--worker-cache", cache)
	cmd.Dir, cmd.Env, cmd.Stderr = dir, append(os.Environ(), env...), os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var j locks.JSONLocks
	if err := json.Unmarshal(out, &j); err != nil {
		t.Fatal(err)
	}
	if len(j.Mixes) != 1 || len(j.Mixes[0].Cells) != 3*len(drivers) {
		t.Fatalf("%s: want a mix with 3 ways on each of %v", out, drivers)
	}
	for _, c := range j.Mixes[0].Cells {
		wants := map[string]bool{protocol.WaitConnection: c.Choice.Connections == 1}
		if c.Choice.Mutex {
			wants[protocol.WaitMutex] = true
		}
		for _, w := range c.Waits {
			waits, known := wants[w.For]
			if !known || (w.Count > 0) != waits || (w.PerOpNS > 0) != waits || (w.Share > 0) != waits || w.Share > 1 {
				t.Errorf("%s with a %s: %+v, want a wait: %v", c.Driver, c.Choice.Pool(), w, waits)
			}
			delete(wants, w.For)
		}
		for what := range wants {
			t.Errorf("%s with a %s: no figures about waits for the %s", c.Driver, c.Choice.Pool(), what)
		}
	}
}
