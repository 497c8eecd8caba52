package workload_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sqlite3perf/sqlite3perf/internal/workload"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/plan"
)

// TestPlans compares plans with stored plans. The workers' tests run the stored plans, because
// these tests cannot read YAML. With -update, TestPlans writes the stored plans.
func TestPlans(t *testing.T) {
	const dir = "../../worker/plan/testdata"
	for _, name := range append(workload.Builtins(), filepath.Join("testdata", "good", "everything.yaml")) {
		w := load(t, name)
		parameters := map[string]int64{}
		for _, p := range w.Parameters {
			parameters[p.Name] = 2
		}
		p, err := w.Plan(workload.Quick, parameters)
		if err != nil {
			t.Fatal(err)
		}
		got, err := json.MarshalIndent(struct {
			Settings driver.Settings `json:"settings,omitempty"`
			Plan     *plan.Plan      `json:"plan"`
		}{w.Settings, p}, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(dir, w.Name+".json")
		if *update {
			if err := os.WriteFile(file, append(got, '\n'), 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), string(got)+"\n"); diff != "" {
			t.Errorf("%s is not the plan of workload %s, go test ./internal/workload -run TestPlans -update writes it:\n%s", file, name, diff)
		}
	}
}
