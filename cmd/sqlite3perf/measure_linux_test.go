package main

import (
	"database/sql"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sqlite3perf/sqlite3perf/cmd/sqlite3perf/internal/cli"
)

// TestMeasureScript runs the script that the pods of deploy/job.yaml run. The script must measure,
// resume a run that was killed, skip a complete run, and start again on another machine.
func TestMeasureScript(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	script, err := filepath.Abs("../../deploy/measure.sh")
	if err != nil {
		t.Fatal(err)
	}
	store := filepath.Join("results", "0.db")
	measure := func(want int, args ...string) string {
		t.Helper()
		cmd := exec.Command("sh", append([]string{script, store, filepath.Join("scratch", "databases")}, args...)...)
		cmd.Dir, cmd.Env = p.dir, p.env
		out, _ := cmd.CombinedOutput()
		if got := cmd.ProcessState.ExitCode(); got != want {
			t.Errorf("exit status %d, want %d:\n%s", got, want, out)
		}
		return string(out)
	}
	work := []string{"--drivers", "./good", "--workloads", "./tiny.yaml", "--rounds", "6"}
	runs := func() string {
		t.Helper()
		out, err := p.command("runs", "--store", store).CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return string(out)
	}
	change := func(query string) {
		t.Helper()
		db, err := sql.Open("sqlite", filepath.Join(p.dir, store))
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		db.SetMaxOpenConns(1)
		if _, err := db.Exec("PRAGMA foreign_keys = on; " + query); err != nil {
			t.Fatal(err)
		}
	}
	const killed = "DELETE FROM trials WHERE trial_id > 3 AND run_id = 1; UPDATE runs SET json = json_remove(json_set(json, '$.stopped', ''), '$.ended') WHERE run_id = 1"

	measure(cli.ExitOK, work...)
	if out := measure(cli.ExitOK, work...); !strings.Contains(out, "has a complete run") || strings.Count(runs(), "rounds done") != 1 {
		t.Errorf("again: %s\n%s", out, runs())
	}
	change(killed)
	if out := measure(cli.ExitOK, work...); !strings.Contains(out, "resumed") || strings.Count(runs(), "rounds done") != 1 {
		t.Errorf("killed: %s\n%s", out, runs())
	}
	change(killed + "; UPDATE runs SET json = json_set(json, '$.machine.cores', 1024)")
	if out := measure(cli.ExitOK, work...); !strings.Contains(out, "was begun on another machine") || strings.Count(runs(), "rounds done") != 1 || strings.Count(runs(), "unfinished") != 1 {
		t.Errorf("elsewhere: %s\n%s", out, runs())
	}
	if err := os.Remove(filepath.Join(p.dir, store)); err != nil {
		t.Fatal(err)
	}
	measure(cli.ExitUsage, "--drivers", "./none")
	measure(cli.ExitOK, "--drivers", "./good,./wrong", "--workloads", "./tiny.yaml", "--rounds", "6")
}
