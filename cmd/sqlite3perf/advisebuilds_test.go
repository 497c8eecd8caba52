package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/sqlite3perf/sqlite3perf/internal/advise"
	"github.com/sqlite3perf/sqlite3perf/internal/lab/build"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
)

// TestSoakAdviseBuilds requests cold builds (with an empty build cache), and builds for a platform.
// Cold builds of two real drivers would take minutes, so the test writes their results into its own
// cache of workers. The command must print these results without building again. The requested
// platform is that of this machine, without cgo, because most packages for this platform are in the
// build cache.
func TestSoakAdviseBuilds(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("builds workers")
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
	cache := filepath.Join(dir, "workers")
	copyWorkers(t, cache, "modernc", "zombiezen")
	advised := func(args ...string) (stdout, stderr string) {
		t.Helper()
		var said strings.Builder
		cmd := exec.Command("sqlite3perf", append([]string{"advise", "--worker-cache", cache}, args...)...)
		cmd.Dir, cmd.Env, cmd.Stderr = dir, append(os.Environ(), env...), &said
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%v: %s", err, said.String())
		}
		return string(out), said.String()
	}
	advised("--drivers", "modernc,zombiezen", "--workloads", tiny, "--rounds", "6", "--diff=false")
	remembered, err := filepath.Glob(filepath.Join(cache, "*.footprint.json"))
	if err != nil || len(remembered) != 2 {
		t.Fatalf("%q, %v: want the footprints of two workers", remembered, err)
	}
	for _, file := range remembered {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var f result.Footprint
		if err := json.Unmarshal(data, &f); err != nil {
			t.Fatal(err)
		}
		f.ColdNS = 83e9
		if data, err = json.Marshal(f); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	platform := runtime.GOOS + "/" + runtime.GOARCH
	out, said := advised("last", "--cold-build", "--targets", platform, "--diff=false", "--format", "json")
	var j advise.JSONAdvice
	if err := json.Unmarshal([]byte(out), &j); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(said, "empty build cache") || strings.Count(said, "for "+platform) != 2 {
		t.Errorf("it says %q: want builds for %s and none with an empty cache", said, platform)
	}
	for _, c := range j.Facts.Candidates {
		f := c.Footprint
		if f == nil || f.ColdNS != 83e9 || len(f.Targets) != 1 || f.Targets[0] != (result.TargetBuild{Target: platform, OK: true}) {
			t.Errorf("%s: %+v", c.Name, f)
		}
	}
	out, said = advised("last", "--cold-build", "--targets", platform, "--diff=false")
	if strings.Contains(said, "building") || !strings.Contains(out, "1m23s  builds") || !strings.Contains(out, "cold  "+platform) || strings.Contains(out, "--cold-build") || strings.Contains(out, "--targets") {
		t.Errorf("%s\n%s", said, out)
	}
}

// copyWorkers copies the workers of drivers from the user's cache into another cache.
func copyWorkers(t *testing.T, cache string, drivers ...string) {
	t.Helper()
	usual, err := build.DefaultCache()
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
	if err := os.MkdirAll(cache, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range drivers {
		ref, err := build.ParseRef(t.Context(), name, known)
		if err != nil {
			t.Fatal(err)
		}
		b := &build.Builder{Source: source, Cache: usual}
		path, _, err := b.Worker(t.Context(), ref, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, suffix := range []string{"", ".sha256"} {
			data, err := os.ReadFile(path + suffix)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(cache, filepath.Base(path)+suffix), data, 0o755); err != nil {
				t.Fatal(err)
			}
		}
	}
}
