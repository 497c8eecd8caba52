package jobtest

import (
	"bytes"
	"encoding/json"
	"io"
	"testing"
	"time"

	"github.com/sqlite3perf/sqlite3perf/worker"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/plan"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// sharedCache expects a trial to end whose connections share a cache and have searched a
// full-text index. The check of the database waits for itself there if it runs on one of
// these connections.
func sharedCache(_ *testing.T, b *base) {
	s := driver.Settings{"cache": "shared", "pool_size": "3", "journal_mode": "wal"}
	_, cannot := b.driver.Info().Limit("cache", "shared")
	index := ""
	for _, module := range []string{"fts5", "fts4"} {
		db, err := b.driver.Open(b.t.Context(), b.path+module, nil)
		if err != nil {
			b.t.Fatal(err)
		}
		if db.Script(b.t.Context(), "CREATE VIRTUAL TABLE docs USING "+module+"(body)") == nil {
			index = module
		}
		if err := db.Close(); err != nil {
			b.t.Fatal(err)
		}
		if index != "" {
			break
		}
	}
	if cannot || index == "" {
		b.t.Skipf("%s has no shared cache, or no full-text index", b.driver.Info().Name)
	}
	search := plan.Operation{Name: "search", Weight: 1, Reads: true, Calls: []plan.MixCall{{Call: plan.Call{
		SQL: "SELECT count(*) FROM docs WHERE docs MATCH 'hello'", Columns: []driver.ColumnType{{Type: driver.Int}}, Rows: 1}}}}
	req, err := json.Marshal(protocol.Request{Type: protocol.TypeTrial, Protocol: protocol.Version, Seed: 1, Path: b.path, Settings: s, Plan: &plan.Plan{
		Schema: "CREATE VIRTUAL TABLE docs USING " + index + "(body); INSERT INTO docs VALUES ('hello')",
		Phases: []plan.Phase{{Name: "search", Mix: &plan.Mix{Clients: 3, Count: 300, OwnConn: true, Operations: []plan.Operation{search}}}},
	}})
	if err != nil {
		b.t.Fatal(err)
	}
	in, lab := io.Pipe()
	defer lab.Close()
	go func() { _, _ = lab.Write(append(req, '\n')) }()
	var out bytes.Buffer
	ended := make(chan error, 1)
	go func() { ended <- worker.Serve(b.t.Context(), b.driver, in, &out) }()
	select {
	case err := <-ended:
		if err != nil {
			b.t.Fatal(err)
		}
	case <-time.After(20 * time.Second):
		b.t.Fatal("the trial does not end")
	}
	lines := bytes.Split(bytes.TrimSpace(out.Bytes()), []byte("\n"))
	var last protocol.Response
	if err := json.Unmarshal(lines[len(lines)-1], &last); err != nil || last.Type != protocol.TypeDone {
		b.t.Errorf("the trial ended with %s", lines[len(lines)-1])
	}
}
