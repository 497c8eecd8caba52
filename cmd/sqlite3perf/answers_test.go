package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/sqlite3perf/sqlite3perf/cmd/sqlite3perf/internal/cli"
	"github.com/sqlite3perf/sqlite3perf/internal/advise"
	"github.com/sqlite3perf/sqlite3perf/internal/cluster"
	"github.com/sqlite3perf/sqlite3perf/internal/conditions"
	"github.com/sqlite3perf/sqlite3perf/internal/crash"
	"github.com/sqlite3perf/sqlite3perf/internal/crash/disk"
	"github.com/sqlite3perf/sqlite3perf/internal/crash/record"
	"github.com/sqlite3perf/sqlite3perf/internal/crash/trace"
	"github.com/sqlite3perf/sqlite3perf/internal/diff"
	"github.com/sqlite3perf/sqlite3perf/internal/gate"
	"github.com/sqlite3perf/sqlite3perf/internal/lab"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
	"github.com/sqlite3perf/sqlite3perf/internal/store"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/latency"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// bufferedEnvironment returns an environment that writes to the returned buffers.
func bufferedEnvironment() (env *cli.Environment, out, messages *bytes.Buffer) {
	out, messages = &bytes.Buffer{}, &bytes.Buffer{}
	env = &cli.Environment{Stdout: out, Stderr: messages, RawOut: out, RawErr: messages, Now: time.Now, Catch: func() <-chan os.Signal { return nil }}
	return env, out, messages
}

// someClusters returns the results of a local driver and of three clusters: one with a failed round,
// one that lost a write, and one without a result.
func someClusters() *cluster.Clusters {
	s := latency.Summary{Count: 100, P50NS: 1e6, P99NS: 2e6}
	load := protocol.ClusterLoad{Clients: 8, Batch: 100}
	of := func(nodes int) *protocol.Clustered {
		return &protocol.Clustered{Members: []protocol.ClusterMember{{ID: "1", Version: "8"}}, Rows: 10, DiskBytes: 4096,
			Loads: []protocol.LoadResult{{ClusterLoad: load, WallNS: 1e9, Acknowledged: s, Visible: s, CPUNS: 1e6, MemberCPUNS: int64(nodes) * 1e5}}}
	}
	harmed := of(3)
	harmed.Loads, harmed.Harmed = nil, &protocol.Harmed{Acknowledged: 10, Found: 9, Lost: 1, LostIDs: []int64{7}, Harms: []protocol.Harm{{Kind: protocol.HarmKill, Member: "1", SilentNS: 1e9}},
		Missing: []protocol.Missing{{Member: "1", Lost: 1}}, Reads: []protocol.LevelReads{{Level: "none", Reads: 10, Failed: 1, Stale: 2}}}
	return &cluster.Clusters{
		Machine:  result.Machine{Hostname: "vm", OS: "linux", Arch: "amd64", Directory: "/tmp"},
		Warnings: []result.Warning{{Code: result.WarningLoad, Message: "the load average was 3.00"}},
		Trials: []cluster.ClusterTrial{
			{Driver: "mattn", Version: "v1", Settings: driver.Settings{"journal_mode": "wal"}, Result: of(0), Rates: [][]float64{{900, 910, 920}}},
			{Driver: "rqlite", Nodes: 3, Delay: time.Millisecond, Settings: driver.Settings{"nodes": "3"}, Result: of(3), Rates: [][]float64{{100, 0, 110}}, Reason: "not leader"},
			{Driver: "rqlite", Nodes: 3, Settings: driver.Settings{"nodes": "3"}, Result: harmed},
			{Driver: "rqlite", Nodes: 5, Settings: driver.Settings{"nodes": "5"}, Reason: "node 4: it ended"},
		},
	}
}

