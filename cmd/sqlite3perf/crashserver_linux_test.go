package main

import (
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

// TestSoakCrashServer explores crashes of a node of rqlite. Nothing may be lost, except writes that were
// queued. If the syncs of files are removed from the recording of the node, something must be lost.
func TestSoakCrashServer(t *testing.T) {
	t.Parallel()
	if runtime.GOARCH != "amd64" {
		t.Skip("records on amd64 only")
	}
	p := clusterPlace(t)
	states := filepath.Join(t.TempDir(), "states")
	c := p.crashed(0, "--drivers", "rqlite", "--states", "60", "--set", "queued_writes=off,on", "--keep", states)
	if len(c.Cells) != 2 {
		t.Fatalf("%d cells", len(c.Cells))
	}
	for i, worst := range []crash.Grade{crash.Kept, crash.Lost} {
		cell := &c.Cells[i]
		if cell.Reason != "" || len(cell.Results) != 3 || cell.InForce["queued_writes"] != []string{"off", "on"}[i] {
			t.Fatalf("%+v", cell)
		}
		for _, f := range []crash.Fault{crash.Kill, crash.Ordered, crash.Posix} {
			if o := cell.Results[f]; o.States < 20 || o.Grade() != worst {
				t.Errorf("%v, %s: %s in %d states, want %s: %+v", cell.InForce, f, o.Grade(), o.States, worst, o.Failing)
			}
		}
	}
	lost := c.Cells[1].Results[crash.Kill].Failing[0].Kept
	for _, r := range []struct {
		args   []string
		status int
		says   string
	}{
		{nil, cli.ExitIncomplete, "transactions lost: it is after transaction"},
		{[]string{"--drivers", "native"}, cli.ExitUsage, "only rqlite can start with the files of its server"},
	} {
		out, err := p.command(append([]string{"crash", "--replay", lost, "--quiet", "--dir", "databases"}, r.args...)...).CombinedOutput()
		if statusOf(err) != r.status || !strings.Contains(string(out), r.says) || strings.Contains(string(out), "no tables") {
			t.Errorf("replay %q: %v, want exit status %d and %q\n%s", r.args, err, r.status, r.says, out)
		}
	}
	proven := func(p crash.Proof) bool {
		return strings.Contains(p.Name, "the recording of rqlite") && p.Found != crash.Kept
	}
	if !slices.ContainsFunc(c.Proofs, proven) {
		t.Errorf("no proof of rqlite: %+v", c.Proofs)
	}
}

// TestSoakCrashChild explores crashes of a driver whose SQLite is in a child process. The test uses the
// same child program as the driver's own tests.
func TestSoakCrashChild(t *testing.T) {
	t.Parallel()
	p := crashPlace(t)
	source, err := build.FindSource("")
	if err != nil {
		t.Fatal(err)
	}
	sqinn := filepath.Join(t.TempDir(), "sqinn")
	compile := exec.CommandContext(t.Context(), "go", "build", "-o", sqinn, "./internal/sqinn")
	compile.Dir = filepath.Join(source.Root, "drivers", "sqinn")
	compile.Env = append(os.Environ(), "GOWORK=off")
	if out, err := compile.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	p.env = append(p.env, "SQINN_PATH="+sqinn)
	c := p.crashed(0, "--drivers", "sqinn", "--states", "60", "--set", "journal_mode=wal", "--set", "synchronous=normal,full", "--set", "wal_autocheckpoint=20")
	if len(c.Cells) != 2 {
		t.Fatalf("%d cells", len(c.Cells))
	}
	for i, want := range []crash.Grade{crash.Lost, crash.Kept} {
		if o := c.Cells[i].Results[crash.Ordered]; o == nil || o.Grade() != want || c.Cells[i].Cost.Writes == 0 {
			t.Errorf("%v, power cut: want %s: %+v", c.Cells[i].Settings, want, o)
		}
	}
}
