package report_test

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/sqlite3perf/sqlite3perf/internal/cluster"
	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/latency"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// clusterLoads returns the results for two loads. perRow is the time for acknowledging a row of
// the first load.
func clusterLoads(perRow time.Duration, nodes bool) *protocol.Clustered {
	r := &protocol.Clustered{Rows: 12_345, DiskBytes: 5 << 20, PeakRSSBytes: 64 << 20, Members: []protocol.ClusterMember{{ID: "1", Version: "8"}}}
	for i, l := range []protocol.ClusterLoad{{Clients: 1, Batch: 1}, {Clients: 8, Batch: 100}} {
		one := protocol.LoadResult{ClusterLoad: l, WallNS: 2e9, CPUNS: 1e9,
			Acknowledged: latency.Summary{Count: 2e9 / int64(perRow) * int64(i+1), P50NS: int64(perRow) * int64(i+1), P99NS: 10 * int64(perRow)},
			Visible:      latency.Summary{Count: 10, P50NS: 3 * int64(perRow), P99NS: 12 * int64(perRow)}}
		if nodes {
			one.MemberCPUNS, one.Failed, one.Error = 7e8, int64(i), "leader not found"
		}
		r.Loads = append(r.Loads, one)
	}
	return r
}

// clusterMachine is the machine on which the fixtures were measured.
var clusterMachine = result.Machine{Hostname: "vm", OS: "linux", Arch: "amd64", Kernel: "6.1", CPU: "Xeon", Cores: 2, MemoryBytes: 8 << 30, Virtual: "kvm", Directory: "/var/tmp", FileSystem: "ext4", Device: "vda"}

func clusterFixture() *cluster.Clusters {
	return &cluster.Clusters{Machine: clusterMachine, Warnings: []result.Warning{
		{Code: result.WarningLoad, Message: "the load average was 3.00 on 2 cores before the run"},
		{Code: result.WarningCalibration, Round: 1, Deviation: 0.2, Message: "the calibration loop took long"},
	}, Trials: []cluster.ClusterTrial{
		{Driver: "mattn", Version: "github.com/mattn/go-sqlite3 v1.14.52", Settings: driver.Settings{"journal_mode": "wal", "synchronous": "full"}, Result: clusterLoads(400*time.Microsecond, false)},
		{Driver: "rqlite", Version: "github.com/rqlite/gorqlite v0.0.0", Nodes: 1, Settings: driver.Settings{"nodes": "1"}, Result: clusterLoads(time.Millisecond, true)},
		{Driver: "rqlite", Version: "github.com/rqlite/gorqlite v0.0.0", Nodes: 3, Settings: driver.Settings{"nodes": "3"}, Result: clusterLoads(2*time.Millisecond, true)},
		{Driver: "rqlite", Version: "github.com/rqlite/gorqlite v0.0.0", Nodes: 3, Delay: 10 * time.Millisecond, Settings: driver.Settings{"nodes": "3", "node_delay": "10"}, Result: clusterLoads(22*time.Millisecond, true)},
		{Driver: "rqlite", Nodes: 5, Reason: "node 4: it ended\x1b[31m"},
	}}
}

// harmFixture returns the results of three nodes that lost the given number of writes.
func harmFixture(lost int64, settings driver.Settings) *cluster.Clusters {
	h := &protocol.Harmed{Acknowledged: 5000, Failed: 120, Found: 5010 - lost, Lost: lost,
		Harms: []protocol.Harm{{Kind: "kill", Member: "1", SilentNS: 1.5e9, RecoveredNS: 1.4e9}, {Kind: "kill", Member: "2", SilentNS: 2.5e9, RecoveredNS: 1.4e9},
			{Kind: "cut", Member: "3", SilentNS: 3e9, RecoveredNS: 3e9}},
		Missing: []protocol.Missing{{Member: "1", Lost: lost}, {Member: "2", Lost: lost}, {Member: "3", Rows: 1, Lost: lost}},
		Reads:   []protocol.LevelReads{{Level: "none", Reads: 1000, Failed: 200, Stale: 80}, {Level: "weak", Reads: 500, Failed: 100}, {Level: "strong", Reads: 300, Failed: 100}}}
	if lost > 0 {
		h.LostIDs = []int64{17, 1234}
	}
	return &cluster.Clusters{Machine: clusterMachine, Trials: []cluster.ClusterTrial{{Driver: "rqlite", Version: "v0.0.0", Nodes: 3, Settings: settings,
		Result: &protocol.Clustered{Rows: 5000, DiskBytes: 1 << 20, Members: []protocol.ClusterMember{{ID: "1", Version: "8"}}, Harmed: h}}}}
}

