package lab_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sqlite3perf/sqlite3perf/internal/lab"
	"github.com/sqlite3perf/sqlite3perf/internal/lab/build"
	"github.com/sqlite3perf/sqlite3perf/internal/workload"
)

// TestSqinn checks a driver that needs another program. The driver must be measured if the program is installed.
// The test uses the program in internal/sqinn of the driver's module, which also serves the driver's own tests.
func TestSqinn(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a worker and the counterpart of sqinn")
	}
	ref := find(t, "sqinn")
	b := &build.Builder{Source: source(t), Cache: t.TempDir()}
	t.Setenv("SQINN_PATH", "")
	t.Setenv("PATH", goOnly(t))
	_, _, err := b.Worker(t.Context(), ref, func() { t.Error("the worker is built, although it could not run") })
	var unavailable *build.BuildError
	if !errors.As(err, &unavailable) || unavailable.Reason.Code != "no-executable" ||
		!strings.Contains(err.Error(), "sqinn cannot be measured: it needs sqinn, which is not in PATH: get sqinn 1.x from https://github.com/") {
		t.Errorf("without the executable: %v", err)
	}
	empty(t, b.Cache)

	sqinn := filepath.Join(t.TempDir(), "sqinn.exe")
	compile := exec.CommandContext(t.Context(), "go", "build", "-o", sqinn, "./internal/sqinn")
	compile.Dir = ref.Known.Dir
	compile.Env = append(os.Environ(), "GOWORK=off")
	if out, err := compile.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Setenv("SQINN_PATH", sqinn)
	w, err := workload.Load("real")
	if err != nil {
		t.Fatal(err)
	}
	m := lab.Matrix{
		Drivers: []build.Ref{ref}, Workloads: []*workload.Workload{w}, Scale: workload.Quick, Seed: 5,
		Parameters: map[string][]int64{"users": {3}, "articles": {2}, "comments": {2}},
	}
	cases, err := m.Cases()
	if err != nil {
		t.Fatal(err)
	}
	if err := lab.Prepare(t.Context(), cases, b, &builds{}); err != nil {
		t.Fatal(err)
	}
	if cases[0].Unavailable != nil {
		t.Fatalf("%+v", cases[0].Unavailable)
	}
	got := runTrial(t, cases[0], 5)
	checkSamples(t, cases[0], got)
	if got.Proof.ModuleVersion != ref.Known.Version {
		t.Errorf("version %s, want %s", got.Proof.ModuleVersion, ref.Known.Version)
	}
}
