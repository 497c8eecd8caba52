package lab_test

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sqlite3perf/sqlite3perf/internal/lab"
	"github.com/sqlite3perf/sqlite3perf/internal/lab/build"
	"github.com/sqlite3perf/sqlite3perf/internal/workload"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/plan"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// TestMain makes the test binary a worker if it is started with the name "worker.FAULT".
// That worker answers correctly, except for the fault.
func TestMain(m *testing.M) {
	if fault, ok := strings.CutPrefix(filepath.Base(os.Args[0]), "worker."); ok {
		if fault, ok := strings.CutPrefix(fault, "server-"); ok {
			server(fault)
		}
		pretend(fault)
		os.Exit(0)
	}
	// More tests than cores can run in parallel, because they mostly wait for processes.
	flag.Parse()
	if parallel := flag.Lookup("test.parallel"); parallel.Value.String() == parallel.DefValue {
		if err := parallel.Value.Set(strconv.Itoa(2 * runtime.GOMAXPROCS(0))); err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run())
}

// faulty returns the path of a worker with this fault; "none" is a correct worker.
func faulty(t *testing.T, fault string) string {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "worker."+fault)
	if err := os.Symlink(exe, path); err != nil {
		t.Fatal(err)
	}
	return path
}

// tiny is a workload with a phase of each kind that the lab compares with an expectation.
const tiny = `
name: tiny
settings: {journal_mode: wal, synchronous: normal, cache_size: -2000}
scales: {full: {n: 10}, quick: {n: 3}}
schema: CREATE TABLE t(id INTEGER PRIMARY KEY)
rows:
  t: {count: $n, columns: {id: serial}}
phases:
  - {name: insert, insert: t}
  - {name: query, query: SELECT id FROM t ORDER BY id, columns: [int], expect: {rows: $n, returns: t}}
`

