package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sqlite3perf/sqlite3perf/cmd/sqlite3perf/internal/cli"
)

// TestSoakInstalled uses the command like a user who has only the executable and a home
// directory. The command builds a worker from the sources inside the executable.
func TestSoakInstalled(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("builds a worker")
	}
	dir := t.TempDir()
	env, err := surroundings(dir)
	if err != nil {
		t.Fatal(err)
	}
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	// Package build is compiled without the path of its directory, as with go build -trimpath, so the
	// command does not find this source tree. The flag -trimpath is not used for all packages, because
	// it would compile every dependency again.
	bin := filepath.Join(dir, "bin", "sqlite3perf")
	build := exec.Command("go", "build", "-o", bin, "-gcflags=github.com/sqlite3perf/sqlite3perf/internal/lab/build=-trimpath="+root, ".")
	build.Env = append(os.Environ(), "GOWORK=off")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	here := filepath.Join(dir, "empty")
	if err := os.Mkdir(here, 0o755); err != nil {
		t.Fatal(err)
	}
	run := func(want int, with []string, args ...string) (stdout, stderr string) {
		t.Helper()
		cmd := exec.Command(bin, args...)
		cmd.Dir, cmd.Env = here, append(append(os.Environ(), env...), with...)
		var out, errs bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &errs
		_ = cmd.Run()
		if got := cmd.ProcessState.ExitCode(); got != want {
			t.Fatalf("%s: exit status %d, want %d\n%s%s", args, got, want, out.String(), errs.String())
		}
		return out.String(), errs.String()
	}

	out, errs := run(0, nil, "run", "--drivers", "modernc", "--workloads", "simple", "--scale", "0.001", "--rounds", "6")
	if !strings.Contains(out, "modernc v1.") {
		t.Errorf("run: %s%s", out, errs)
	}
	if list, err := os.ReadDir(here); err != nil || len(list) > 0 {
		t.Errorf("in the working directory: %v, %v", list, err)
	}
	trees, err := filepath.Glob(filepath.Join(dir, ".home", "cache", "sqlite3perf", "sources", strings.Repeat("?", 16)))
	if err != nil || len(trees) != 1 {
		t.Fatalf("unpacked to %v, %v", trees, err)
	}

	if err := os.WriteFile(filepath.Join(trees[0], "worker", "more.go"), []byte("package worker\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	_, errs = run(cli.ExitFailed, nil, "drivers")
	for _, want := range []string{"sources of the workers in " + trees[0] + " have been changed: worker/more.go", "remove the directory", "--source " + trees[0]} {
		if !strings.Contains(errs, want) {
			t.Errorf("changed: no %q in %s", want, errs)
		}
	}
	run(0, nil, "drivers", "--source", trees[0])

	nowhere := []string{"XDG_CACHE_HOME=" + bin, "HOME=" + bin}
	if _, errs = run(cli.ExitFailed, nowhere, "drivers"); !strings.Contains(errs, "unpacking the sources of the workers: ") || !strings.Contains(errs, "set HOME or XDG_CACHE_HOME so that your cache directory can be written to, or name a clone of sqlite3perf with --source DIR") {
		t.Errorf("nowhere to unpack: %s", errs)
	}
	run(0, nowhere, "drivers", "--source", root)
}