func clusterReport(t *testing.T, format string, c *cluster.Clusters) string {
	t.Helper()
	var buf bytes.Buffer
	if err := cluster.Formats.Write(&buf, format, c, document.Options{}); err != nil {
		t.Fatal(err)
	}
	return buf.String()
}

func TestClusters(t *testing.T) {
	for format, extension := range map[string]string{"table": "txt", "markdown": "md", "html": "html", "json": "json"} {
		golden(t, "cluster."+extension, clusterReport(t, format, clusterFixture()))
		golden(t, "cluster-harm."+extension, clusterReport(t, format, harmFixture(0, driver.Settings{"nodes": "3"})))
	}
}

// TestClusterRounds expects medians with intervals if there are enough rounds.
func TestClusterRounds(t *testing.T) {
	several := func(n int) *cluster.Clusters {
		c := clusterFixture()
		for i := range c.Trials[:4] {
			trial := &c.Trials[i]
			for _, l := range trial.Result.Loads {
				var rates []float64
				for j := range n {
					rates = append(rates, cluster.RowsPerSecond(&l)*(1+0.01*float64(j-n/2)))
				}
				trial.Rates = append(trial.Rates, rates)
			}
		}
		return c
	}
	golden(t, "cluster-rounds.txt", clusterReport(t, "table", several(7)))
	failed := several(8)
	failed.Trials[2].Rates[0][3], failed.Trials[2].Rates[1][3], failed.Trials[2].Reason = 0, 0, "not leader"
	if got := clusterReport(t, "table", failed); !strings.Contains(got, "rqlite, 3 nodes, 1 of 8 rounds: not leader") || strings.Contains(got, "NaN") {
		t.Error(got)
	}
	fulfilled(t, "cluster", func(w io.Writer) error { return cluster.Formats.Write(w, "json", failed, document.Options{}) })
	fulfilled(t, "cluster", func(w io.Writer) error { return cluster.Formats.Write(w, "json", several(7), document.Options{}) })
	words := strings.Join(strings.Fields(clusterReport(t, "markdown", several(3))), " ")
	if want := "These figures have no intervals: they are of 3 rounds, and an interval takes 6."; !strings.Contains(cluster.ClustersAnswer(several(3)), want) ||
		strings.Contains(cluster.ClustersAnswer(several(6)), "interval") || strings.Contains(cluster.ClustersAnswer(harmFixture(0, nil)), "interval") {
		t.Errorf("want %q only for loads, and only if there are fewer than 6 rounds", want)
	}
	if !strings.Contains(words, "Rates are medians of 3 rounds, which are too few for an interval (6).") || strings.Contains(words, "±") {
		t.Error(words)
	}
}

// TestClusterPrice checks that the first sentence compares the cluster and the local driver under
// the same load, round by round and with an interval. The choice of the load must not depend on
// the measured rates.
func TestClusterPrice(t *testing.T) {
	c := clusterFixture()
	for i, rates := range map[int][2][]float64{0: {{900, 910, 890, 905, 900, 901}, {400, 800, 400, 800, 400, 800}}, 2: {{100, 101, 99, 100, 102, 98}, {100, 210, 100, 190, 100, 200}}} {
		c.Trials[i].Rates = rates[:]
	}
	want := "With 8 clients, 100 rows per INSERT, 3 nodes of rqlite acknowledge 145 rows per second where mattn does 600, that is 0.25x ±5.0% as many."
	if got := cluster.ClustersAnswer(c); !strings.HasPrefix(got, want) {
		t.Errorf("%s\nwant %s", got, want)
	}
	h := harmFixture(0, nil)
	h.Trials[0].Result.Harmed.Reads = []protocol.LevelReads{{Level: "none", Reads: 727, Stale: 726}}
	if got, want := cluster.ClustersAnswer(h), "Stale reads: 99.8% of the reads with level none."; !strings.Contains(got, want) {
		t.Errorf("%s\nwant %s", got, want)
	}
}

