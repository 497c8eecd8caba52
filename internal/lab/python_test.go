package lab_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/google/go-cmp/cmp"

	"github.com/sqlite3perf/sqlite3perf/internal/lab"
	"github.com/sqlite3perf/sqlite3perf/internal/lab/build"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/workload"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// pythonWorker returns the path of a worker in Python. The tests below run this worker. It was written from
// docs/worker-protocol.md and docs/generated-values.md and shares no code with the engine. If it generates the
// same values and checksums as the engine, the documents are complete.

func pythonWorker(t *testing.T) string {
	t.Helper()
	out, err := exec.Command("python3", "-c", "import sqlite3, sys; assert sys.version_info >= (3, 11), sys.version").CombinedOutput()
	if err != nil {
		t.Skipf("the documentation of the protocol is not proven here, because this needs Python 3.11 or newer with sqlite3: %v %s", err, out)
	}
	path, err := filepath.Abs("../../drivers/python/worker.py")
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// runTrial runs one trial of a case, and fails the test unless the trial is OK.
func runTrial(t *testing.T, c *lab.Case, seed uint64) *result.Trial {
	t.Helper()
	// With the race detector, SQLite in Go takes a hundred times as long.
	p := &lab.Processes{Dir: t.TempDir(), Limit: 10 * time.Minute}
	got, err := p.Trial(t.Context(), c, seed)
	if err != nil {
		t.Fatal(err)
	}
	if got.Status != result.OK {
		t.Fatalf("%s: %s: %+v", c.Workload, got.Status, got.Reason)
	}
	return got
}

// casesOf returns the cases of workloads for one executable.
func casesOf(t *testing.T, executable string, seed uint64, settings map[string][]string, parameters map[string][]int64, workloads ...*workload.Workload) []*lab.Case {
	t.Helper()
	ref, err := build.ParseRef(t.Context(), executable, nil)
	if err != nil {
		t.Fatal(err)
	}
	m := lab.Matrix{Drivers: []build.Ref{ref}, Workloads: workloads, Scale: workload.Quick, Seed: seed, Settings: settings, Parameters: parameters}
	list, err := m.Cases()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range list {
		c.Worker = executable
	}
	return list
}

func TestSoakPythonWorkerBuiltins(t *testing.T) {
	python := pythonWorker(t)
	for name, parameters := range map[string]map[string][]int64{
		"simple":     {"users": {100}},
		"real":       {"users": {3}, "articles": {2}, "comments": {2}},
		"complex":    {"users": {3}, "articles": {4}, "comments": {2}},
		"many":       {"n": {10}, "repeats": {5}},
		"large":      {"n": {2_000}, "users": {5}},
		"concurrent": {"n": {2}, "users": {100}},
	} {
		t.Run(name, func(t *testing.T) {
			w, err := workload.Load(name)
			if err != nil {
				t.Fatal(err)
			}
			const seed = 1<<64 - 1
			for _, c := range casesOf(t, python, seed, map[string][]string{"journal_mode": {"delete", "wal"}}, parameters, w) {
				checkSamples(t, c, runTrial(t, c, seed))
			}
		})
	}
}

// checkSamples checks properties of samples that package lab does not check.
func checkSamples(t *testing.T, c *lab.Case, got *result.Trial) {
	t.Helper()
	for _, s := range got.Samples {
		want := c.Expect[s.Phase]
		if want.Checksum == "" && c.Plan.Phases[len(c.Plan.Phases)-1].Name == s.Phase {
			t.Errorf("%s: the lab has nothing to compare with", s.Phase)
		}
		if s.Checksum != want.Checksum {
			t.Errorf("%s: checksum %s, want %s", s.Phase, s.Checksum, want.Checksum)
		}
		if s.Value() <= 0 || s.DatabaseBytes <= 0 || s.Rows <= 0 {
			t.Errorf("sample %+v", s)
		}
		for _, l := range s.Latency {
			h, err := hdrhistogram.Decode([]byte(l.Histogram))
			if err != nil {
				t.Fatal(err)
			}
			got := []int64{h.TotalCount(), h.ValueAtQuantile(50), h.ValueAtQuantile(90), h.ValueAtQuantile(99), h.ValueAtQuantile(99.9), h.ValueAtQuantile(99.99), h.Max()}
			want := []int64{l.Count, l.P50NS, l.P90NS, l.P99NS, l.P999NS, l.P9999NS, l.MaxNS}
			for i := range got {
				if got[i] != want[i] {
					t.Errorf("the histogram holds %v, the sample %v", got, want)
					break
				}
			}
		}
	}
}

// kinds is a workload with every kind of generator, every type, and NULLs. Its queries read back the values,
// which must equal the values of the engine's generators.
const kinds = `
name: kinds
settings: {pool_size: 2, busy_timeout: 5s, page_size: 8192, txlock: immediate, secure_delete: fast}
schema: |
  CREATE TABLE a(id, down, uniform, small, skewed, flat, steep, float, at, some, yes, maybe, word, line,
      fixed, short, long, raw, big, hexed, hash, bytes, label, maybelabel, absent, half);
  CREATE TABLE b(id INTEGER PRIMARY KEY, aid, label, hash, favourite);
  CREATE TABLE c(id INTEGER PRIMARY KEY, short, text);
rows:
  a:
    count: 211
    columns:
      id: serial
      down: {serial: 9, step: -3}
      uniform: {int: [-9223372036854775808, 9223372036854775807]}
      small: {int: [-5, 5], nulls: 10%}
      skewed: {zipf: [10, 100_000], skew: 1.1}
      flat: {zipf: [1, 7], skew: 1.0}
      steep: {zipf: [1, 1_000_000], skew: 2.5}
      float: {real: [-1.5, 10000.25], nulls: 20%}
      at: {time: 2023-10-01T10:00:00Z, step: 1m}
      some: {time: [1969-10-01T10:00:00Z, 2023-10-02T10:00:00Z]}
      yes: true
      maybe: {int: [0, 1], type: bool}
      word: {choice: [red, "grün", ""]}
      line: {repeat: "ab ", times: 3}
      fixed: {text: 20}
      short: {text: [0, 30], nulls: 5%}
      long: {text: [200, 3_000]}
      raw: {blob: [0, 40]}
      big: {blob: 5_000}
      hexed: {hex: 13}
      hash: {sha256: word}
      bytes: {sha256: hexed, decode: hex}
      secret: {int: [-99, 99], hidden: true}
      label: {format: "%%%08d|%-6s|%5v|%x|%x", of: [secret, word, word, secret, word]}
      maybelabel: {format: "%05d", of: small}
      absent: null
      half: 0.5
  b:
    per: a
    count: 3
    columns:
      id: serial
      aid: a.id
      label: a.label
      hash: {pick: a.hash}
      favourite: {pick: a.short, skew: 1.2}
  c: {per: b, count: 2, columns: {id: serial, short: a.short, text: {text: 12}}}
phases:
  - {name: load, insert: [a, b, c], POLICY}
  - name: a
    query: SELECT * FROM a ORDER BY rowid
    columns: [int, int, int, int or null, int, int, int, real or null, time, time, bool, bool, text, text,
      text, text or null, text, blob, blob, text, text, text, text, text or null, int or null, real]
    expect: {returns: a}
  - name: b
    query: SELECT * FROM b ORDER BY id
    columns: [int, int, text, text, text or null]
    clients: 2
    expect: {returns: b}
  - name: c
    query: SELECT * FROM c WHERE id = :id AND :label IS NOT NULL AND :n < 10 AND :f <> ''
    for each: c
    parameters: {label: a.label, n: {int: [0, 9]}, f: {format: "%d", of: n}}
    columns: [int, text or null, text]
    expect: {returns: c}
  - {name: shrink, script: VACUUM}
`

func TestPythonWorkerAlternates(t *testing.T) {
	cases := casesOf(t, pythonWorker(t), 1, nil, nil, parse(t, tiny))
	other := *cases[0]
	got, err := (&lab.Processes{Dir: t.TempDir(), Limit: time.Minute}).Trials(t.Context(), []*lab.Case{cases[0], &other}, 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, trial := range got {
		if trial.Status != result.OK || !trial.Alternated {
			t.Errorf("%s, alternated %v: %+v", trial.Status, trial.Alternated, trial.Reason)
		}
	}
}

func TestSoakPythonWorkerKinds(t *testing.T) {
	python := pythonWorker(t)
	for _, policy := range []string{
		"transaction: one",
		"transaction: one, rows per statement: 7",
		"transaction: per set",
		"transaction: per a",
		"transaction: per a, rows per statement: 5",
		"transaction: per statement, rows per statement: 50, statement: ad hoc",
		"transaction: every 40 rows, rows per statement: 8",
	} {
		t.Run(policy, func(t *testing.T) {
			w, err := workload.Parse("kinds.yaml", []byte(strings.Replace(kinds, "POLICY", policy, 1)), nil)
			if err != nil {
				t.Fatal(err)
			}
			c := casesOf(t, python, 7, nil, nil, w)[0]
			got := runTrial(t, c, 7)
			for _, s := range got.Samples[1:4] {
				if want := c.Expect[s.Phase].Checksum; want == "" || s.Checksum != want {
					t.Errorf("%s: checksum %q, want %q", s.Phase, s.Checksum, want)
				}
			}
		})
	}
}

// TestPythonWorkerRefusals checks that the Python worker refuses requests of another
// protocol, and lines that are not requests.
func TestPythonWorkerRefusals(t *testing.T) {
	python := pythonWorker(t)
	for _, line := range []string{"hello", "{}", `{"type":"trial","protocol":1}`, `{"type":"dance","protocol":2}`, "[]"} {
		cmd := exec.Command(python)
		cmd.Stdin = strings.NewReader(line + "\n")
		out, err := cmd.Output()
		if err != nil || !strings.Contains(string(out), `"code": "protocol"`) {
			t.Errorf("%s: answered %s, %v", line, out, err)
		}
	}
}

// TestPythonWorkerMessages checks all answers of the Python worker against the protocol's
// schema.
func TestPythonWorkerMessages(t *testing.T) {
	python := pythonWorker(t)
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(protocol.Schema))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("protocol.schema.json", doc); err != nil {
		t.Fatal(err)
	}
	schema, err := c.Compile("protocol.schema.json#/$defs/response")
	if err != nil {
		t.Fatal(err)
	}
	w, err := workload.Load("real")
	if err != nil {
		t.Fatal(err)
	}
	p, err := w.Plan(workload.Quick, map[string]int64{"users": 2, "articles": 2, "comments": 2})
	if err != nil {
		t.Fatal(err)
	}
	trial := protocol.Request{
		Type: protocol.TypeTrial, Protocol: protocol.Version, Path: filepath.Join(t.TempDir(), "test.db"),
		Settings: driver.Settings{"journal_mode": "wal", "pool_size": "2"}, Plan: p,
	}
	for _, req := range []protocol.Request{trial, trial, {Type: protocol.TypeDescribe, Protocol: protocol.Version}} {
		cmd := exec.Command(python)
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if err := json.NewEncoder(in).Encode(req); err != nil {
			t.Fatal(err)
		}
		answers := 0
		for lines := bufio.NewScanner(out); lines.Scan(); answers++ {
			v, err := jsonschema.UnmarshalJSON(bytes.NewReader(lines.Bytes()))
			if err != nil {
				t.Fatal(err)
			}
			if err := schema.Validate(v); err != nil {
				t.Errorf("%.300s: %v", lines.Text(), err)
			}
		}
		in.Close()
		if err := cmd.Wait(); err != nil || answers == 0 {
			t.Errorf("%s: %d answers, then %v", req.Type, answers, err)
		}
	}
}

func TestPythonWorkerLabGone(t *testing.T) {
	python := pythonWorker(t)
	path := filepath.Join(t.TempDir(), "test.db")
	cmd := exec.Command(python)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Process.Kill() }() // needed only if the worker has not exited by itself
	endless := "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) INSERT INTO t SELECT i FROM n"
	fmt.Fprintf(in, `{"type":"trial","protocol":2,"seed":1,"path":%q,"plan":{"schema":"CREATE TABLE t(i)","data_sets":null,"phases":[{"name":"endless","script":%q}]}}`+"\n", path, endless)
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if strings.Contains(lines.Text(), `"phase"`) {
			in.Close()
		}
	}
	if err := cmd.Wait(); err == nil {
		t.Error("the worker ended with exit status 0")
	}
	for _, suffix := range []string{"", "-journal", "-wal"} {
		if _, err := os.Stat(path + suffix); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s is left behind: %v", path+suffix, err)
		}
	}
}