func parse(t *testing.T, yaml string) *workload.Workload {
	t.Helper()
	w, err := workload.Parse("test.yaml", []byte(yaml), nil)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// tinyCase returns the case of the workload "tiny" for an executable.
func tinyCase(t *testing.T, executable string) *lab.Case {
	t.Helper()
	c := tinyCaseOf(t, build.Ref{Name: executable, Path: executable})
	c.Worker = executable
	return c
}

// tinyCaseOf returns the case of the workload "tiny" for a driver.
func tinyCaseOf(t *testing.T, ref build.Ref) *lab.Case {
	t.Helper()
	m := lab.Matrix{
		Drivers:   []build.Ref{ref},
		Workloads: []*workload.Workload{parse(t, tiny)}, Scale: "full", Seed: 7,
	}
	cases, err := m.Cases()
	if err != nil || len(cases) != 1 {
		t.Fatalf("%d cases, %v", len(cases), err)
	}
	return cases[0]
}

func pretend(fault string) {
	in := bufio.NewReader(os.Stdin)
	line, err := in.ReadBytes('\n')
	if err != nil {
		os.Exit(9)
	}
	var req protocol.Request
	if err := json.Unmarshal(line, &req); err != nil {
		os.Exit(9)
	}
	if req.Type == protocol.TypeDescribe {
		pretendDescribe(fault)
		return
	}
	if req.Type == protocol.TypeJob {
		pretendJob(fault, &req)
		return
	}
	if fault == "no-server" {
		fmt.Printf(`{"type":"failed","reason":{"code":"protocol","message":"unknown request \"%s\""}}`+"\n", req.Type)
		return
	}
	enc := json.NewEncoder(os.Stdout)
	say := func(r protocol.Response) {
		if err := enc.Encode(r); err != nil {
			os.Exit(9)
		}
	}
	if err := os.WriteFile(req.Path, []byte("a database"), 0o644); err != nil {
		os.Exit(9)
	}
	if fault == "types-known" && req.TypesKnown {
		fmt.Println(`{"type":"failed","reason":{"code":"type","message":"the types are known"}}`)
		return
	}
	switch fault {
	case "silent":
		return
	case "garbage":
		fmt.Println("Traceback (most recent call last):")
		time.Sleep(time.Hour)
	case "long-line":
		fmt.Println(strings.Repeat("x", 17<<20))
		time.Sleep(time.Hour)
	case "unknown-answer":
		say(protocol.Response{Type: "hello"})
	}
	settings := driver.Settings{}.With(req.Settings)
	version := protocol.Version
	switch fault {
	case "newer":
		version++
	case "no-pragma":
		settings["synchronous"] = "full"
	case "lacks-pragma":
		delete(settings, "cache_size")
	case "no-ready":
		say(protocol.Response{Type: protocol.TypePhase, Phase: "insert"})
	}
	environment := map[string]string{}
	for _, name := range req.Environment {
		if fault == "variant" {
			environment[name] = os.Getenv(name)
		}
	}
	connections := []driver.Settings{{}, settings}
	connections[0] = connections[0].With(req.Settings)
	if fault == "no-proof" {
		connections = nil
	}
	say(protocol.Response{Type: protocol.TypeReady, Protocol: version, Proof: &protocol.Proof{Connections: connections, SQLiteVersion: "3.0.0", Environment: environment}})
	if fault == "strange-type" {
		say(protocol.Response{Type: "hello"})
	}

	sayAgain := func(phase string) {
		if fault != "never-reads-again" && (fault != "reads-no-phase" || phase == "") {
			say(protocol.Response{Type: protocol.TypeSettings, Phase: phase, Connections: readAgain(fault, phase, settings)})
		}
		if fault == "reads-twice" {
			say(protocol.Response{Type: protocol.TypeSettings, Phase: phase, Connections: readAgain(fault, phase, settings)})
		}
	}
	sayAgain("")
	gen, err := plan.NewGenerator(req.Seed, req.Plan)
	if err != nil {
		os.Exit(9)
	}
	wait := func(within string) {
		if !req.Alternate || fault == "never-alternates" {
			return
		}
		say(protocol.Response{Type: protocol.TypeWaiting, Phase: within})
		var order protocol.Request
		if line, err := in.ReadBytes('\n'); err != nil || json.Unmarshal(line, &order) != nil || order.Type != protocol.TypeProceed {
			os.Exit(9)
		}
	}
	for _, p := range req.Plan.Phases {
		wait("")
		say(protocol.Response{Type: protocol.TypePhase, Phase: p.Name})
		note(req.Path, fault+" begins "+p.Name)
		if fault == "waits-elsewhere" {
			wait("later")
		}
		s := &protocol.Sample{Phase: p.Name, WallNS: 1000, Operations: 10, Rows: 10}
		if fault == "large" {
			s.PeakRSSBytes, s.DatabaseBytes = 1<<20, 1<<10
		}
		if p.Query != nil {
			s.Operations = 1
			if s.Checksum, s.Rows, err = gen.Expected(p.Query.Returns, func(int64, int64) {}); err != nil {
				os.Exit(9)
			}
			misbehave(fault, s)
			if fault == "errs-later" && req.TypesKnown {
				s.Checksum = strings.Repeat("0", 64)
			}
			if fault == "no-checksum" || slices.Contains(req.Brief, p.Name) {
				s.Checksum = ""
			}
		}
		if p.Insert != nil && fault != "tells-nothing" {
			say(protocol.Response{Type: protocol.TypeInserted, Phase: p.Name, Tables: insertedBy(fault, gen, p.Insert)})
		}
		sayAgain(p.Name)
		note(req.Path, fault+" ends "+p.Name)
		say(protocol.Response{Type: protocol.TypeSample, Sample: s})
		if fault == "phases-twice" {
			say(protocol.Response{Type: protocol.TypeSample, Sample: s})
		}
		if fault == "leaves-early" {
			break
		}
	}
	wait("")
	note(req.Path, fault+" closes")
	switch fault {
	case "failed":
		fmt.Fprintln(os.Stderr, "so does its log")
		say(protocol.Response{Type: protocol.TypeFailed, Reason: &protocol.Reason{Code: "disk-full", Phase: "query", Message: "database or disk is full", Detail: "df says so"}})
		return
	case "failed-at-length":
		fmt.Fprintln(os.Stderr, "the last words")
		say(protocol.Response{Type: protocol.TypeFailed, Reason: &protocol.Reason{Code: "disk-full", Message: "database or disk is full", Detail: strings.Repeat("and so on\n", 1<<16)}})
		return
	case "failed-integrity", "failed-setting":
		code := strings.TrimPrefix(fault, "failed-")
		say(protocol.Response{Type: protocol.TypeFailed, Reason: &protocol.Reason{Code: code, Message: "so it is"}})
		return
	case "failed-silently":
		say(protocol.Response{Type: protocol.TypeFailed})
		return
	case "child":
		// The child outlives its parent, in the same process group and with the same standard output.
		cmd := exec.Command("sleep", "3600")
		cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
		if err := cmd.Start(); err != nil {
			os.Exit(9)
		}
		_ = os.WriteFile(os.Args[0]+".child", fmt.Append(nil, cmd.Process.Pid), 0o644) // the test notices if the file is missing
	}
	say(protocol.Response{Type: protocol.TypeDone})
	switch fault {
	case "stays":
		time.Sleep(time.Hour)
	case "crash-at-end":
		os.Exit(3)
	case "talkative":
		for range 1 << 15 {
			fmt.Println("one more thing: this worker goes on talking after it is done")
		}
	}
}

// notes is the name of a file next to the trials' directories. If it exists, workers append a
// line about each step.
const notes = "notes"

func note(path, what string) {
	f, err := os.OpenFile(filepath.Join(filepath.Dir(filepath.Dir(path)), notes), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return
	}
	defer f.Close()
	if _, err := fmt.Fprintln(f, what); err != nil {
		os.Exit(9)
	}
}

// readAgain returns the settings that a worker with this fault reports for its two connections after a phase,
// or after the schema if phase is "".
func readAgain(fault, phase string, s driver.Settings) []driver.Settings {
	other := s.With(nil)
	switch {
	case fault == "schema-changes" && phase == "":
		s = s.With(driver.Settings{"synchronous": "off", "journal_mode": "delete"})
	case fault == "phase-changes" && phase == "insert":
		other["synchronous"] = "off"
	case fault == "phase-forgets" && phase == "query":
		delete(other, "cache_size")
	case fault == "changes-own" && phase == "query":
		s["foreign_keys"], other["foreign_keys"] = "on", "on"
	case fault == "reads-one":
		return nil
	}
	return []driver.Settings{s, other}
}

// insertedBy returns the answer of a worker with this fault after an insert. The answer describes the rows
// that the worker has read back from the only table of the workload "tiny".
func insertedBy(fault string, gen *plan.Gen, in *plan.Insert) []protocol.Inserted {
	var list []protocol.Inserted
	for _, s := range in.Verify {
		var b driver.Batch
		var sum plan.RowSum
		if err := gen.FillColumns(&b, []string{"t.id"}, "t", 0, 10); err != nil {
			os.Exit(9)
		}
		switch fault {
		case "loses-a-row":
			sum.Batch(&b, 9)
		case "alters-a-row":
			b.Columns[0].Ints[3]++
			fallthrough
		default:
			sum.Batch(&b, 10)
		}
		t := protocol.Inserted{Table: s.Table, Rows: sum.Rows}
		if len(s.Columns) > 0 {
			t.Checksum = sum.Sum()
		}
		list = append(list, t)
	}
	return list
}

// misbehave makes the worker fail in the middle of a phase, if the fault is of this kind.
func misbehave(fault string, s *protocol.Sample) {
	switch fault {
	case "killed":
		self, err := os.FindProcess(os.Getpid())
		if err == nil {
			err = self.Kill()
		}
		fmt.Fprintln(os.Stderr, err)
		time.Sleep(time.Hour)
	case "sleeps":
		time.Sleep(time.Hour)
	case "panic":
		fmt.Fprintln(os.Stderr, "about to fall")
		panic("a fault of the driver")
	case "signal":
		fmt.Fprintf(os.Stderr, "SIGQUIT: quit\n\ngoroutine 9 [syscall]:\nexample.com/sqlite.step(0x26)\n%s\n", strings.Repeat("more of the stack\n", 900))
		for _, name := range []string{"rax", "r10", "rip", "rflags", "fs"} {
			fmt.Fprintf(os.Stderr, "%-6s 0x7f183704e129\n", name)
		}
		os.Exit(2)
	case "dies":
		for range 1000 {
			fmt.Fprintln(os.Stderr, "a log line that is of no use")
		}
		fmt.Fprintln(os.Stderr, "the last words")
		os.Exit(3)
	case "wrong-phase":
		s.Phase = "mix"
	case "no-time":
		s.WallNS = 0
	case "no-operations":
		s.Operations = 0
	case "rows":
		s.Rows--
	case "checksum":
		s.Checksum = strings.Repeat("0", 64)
	}
}

func pretendDescribe(fault string) {
	answer := protocol.Response{Type: protocol.TypeInfo, Protocol: protocol.Version, Info: &driver.Info{
		Name: "pretender", Kind: driver.OtherLanguage, Interface: driver.Direct,
		Limits: map[string]string{"synchronous=normal": "it knows only one way"},
	}, Proof: &protocol.Proof{Module: "example.com/pretender", ModuleVersion: "v1.2.3"}}
	switch fault {
	case "silent":
		return
	case "dies":
		fmt.Fprintln(os.Stderr, "no module named sqlite3")
		os.Exit(3)
	case "garbage":
		for {
			fmt.Println("usage: worker")
		}
	case "long-line":
		for {
			fmt.Print("usage: worker")
		}
	case "newer":
		answer.Protocol++
	case "no-info":
		answer.Info = nil
	case "other":
		answer.Type = protocol.TypeDone
	case "failed":
		answer = protocol.Response{Type: protocol.TypeFailed, Reason: &protocol.Reason{Message: "no licence"}}
	}
	if err := json.NewEncoder(os.Stdout).Encode(answer); err != nil {
		os.Exit(9)
	}
	if fault == "stays" {
		time.Sleep(time.Hour)
	}
}
