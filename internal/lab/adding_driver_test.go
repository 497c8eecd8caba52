package lab_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/sqlite3perf/sqlite3perf/internal/lab/build"
	"github.com/sqlite3perf/sqlite3perf/internal/workload"
)

// TestSoakAddingADriver builds a worker from the files in docs/adding-a-driver.md. The
// worker must conform to the contract and run. Its module is outside the source tree, as
// the module of another author would be.
func TestSoakAddingADriver(t *testing.T) {
	t.Parallel()
	doc, err := os.ReadFile("../../docs/adding-a-driver.md")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	write := func(name string, data []byte) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	files := regexp.MustCompile("(?ms)^`([a-z_.]+)` [^\n]*:\n\n```[a-z]+\n(.*?)^```$").FindAllSubmatch(doc, -1)
	if len(files) != 3 {
		t.Fatalf("%d files in the document, want 3", len(files))
	}
	for _, f := range files {
		write(string(f[1]), f[2])
	}
	// The go.mod of drivers/modernc requires the library in the version that the document names. So it
	// already has the lines that go mod tidy would add.
	mod, err := os.ReadFile("../../drivers/modernc/go.mod")
	if err != nil {
		t.Fatal(err)
	}
	version := regexp.MustCompile(`go get (\S+)@(v[0-9.]+)`).FindSubmatch(doc)
	if version == nil || !strings.Contains(string(mod), string(version[1])+" "+string(version[2])+"\n") {
		t.Fatalf("drivers/modernc/go.mod does not require the version that the document names: %q", version)
	}
	worker, err := filepath.Abs("../../worker")
	if err != nil {
		t.Fatal(err)
	}
	write("go.mod", []byte(strings.NewReplacer(
		"module github.com/sqlite3perf/sqlite3perf/drivers/modernc", "module example.com/my-worker",
		"=> ../../worker", "=> "+worker).Replace(string(mod))))
	sum, err := os.ReadFile("../../drivers/modernc/go.sum")
	if err != nil {
		t.Fatal(err)
	}
	write("go.sum", sum)

	executable := filepath.Join(dir, "my-worker.exe")
	run := func(args ...string) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "go", args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GOWORK=off")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
	run("vet", ".")
	run("build", "-o", executable, ".")
	info, proof, err := build.Describe(t.Context(), executable)
	if err != nil {
		t.Fatal(err)
	}
	if info.Name != "my-modernc" || proof.ModuleVersion != string(version[2]) {
		t.Errorf("the worker describes itself as %+v with %s", info, proof.ModuleVersion)
	}
	w, err := workload.Load("real")
	if err != nil {
		t.Fatal(err)
	}
	parameters := map[string][]int64{"users": {3}, "articles": {2}, "comments": {2}}
	c := casesOf(t, executable, 1, map[string][]string{"journal_mode": {"wal"}, "txlock": {"immediate"}}, parameters, w)[0]
	checkSamples(t, c, runTrial(t, c, 1))
	if !testing.Short() {
		run("test", ".")
	}
}
