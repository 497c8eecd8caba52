package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/sqlite3perf/sqlite3perf/cmd/sqlite3perf/internal/cli"
	"github.com/sqlite3perf/sqlite3perf/internal/crash"
	"github.com/sqlite3perf/sqlite3perf/internal/lab/build"
)

// crashPlace returns a [place] in which the workers of the user's cache are used.
func crashPlace(t *testing.T) *place {
	t.Helper()
	if testing.Short() || runtime.GOARCH != "amd64" {
		t.Skip("builds workers, and records on amd64 only")
	}
	cache, err := build.DefaultCache()
	if err != nil {
		t.Fatal(err)
	}
	p := newPlace(t)
	p.ownTemp()
	p.env = append(p.env, "SQLITE3PERF_WORKER_CACHE="+cache, "GOWORK=off")
	return p
}

// crashed runs the command crash and returns its answer. The exit status must be the parameter "status".
func (p *place) crashed(status int, args ...string) *crash.JSONCrashes {
	p.t.Helper()
	cmd := p.command(append([]string{"crash", "--format", "json", "--dir", "databases"}, args...)...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if got := statusOf(err); got != status {
		p.t.Fatalf("%q: exit status %d, want %d\n%s", args, got, status, out)
	}
	p.nothingLeft()
	var c crash.JSONCrashes
	if err := json.Unmarshal(out, &c); err != nil {
		p.t.Fatal(err)
	}
	return &c
}

// TestCrash explores crashes of a real driver. It checks which data is lost with which settings, and the
// number of syncs. The answer must be stored, and it must be possible to replay the states (copies of
// the database) that fail.
func TestCrash(t *testing.T) {
	t.Parallel()
	p := crashPlace(t)
	states := filepath.Join(t.TempDir(), "states")
	c := p.crashed(0, "--drivers", "modernc", "--set", "journal_mode=delete,wal", "--set", "synchronous=full,normal", "--set", "wal_autocheckpoint=20",
		"--transactions", "12", "--states", "60", "--faults", "kill,ordered,posix,shared,cancel", "--judges", "native,modernc", "--keep", states, "--store", "crash.db")
	if len(c.Proofs) < 8 || len(c.Cells) != 4 || !slices.Contains(c.Judges, "native") {
		t.Fatalf("%d proofs, %d cells, judged by %q", len(c.Proofs), len(c.Cells), c.Judges)
	}
	for i, want := range []struct {
		settings string
		syncs    float64
		ordered  crash.Grade
	}{
		{"delete full", 3, crash.Lost},
		{"delete normal", 2, ""},
		{"wal full", 1, crash.Kept},
		{"wal normal", 0, crash.Lost},
	} {
		cell := &c.Cells[i]
		if got := cell.InForce["journal_mode"] + " " + cell.InForce["synchronous"]; got != want.settings || cell.Reason != "" {
			t.Fatalf("cell %d: %s %s", i, got, cell.Reason)
		}
		n := float64(cell.Cost.Transactions)
		if got := float64(cell.Cost.Syncs+cell.Cost.DataSyncs) / n; got < want.syncs || got >= want.syncs+1 || cell.Cost.Transactions != 12 {
			t.Errorf("%s: %v syncs in each of %v transactions, want %v and some for checkpoints", want.settings, got, n, want.syncs)
		}
		if got := cell.Results[crash.Ordered].Grade(); want.ordered != "" && got != want.ordered {
			t.Errorf("%s, power cut: %s, want %s: %+v", want.settings, got, want.ordered, cell.Results[crash.Ordered])
		}
		if o := cell.Results[crash.Shared]; o.Others < 2 || o.Runs != 2 {
			t.Errorf("%s: other processes wrote %d rows in %d runs, want 2", want.settings, o.Others, o.Runs)
		}
		if o := cell.Results[crash.Kill]; o.Runs < 1 || o.States <= o.Runs {
			t.Errorf("%s: %d real kills, %d states", want.settings, o.Runs, o.States)
		}
		for _, f := range []crash.Fault{crash.Kill, crash.Shared, crash.Cancel} {
			if o := cell.Results[f]; o.Grade() != crash.Kept || o.States < 1 {
				t.Errorf("%s, %s: %+v", want.settings, f, o)
			}
		}
	}
	if !strings.Contains(c.Answer, "No acknowledged transaction of modernc was lost, and no database damaged, with wal full.") {
		t.Error(c.Answer)
	}
	p.replayed(c.Cells[3].Results[crash.Ordered].Failing[0])
	shown, err := p.command("show", "last", "--store", "crash.db", "--format", "json").Output()
	var again crash.JSONCrashes
	if err != nil || json.Unmarshal(shown, &again) != nil || again.Answer != c.Answer {
		t.Errorf("show: %v\n%s", err, shown)
	}
}

// TestCrashUnrecorded explores crashes on a system where system calls cannot be recorded. Faults
// that need no recording must still be explored, and the answer must list the faults that were not
// explored.
func TestCrashUnrecorded(t *testing.T) {
	t.Parallel()
	p := crashPlace(t)
	wrap := func(args ...string) *exec.Cmd {
		cmd := p.command()
		cmd.Path, cmd.Err = exec.LookPath("without-seccomp")
		cmd.Args = append([]string{"without-seccomp", "sqlite3perf", "crash", "--drivers", "modernc", "--dir", "databases"}, args...)
		return cmd
	}
	out, err := wrap("--set", "journal_mode=wal", "--set", "synchronous=normal", "--format", "json", "--quiet").Output()
	var c crash.JSONCrashes
	if err != nil || json.Unmarshal(out, &c) != nil || len(c.Proofs) != 1 || len(c.Cells) != 1 {
		t.Fatalf("%v\n%s", err, out)
	}
	cell := &c.Cells[0]
	if len(cell.Results) != 3 || cell.Results[crash.Kill].Runs < 10 || cell.Results[crash.Kill].Grade() != crash.Kept || cell.Cost.Writes != 0 {
		t.Errorf("%+v", cell)
	}
	for _, want := range []string{"Nothing was lost with wal normal in these states, but", "Power cuts and errors of the disk were not tried, because file operations can be recorded only on"} {
		if !strings.Contains(c.Answer, want) {
			t.Errorf("no %q in %s", want, c.Answer)
		}
	}
	said, err := wrap("--faults", "kill,posix").CombinedOutput()
	if statusOf(err) != cli.ExitIncomplete || !strings.Contains(string(said), "--faults posix: file operations can be recorded only on") {
		t.Errorf("%v %s", err, said)
	}
	p.nothingLeft()
}

// TestSoakCrashAttached explores transactions that change two files. With a rollback journal, these
// transactions are atomic. The states after a crash must be judged right although SQLite's
// super-journals contain absolute paths, and a state is a copy of the database in another directory.
// With WAL, the transactions are not atomic.
func TestSoakCrashAttached(t *testing.T) {
	t.Parallel()
	p := crashPlace(t)
	states := filepath.Join(t.TempDir(), "states")
	c := p.crashed(0, "--drivers", "mattn", "--set", "journal_mode=delete,wal", "--set", "synchronous=extra", "--attach", "documents",
		"--transactions", "10", "--states", "40", "--faults", "kill,ordered,shared", "--keep", states, "--store", "crash.db")
	if len(c.Cells) != 2 || len(c.Attach) != 1 || !strings.Contains(c.Answer, "documents is in a second file") {
		t.Fatalf("%d cells, attached %q: %s", len(c.Cells), c.Attach, c.Answer)
	}
	for f, o := range c.Cells[0].Results {
		if o.Grade() != crash.Kept || o.Trouble != "" {
			t.Errorf("delete, %s: %+v", f, o)
		}
	}
	broken := c.Cells[1].Results[crash.Kill]
	if broken.Grade() != crash.Broken || c.Cells[1].Results[crash.Shared].Grade() != crash.Kept {
		t.Fatalf("wal: %+v", c.Cells[1].Results)
	}
	out, err := p.command("crash", "--replay", broken.Failing[0].Kept, "--quiet", "--dir", "databases").Output()
	if statusOf(err) != cli.ExitIncomplete || strings.Count(string(out), "a part of a transaction") != 2 {
		t.Errorf("%v\n%s", err, out)
	}
}

// replayed replays a state of the database that the command crash --keep has saved. The command must report
// the same failure and must not change the state.
func (p *place) replayed(f crash.Failure) {
	p.t.Helper()
	before, err := os.ReadFile(filepath.Join(f.Kept, "test.db"))
	if err != nil {
		p.t.Fatal(err)
	}
	out, err := p.command("crash", "--replay", f.Kept, "--quiet", "--dir", "databases").Output()
	if got := strings.Join(strings.Fields(string(out)), " "); statusOf(err) != cli.ExitIncomplete || !strings.Contains(got, f.Operation) || strings.Count(got, "transactions lost: ") != 2 {
		p.t.Errorf("%v\n%s", err, got)
	}
	after, err := os.ReadFile(filepath.Join(f.Kept, "test.db"))
	if err != nil || string(before) != string(after) {
		p.t.Error("the replay has changed the state")
	}
}

// TestSoakCrash explores crashes with all settings and every kind of fault.
func TestSoakCrash(t *testing.T) {
	t.Parallel()
	p := crashPlace(t)
	c := p.crashed(0, "--drivers", "mattn", "--transactions", "16")
	if len(c.Cells) != 17 {
		t.Fatalf("%d cells", len(c.Cells))
	}
	broken := 0
	for i := range c.Cells {
		cell := &c.Cells[i]
		if len(cell.Results) != len(crash.Faults) {
			t.Errorf("%v: %d results", cell.Settings, len(cell.Results))
			continue
		}
		if cell.InForce["synchronous"] == "off" && cell.Results[crash.Ordered].Broken > 0 {
			broken++
		}
	}
	if broken < 3 {
		t.Errorf("synchronous=off breaks with %d journal modes", broken)
	}
}
