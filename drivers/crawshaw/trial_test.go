package crawshaw_test

import (
	"bytes"
	"encoding/json"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sqlite3perf/sqlite3perf/drivers/crawshaw"
	"github.com/sqlite3perf/sqlite3perf/worker"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// TestSettingsThatNobodyAskedFor checks that the setting synchronous has the same value in the
// proof (the worker's first reading of all settings) and in all later readings. If no settings are
// requested, the database has a WAL, and the library's SQLite changes synchronous when it first
// reads the database. The proof must already have the changed value, because otherwise the change
// would be blamed on the workload.
func TestSettingsThatNobodyAskedFor(t *testing.T) {
	path, err := json.Marshal(filepath.Join(t.TempDir(), "test.db"))
	if err != nil {
		t.Fatal(err)
	}
	request := `{"type":"trial","protocol":2,"seed":1,"path":` + string(path) + `,"settings":{"pool_size":"2"},"plan":{"schema":"CREATE TABLE t (id INTEGER)","phases":[{"name":"write","script":"INSERT INTO t VALUES (1)"}]}}` + "\n"
	lab, _ := io.Pipe() // stays open, because a worker gives up when its input ends
	var out bytes.Buffer
	if err := worker.Serve(t.Context(), crawshaw.New(), io.MultiReader(strings.NewReader(request), lab), &out); err != nil {
		t.Fatal(err)
	}
	var first string
	readings := 0
	for d := json.NewDecoder(&out); d.More(); {
		var a protocol.Response
		if err := d.Decode(&a); err != nil {
			t.Fatal(err)
		}
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
