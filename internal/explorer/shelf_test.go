package explorer

import (
	"database/sql"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/store"
)

// TestStoreChanges checks that the answers are up to date if the store is created, changed, removed or
// replaced while it is served.
func TestStoreChanges(t *testing.T) {
	path := filepath.Join(t.TempDir(), "results.db")
	server := serving(t, Options{Store: path, Floor: "native"})
	if l := get[*List](t, server, "/api/v1/runs"); l.Total != 0 || l.Runs == nil {
		t.Errorf("%+v", l)
	}
	if status, _, body := request(t, server, "GET", "/api/v1/runs/1", ""); status != http.StatusNotFound {
		t.Errorf("status %d: %s", status, body)
	}
	st, err := store.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	r := aRun(1, 1)
	all := r.Trials
	r.Trials, r.Ended, r.Stopped = all[:6], time.Time{}, ""
	if err := st.Begin(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	for i := 6; i <= len(all); i++ {
		if l := get[*List](t, server, "/api/v1/runs"); l.Total != 1 || l.Runs[0].Trials != i {
			t.Fatalf("after %d trials: %+v", i, l)
		}
		if run := get[*Run](t, server, "/api/v1/runs/1"); run.Trials != i {
			t.Fatalf("after %d trials: run has %d", i, run.Trials)
		}
		if i < len(all) {
			if err := st.AddTrial(t.Context(), 1, &all[i]); err != nil {
				t.Fatal(err)
			}
		}
	}
	r.Ended, r.Stopped = began.AddDate(0, 0, 1), result.StoppedRounds
	if err := st.Finish(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	if run := get[*Run](t, server, "/api/v1/runs/1"); run.Stopped != result.StoppedRounds {
		t.Errorf("stopped %q", run.Stopped)
	}
	for _, question := range []string{result.QuestionTune, result.QuestionAdvise} {
		if err := st.SetAnswer(t.Context(), 1, &result.Answer{Question: question, Version: 1, Value: []byte("{}")}); err != nil {
			t.Fatal(err)
		}
		if run := get[*Run](t, server, "/api/v1/runs/1"); run.Question != question {
			t.Errorf("the answer of %q, want that of %s", run.Question, question)
		}
	}
	if err := st.AddWarning(t.Context(), 1, result.Warning{Code: "load", Message: "busy"}); err != nil {
		t.Fatal(err)
	}
	if run := get[*Run](t, server, "/api/v1/runs/1"); len(run.Warnings) != 1 {
		t.Errorf("warnings: %+v", run.Warnings)
	}

	// Another file replaces the store.
	if err := os.Rename(path, path+".old"); err != nil {
		t.Fatal(err)
	}
	if l := get[*List](t, server, "/api/v1/runs"); l.Total != 0 {
		t.Errorf("after the store was removed: %+v", l)
	}
	other, err := store.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	for i := range 2 {
		if err := other.Begin(t.Context(), aRun(i, 1)); err != nil {
			t.Fatal(err)
		}
	}
	if l := get[*List](t, server, "/api/v1/runs"); l.Total != 2 {
		t.Errorf("after another file replaced the store: %+v", l)
	}
}

// TestDamagedStore checks that a run whose record contradicts itself is listed as damaged, and
// that all other runs can still be read.
func TestDamagedStore(t *testing.T) {
	path := filepath.Join(t.TempDir(), "results.db")
	st, err := store.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 4 {
		if err := st.Begin(t.Context(), aRun(i, 1)); err != nil {
			t.Fatal(err)
		}
	}
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, change := range []string{
		`UPDATE samples SET json = json_set(json, '$.wall_ns', -1) WHERE run_id = 1 AND trial_id = 3`,
		`UPDATE runs SET json = '{"rounds": 1e999}' WHERE run_id = 2`,
		`UPDATE trials SET json = json_set(json, '$.status', '</script>') WHERE run_id = 3 AND trial_id = 1`,
	} {
		if _, err := db.Exec(change); err != nil {
			t.Fatal(err)
		}
	}
	server := serving(t, Options{Store: path, Floor: "native"})
	states := ""
	for _, r := range get[*List](t, server, "/api/v1/runs?order=asc").Runs {
		states += r.State + " "
	}
	if states != "damaged complete damaged complete " { // run 2 comes first, because it has no date; run 1 is complete here, because samples are checked only when their run is read
		t.Error(states)
	}
	for id, says := range map[int]string{1: "-1 ns", 2: "damaged", 3: "there is no status"} {
		for _, path := range []string{"/runs/%d/report", "/api/v1/runs/%d", "/api/v1/runs/%d/cells", "/api/v1/runs/%d/report", "/api/v1/compare?first=%d&second=4"} {
			status, _, body := request(t, server, "GET", fmt.Sprintf(path, id), "")
			if status != http.StatusUnprocessableEntity || !strings.Contains(body, says) {
				t.Errorf(path+": status %d, want %q: %s", id, status, says, body)
			}
		}
	}
	if x := get[*Trends](t, server, "/api/v1/trends?workload=simple&driver=modernc&phase=mix"); x.Damaged != 1 || len(x.Series[0].Points) != 1 || x.Series[0].Points[0].Run != 4 {
		t.Errorf("%+v", x)
	}
	get[*Current](t, server, "/api/v1/current")
	get[*Run](t, server, "/api/v1/runs/4")
}
