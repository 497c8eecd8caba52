package byhand_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/sqlite3perf/sqlite3perf/worker"
	"github.com/sqlite3perf/sqlite3perf/worker/byhand"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// request returns the request for a trial of a workload, on a database that does not exist.
func request(t *testing.T, workload string) *protocol.Request {
	t.Helper()
	data, err := os.ReadFile("../plan/testdata/" + workload + ".json")
	if err != nil {
		t.Fatal(err)
	}
	req := &protocol.Request{Type: protocol.TypeTrial, Protocol: protocol.Version, Path: filepath.Join(t.TempDir(), "test.db")}
	if err := json.Unmarshal(data, req); err != nil {
		t.Fatal(err)
	}
	return req
}

// TestOnlyItsWork checks that a hand-written program refuses a plan if its own loops would not do
// all that the plan says.
func TestOnlyItsWork(t *testing.T) {
	for name, change := range map[string]func(*protocol.Request){
		"pool_size":   func(r *protocol.Request) { r.Settings["pool_size"] = "2" },
		"ad hoc":      func(r *protocol.Request) { r.Plan.Phases[0].Insert.AdHoc = true },
		"one":         func(r *protocol.Request) { r.Plan.Phases[0].Insert.Transaction = "one" },
		"query":       func(r *protocol.Request) { r.Plan.Phases[1].Query.SQL += " LIMIT 1" },
		"repeat":      func(r *protocol.Request) { r.Plan.Phases[1].Query.Repeat = 2 },
		"cancellable": func(r *protocol.Request) { r.Plan.Phases[1].Context = "cancellable" },
		"loaded":      func(r *protocol.Request) { r.Loaded = 1 },
		"real":        func(r *protocol.Request) { *r = *request(t, "real") },
	} {
		req := request(t, "complex")
		change(req)
		program := byhand.Program{Open: func(string) (byhand.Database, error) {
			t.Errorf("%s: the program opened a database although it must refuse the plan", name)
			return nil, errors.New("not to be opened")
		}}
		answers, err := worker.Exchange(t.Context(), program.Driver(), *req)
		if err != nil || len(answers) == 0 {
			t.Fatalf("%d answers, error %v", len(answers), err)
		}
		if reason := answers[len(answers)-1].Reason; reason == nil || reason.Code != protocol.CodePlan {
			t.Errorf("%s: %+v", name, reason)
		}
	}
}
