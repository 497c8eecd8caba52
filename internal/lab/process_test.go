package lab_test

import (
	"context"
	"errors"
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sqlite3perf/sqlite3perf/internal/lab"
	"github.com/sqlite3perf/sqlite3perf/internal/lab/build"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
)

// trial runs one trial of the workload "tiny" with a worker that has the given fault. It checks that no
// files or processes are left.
func trial(t *testing.T, fault string, limit time.Duration) (*result.Trial, *lab.Case) {
	t.Helper()
	c := tinyCase(t, faulty(t, fault))
	info, _, err := build.Describe(t.Context(), faulty(t, "none"))
	if err != nil {
		t.Fatal(err)
	}
	c.Info = info
	dir := t.TempDir()
	p := &lab.Processes{Dir: dir, Limit: limit}
	got, err := p.Trial(t.Context(), c, 7)
	if err != nil {
		t.Fatal(err)
	}
	empty(t, dir)
	return got, c
}

func empty(t *testing.T, dir string) {
	t.Helper()
	left, err := os.ReadDir(dir)
	if err != nil || len(left) > 0 {
		t.Errorf("left in the directory for databases: %v, %v", left, err)
	}
}

func TestTrial(t *testing.T) {
	t.Parallel()
	for _, fault := range []string{"none", "talkative"} {
		got, c := trial(t, fault, time.Minute)
		if got.Status != result.OK || got.Reason != nil {
			t.Fatalf("%s: %s: %+v", fault, got.Status, got.Reason)
		}
		if got.Case != c.ID || got.TookNS <= 0 || got.Started.IsZero() {
			t.Errorf("%+v", got)
		}
		if len(got.Samples) != 2 || got.Samples[0].Phase != "insert" || got.Samples[1].Phase != "query" || got.Samples[1].Checksum == "" {
			t.Errorf("samples %+v", got.Samples)
		}
		if got.Proof == nil || got.Proof.Connections[0]["journal_mode"] != "wal" {
			t.Errorf("proof %+v", got.Proof)
		}
	}
}