// TestClusterWide checks a table that is too wide for the terminal, so it is divided into parts. Each
// part must name the load and the database of each row.
func TestClusterWide(t *testing.T) {
	var buf bytes.Buffer
	if err := cluster.Formats.Write(&buf, "table", clusterFixture(), document.Options{Width: 70}); err != nil {
		t.Fatal(err)
	}
	parts := 0
	for line := range strings.Lines(buf.String()) {
		if strings.Contains(line, "clients  batch  database") {
			parts++
		} else if strings.Contains(line, "CPU/row ") || strings.Contains(line, "acked p50") {
			t.Errorf("a part begins with %q", line)
		}
	}
	if parts < 2 {
		t.Errorf("%d parts:\n%s", parts, buf.String())
	}
}

// TestClusterOneHarm expects no median in the answer if there was only one harm (a node that was
// killed or isolated).
func TestClusterOneHarm(t *testing.T) {
	c := harmFixture(0, nil)
	h := c.Trials[0].Result.Harmed
	h.Harms = h.Harms[2:]
	want := "by 1 isolation of the leader. No write was acknowledged for 3.00 s. Stale"
	if got := cluster.ClustersAnswer(c); !strings.Contains(got, want) {
		t.Errorf("%s\nwant %s", got, want)
	}
}

func TestClustersAnswer(t *testing.T) {
	fixture := clusterFixture()
	local := fixture.Trials[:1]
	for want, c := range map[string]*cluster.Clusters{
		"Nothing was measured.": {},
		"With 8 clients, 100 rows per INSERT, mattn acknowledges 500k rows per second; no cluster was measured.":                                                          {Trials: local},
		"With 8 clients, 100 rows per INSERT, 3 nodes of rqlite acknowledge 100k rows per second where mattn does 500k, that is 0.20x as many. A row takes 2.00 ms until": fixture,
		"With 8 clients, 100 rows per INSERT, 1 node of rqlite acknowledges 200k rows per second. A row takes 1.00 ms until it is acknowledged, and 3.00 ms":              {Trials: fixture.Trials[1:2]},
		"3 nodes of rqlite lost none of 5,000 writes that were acknowledged, by 2 kills of the leader, 1 isolation of the leader and a kill of all":                       harmFixture(0, nil),
		"Stale reads: 10% of the reads with level none; none with level weak or strong.":                                                                                  harmFixture(0, nil),
		"3 nodes of rqlite lost 7 of 5,000 writes that were acknowledged, by":                                                                                             harmFixture(7, nil),
		"lost 7 of 5,000 writes that were acknowledged when they were queued, by":                                                                                         harmFixture(7, driver.Settings{"queued_writes": "on"}),
	} {
		if got := cluster.ClustersAnswer(c); !strings.Contains(got, want) {
			t.Errorf("%s\nwant %s", got, want)
		}
	}
}

// TestClusterLost expects a row to count as lost if any node lacks it.
func TestClusterLost(t *testing.T) {
	c := harmFixture(0, nil)
	c.Trials[0].Result.Harmed.Missing[1].Lost = 3
	if got := c.Trials[0].Lost(); got != 3 {
		t.Errorf("%d are lost, want 3", got)
	}
}

func TestClusterSVG(t *testing.T) {
	svg := clusterReport(t, "svg", clusterFixture())
	d := xml.NewDecoder(strings.NewReader(svg))
	for {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range []string{"8 clients, 100 rows per INSERT", "rqlite, 3 nodes, 10ms", "mattn, local"} {
		if !strings.Contains(svg, want) {
			t.Errorf("the picture has no %q", want)
		}
	}
	if err := cluster.Formats.Write(io.Discard, "svg", harmFixture(0, nil), document.Options{}); err == nil {
		t.Error("no error for a picture of a run without loads")
	}
}

func TestClustersFulfilSchema(t *testing.T) {
	for _, c := range []*cluster.Clusters{clusterFixture(), harmFixture(2, nil)} {
		fulfilled(t, "cluster", func(w io.Writer) error { return cluster.Formats.Write(w, "json", c, document.Options{}) })
	}
}
