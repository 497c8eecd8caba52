package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sqlite3perf/sqlite3perf/lab"
	"github.com/sqlite3perf/sqlite3perf/result"
	"github.com/sqlite3perf/sqlite3perf/store"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// evil are drivers that execute what somebody else has written: a program, a checkout, what
// reaches the compiler or the process, and a commit, which may be one of a fork.
var evil = []string{
	"./evil", "mattn=./checkout", "mattn:cflags=-fplugin=./evil.so", "modernc:env.LD_PRELOAD=./evil.so", "modernc:GOGC=1",
	"mattn@v1.14.23-0.20240101000000-0123456789ab", "mattn@v1.14.22:tags=libsqlite3",
}

// strangersRun returns a run that was killed, of drivers and of one that is released. change
// may be nil.
func strangersRun(t *testing.T, change func(*result.Run), drivers ...string) *result.Run {
	t.Helper()
	w := builtinKept(t, "simple")
	usual, err := databasesDirectory("")
	if err != nil {
		t.Fatal(err)
	}
	r := &result.Run{Version: version(), Command: []string{"run"}, Started: time.Now(), Scale: "quick", Seed: 7, Workloads: []result.Workload{w},
		Schedule: &result.Schedule{Rounds: 8}, Machine: result.Machine{Directory: usual}}
	for i, d := range append(drivers, "modernc") {
		c := result.Case{ID: i + 1, Workload: w.Name, WorkloadSHA256: w.SHA256, Driver: d, Scale: "quick", Phases: []string{"insert"}}
		r.Cases = append(r.Cases, c)
		for round := 1; round <= 6; round++ {
			r.Trials = append(r.Trials, result.Trial{Case: c.ID, Round: round, Order: len(r.Trials) + 1, Status: result.OK, TookNS: 1e6,
				Proof: &protocol.Proof{SQLiteVersion: "3.50.0", Module: "m"}, Samples: []result.Sample{{Phase: "insert", Metric: result.MetricTime, WallNS: 1e6, Operations: 10}}})
		}
	}
	if change != nil {
		change(r)
	}
	return r
}

// strangersStore puts a run into a store in the working directory.
func strangersStore(t *testing.T, name string, r *result.Run) {
	t.Helper()
	s, err := store.Open(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.Begin(t.Context(), r); err != nil {
		t.Fatal(err)
	}
}

// TestStrangersStore expects that nothing which a store, a merged run or a report names is
// executed, read, written to or connected with, whatever command reads it.
func TestStrangersStore(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the program is a script of sh")
	}
	here := t.TempDir()
	t.Chdir(here)
	cache, err := lab.DefaultCache() // so that nothing is built twice
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("SQLITE3PERF_WORKER_CACHE", cache)
	for _, v := range []string{"XDG_CONFIG_HOME", "XDG_DATA_HOME"} {
		t.Setenv(v, filepath.Join(here, "home"))
	}
	for file, text := range map[string]string{
		"evil": "#!/bin/sh\necho owned > " + here + "/owned\n", "checkout/go.mod": "module github.com/mattn/go-sqlite3\n", "checkout/evil.go": "package sqlite3\n", "elsewhere/x": "",
	} {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	program := filepath.Join(here, "evil")
	hosted := func(r *result.Run) {
		r.Host, r.Command = &result.Host{Name: "pi"}, []string{"run", "--hosts", "pi", "--ssh", program}
	}
	refused := map[string]*result.Run{
		"add --hosts pi, and --ssh if it was given": strangersRun(t, hosted),
		"add --dir " + here + "/elsewhere":          strangersRun(t, func(r *result.Run) { r.Machine.Directory = filepath.Join(here, "elsewhere") }),
		"start a new run": strangersRun(t, func(r *result.Run) {
			r.Version, r.Command = "v0.1.0", []string{"run", "--source", "./checkout", "; " + program}
		}),
		"name its file again with --workloads": strangersRun(t, func(r *result.Run) {
			r.Command, r.Workloads[0].Text = []string{"run", "--workloads", "./owned.yaml"}, "name: simple"
		}),
		"mattn@v1.14.23-0.20240101000000-0123456789ab is not a released version": strangersRun(t, func(r *result.Run) {
			for i := range r.Trials[:6] {
				r.Trials[i].Proof = &protocol.Proof{SQLiteVersion: "3.50.0", ModuleVersion: "v1.14.23-0.20240101000000-0123456789ab"}
			}
		}, "mattn"),
	}
	for _, driver := range evil {
		refused["add --drivers "+driver] = strangersRun(t, nil, driver)
	}
	n := 0
	for want, r := range refused {
		n++
		db := fmt.Sprintf("refused%d.db", n)
		strangersStore(t, db, r)
		said, code := stderrOf(t, "run", "--resume", "1", "--store", db)
		if code != exitUsage || !strings.Contains(said, want) || strings.Contains(said, program) {
			t.Errorf("exit status %d, want %q:\n%s", code, want, said)
		}
	}
	all := strangersRun(t, hosted, evil...)
	strangersStore(t, "theirs.db", all)
	report, err := json.Marshal(map[string]any{"version": 1, "run": all})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("theirs.json", report, 0o644); err != nil {
		t.Fatal(err)
	}
	if said, code := stderrOf(t, "merge", "theirs.db", "--store", "merged.db"); code != exitOK {
		t.Fatal(said)
	}
	if err := os.MkdirAll("home", 0o755); err != nil { // the user's own store is in it
		t.Fatal(err)
	}
	before := namesIn(t, here)
	for _, run := range [][]string{{"1", "--store", "theirs.db"}, {"1", "--store", "merged.db"}, {"theirs.json"}} {
		for _, command := range [][]string{
			{"show"}, {"report", "-o", "page.html"}, {"compare"}, {"locks"}, {"advise"},
			{"gate", "--rounds", "8", "--max-regression", "99%", "--baseline"}, {"run", "--resume"},
		} {
			stderrOf(t, append(slices.Clone(command), run...)...)
		}
	}
	os.Remove("page.html")
	if after := namesIn(t, here); !slices.Equal(before, after) {
		t.Errorf("files before %q and after %q", before, after)
	}
	if left := namesIn(t, "elsewhere"); len(left) != 1 {
		t.Errorf("elsewhere has %q", left)
	}
}

// stderrOf runs the command in this process and returns what it says on standard error.
func stderrOf(t *testing.T, args ...string) (string, int) {
	t.Helper()
	var out, messages strings.Builder
	env := &environment{stdout: &out, stderr: &messages, now: time.Now, catch: func() <-chan os.Signal { return nil }}
	code := execute(t.Context(), env, args)
	return messages.String(), code
}

func namesIn(t *testing.T, dir string) (list []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		list = append(list, e.Name())
	}
	return list
}
