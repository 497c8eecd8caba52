package crawshaw_test

import (
	"path/filepath"
	"testing"

	"github.com/sqlite3perf/sqlite3perf/drivers/crawshaw"
	"github.com/sqlite3perf/sqlite3perf/worker"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/plan"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// TestSettingsThatNobodyAskedFor checks that the setting synchronous has the same value in the
// proof (the worker's first reading of all settings) and in all later readings. If no settings are
// requested, the database has a WAL, and the library's SQLite changes synchronous when it first
// reads the database. The proof must already have the changed value, because otherwise the change
// would be blamed on the workload.
func TestSettingsThatNobodyAskedFor(t *testing.T) {
	answers, err := worker.Exchange(t.Context(), crawshaw.New(), protocol.Request{
		Type: protocol.TypeTrial, Protocol: protocol.Version, Seed: 1, Path: filepath.Join(t.TempDir(), "test.db"), Settings: driver.Settings{"pool_size": "2"},
		Plan: &plan.Plan{Schema: "CREATE TABLE t (id INTEGER)", Phases: []plan.Phase{{Name: "write", Script: "INSERT INTO t VALUES (1)"}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	var first string
	readings := 0
	for _, a := range answers {
		if a.Type == protocol.TypeFailed {
			t.Fatalf("failed: %+v", a.Reason)
		}
		list := a.Connections
		if a.Proof != nil {
			list = a.Proof.Connections
			first = list[0]["synchronous"]
		}
		for i, c := range list {
			readings++
			if c["synchronous"] != first {
				t.Errorf("%s: synchronous is %s on connection %d, and was %s at first", a.Type, c["synchronous"], i+1, first)
			}
		}
	}
	if readings != 6 {
		t.Errorf("%d readings, want those of 2 connections, 3 times", readings)
	}
}
