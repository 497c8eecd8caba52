package main

import (
	"math"
	"strings"
	"testing"

	"github.com/sqlite3perf/sqlite3perf/cmd/sqlite3perf/internal/cli"
	"github.com/sqlite3perf/sqlite3perf/internal/cluster"
	"github.com/sqlite3perf/sqlite3perf/worker/latency"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// The command that cluster's help recommends for reads has flags that run accepts.
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

// TestClusterSum checks that a failed round does not affect the other rounds, and that trials
// that did not begin are left out.
func TestClusterSum(t *testing.T) {
	h := latency.New()
	h.Record(1e6)
	s := h.Summary("x")
	load := protocol.ClusterLoad{Clients: 1, Batch: 5}
	good := &protocol.Clustered{Loads: []protocol.LoadResult{{ClusterLoad: load, WallNS: 1e9, Acknowledged: s, Visible: s}}}
	job := protocol.Cluster{Loads: []protocol.ClusterLoad{load}}
	trials := []plannedTrial{
		{ClusterTrial: cluster.ClusterTrial{Driver: "some", Reason: "not leader"}, Job: job},
		{ClusterTrial: cluster.ClusterTrial{Driver: "none", Reason: "not leader"}, Job: job},
		{ClusterTrial: cluster.ClusterTrial{Driver: "not begun"}, Job: job},
	}
	got := sum(trials, [][]*protocol.Clustered{{good, nil, good}, {nil, nil, nil}, nil})
	if len(got) != 2 {
		t.Fatalf("%+v", got)
	}
	some, none := got[0], got[1]
	if some.Result == nil || some.Result.Loads[0].Acknowledged.Count != 2 || some.Reason != "not leader" {
		t.Errorf("%+v", some)
	}
	if r := some.Rates[0]; len(r) != 3 || r[0] != 5 || !math.IsNaN(r[1]) || r[2] != 5 {
		t.Errorf("rates %v", r)
	}
	if none.Result != nil || none.Rates != nil || none.Reason != "not leader" {
		t.Errorf("%+v", none)
	}
}
