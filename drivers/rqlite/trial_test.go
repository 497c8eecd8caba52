package rqlite_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/sqlite3perf/sqlite3perf/drivers/rqlite"
	"github.com/sqlite3perf/sqlite3perf/worker"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/plan"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// The function "request" sends a request to a worker in this process and returns the worker's
// answers.
func request(t *testing.T, r protocol.Request) []protocol.Response {
	t.Helper()
	answers, err := worker.Exchange(t.Context(), rqlite.New(), r)
	if err != nil {
		t.Fatal(err)
	}
	return answers
}

// builtin returns the plan of a built-in workload.
func builtin(t *testing.T, name string) *plan.Plan {
	t.Helper()
	data, err := os.ReadFile("../../worker/plan/testdata/" + name + ".json")
	if err != nil {
		t.Fatal(err)
	}
	var of struct{ Plan *plan.Plan }
	if err := json.Unmarshal(data, &of); err != nil {
		t.Fatal(err)
	}
	return of.Plan
}

// TestTrials checks that the workloads run on a cluster. The queries must return the generated
// values. The worker must report that the requested settings are in force. At the end only the
// database must be left.
func TestTrials(t *testing.T) {
	for _, c := range []struct {
		workload string
		settings driver.Settings
		queries  int // number of queries whose results are verified
	}{
		{"simple", driver.Settings{"nodes": "3", "foreign_keys": "on", "read_consistency": "linearizable"}, 1},
		{"simple", driver.Settings{"nodes": "1", "foreign_keys": "off", "queued_writes": "on"}, 1},
		{"many", driver.Settings{"nodes": "3", "read_consistency": "none", "request_rows": "7"}, 1},
		{"read-write", driver.Settings{"nodes": "3", "pool_size": "4"}, 0},
		{"point-read", driver.Settings{"read_consistency": "strong"}, 0},
		{"real", driver.Settings{"nodes": "1"}, 1},
	} {
		path := filepath.Join(t.TempDir(), "test.db")
		p := builtin(t, c.workload)
		answers := request(t, protocol.Request{Type: protocol.TypeTrial, Protocol: protocol.Version, Seed: 3, Path: path, Settings: c.settings, Plan: p})
		gen, err := plan.NewGenerator(3, p)
		if err != nil {
			t.Fatal(err)
		}
		samples, verified := 0, 0
		for _, a := range answers {
			switch a.Type {
			case protocol.TypeFailed:
				t.Fatalf("%s: %+v", c.workload, a.Reason)
			case protocol.TypeReady:
				for _, got := range a.Proof.Connections {
					if bad := driver.Check(c.settings, got); len(bad) > 0 {
						t.Errorf("%s: %v", c.workload, bad)
					}
				}
				if a.Proof.SQLiteVersion == "" || len(a.Proof.CompileOptions) == 0 {
					t.Errorf("%s: %+v", c.workload, a.Proof)
				}
			case protocol.TypeSample:
				samples++
				if a.Sample.DatabaseBytes <= 0 || a.Sample.Failed > 0 {
					t.Errorf("%s: %+v", c.workload, a.Sample)
				}
				verified += verify(t, gen, p, a.Sample)
			}
		}
		if samples == 0 || answers[len(answers)-1].Type != protocol.TypeDone || verified != c.queries {
			t.Errorf("%s: %d samples, %d verified, the last answer is %s", c.workload, samples, verified, answers[len(answers)-1].Type)
		}
		onlyDatabase(t, path)
	}
}

// verify compares the results of queries with the expected ones, and returns the number of
// queries.
func verify(t *testing.T, gen *plan.Gen, p *plan.Plan, s *protocol.Sample) (n int) {
	t.Helper()
	for _, ph := range p.Phases {
		if ph.Name != s.Phase || ph.Query == nil || ph.Query.Returns == nil {
			continue
		}
		sum, _, err := gen.Expected(ph.Query.Returns, func(int64, int64) {})
		if err != nil || s.Checksum != sum {
			t.Errorf("%s: checksum %s, want %s (%v)", s.Phase, s.Checksum, sum, err)
		}
		n++
	}
	return n
}

// TestRefused checks that a request that a cluster cannot fulfill fails with
// [protocol.CodeUnsupported].
func TestRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "test.db")
	for name, r := range map[string]protocol.Request{
		"a mix that reads in transactions": {Type: protocol.TypeTrial, Plan: builtin(t, "locks")},
		"a job on a user's database":       {Type: protocol.TypeJob, Job: &protocol.Job{Generate: &protocol.Generate{Table: "bench", Rows: 10, Batch: 10}}},
	} {
		r.Protocol, r.Path, r.Seed = protocol.Version, path, 3
		answers := request(t, r)
		last := answers[len(answers)-1]
		if last.Type != protocol.TypeFailed || last.Reason.Code != protocol.CodeUnsupported {
			t.Errorf("%s: %s, %+v", name, last.Type, last.Reason)
		}
		_ = os.Remove(path) // the trial may have created the file
	}
}
