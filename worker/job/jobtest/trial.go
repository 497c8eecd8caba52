package jobtest

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sqlite3perf/sqlite3perf/worker"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/plan"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// The test "checked" runs trials whose connections use a full-text index, and tests the worker's
// check of the database after such a trial. The check must end and find no fault, although SQLite's
// own check of such an index can go wrong in two ways. In a shared cache SQLite waits for itself
// forever. If a connection searches the index, and then another connection writes to the index,
// SQLite reports on the first connection that the index is corrupt.
func checked(_ *testing.T, b *base) {
	index := b.fullText()
	if index == "" {
		b.t.Skipf("%s has no full-text index", b.driver.Info().Name)
	}
	const search = "SELECT count(*) FROM docs WHERE docs MATCH 'hello'"
	searches := plan.Phase{Name: "search", Mix: &plan.Mix{Clients: 3, Count: 300, OwnConn: true, Operations: []plan.Operation{
		{Name: "search", Weight: 1, Reads: true, Calls: []plan.MixCall{{Call: plan.Call{SQL: search, Columns: []driver.ColumnType{{Type: driver.Int}}, Rows: 1}}}},
	}}}
	for _, c := range []struct {
		name   string
		limits []string // this part of the test is skipped if the driver declares one of these limits
		s      driver.Settings
		phase  plan.Phase
	}{
		{"shared cache", []string{"cache=shared"}, driver.Settings{"cache": "shared", "journal_mode": "wal"}, searches},
		{"shared memory", []string{"cache=shared", "mode=memory"}, driver.Settings{"cache": "shared", "mode": "memory"}, searches},
		{"written since", []string{"columns=any"}, driver.Settings{"busy_timeout": "10000"}, plan.Phase{Name: "replay", Replay: writtenSince(search)}},
	} {
		b.t.Run(c.name, func(t *testing.T) {
			for _, l := range c.limits {
				name, value, _ := strings.Cut(l, "=")
				if why, limited := b.driver.Info().Limit(name, value); limited {
					t.Skipf("%s: %s", l, why)
				}
			}
			trial(t, b.driver, filepath.Join(t.TempDir(), "test.db"), c.s.With(driver.Settings{"pool_size": "3"}), &plan.Plan{
				Schema: "CREATE VIRTUAL TABLE docs USING " + index + "(body); INSERT INTO docs VALUES ('hello')",
				Phases: []plan.Phase{c.phase},
			})
		})
	}
}

// writtenSince returns a replay in which connections 0 and 2 search the index, connection 1
// writes to it, and then connections 0 and 2 are used again, for another statement.
func writtenSince(search string) *plan.Replay {
	r := &plan.Replay{Operations: []string{"other", "search", "write"}, Connections: 3, Speed: 1, Statements: []plan.Replayed{
		{Operation: 1, SQL: search, Reads: true},
		{Operation: 2, SQL: "INSERT INTO docs VALUES ('hello all')"},
		{Operation: 0, SQL: "SELECT 1", Reads: true},
	}}
	add := func(ms int64, statement, connection int) {
		e := &r.Events
		e.Transaction = append(e.Transaction, e.Len())
		e.Statement = append(e.Statement, statement)
		e.Connection = append(e.Connection, connection)
		e.AtNS = append(e.AtNS, ms*1e6)
		e.Rows = append(e.Rows, -1)
	}
	add(0, 0, 0)
	add(0, 0, 2)
	for range 20 {
		add(100, 1, 1)
	}
	add(300, 2, 0)
	add(300, 2, 2)
	return r
}

// fullText returns the name of the library's newest module for full-text indexes, or "" if it
// has none.
func (b *base) fullText() string {
	for _, module := range []string{"fts5", "fts4"} {
		db, err := b.driver.Open(b.t.Context(), b.path+module, nil)
		if err != nil {
			b.t.Fatal(err)
		}
		err = db.Script(b.t.Context(), "CREATE VIRTUAL TABLE docs USING "+module+"(body)")
		if cerr := db.Close(); cerr != nil {
			b.t.Fatal(cerr)
		}
		if err == nil {
			return module
		}
	}
	return ""
}

// trial checks that a trial ends without an error.
func trial(t *testing.T, d driver.Driver, path string, s driver.Settings, p *plan.Plan) {
	t.Helper()
	req := protocol.Request{Type: protocol.TypeTrial, Protocol: protocol.Version, Seed: 1, Path: path, Settings: s, Plan: p}
	var answers []protocol.Response
	ended := make(chan error, 1)
	go func() {
		var err error
		answers, err = worker.Exchange(t.Context(), d, req)
		ended <- err
	}()
	select {
	case err := <-ended:
		if err != nil {
			t.Fatal(err)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("the trial has not ended within 20 s")
	}
	if last := answers[len(answers)-1]; last.Type != protocol.TypeDone {
		t.Errorf("the trial ended with %s: %+v", last.Type, last.Reason)
	}
}