// TestFaults checks that each fault fails its trial, with a reason that describes the fault.
func TestFaults(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		fault  string
		status result.Status
		code   string
		phase  string
		parts  []string // parts of the reason's message and detail
	}{
		{"killed", result.Failed, "killed", "query", []string{"SIGKILL", "memory"}},
		{"panic", result.Failed, "crash", "query", []string{"about to fall", "panic: a fault of the driver", "goroutine 1"}},
		{"dies", result.Failed, "crash", "query", []string{"exit status 3", "the last words"}},
		{"signal", result.Failed, "crash", "query", []string{"example.com/sqlite.step(0x26)\nmore of the stack", "\n…\n", "more of the stack\nmore of the stack"}},
		{"crash-at-end", result.Failed, "crash", "query", []string{"exit status 3"}},
		{"silent", result.Failed, "protocol", "", []string{"exited before it was done"}},
		{"garbage", result.Failed, "protocol", "", []string{"not understood", "Traceback"}},
		{"long-line", result.Failed, "protocol", "", []string{"longer than 16 MiB"}},
		{"unknown-answer", result.Failed, "protocol", "", []string{`"hello" before "ready"`}},
		{"no-ready", result.Failed, "protocol", "", []string{`"phase" before "ready"`}},
		{"no-proof", result.Failed, "protocol", "", []string{"without a proof"}},
		{"newer", result.Failed, "protocol", "", []string{"protocol 3", "sqlite3perf 2", "rebuild"}},
		{"strange-type", result.Failed, "protocol", "", []string{`unknown type "hello"`}},
		{"wrong-phase", result.Failed, "protocol", "query", []string{"another phase"}},
		{"phases-twice", result.Failed, "protocol", "insert", []string{"another phase"}},
		{"leaves-early", result.Failed, "protocol", "", []string{"1 phases of 2"}},
		{"no-time", result.Failed, "protocol", "query", []string{"phase query: wall_ns is 0: want the wall time inside the clock, above 0"}},
		{"no-operations", result.Failed, "protocol", "query", []string{"phase query: operations is 0: want 1, its executions by all clients"}},
		{"rows", result.Wrong, "rows", "query", []string{"phase query: rows is 9: expected 10"}},
		{"checksum", result.Wrong, "checksum", "query", []string{"phase query: checksum is 000000000000…: expected"}},
		{"tells-nothing", result.Failed, "protocol", "insert", []string{`without having answered "inserted" for phase insert`}},
		{"loses-a-row", result.Wrong, "rows", "insert", []string{"phase insert: tables[0].rows is 9: expected 10"}},
		{"alters-a-row", result.Wrong, "checksum", "insert", []string{"phase insert: tables[0].checksum is", "the rows inserted into t are not the generated ones"}},
		{"no-pragma", result.Refused, "setting", "", []string{"synchronous: wanted normal, got full (it knows only one way)", "connection 2 of 2"}},
		{"lacks-pragma", result.Refused, "setting", "", []string{"cache_size: wanted -2000, got nothing", "connection 2 of 2"}},
		{"schema-changes", result.Refused, "setting", "", []string{
			"journal_mode: wanted wal, got delete; synchronous: wanted normal, got off, on connection 1 of 2 alone",
			", after the schema of tiny: delete PRAGMA journal_mode and PRAGMA synchronous there, which changes one connection only, or write journal_mode: delete and synchronous: off under settings"}},
		{"phase-changes", result.Refused, "setting", "insert", []string{"synchronous: wanted normal, got off, on connection 2 of 2 alone, after phase insert"}},
		{"phase-forgets", result.Refused, "setting", "query", []string{"cache_size: wanted -2000, got nothing, on connection 2 of 2 alone, after phase query"}},
		{"changes-own", result.Refused, "setting", "query", []string{"foreign_keys: nothing when it was opened, now on, on all 2 connections, after phase query"}},
		{"never-reads-again", result.Failed, "protocol", "", []string{`"phase" without having read the settings back after the schema`}},
		{"reads-no-phase", result.Failed, "protocol", "insert", []string{`"sample" without having read the settings back after phase insert`}},
		{"reads-twice", result.Failed, "protocol", "", []string{"after the schema, which has not run or was read back before"}},
		{"reads-one", result.Failed, "protocol", "", []string{"settings of 0 connections after the schema, with a pool of 1"}},
		{"failed", result.Failed, "disk-full", "query", []string{"database or disk is full: make room in ", "df says so\nso does its log"}},
		{"failed-at-length", result.Failed, "disk-full", "", []string{"\n…\n", "and so on\nthe last words"}},
		{"failed-integrity", result.Wrong, "integrity", "", []string{"so it is"}},
		{"failed-setting", result.Refused, "setting", "", []string{"so it is"}},
		{"failed-silently", result.Failed, "protocol", "", []string{"without a reason"}},
	} {
		t.Run(c.fault, func(t *testing.T) {
			t.Parallel()
			if runtime.GOOS == "windows" && c.fault == "killed" {
				t.Skip("Windows has no signal that would tell a kill from a crash")
			}
			got, _ := trial(t, c.fault, time.Minute)
			if got.Status != c.status || got.Reason == nil {
				t.Fatalf("%s with reason %+v, want %s", got.Status, got.Reason, c.status)
			}
			if got.Reason.Code != c.code || got.Reason.Phase != c.phase {
				t.Errorf("code %q in phase %q, want %q in %q", got.Reason.Code, got.Reason.Phase, c.code, c.phase)
			}
			if strings.Contains(got.Reason.Message, "\n") {
				t.Errorf("the message has more than one line: %q", got.Reason.Message)
			}
			if len(got.Reason.Detail) > 5<<10 {
				t.Errorf("%d bytes of detail", len(got.Reason.Detail))
			}
			if strings.Contains(got.Reason.Detail, "rflags") {
				t.Errorf("registers in the detail:\n%s", got.Reason.Detail)
			}
			for _, p := range c.parts {
				if !strings.Contains(got.Reason.Message+"\n"+got.Reason.Detail, p) {
					t.Errorf("no %q in %q\n%s", p, got.Reason.Message, got.Reason.Detail)
				}
			}
		})
	}
}

func TestTimeLimit(t *testing.T) {
	t.Parallel()
	got, _ := trial(t, "sleeps", 3*time.Second)
	if got.Status != result.Failed || got.Reason == nil || got.Reason.Code != "timeout" || got.Reason.Phase != "query" ||
		!strings.Contains(got.Reason.Message, "3s") {
		t.Errorf("%s: %+v", got.Status, got.Reason)
	}
	if len(got.Samples) != 1 {
		t.Errorf("%d samples are kept, want 1: the sample of the phase before the timeout", len(got.Samples))
	}
}

// TestStays checks that a trial fails if its worker answers everything but does not exit, because this worker
// would disturb the next trial.
func TestStays(t *testing.T) {
	t.Parallel()
	got, _ := trial(t, "stays", time.Hour)
	if got.Status != result.Failed || got.Reason == nil || got.Reason.Code != "timeout" || !strings.Contains(got.Reason.Message, "did not exit") {
		t.Errorf("%s: %+v", got.Status, got.Reason)
	}
}