// someDiff returns a comparison of answers. It has an example of everything that such a comparison
// can contain.
func someDiff() *diff.Diffed {
	return &diff.Diffed{Most: 20, Sides: []diff.DiffSide{{Name: "mattn", ModuleVersion: "v1", SQLiteVersion: "3"}, {Name: "modernc"}}, Skipped: []string{"w: serve"}, TimesAsText: []string{"modernc"},
		Results: []*diff.Result{{First: "mattn", Second: "modernc", Statements: 3, Executions: 4, Most: 2, Rows: 5, Differing: 1, Unstable: []string{"w: a"},
			Failing: []diff.Failing{{Where: "w: b", SQL: "SELECT x", Error: "no such column", Other: "x"}}, Unasked: []diff.Unasked{{Side: "modernc", Where: "w: c", Reason: "none"}},
			Groups: []diff.Group{{Kind: diff.Types, Cause: diff.Time, Types: [2]string{"time.Time", "string"}, Declared: []string{"DATETIME", ""}, Reason: diff.Reason{Evidence: diff.ByValues, Side: 1, Feature: "f", First: "1", Second: "2"},
				Statements: []diff.Statement{{Workload: "w", Where: "d", SQL: "SELECT 1", Arguments: []protocol.Value{{Type: "[]byte", Hex: "ff", Length: 1}}, Executions: 1,
					Difference: diff.Difference{Kind: diff.Types, Column: 1, Name: "At", Declared: "DATETIME", Row: 1, First: "1", Second: "2"}}}}}}}}
}

// someLooked returns the facts for advice that are not taken from samples, such as the size of binaries.
func someLooked() advise.Looked {
	return advise.Looked{Diff: true, NotDiff: "it failed", Answers: someDiff(), Footprints: map[string]*result.Footprint{
		"mattn": {SizeBytes: 1, WarmNS: 1, ColdNS: 1, Module: "m", Version: "v1", License: "MIT", Targets: []result.TargetBuild{{Target: "linux/arm64", Message: "no"}}}}}
}

// TestClustersShown checks that the command "show" prints a stored answer of the command "cluster"
// exactly as "cluster" printed it.
func TestClustersShown(t *testing.T) {
	path := filepath.Join(t.TempDir(), "results.db")
	for _, format := range cluster.Formats.Names() {
		env, out, messages := bufferedEnvironment()
		o, c := &cli.OutputOptions{Format: format, Store: path}, someClusters()
		run := clustersRun(c, time.Now(), false)
		if err := o.Answer(t.Context(), env, run, c, cluster.Formats.Of(c)); err != nil || run.ID == 0 {
			t.Fatalf("%s: run %d, %v: %s", format, run.ID, err, messages)
		}
		if again, code := run1(t, 0, "show", fmt.Sprint(run.ID), "--format", format, "--store", path); code != cli.ExitOK || again != out.String() {
			t.Errorf("%s: exit status %d: it was\n%s\nand is\n%s", format, code, out, again)
		}
	}
	if out, _ := run1(t, 0, "runs", "--store", path); !strings.Contains(out, "answer of cluster  mattn,rqlite  cluster") {
		t.Error(out)
	}
}

// TestAnswersShown checks that the command "show" prints stored advice and stored comparisons of
// answers exactly as they were printed before they were stored.
func TestAnswersShown(t *testing.T) {
	path := filepath.Join(t.TempDir(), "results.db")
	st, err := store.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	o := &cli.OutputOptions{Store: path}
	for question, c := range map[string]struct {
		keep    func() (*result.Answer, error)
		writer  func(a *stats.Analysis) cli.AnswerWriter
		formats []string
	}{
		result.QuestionAdvise: {someLooked().Keep, func(a *stats.Analysis) cli.AnswerWriter {
			return advise.Formats.Of(advise.Of(a, someLooked(), uncollected(someLooked())...))
		}, advise.Formats.Names()},
		result.QuestionDiff: {someDiff().Keep, func(*stats.Analysis) cli.AnswerWriter { return diffWriter(o, someDiff()) }, diff.Formats.Names()},
	} {
		run := storedRunOf(t, question)
		run.Started = run.Started.UTC()
		answer, err := c.keep()
		if err != nil {
			t.Fatal(err)
		}
		run.Answer = answer
		if err := st.Begin(t.Context(), run); err != nil {
			t.Fatal(err)
		}
		for _, format := range c.formats {
			env, out, _ := bufferedEnvironment()
			o.Format = format
			if err := o.PrintStored(env, run, c.writer(stats.Analyze(run, lab.Floor))); err != nil {
				t.Fatal(err)
			}
			if again, code := run1(t, 0, "show", fmt.Sprint(run.ID), "--format", format, "--store", path); code != cli.ExitOK || again != out.String() {
				t.Errorf("%s as %s: exit status %d: it was\n%s\nand is\n%s", question, format, code, out, again)
			}
		}
	}
	if err := st.Close(); err != nil {
		t.Error(err)
	}
}

