package lab_test

import (
	"testing"
	"time"

	"github.com/sqlite3perf/sqlite3perf/internal/lab"
	"github.com/sqlite3perf/sqlite3perf/worker/latency"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

func TestSumClustered(t *testing.T) {
	load := protocol.ClusterLoad{Clients: 2, Batch: 3}
	trial := func(n int, each time.Duration, peak int64, failed string) *protocol.Clustered {
		s := latency.Summary{Operation: "x", Count: int64(n), Histogram: histogram(n, each)}
		l := protocol.LoadResult{ClusterLoad: load, WallNS: 100, CPUNS: 10, MemberCPUNS: 5, Acknowledged: s, Visible: s, Error: failed}
		if failed != "" {
			l.Failed = 2
		}
		return &protocol.Clustered{Loads: []protocol.LoadResult{l}, Rows: int64(n), DiskBytes: int64(n), PeakRSSBytes: peak}
	}
	got, err := lab.SumClustered([]*protocol.Clustered{trial(10, time.Millisecond, 7, ""), trial(30, 5*time.Millisecond, 9, "first"), trial(20, 9*time.Millisecond, 8, "second")})
	if err != nil {
		t.Fatal(err)
	}
	l := got.Loads[0]
	if l.ClusterLoad != load || l.WallNS != 300 || l.CPUNS != 30 || l.MemberCPUNS != 15 || l.Failed != 4 || l.Error != "first" {
		t.Errorf("%+v", l)
	}
	for _, s := range []latency.Summary{l.Acknowledged, l.Visible} {
		if s.Count != 60 || s.P50NS < 49e5 || s.P50NS > 51e5 || s.MaxNS < 89e5 || s.Histogram == "" {
			t.Errorf("%+v", s)
		}
	}
	if got.Rows != 20 || got.DiskBytes != 20 || got.PeakRSSBytes != 9 {
		t.Errorf("%+v", got)
	}
	if _, err := lab.SumClustered([]*protocol.Clustered{{Loads: []protocol.LoadResult{{}}}}); err == nil {
		t.Error("no error for a histogram that cannot be read")
	}
}
