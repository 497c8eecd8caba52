package worker_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sqlite3perf/sqlite3perf/worker/plan"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// TestProfile checks that a phase whose clock stops between its parts has profiles of each
// part, and that other phases have none.
func TestProfile(t *testing.T) {
	dir := t.TempDir()
	in := insertPhase(plan.Insert{Sets: []string{"users", "articles"}, Transaction: "set", RowsPerStatement: 1})
	other := insertPhase(plan.Insert{Sets: []string{"users"}, Transaction: "one", RowsPerStatement: 1})
	other.Name = "other"
	req := trialOf(t, blog(3, in, other), nil)
	req.Profile = &protocol.Profile{Phase: "insert", Directory: dir}
	got := serve(t, newFake(), req)
	if last := got[len(got)-1]; last.Type != protocol.TypeDone {
		t.Fatalf("ended with %+v", last.Reason)
	}
	data, err := os.ReadFile(filepath.Join(dir, protocol.StretchesFile))
	if err != nil {
		t.Fatal(err)
	}
	var clock []protocol.Stretch
	if err := json.Unmarshal(data, &clock); err != nil {
		t.Fatal(err)
	}
	if len(clock) < 2 {
		t.Fatalf("%s: want a stretch for each of the two data sets and for the end of the phase", data)
	}
	files := 1
	for i, s := range clock {
		if s.BeginNS > s.EndNS || i > 0 && s.BeginNS < clock[i-1].EndNS {
			t.Errorf("stretch %d: %+v", i, s)
		}
		files += 3
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) != files {
		t.Errorf("files %v: want 3 files for each of %d stretches, and the list of stretches", entries, len(clock))
	}
}

// TestProfileFails checks that a trial fails with the reason if the profiles cannot be written.
func TestProfileFails(t *testing.T) {
	req := trialOf(t, blog(3, insertPhase(plan.Insert{Sets: []string{"users"}, Transaction: "one", RowsPerStatement: 1})), nil)
	req.Profile = &protocol.Profile{Phase: "insert", Directory: filepath.Join(t.TempDir(), "absent")}
	got := serve(t, newFake(), req)
	if last := got[len(got)-1]; last.Type != protocol.TypeFailed || !strings.HasPrefix(last.Reason.Message, "profiling: ") {
		t.Errorf("%+v", last)
	}
}
