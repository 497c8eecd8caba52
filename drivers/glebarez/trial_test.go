package glebarez_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sqlite3perf/sqlite3perf/drivers/glebarez"
	"github.com/sqlite3perf/sqlite3perf/worker"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// TestSharedCacheProof checks that a trial with a shared cache ends, and that the worker reports
// that all requested settings are in force, even txlock. If another connection of the cache holds a
// lock, the library waits whatever the busy_timeout is, even after the context of the call has
// ended. So the code that observes a lock must release the lock itself.
func TestSharedCacheProof(t *testing.T) {
	for _, journal := range []string{"wal", "delete"} {
		for _, lock := range []string{"deferred", "immediate"} {
			path, err := json.Marshal(filepath.Join(t.TempDir(), "test.db"))
			if err != nil {
				t.Fatal(err)
			}
			request := fmt.Sprintf(`{"type":"trial","protocol":%d,"seed":1,"path":%s,"settings":{"pool_size":"2","cache":"shared","journal_mode":%q,"txlock":%q},`+
				`"plan":{"schema":"CREATE TABLE t (id INTEGER)","phases":[{"name":"write","script":"INSERT INTO t VALUES (1)"}]}}`+"\n", protocol.Version, path, journal, lock)
			lab, _ := io.Pipe() // stays open, because a worker gives up when its input ends
			var out bytes.Buffer
			if err := worker.Serve(t.Context(), glebarez.New(), io.MultiReader(strings.NewReader(request), lab), &out); err != nil {
				t.Fatal(err)
			}
			var last protocol.Response
			for d := json.NewDecoder(&out); d.More(); {
				last = protocol.Response{}
				if err := d.Decode(&last); err != nil {
					t.Fatal(err)
				}
				if last.Proof == nil {
					continue
				}
				for _, c := range last.Proof.Connections {
					if bad := driver.Check(driver.Settings{"cache": "shared", "journal_mode": journal, "txlock": lock}, c); len(bad) > 0 {
						t.Errorf("%s, %s: %v", journal, lock, bad)
					}
				}
			}
			if last.Type != protocol.TypeDone {
				t.Errorf("%s, %s: ended with %+v", journal, lock, last.Reason)
			}
		}
	}
}
