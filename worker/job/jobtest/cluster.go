package jobtest

import (
	"strconv"
	"testing"

	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// oneMember checks that a job of the kind "cluster" reports latencies for each load, and that the
// database has as many rows as the job reports.
func oneMember(t *testing.T, b *base) {
	loads := []protocol.ClusterLoad{{Clients: 1, Batch: 1}, {Clients: 2, Batch: 7}}
	r := b.must(driver.Settings{"pool_size": "3", "busy_timeout": "60000"}, protocol.Job{Cluster: &protocol.Cluster{Loads: loads, DurationMS: 20}}).Cluster
	if len(r.Members) < 1 || len(r.Loads) != len(loads) || r.DiskBytes == 0 || r.PeakRSSBytes == 0 {
		t.Fatalf("%+v", r)
	}
	for i, l := range r.Loads {
		if l.ClusterLoad != loads[i] || l.Failed > 0 || l.Acknowledged.Count == 0 || l.Visible.Count == 0 || l.Visible.MaxNS == 0 {
			t.Errorf("load %d: %+v", i, l)
		}
	}
	b.want("SELECT CAST(count(*) AS TEXT) FROM sqlite3perf_cluster", strconv.FormatInt(r.Rows, 10))
	b.fails(protocol.Job{Cluster: &protocol.Cluster{Loads: loads, DurationMS: 20}}, protocol.CodeForeign, "has tables already")
}

// noCluster checks that a job of the kind "cluster" refuses to harm a database that is not a
// cluster.
func noCluster(_ *testing.T, b *base) {
	several := false
	b.use(func(db driver.DB) error {
		_, several = db.(driver.ClusterDB)
		return nil
	})
	if several {
		return // the driver's own tests harm the cluster
	}
	b.fails(protocol.Job{Cluster: &protocol.Cluster{Harm: &protocol.ClusterHarm{Clients: 1, Kills: 1, LoadMS: 1, LimitMS: 1, Patience: 1}}}, protocol.CodeUsage, "not a cluster")
}
