package main

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	pprof "github.com/google/pprof/profile"

	"github.com/sqlite3perf/sqlite3perf/internal/lab/build"
	"github.com/sqlite3perf/sqlite3perf/internal/profile"
	"github.com/sqlite3perf/sqlite3perf/internal/stacks"
)

// TestProfile profiles a real driver twice: with perf if this machine has it, and without perf.
func TestProfile(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("builds a worker")
	}
	cache, err := build.DefaultCache() // the user's cache, so that no worker is built twice
	if err != nil {
		t.Fatal(err)
	}
	goTool, err := exec.LookPath("go")
	if err != nil {
		t.Fatal(err)
	}
	for _, perf := range []bool{true, false} {
		dir := t.TempDir()
		env, err := surroundings(dir)
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command("sqlite3perf", "profile", "--drivers", "modernc", "--workloads", "simple", "--phase", "insert", "--param", "users=100000", "--time", "1ms",
			"--seed", "1", "--format", "json", "-o", "out", "--worker-cache", cache)
		cmd.Dir, cmd.Env, cmd.Stderr = dir, append(os.Environ(), env...), os.Stderr
		if !perf {
			cmd.Env = append(cmd.Env, "PATH="+filepath.Dir(goTool))
		}
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		var got profile.Profiled
		if err := json.Unmarshal(out, &got); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		if len(got.Drivers) != 1 || got.Drivers[0].Summary == nil || got.Drivers[0].Samples == 0 {
			t.Fatalf("%s", out)
		}
		d := got.Drivers[0]
		if !perf && (d.Sampler != "go" || !strings.Contains(got.NoPerf, "no perf in PATH")) {
			t.Errorf("without perf: sampled by %s: %s", d.Sampler, got.NoPerf)
		}
		if !slices.ContainsFunc(d.Groups, func(p stacks.Part) bool { return p.Group == stacks.SQLite && p.Samples > 0 }) {
			t.Errorf("no time in SQLite: %+v", d.Groups)
		}
		if len(d.Allocations) == 0 {
			t.Error("no allocations")
		}
		for _, name := range []string{"modernc.cpu.pprof", "modernc.allocs.pprof"} {
			data, err := os.ReadFile(filepath.Join(dir, "out", name))
			if err != nil {
				t.Fatal(err)
			}
			if p, err := pprof.Parse(bytes.NewReader(data)); err != nil || len(p.Sample) == 0 {
				t.Errorf("%s: %v", name, err)
			}
		}
		picture, err := os.ReadFile(filepath.Join(dir, "out", "modernc.flame.svg"))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Contains(picture, []byte("sqlite3VdbeExec")) {
			t.Error("the flame graph lacks SQLite's interpreter")
		}
		again := func(args ...string) []byte {
			show := exec.Command("sqlite3perf", append([]string{"show", "last"}, args...)...)
			show.Dir, show.Env, show.Stderr = dir, cmd.Env, os.Stderr
			out, err := show.Output()
			if err != nil {
				t.Fatalf("%v: %v", args, err)
			}
			return out
		}
		var stored profile.Profiled
		if err := json.Unmarshal(again("--format", "json"), &stored); err != nil {
			t.Fatal(err)
		}
		stored.Into, stored.Files = got.Into, got.Files
		if diff := cmp.Diff(got, stored); diff != "" || stored.Run != 1 {
			t.Errorf("-printed +stored:\n%s", diff)
		}
		if graph := again("--chart", "flame-modernc"); !bytes.Contains(graph, []byte("sqlite3VdbeExec")) {
			t.Errorf("the flame graph of the run lacks SQLite's interpreter:\n%s", graph)
		}
		for d := xml.NewDecoder(bytes.NewReader(picture)); ; {
			if _, err := d.Token(); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatal(err)
			}
		}
	}
}
