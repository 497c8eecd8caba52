package glebarez_test

import (
	"path/filepath"
	"testing"

	"github.com/sqlite3perf/sqlite3perf/drivers/glebarez"
	"github.com/sqlite3perf/sqlite3perf/worker"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/plan"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// TestSharedCacheProof checks that a trial with a shared cache ends, and that the worker reports
// that all requested settings are in force, even txlock. If another connection of the cache holds a
// lock, the library waits whatever the busy_timeout is, even after the context of the call has
// ended. So the code that observes a lock must release the lock itself, or the trial would not end.
func TestSharedCacheProof(t *testing.T) {
	for _, journal := range []string{"wal", "delete"} {
		for _, lock := range []string{"deferred", "immediate"} {
			s := driver.Settings{"cache": "shared", "journal_mode": journal, "txlock": lock}
			answers, err := worker.Exchange(t.Context(), glebarez.New(), protocol.Request{
				Type: protocol.TypeTrial, Protocol: protocol.Version, Seed: 1, Path: filepath.Join(t.TempDir(), "test.db"), Settings: s.With(driver.Settings{"pool_size": "2"}),
				Plan: &plan.Plan{Schema: "CREATE TABLE t (id INTEGER)", Phases: []plan.Phase{{Name: "write", Script: "INSERT INTO t VALUES (1)"}}},
			})
			if err != nil {
				t.Fatal(err)
			}
			for _, a := range answers {
				if a.Proof == nil {
					continue
				}
				for _, c := range a.Proof.Connections {
					if bad := driver.Check(s, c); len(bad) > 0 {
						t.Errorf("%s, %s: %v", journal, lock, bad)
					}
				}
			}
			if last := answers[len(answers)-1]; last.Type != protocol.TypeDone {
				t.Errorf("%s, %s: ended with %+v", journal, lock, last.Reason)
			}
		}
	}
}
