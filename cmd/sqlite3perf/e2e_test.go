package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sqlite3perf/sqlite3perf/cmd/sqlite3perf/internal/cli"
	"github.com/sqlite3perf/sqlite3perf/internal/lab/build"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
)

// TestAllDrivers builds every driver from source and measures them on a tiny workload. Every driver
// must complete all phases, prove its versions, and return the same answers as the other drivers. Without
// a C compiler, the drivers that need one must be unavailable for that reason, and the test logs their
// names.
func TestAllDrivers(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("builds all workers")
	}
	dir := t.TempDir()
	env, err := surroundings(dir)
	if err != nil {
		t.Fatal(err)
	}
	tiny, err := filepath.Abs("testdata/tiny.yaml")
	if err != nil {
		t.Fatal(err)
	}
	cache, err := build.DefaultCache() // the user's cache, so that no worker is built twice
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("sqlite3perf", "run", "--workloads", tiny, "--scale", "full", "--param", "clients=2",
		"--rounds", "6", "--seed", "1", "--format", "json", "--worker-cache", cache)
	cmd.Dir, cmd.Env, cmd.Stderr = dir, append(os.Environ(), env...), os.Stderr
	out, err := cmd.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() == cli.ExitIncomplete {
		err = nil // the report in "out" gives the reason
	}
	if err != nil {
		t.Fatal(err)
	}
	j, err := load(out)
	if err != nil {
		t.Fatal(err)
	}
	source, err := build.FindSource("")
	if err != nil {
		t.Fatal(err)
	}
	known, err := source.Drivers()
	if err != nil {
		t.Fatal(err)
	}
	known = slices.DeleteFunc(known, func(k build.Known) bool { return k.Optional })
	var want, got []string
	for _, phase := range []string{"insert", "query", "mix"} {
		for _, k := range known {
			want = append(want, fmt.Sprintf("%s %s", phase, k.Name))
		}
	}
	versions := map[string]string{}
	for _, c := range j.Run.Cases {
		versions[c.Driver] = c.Build["module_version"]
	}
	for _, phase := range []string{"insert", "query", "mix"} {
		for _, k := range known {
			for _, c := range j.Cells {
				if c.Phase != phase || c.Driver != k.Name {
					continue
				}
				got = append(got, fmt.Sprintf("%s %s", phase, c.Driver))
				switch {
				case c.Status == result.Unavailable && c.Reason.Code == "no-cc":
					t.Logf("%s is not tested: %s", c.Driver, c.Reason.Message)
				case c.Status != result.OK:
					t.Errorf("%s on %s is %s: %+v", phase, c.Driver, c.Status, c.Reason)
				case c.N != 6 || c.Interval == nil || c.Median <= 0:
					t.Errorf("%s on %s: %+v", phase, c.Driver, c.Summary)
				}
			}
		}
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("cells: -want +got:\n%s", d)
	}
	byDriver := map[string]int{}
	for _, tr := range j.Run.Trials {
		if tr.Status != result.OK {
			continue
		}
		c := j.Run.Cases[tr.Case-1]
		byDriver[c.Driver]++
		if p := tr.Proof; p.Module != c.Info.Module || p.ModuleVersion != versions[c.Driver] || p.SQLiteVersion == "" || p.Runtime == "" {
			t.Errorf("%s: proof %s %s, SQLite %q, %q; want %s %s", c.Driver, p.Module, p.ModuleVersion, p.SQLiteVersion, p.Runtime, c.Info.Module, versions[c.Driver])
		}
		for _, s := range tr.Samples {
			if s.Phase == "query" && (s.Checksum == "" && tr.Round == 1 || s.Rows != 200) {
				t.Errorf("%s: %d rows with the checksum %q", c.Driver, s.Rows, s.Checksum)
			}
			if len(s.Errors) > 0 {
				t.Errorf("%s in %s: %+v", c.Driver, s.Phase, s.Errors)
			}
			if s.WallNS <= 0 || s.UserNS+s.SystemNS < 0 || s.PeakRSSBytes < 1<<20 || s.DatabaseBytes <= 0 {
				t.Errorf("%s in %s: %+v", c.Driver, s.Phase, s)
			}
		}
	}
	t.Logf("trials by driver: %v", byDriver)
}