func TestChildLeftBehind(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no process groups")
	}
	got, c := trial(t, "child", time.Minute)
	if got.Status != result.OK {
		t.Errorf("%s: %+v", got.Status, got.Reason)
	}
	data, err := os.ReadFile(c.Worker + ".child")
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(string(data))
	if err != nil {
		t.Fatal(err)
	}
	gone(t, pid)
}

// gone waits until a killed process has disappeared or is a zombie. The test fails if this takes more than a
// minute.
func gone(t *testing.T, pid int) {
	t.Helper()
	for range 6000 {
		p, err := os.FindProcess(pid)
		if err != nil || errors.Is(p.Signal(syscall.Signal(0)), os.ErrProcessDone) || zombie(pid) {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("process %d still runs", pid)
}

// zombie reports whether a process has ended but has not been reaped.
func zombie(pid int) bool {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return false
	}
	_, rest, _ := strings.Cut(string(stat), ") ")
	return strings.HasPrefix(rest, "Z")
}

// TestCancelledTrial cancels a trial, as the user's second Ctrl-C does. No result, process
// or database may be left.
func TestCancelledTrial(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(300*time.Millisecond, cancel)
	dir := t.TempDir()
	p := &lab.Processes{Dir: dir, Limit: time.Hour}
	got, err := p.Trial(ctx, tinyCase(t, faulty(t, "sleeps")), 7)
	if got != nil || !errors.Is(err, context.Canceled) {
		t.Errorf("%+v, %v", got, err)
	}
	empty(t, dir)
}

// TestRelativeDirectory checks that a worker starts in its trial's directory, and can open
// the database there, although Dir is relative.
func TestRelativeDirectory(t *testing.T) {
	t.Chdir(t.TempDir())
	c := tinyCase(t, faulty(t, "none"))
	got, err := (&lab.Processes{Dir: ".", Limit: time.Minute}).Trial(t.Context(), c, 7)
	if err != nil || got.Status != result.OK {
		t.Errorf("%+v, %v", got, err)
	}
	empty(t, ".")
}

func TestNoExecutable(t *testing.T) {
	t.Parallel()
	p := &lab.Processes{Dir: t.TempDir(), Limit: time.Minute}
	c := tinyCase(t, faulty(t, "none"))
	c.Worker = "/nonexistent/worker"
	got, err := p.Trial(t.Context(), c, 7)
	if err != nil {
		t.Fatal(err)
	}
	if got.Status != result.Unavailable || got.Reason == nil || got.Reason.Code != "start" || !strings.Contains(got.Reason.Message, "/nonexistent/worker") {
		t.Errorf("%s: %+v", got.Status, got.Reason)
	}
}

func TestNoDirectory(t *testing.T) {
	t.Parallel()
	p := &lab.Processes{Dir: t.TempDir() + "/absent", Limit: time.Minute}
	if got, err := p.Trial(t.Context(), tinyCase(t, faulty(t, "none")), 7); err == nil || !strings.Contains(err.Error(), "directory for the database") {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestDescribe(t *testing.T) {
	t.Parallel()
	for _, fault := range []string{"none", "stays"} {
		info, proof, err := build.Describe(t.Context(), faulty(t, fault))
		if err != nil || info.Name != "pretender" || proof.ModuleVersion != "v1.2.3" {
			t.Errorf("%s: %+v, %+v, %v", fault, info, proof, err)
		}
	}
	for fault, parts := range map[string][]string{
		"silent":    {"without an answer"},
		"dies":      {"exit status 3", "no module named sqlite3"},
		"garbage":   {"printed no protocol line", "usage: worker"},
		"long-line": {"token too long"},
		"newer":     {"protocol 3", "this sqlite3perf 2"},
		"no-info":   {"lacks the info"},
		"other":     {`"done" instead of "info"`},
		"failed":    {"no licence"},
	} {
		t.Run(fault, func(t *testing.T) {
			t.Parallel()
			path := faulty(t, fault)
			_, _, err := build.Describe(t.Context(), path)
			var unavailable *build.BuildError
			if !errors.As(err, &unavailable) {
				t.Fatalf("got %v", err)
			}
			if !strings.Contains(err.Error(), path) {
				t.Errorf("%q does not name %s", err, path)
			}
			for _, p := range parts {
				if !strings.Contains(unavailable.Reason.Message+"\n"+unavailable.Reason.Detail, p) {
					t.Errorf("no %q in %+v", p, unavailable.Reason)
				}
			}
		})
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := build.Describe(ctx, faulty(t, "none")); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}
