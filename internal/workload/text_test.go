package workload_test

import (
	"crypto/sha256"
	"encoding/hex"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/workload"
)

// TestText checks that plans are made from the files as they were when the workload was parsed. The
// workload's hash must be computed from the YAML and from the files named there.
func TestText(t *testing.T) {
	const alone = "name: w\nphases: [{name: s, script: VACUUM}]\n"
	const named = "name: w\nschema: b.sql\nphases: [{name: s, script: a.sql}]\n"
	files := fstest.MapFS{"a.sql": {Data: []byte("VACUUM")}, "b.sql": {Data: []byte("CREATE TABLE t(a)")}}
	parse := func(yaml string) *workload.Workload {
		t.Helper()
		w, err := workload.Parse("w.yaml", []byte(yaml), files)
		if err != nil {
			t.Fatal(err)
		}
		return w
	}
	want := sha256.Sum256([]byte(alone))
	if got := parse(alone).SHA256(); got != hex.EncodeToString(want[:]) {
		t.Errorf("the hash of a file is %s", got)
	}
	w := parse(named)
	if d := cmp.Diff([]result.TextFile{{Name: "a.sql", Text: "VACUUM"}, {Name: "b.sql", Text: "CREATE TABLE t(a)"}}, w.Includes()); d != "" {
		t.Error(d)
	}
	want = sha256.Sum256([]byte(named + "\x00a.sql\x00VACUUM\x00b.sql\x00CREATE TABLE t(a)"))
	if got := w.SHA256(); got != hex.EncodeToString(want[:]) {
		t.Errorf("the hash with files is %s", got)
	}
	files["b.sql"].Data = []byte("CREATE TABLE t(b)")
	pl, err := w.Plan(workload.Full, nil)
	if err != nil || pl.Schema != "CREATE TABLE t(a)" {
		t.Errorf("the plan was made from another text: schema %q, %v", pl.Schema, err)
	}
	if parse(named).SHA256() == w.SHA256() {
		t.Error("another schema has the same hash")
	}
}