// TestAnswersInSite checks that the index of a site lists the stored answers, and that the site has a page
// for each answer. The page must name the run, its time and its machine.
func TestAnswersInSite(t *testing.T) {
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	path, dir := filepath.Join(t.TempDir(), "results.db"), filepath.Join(t.TempDir(), "site")
	st, err := store.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	runs := []*result.Run{gatedRun(t)}
	for question, keep := range map[string]func() (*result.Answer, error){
		result.QuestionCluster: someClusters().Keep, result.QuestionCrash: someCrashes().Keep, result.QuestionDiff: someDiff().Keep, result.QuestionAdvise: someLooked().Keep,
	} {
		run := storedRunOf(t, question)
		if run.Answer, err = keep(); err != nil {
			t.Fatal(err)
		}
		runs = append(runs, run)
	}
	for _, run := range runs {
		run.Machine.Hostname = "lab1"
		if err := st.Begin(t.Context(), run); err != nil {
			t.Fatal(err)
		}
	}
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	if _, code := run1(t, 0, "site", dir, "--store", path); code != cli.ExitOK {
		t.Fatalf("exit status %d", code)
	}
	read := func(name string) string {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	index := read("index.html")
	for _, run := range runs {
		page, question := read(fmt.Sprintf("runs/%d.html", run.ID)), run.Answer.Question
		if want := ">" + conditions.PageSource(run) + "<"; !strings.Contains(page, want) || !strings.Contains(want, " · lab1 · sqlite3perf test<") {
			t.Errorf("%s: no %s", question, want)
		}
		listed := regexp.MustCompile(`>` + question + `</td><td[^>]*>([^<]{20})`).FindStringSubmatch(index)
		if listed == nil || !strings.Contains(page, listed[1]) {
			t.Errorf("%s: the index has %q, the page %s", question, listed, page)
		}
	}
}

// TestBadAnswer checks that the command "show" fails for a run with an invalid answer, and says what is
// wrong with the answer. If the run has samples, "show" must also recommend --figures, which prints them.
func TestBadAnswer(t *testing.T) {
	path := filepath.Join(t.TempDir(), "results.db")
	st, err := store.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	for _, question := range []string{result.QuestionTune, result.QuestionDiff} {
		run := storedRunOf(t, question)
		if run.Answer, err = result.NewAnswer(question, 1, struct{}{}); err == nil {
			err = st.Begin(t.Context(), run)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	for id, want := range []string{"run 1: its answer: it has 0 races, and names 0 runs: --figures prints what was measured", "run 2: its answer: it compares 0 drivers in 0 results"} {
		env, _, messages := bufferedEnvironment()
		if code := execute(t.Context(), env, []string{"show", fmt.Sprint(id + 1), "--store", path}); code != cli.ExitFailed || !strings.Contains(messages.String(), want) {
			t.Errorf("exit status %d: %s, want %s", code, messages, want)
		}
	}
	if _, code := run1(t, 0, "show", "1", "--figures", "--store", path); code != cli.ExitOK {
		t.Errorf("--figures: exit status %d", code)
	}
}

// TestAnswerNotStored checks an answer that cannot be stored: Keep must only print a warning, and set
// the ID of the run to 0.
func TestAnswerNotStored(t *testing.T) {
	env, _, messages := bufferedEnvironment()
	run := clustersRun(someClusters(), time.Now(), false)
	if cli.Keep(t.Context(), env, t.TempDir(), run, someClusters()); run.ID != 0 || !strings.HasPrefix(messages.String(), "the answer is not stored: store ") {
		t.Errorf("run %d: %s", run.ID, messages)
	}
}

// answeredRuns returns a run with an answer for each question whose answers can be stored.
func answeredRuns(t *testing.T) map[string]*result.Run {
	t.Helper()
	here := t.TempDir()
	t.Setenv("XDG_CONFIG_HOME", here)
	if err := link("good", here); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(here, "results.db")
	if _, code := run1(t, 0, "tune", "--drivers", filepath.Join(here, "good"), "--workloads", "testdata/tiny.yaml", "--settings", "temp_store", "--time", "60s", "--store", path, "--dir", here); code != cli.ExitOK {
		t.Fatalf("tune: exit status %d", code)
	}
	st, err := store.OpenReadOnly(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	id, err := st.Resolve(t.Context(), "last")
	if err != nil {
		t.Fatal(err)
	}
	tuned, err := st.Load(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	d := someDiff()
	looked := someLooked()
	runs := map[string]*result.Run{result.QuestionTune: tuned, result.QuestionGate: gatedRun(t)}
	for question, keep := range map[string]func() (*result.Answer, error){
		result.QuestionAdvise: looked.Keep, result.QuestionCluster: someClusters().Keep, result.QuestionCrash: someCrashes().Keep, result.QuestionDiff: d.Keep,
		result.QuestionLocks: func() (*result.Answer, error) {
			return result.NewAnswer(result.QuestionLocks, 1, map[string]int{"more": 1})
		},
	} {
		run := storedRunOf(t, question)
		if run.Answer, err = keep(); err != nil {
			t.Fatal(err)
		}
		runs[question] = run
	}
	return runs
}

// gatedRun returns a run with the answer of a gate.
func gatedRun(t *testing.T) *result.Run {
	t.Helper()
	run := storedRunOf(t, result.QuestionGate)
	run.Compares = &result.Compares{Factor: result.FactorDriver, First: "mattn", Second: "modernc", Margin: 0.05}
	a := stats.Analyze(run, lab.Floor)
	g := gate.Gated{Asked: gate.Asked{Sides: [2]string{"mattn", "modernc"}, Metrics: []stats.Metric{stats.Time}}, Runs: []*stats.Analysis{a}}
	g.Gate = stats.NewGate(0.05, g.Compare(a)...)
	var err error
	if run.Answer, err = g.Keep(); err != nil {
		t.Fatal(err)
	}
	return run
}

// someCrashes returns the results of exploring crashes with two drivers. One driver loses transactions.
func someCrashes() *crash.Crashes {
	c := &crash.Crashes{Workload: "ledger", Transactions: 24, States: 200, Seed: 1, Faults: crash.Faults, Judges: []string{"native"},
		Proofs: []crash.Proof{{Name: "synchronous=off breaks", Want: crash.Lost, AtBest: true, Found: crash.Broken, States: 80}}}
	for _, name := range []string{"mattn", "modernc"} {
		s := driver.Settings{"journal_mode": "wal", "synchronous": "normal"}
		cell := crash.Cell{Driver: name, ModuleVersion: "v1", SQLiteVersion: "3.50.4", Settings: s, InForce: s, CommitNS: 5e5, Differs: 1,
			Cost: trace.Cost{Transactions: 24, Syncs: 24, Writes: 240, Bytes: 1 << 20}, Results: map[crash.Fault]*crash.Outcome{}}
		for _, f := range crash.Faults {
			cell.Results[f] = &crash.Outcome{States: 100, Lost: 3, MostLost: 2, Runs: 1, Trouble: "closing fails", Failing: []crash.Failure{{
				Grade: crash.Lost, Judge: "native", Why: "2 are lost", Fault: f, Model: disk.Ordered, Boundary: 7, Operation: "at the end", Persisted: "everything",
				Injected: &record.Fault{Class: record.Syncs, File: "wal", At: 2, Error: record.EIO}, Acknowledged: 6, Found: 4, Kept: "states/1",
			}}}
		}
		c.Cells = append(c.Cells, cell)
	}
	c.Cells[1].Results, c.Cells[1].Reason = nil, "the recording is incomplete"
	return c
}

// storedRunOf returns a run that has an empty answer to a question, and can be stored.
func storedRunOf(t *testing.T, question string) *result.Run {
	t.Helper()
	run := hostileRun()
	for i := range run.Trials {
		for j := range run.Trials[i].Samples {
			run.Trials[i].Samples[j].Metric = result.MetricTimePerOp
		}
		if run.Trials[i].Reason != nil {
			run.Trials[i].Status = result.Failed
		}
	}
	if run.Answer = (&result.Answer{Question: question}); run.Unsampled() != "" {
		run.Trials = nil
	}
	return run
}

// TestHostileAnswers checks that an answer that somebody else made is either refused or printed
// without control characters. The test changes every field of an answer. In a list, it changes the fields of
// only one element.
func TestHostileAnswers(t *testing.T) { hostileAnswers(t, false) }

// TestSoakHostileAnswers is [TestHostileAnswers], but changes the fields of all elements of a list.
func TestSoakHostileAnswers(t *testing.T) { hostileAnswers(t, true) }

func hostileAnswers(t *testing.T, everywhere bool) {
	bad := []any{-1.0, 1e18, 1e300, hostile, nil, []any{}, map[string]any{}}
	for question, run := range answeredRuns(t) {
		var value any
		if err := json.Unmarshal(run.Answer.Value, &value); err != nil {
			t.Fatal(err)
		}
		formats := map[string][]string{result.QuestionCluster: {"table", "html", "svg", "json"}, result.QuestionGate: {"table", "html"}}[question]
		if formats == nil {
			formats = []string{"table", "html", "json"}
		}
		q, shown := stored[question], 0
		try := func(what string) {
			text, err := json.Marshal(value)
			if err != nil {
				t.Fatal(err)
			}
			run.Answer.Value = text
			a := stats.Analyze(run, lab.Floor)
			for _, format := range formats {
				env, out, _ := bufferedEnvironment()
				if err := q.show(t.Context(), env, &cli.OutputOptions{Format: format}, a); err == nil {
					shown++
					mustBePrintable(t, question+" with "+what+" as "+format, out.String())
				}
			}
		}
		try("nothing changed")
		if shown != len(formats) {
			t.Fatalf("%s: %d of %d formats are shown", question, shown, len(formats))
		}
		changed := map[string]bool{}
		var visit func(path string, set func(any), v any)
		visit = func(path string, set func(any), v any) {
			switch v := v.(type) {
			case map[string]any:
				for k := range v {
					visit(path+"."+k, func(x any) { v[k] = x }, v[k])
				}
			case []any:
				for i := range v {
					visit(fmt.Sprintf("%s[%d]", path, i), func(x any) { v[i] = x }, v[i])
				}
			}
			if field := listIndex.ReplaceAllString(path, "[]"); everywhere || !changed[field] {
				changed[field] = true
			} else {
				return
			}
			for _, x := range bad {
				set(x)
				try(fmt.Sprintf("%s = %.20q", path, fmt.Sprint(x)))
			}
			set(v)
		}
		visit("value", func(x any) { value = x }, value)
		t.Logf("%s: %d shown", question, shown)
	}
}

var listIndex = regexp.MustCompile(`\[\d+\]`)

// TestAnswersAreStored checks that the variable "stored" has each question whose answers are stored. The
// commands "show" and "report" must print these answers as a table, as HTML and, except gates, as JSON.
func TestAnswersAreStored(t *testing.T) {
	for _, question := range []string{result.QuestionAdvise, result.QuestionCluster, result.QuestionCrash, result.QuestionDiff, result.QuestionGate, result.QuestionLocks, result.QuestionTune} {
		if q, ok := stored[question]; !ok || q.check("table") != nil || q.check("html") != nil || (q.check("json") == nil) == (question == result.QuestionGate) {
			t.Errorf("%s is not shown in the formats that report and show need", question)
		}
	}
	if reflect.ValueOf(stored).Len() != 7 {
		t.Error(`the variable "stored" has a question that this test doesn't check`)
	}
}
