package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sqlite3perf/sqlite3perf/cmd/sqlite3perf/internal/cli"
	"github.com/sqlite3perf/sqlite3perf/internal/advise"
	"github.com/sqlite3perf/sqlite3perf/internal/lab"
	"github.com/sqlite3perf/sqlite3perf/internal/lab/build"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
	"github.com/sqlite3perf/sqlite3perf/internal/workload"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

const mineAgain = `
name: mine
schema: schema.sql
rows:
  t: {count: 3, columns: {id: serial}}
phases:
  - {name: insert, insert: t}
  - {name: query, query: SELECT id FROM t, columns: [int]}
`

// keptRun returns a run of workloads on two drivers and plain C, in the form in which a store
// returns runs.
func keptRun(t *testing.T, command string, kept ...result.Workload) *result.Run {
	t.Helper()
	run := &result.Run{Scale: "quick", Seed: 7, Command: strings.Fields(command), Workloads: kept}
	for _, w := range kept {
		for _, name := range []string{"mattn", "native", "modernc"} {
			run.Cases = append(run.Cases, result.Case{ID: len(run.Cases) + 1, Workload: w.Name, WorkloadSHA256: w.SHA256, Scale: "quick", Driver: name,
				Settings: driver.Settings{"journal_mode": "wal", "pool_size": "4"}})
		}
	}
	return run
}

// keptWorkload returns a workload as a stored run contains it.
func keptWorkload(t *testing.T, text string, files ...result.TextFile) result.Workload {
	t.Helper()
	w, err := workload.Parse("mine.yaml", []byte(text), nil, workload.Including(files...))
	if err != nil {
		t.Fatal(err)
	}
	return keptOf(w)
}

func keptOf(w *workload.Workload) result.Workload {
	return result.Workload{Name: w.Name, Text: string(w.Source()), Includes: w.Includes(), SHA256: w.SHA256()}
}

func builtinKept(t *testing.T, name string) result.Workload {
	t.Helper()
	w, err := workload.Load(name)
	if err != nil {
		t.Fatal(err)
	}
	return keptOf(w)
}

// TestAskedAgain checks that AskedAgain returns the statements of those workloads whose text is stored in
// the run. For every other workload, it must return the reason why the statements are missing.
func TestAskedAgain(t *testing.T) {
	schema := result.TextFile{Name: "schema.sql", Text: "CREATE TABLE t(id INTEGER PRIMARY KEY)"}
	mine := keptWorkload(t, mineAgain, schema)
	without := mine
	without.Includes = nil
	changed := mine
	changed.Text += "about: changed\n"
	ofDatabase := keptWorkload(t, strings.Replace(mineAgain, "schema: schema.sql", "database: ./app.db", 1))
	for name, c := range map[string]struct {
		kept    result.Workload
		foreign bool
		why     string // why the statements are not run; "" if they are
	}{
		"a file with its schema":      {kept: mine},
		"a built-in one":              {kept: builtinKept(t, "simple")},
		"a built-in one of a report":  {kept: builtinKept(t, "simple"), foreign: true},
		"another one of a report":     {kept: mine, foreign: true, why: "only built-in workloads of a report or a merged run are run"},
		"a file without its schema":   {kept: without, why: `cannot open the file "schema.sql"`},
		"another text":                {kept: changed, why: "the run did not store all of it"},
		"a user's database":           {kept: ofDatabase, why: "it begins with the database ./app.db, and runs do not store databases"},
		"a run that has kept nothing": {kept: result.Workload{Name: "mine"}, why: "did not store its text"},
	} {
		run := keptRun(t, "advise", c.kept)
		if c.kept.Text == "" {
			run.Workloads = nil
		}
		work, silent := advise.AskedAgain(run, c.foreign)
		if c.why != "" {
			if len(work) != 0 || len(silent) != 1 || !strings.Contains(silent[0], c.why) {
				t.Errorf("%s: %q, want %q", name, silent, c.why)
			}
			continue
		}
		if len(work) != 1 || silent != nil || work[0].Name != c.kept.Name || work[0].Job.Plan == nil || work[0].Settings["pool_size"] != "1" || work[0].Settings["journal_mode"] != "wal" {
			t.Errorf("%s: %+v, %q", name, work, silent)
		}
	}
}

// TestMeasuredRefs checks that MeasuredRefs returns a map from the drivers' names in a run to the
// drivers, in the versions that the run measured. It must leave out variants with options and
// unknown drivers.
func TestMeasuredRefs(t *testing.T) {
	source, err := build.FindSource("")
	if err != nil {
		t.Fatal(err)
	}
	known, err := source.Drivers()
	if err != nil {
		t.Fatal(err)
	}
	pinned := known[slices.IndexFunc(known, func(k build.Known) bool { return k.Name == "modernc" })].Version
	run := &result.Run{}
	for i, c := range []struct{ driver, measured string }{
		{"mattn", "v1.14.22"}, {"modernc", pinned}, {"mattn:GOGC=400", "v1.14.22"}, {"mattn@v1.14.30", "v1.14.30"}, {"gone", "v1.0.0"},
	} {
		run.Cases = append(run.Cases, result.Case{ID: i + 1, Workload: "mine", Driver: c.driver, Phases: []string{"insert"}})
		run.Trials = append(run.Trials, result.Trial{Case: i + 1, Round: 1, Status: result.OK, Proof: &protocol.Proof{ModuleVersion: c.measured}})
	}
	got := map[string]string{}
	for name, ref := range (cli.Workshop{Known: known}).MeasuredRefs(t.Context(), stats.Analyze(run, lab.Floor)) {
		got[name] = ref.Version
	}
	want := map[string]string{"mattn": "v1.14.22", "modernc": "", "mattn@v1.14.30": "v1.14.30"}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// TestDiffAgain checks the command that DiffAgain returns, which compares the answers of a run's
// candidates. The command must have the workloads and the flags of the run.
func TestDiffAgain(t *testing.T) {
	mine, simple := keptWorkload(t, strings.Replace(mineAgain, "schema.sql", "CREATE TABLE t(id INTEGER PRIMARY KEY)", 1)), builtinKept(t, "simple")
	asked := keptRun(t, "advise --workloads ./mine.yaml,simple --rounds 6", mine, simple)
	asked.Asked = &result.Asked{Settings: map[string][]string{"journal_mode": {"wal", "delete"}, "busy_timeout": {}}, Parameters: map[string][]int64{"rows": {5, 6}}}
	got := []string{
		advise.DiffAgain(asked),
		advise.DiffAgain(keptRun(t, "run --workloads=./it's.yaml", mine)),
		advise.DiffAgain(keptRun(t, "run", simple)),
		advise.DiffAgain(keptRun(t, "run", mine)),
	}
	want := []string{
		"sqlite3perf diff mattn modernc --workloads ./mine.yaml,simple --scale quick --seed 7 --set journal_mode=wal --param rows=5",
		`sqlite3perf diff mattn modernc --workloads './it'\''s.yaml' --scale quick --seed 7`,
		"sqlite3perf diff mattn modernc --workloads simple --scale quick --seed 7",
		"sqlite3perf diff mattn modernc --workloads FILE.yaml --scale quick --seed 7",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}
