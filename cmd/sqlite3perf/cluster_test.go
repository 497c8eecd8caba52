package main

import (
	"strings"
	"testing"

	"github.com/sqlite3perf/sqlite3perf/cmd/sqlite3perf/internal/cli"
)

// TestClusterHelpReads checks the command that the help of the command "cluster" recommends for measuring
// reads. The recommended command is "run" with some flags, which "run" must accept.
func TestClusterHelpReads(t *testing.T) {
	const reads = "run --drivers mattn,rqlite --workloads point-read --set nodes=3"
	if out, code := run1(t, 0, "cluster", "--help"); code != cli.ExitOK || !strings.Contains(out, "sqlite3perf "+reads+".") {
		t.Errorf("exit status %d, want %q in\n%s", code, reads, out)
	}
	cmd, rest, err := rootCommand(cli.ProcessEnvironment()).Find(strings.Fields(reads))
	if err != nil || cmd.Name() != "run" || cmd.ParseFlags(rest) != nil {
		t.Errorf("%s: %v, %v", reads, cmd.Name(), err)
	}
}
