package cluster

import (
	"testing"

	"github.com/sqlite3perf/sqlite3perf/worker/latency"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// TestClusterSum checks that a failed round does not affect the other rounds, and that trials
// that did not begin are left out.
func TestClusterSum(t *testing.T) {
	h := latency.New()
	h.Record(1e6)
	s := h.Summary("x")
	load := protocol.ClusterLoad{Clients: 1, Batch: 5}
	good := &protocol.Clustered{Loads: []protocol.LoadResult{{ClusterLoad: load, WallNS: 1e9, Acknowledged: s, Visible: s}}}
	job := protocol.Cluster{Loads: []protocol.ClusterLoad{load}}
	trials := []Planned{
		{ClusterTrial: ClusterTrial{Driver: "some", Reason: "not leader"}, Job: job},
		{ClusterTrial: ClusterTrial{Driver: "none", Reason: "not leader"}, Job: job},
		{ClusterTrial: ClusterTrial{Driver: "not begun"}, Job: job},
	}
	got := sum(trials, [][]*protocol.Clustered{{good, nil, good}, {nil, nil, nil}, nil})
	if len(got) != 2 {
		t.Fatalf("%+v", got)
	}
	some, none := got[0], got[1]
	if some.Result == nil || some.Result.Loads[0].Acknowledged.Count != 2 || some.Reason != "not leader" {
		t.Errorf("%+v", some)
	}
	if r := some.Rates[0]; len(r) != 3 || r[0] != 5 || r[1] != 0 || r[2] != 5 {
		t.Errorf("rates %v", r)
	}
	if none.Result != nil || none.Rates != nil || none.Reason != "not leader" {
		t.Errorf("%+v", none)
	}
}
