package main

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sqlite3perf/sqlite3perf/cmd/sqlite3perf/internal/cli"
	"github.com/sqlite3perf/sqlite3perf/internal/lab/build"
	"github.com/sqlite3perf/sqlite3perf/internal/report"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/store"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// evil has drivers that execute code or options from somebody else: a program, a checkout,
// options for the compiler or the process, and a commit, which may be from a fork.
var evil = []string{
	"./evil", "mattn=./checkout", "mattn:cflags=-fplugin=./evil.so", "modernc:env.LD_PRELOAD=./evil.so", "modernc:GOGC=1",
	"mattn@v1.14.23-0.20240101000000-0123456789ab", "mattn@v1.14.22:tags=libsqlite3",
}

// strangersRun returns a killed run of the given drivers and of one released driver ([build.Released]).
// If the function "change" is not nil, it changes the run.
func strangersRun(t *testing.T, change func(*result.Run), drivers ...string) *result.Run {
	t.Helper()
	w := builtinKept(t, "simple")
	usual, err := cli.DatabasesDirectory("")
	if err != nil {
		t.Fatal(err)
	}
	r := &result.Run{Version: cli.Version(), Command: []string{"run"}, Started: time.Now(), Scale: "quick", Seed: 7, Workloads: []result.Workload{w},
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

// TestStrangersStore checks that no command executes, reads, writes or connects to anything that is
// named in a store, a merged run or a report from somebody else.
func TestStrangersStore(t *testing.T) {
	here := t.TempDir()
	t.Chdir(here)
	cache, err := build.DefaultCache() // the user's cache, so that no worker is built twice
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("SQLITE3PERF_WORKER_CACHE", cache)
	home, err := surroundings(here)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range home {
		name, value, _ := strings.Cut(v, "=")
		t.Setenv(name, value)
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
		if code != cli.ExitUsage || !strings.Contains(said, want) || strings.Contains(said, program) {
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
	if said, code := stderrOf(t, "merge", "theirs.db", "--store", "merged.db"); code != cli.ExitOK {
		t.Fatal(said)
	}
	if err := os.MkdirAll(".home", 0o755); err != nil { // this directory contains the user's own store
		t.Fatal(err)
	}
	before := namesIn(t, here)
	for _, run := range [][]string{{"1", "--store", "theirs.db"}, {"1", "--store", "merged.db"}, {"theirs.json"}} {
		if len(run) > 1 {
			stderrOf(t, append([]string{"site", filepath.Join(here, ".home", run[2])}, run[1:]...)...)
		}
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

// takeWorkloads has the arguments of one call of each command that has the flag --workloads, except
// serve, which runs a workload only when a page asks for it.
var takeWorkloads = [][]string{
	{"run", "--drivers", "modernc"}, {"run", "--drivers", "modernc", "--hosts", "pi"}, {"compare", "modernc", "mattn"}, {"gate", "--baseline", "modernc", "--drivers", "mattn", "--max-regression", "5%"},
	{"bisect", "modernc@v1.34.0..v1.61.1"}, {"tune", "--drivers", "modernc"}, {"diff", "modernc", "mattn"}, {"advise", "--drivers", "modernc,mattn"},
	{"crash", "--drivers", "modernc"}, {"locks", "--drivers", "modernc"}, {"profile", "--drivers", "modernc", "--phase", "p"},
}

// TestEveryCommandGetsStrangersWorkloads checks that takeWorkloads leaves out no command.
func TestEveryCommandGetsStrangersWorkloads(t *testing.T) {
	for _, c := range rootCommand(&cli.Environment{}).Commands() {
		takes := c.Flags().Lookup("workloads") != nil && c.Name() != "serve"
		if takes != slices.ContainsFunc(takeWorkloads, func(args []string) bool { return args[0] == c.Name() }) {
			t.Errorf("%s: --workloads is %v, and takeWorkloads says otherwise", c.Name(), takes)
		}
	}
}

// TestStrangersWorkload checks that no command runs a workload that reads or writes other files,
// even if sqlite3perf.yaml in the working directory names the workload.
func TestStrangersWorkload(t *testing.T) {
	outside := t.TempDir()
	victim := filepath.Join(outside, "victim.db")
	for _, dir := range []string{outside, t.TempDir()} { // after the loop, the second directory is the working directory
		t.Chdir(dir)
		db, err := sql.Open("sqlite", "file:victim.db")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := db.Exec("CREATE TABLE secrets (s); INSERT INTO secrets VALUES ('SECRETPIN')"); err != nil {
			t.Fatal(err)
		}
		db.Close()
	}
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	before, err := os.ReadFile(victim)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Symlink(victim, "link.db"), os.WriteFile("hidden.sql", []byte("SELECT @a::('); VACUUM INTO 'made.db'; --'"), 0o644)); err != nil {
		t.Fatal(err)
	}
	attach := "ATTACH '" + victim + "' AS y; UPDATE y.secrets SET s = 'owned'"
	evil := map[string]string{
		"tcl":       "schema: |\n  CREATE TABLE t (id INTEGER PRIMARY KEY);\n  SELECT $a::('); " + attach + "; --';\nphases: [{name: p, script: ANALYZE}]\n",
		"plain":     "phases: [{name: p, script: \"" + attach + "\"}]\n",
		"file":      "phases: [{name: p, script: hidden.sql}]\n",
		"directory": "phases: [{name: p, script: \"PRAGMA temp_store_directory = '" + outside + "'\"}]\n",
		"schema":    "schema: PRAGMA writable_schema = on\nphases: [{name: p, script: ANALYZE}]\n",
		"above":     "database: ../" + filepath.Base(outside) + "/victim.db\nphases: [{name: p, query: SELECT s FROM secrets, columns: text}]\n",
		"link":      "database: link.db\nphases: [{name: p, query: SELECT s FROM secrets, columns: text}]\n",
		"rows":      "database: ./victim.db\nrows: {s: {query: \"SELECT 1 UNION SELECT $a::('); " + attach + "; --'\", columns: {a: int}}}\nphases: [{name: p, query: SELECT s FROM secrets, columns: text}]\n",
	}
	for name, text := range evil {
		file := "./" + name + ".yaml"
		if err := os.WriteFile(file, []byte("name: evil\n"+text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	names := namesIn(t, ".")
	refused := func(args ...string) {
		t.Helper()
		said, code := stderrOf(t, args...)
		if code != cli.ExitUsage || !strings.Contains(said, "--allow-files if you trust the workload") {
			t.Errorf("%q: exit status %d: %s", args, code, said)
		}
	}
	for name := range evil {
		file := "./" + name + ".yaml"
		refused("workloads", file)
		for _, args := range takeWorkloads {
			refused(append(slices.Clone(args), "--workloads", file)...)
		}
	}
	for name := range evil {
		if err := os.WriteFile(cli.LocalConfig, []byte("workloads: ./"+name+".yaml\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		refused("run", "--drivers", "modernc")
	}
	os.Remove(cli.LocalConfig)
	if after := namesIn(t, "."); !slices.Equal(names, after) {
		t.Errorf("files before %q and after %q", names, after)
	}
	if after, err := os.ReadFile(victim); err != nil || string(before) != string(after) || len(namesIn(t, outside)) != 1 {
		t.Errorf("the other database was changed, or a file was created next to it: %v", err)
	}
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

// TestReportsMutated reads reports in which random values were changed. Each must be read or refused.
func TestReportsMutated(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	whole, err := json.Marshal(map[string]any{"version": 1, "run": hostileRun()})
	if err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(1, 2))
	read := 0
	for k := range times(t, 100) {
		data := mutatedText(t, random, whole, 1+k%4)
		if err := os.WriteFile("theirs.json", data, 0o644); err != nil {
			t.Fatal(err)
		}
		for _, args := range [][]string{{"compare", "theirs.json", "mattn", "modernc"}, {"compare", "theirs.json", "theirs.json"}, {"locks", "theirs.json"}} {
			if readOrRefused(t, data, args...) {
				read++
			}
		}
	}
	if read == 0 {
		t.Error("no mutated report was read")
	}
}

// TestSoakStoresMutated reads stores in which random values were changed. Each must be read or
// refused.
func TestSoakStoresMutated(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	strangersStore(t, "whole.db", strangersRun(t, nil, "mattn", "./evil"))
	whole, err := os.ReadFile("whole.db")
	if err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(1, 3))
	read := 0
	for range times(t, 10) {
		if err := os.WriteFile("theirs.db", whole, 0o644); err != nil {
			t.Fatal(err)
		}
		data := mutateRow(t, random, "theirs.db", []string{"runs", "cases", "trials", "samples"}[random.IntN(4)])
		format := report.Formats()[random.IntN(len(report.Formats()))]
		for _, args := range [][]string{
			{"runs"}, {"show", "1", "--full"}, {"show", "1", "--format", format}, {"report", "1", "-o", "page.html"}, {"site", "public"}, {"compare", "1", "mattn", "modernc"},
			{"locks", "1"}, {"advise", "1", "--diff=false"}, {"gate", "--baseline", "1", "--drivers", "./none", "--max-regression", "9%"}, {"run", "--resume", "1"},
		} {
			if readOrRefused(t, data, append(args, "--store", "theirs.db")...) {
				read++
			}
		}
		os.Remove("mine.db")
		stderrOf(t, "merge", "theirs.db", "--store", "mine.db") // merge lists stores that it refuses
	}
	if read == 0 {
		t.Error("no mutated store was read")
	}
}

// recorded is a recording with everything that a recording can contain.
const recorded = `{"format":"sqlite3perf-recording","version":1,"began":"2026-01-01T00:00:00Z","args":"values"}
{"sql":1,"text":"CREATE TABLE t (id INTEGER PRIMARY KEY, a)"}
{"at":1000,"took":500,"conn":1,"sql":1,"affected":0}
{"sql":2,"text":"INSERT INTO t (a) VALUES (?)","prepared":true}
{"at":2000,"took":500,"conn":1,"sql":2,"args":["x"],"affected":1}
{"at":2000,"conn":1,"id":1}
{"at":2500,"took":0,"conn":2,"tx":1,"do":"begin"}
{"at":3000,"took":500,"conn":2,"tx":1,"sql":2,"args":[{"time":"2026-01-01T00:00:00Z","zone":"Local","monotonic":true}],"affected":1}
{"at":3500,"took":500,"conn":2,"tx":1,"sql":2,"args":[{"blob":"AP8="}],"affected":1}
{"at":4000,"took":100,"conn":2,"tx":1,"do":"commit"}
{"sql":3,"text":"SELECT id, a FROM t WHERE id >= :from LIMIT :n"}
{"at":5000,"took":500,"conn":1,"sql":3,"args":[{"name":"from","value":1},{"name":"n","value":2.5}],"rows":2}
{"at":6000,"took":500,"conn":3,"sql":3,"args":[{"name":"from","value":null},{"name":"n","value":true}],"error":{"code":20,"message":"datatype mismatch"}}
{"at":7000,"took":500,"conn":1,"sql":2,"args":[{"text":7}],"affected":1}
{"at":8000,"took":500,"conn":1,"sql":2,"args":["y"],"error":{"code":5,"message":"database is locked"}}
`

// TestRecordingsMutated reads recordings in which random values were changed, and replays some of
// them. Each must be read or refused.
func TestRecordingsMutated(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	stderrOf(t, "diff", "modernc", "mattn", "--sql", "SELECT 1") // builds the workers, which takes minutes if nothing is cached
	phases := []string{"replay: theirs.jsonl", "replay: theirs.jsonl, speed: recorded", "replay: theirs.jsonl, events: 3", "replay: theirs.jsonl, clients: 2"}
	theirs := func(text, phase string) []byte {
		err := errors.Join(os.WriteFile("theirs.jsonl", []byte(text), 0o644), os.WriteFile("theirs.yaml", []byte("name: theirs\nphases: [{name: p, "+phase+"}]\n"), 0o644))
		if err != nil {
			t.Fatal(err)
		}
		return []byte(text)
	}
	replayed := func(text []byte) bool {
		run := readOrRefused(t, text, "run", "--quiet", "--drivers", "modernc", "--workloads", "./theirs.yaml", "--rounds", "6", "--store", "mine.db")
		return readOrRefused(t, text, "diff", "modernc", "mattn", "--workloads", "./theirs.yaml") && run
	}
	begin, commit := `{"at":2500,"took":0,"conn":2,"tx":1,"do":"begin"}`+"\n", `{"at":4000,"took":100,"conn":2,"tx":1,"do":"commit"}`+"\n"
	for _, text := range []string{strings.Replace(recorded, begin, begin+begin, 1), strings.Replace(recorded, commit, strings.ReplaceAll(begin, "1", "2"), 1)} {
		if !replayed(theirs(text, phases[0])) { // an unusual order of transactions is valid: a library waits for the end of a transaction before it begins another
			t.Errorf("not read:\n%s", text)
		}
	}
	random := rand.New(rand.NewPCG(1, 4))
	read := 0
	for k := range times(t, 200) {
		lines := strings.SplitAfter(recorded, "\n")
		for range 1 + k%4 {
			i := random.IntN(len(lines) - 1)
			switch random.IntN(8) {
			case 0:
				lines = slices.Delete(lines, i, i+1)
			case 1:
				lines = slices.Insert(lines, i, lines[random.IntN(len(lines))])
			default:
				if json.Valid([]byte(lines[i])) {
					lines[i] = string(mutatedText(t, random, []byte(lines[i]), 1)) + "\n"
				}
			}
		}
		text := theirs(strings.Join(lines, ""), phases[random.IntN(len(phases))])
		if readOrRefused(t, text, "workloads", "./theirs.yaml") {
			if read++; read%50 == 0 {
				replayed(text)
			}
		}
	}
	if read == 0 {
		t.Error("no mutated recording was read")
	}
}

// mutateRow changes the JSON in a random row of a table, and returns the changed JSON.
func mutateRow(t *testing.T, random *rand.Rand, path, table string) []byte {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var rows, row int64
	var text []byte
	if err := db.QueryRow("SELECT count(*) FROM " + table).Scan(&rows); err != nil {
		t.Fatal(err)
	}
	err = db.QueryRow("SELECT rowid, json FROM "+table+" LIMIT 1 OFFSET ?", random.Int64N(rows)).Scan(&row, &text)
	if err != nil {
		t.Fatal(err)
	}
	text = mutatedText(t, random, text, 1)
	if _, err := db.Exec("UPDATE "+table+" SET json = ? WHERE rowid = ?", string(text), row); err != nil {
		t.Fatal(err)
	}
	return text
}

// readOrRefused runs a command on a mutated file, and reports whether the command accepted it.
// If not, the command must print exactly one line. It must never panic or run forever.
func readOrRefused(t *testing.T, data []byte, args ...string) (read bool) {
	t.Helper()
	done := make(chan string, 1)
	go func() {
		defer func() {
			if p := recover(); p != nil {
				done <- fmt.Sprintf("panic: %v\n%s", p, debug.Stack())
			}
		}()
		said, code := stderrOf(t, args...)
		if read = code == cli.ExitOK || code == cli.ExitIncomplete; !read && strings.Count(said, "\n") != 1 {
			done <- "it says " + said
		}
		done <- ""
	}()
	select {
	case said := <-done:
		if said != "" {
			t.Fatalf("%q: %s\n%s", args, said, data)
		}
	case <-time.After(time.Minute):
		t.Fatalf("%q does not end:\n%s", args, data)
	}
	return read
}

// mutatedText returns JSON in which the given number of values were changed, added or removed.
func mutatedText(t *testing.T, random *rand.Rand, text []byte, changes int) []byte {
	t.Helper()
	var doc any
	err := json.Unmarshal(text, &doc)
	for range changes {
		doc = mutated(random, doc)
	}
	text, merr := json.Marshal(doc)
	if err := errors.Join(err, merr); err != nil {
		t.Fatal(err)
	}
	return text
}

// mutated returns a JSON value in which one value was changed, added or removed.
func mutated(random *rand.Rand, v any) any {
	if random.IntN(4) == 0 {
		return []any{nil, true, -1, 0, 1e18, math.MaxInt64, 1e300, "", "x", []any{}, map[string]any{}, []any{nil}, "2026-01-01T00:00:00Z"}[random.IntN(13)]
	}
	switch v := v.(type) {
	case []any:
		if len(v) == 0 {
			return v
		}
		i := random.IntN(len(v))
		switch random.IntN(6) {
		case 0:
			return slices.Delete(v, i, i+1)
		case 1:
			return append(v, v[i])
		}
		v[i] = mutated(random, v[i])
	case map[string]any:
		if len(v) == 0 {
			return v
		}
		keys := slices.Sorted(maps.Keys(v))
		k := keys[random.IntN(len(keys))]
		if random.IntN(6) == 0 {
			delete(v, k)
		} else {
			v[k] = mutated(random, v[k])
		}
	default:
		return []any{-1, 1e18, "x", nil}[random.IntN(4)]
	}
	return v
}