// TestPythonDrivers checks that the info of the Python drivers is true, and that both
// drivers measure in the same way.
func TestPythonDrivers(t *testing.T) {
	pythonWorker(t)
	w, err := workload.Load("real")
	if err != nil {
		t.Fatal(err)
	}
	b := &build.Builder{Source: source(t), Cache: t.TempDir()}
	for _, name := range []string{"python", "python-fetchall"} {
		ref := find(t, name)
		m := lab.Matrix{
			Drivers: []build.Ref{ref}, Workloads: []*workload.Workload{w}, Scale: workload.Quick, Seed: 5,
			Parameters: map[string][]int64{"users": {3}, "articles": {2}, "comments": {2}},
		}
		cases, err := m.Cases()
		if err != nil {
			t.Fatal(err)
		}
		var told builds
		if err := lab.Prepare(t.Context(), cases, b, &told); err != nil || told.lines != nil {
			t.Fatalf("%v, told %v", err, told.lines)
		}
		info, proof, err := build.Describe(t.Context(), cases[0].Worker, ref.Args()...)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(ref.Known.Info, info); diff != "" {
			t.Errorf("info: -driver.json +worker\n%s", diff)
		}
		got := runTrial(t, cases[0], 5)
		checkSamples(t, cases[0], got)
		if proof.ModuleVersion == "" || got.Proof.ModuleVersion != proof.ModuleVersion || cases[0].Build["module_version"] != proof.ModuleVersion {
			t.Errorf("versions: %q described, %q proven, built with %v", proof.ModuleVersion, got.Proof.ModuleVersion, cases[0].Build)
		}
	}
}
