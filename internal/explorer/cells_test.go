package explorer

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/estimate"
	"github.com/sqlite3perf/sqlite3perf/worker/latency"
)

// harmedRun returns a run of native, mattn, modernc and zombiezen. native is plain C. Of the
// drivers, zombiezen is the fastest, but it links a SQLite that can lose data. The phase mix has
// reads and writes.
func harmedRun(number int) *result.Run {
	r := aRun(number, 1.5)
	r.Machine.OS, r.Machine.Arch = "linux", "amd64"
	r.Cases = append(r.Cases, result.Case{ID: 4, Workload: "simple", WorkloadSHA256: "abc", Scale: "quick", Driver: "zombiezen",
		Settings: driver.Settings{"journal_mode": "wal"}, Phases: []string{"insert", "mix"}})
	for i, trials := 0, r.Trials; i < len(trials); i += 3 { // the trials of native
		x := trials[i]
		proof := *x.Proof
		proof.SQLiteVersion, x.Proof = "3.51.2", &proof
		x.Case, x.Order, x.Samples = 4, len(r.Trials)+1, slices.Clone(x.Samples)
		for k := range x.Samples {
			x.Samples[k].WallNS += x.Samples[k].WallNS / 2
			x.Samples[k].PeakRSSBytes /= 2
		}
		r.Trials = append(r.Trials, x)
	}
	for i := range r.Trials {
		n, mix := int64(r.Trials[i].Case), &r.Trials[i].Samples[1]
		mix.Latency = []latency.Summary{{Operation: "read", Count: 1000, P50NS: 2000, P99NS: 40_000 - 5000*n}, {Operation: "write", Count: 1000, P50NS: 20_000, P99NS: 90_000 + 1000*n}}
	}
	return r
}

// TestHarm checks that each table marks the drivers whose known defects can lose data, and the best
// driver without such a defect.
func TestHarm(t *testing.T) {
	server := serveRuns(t, harmedRun(1))
	for query, want := range map[string]string{
		"phase=insert":                                "native- zombiezen!wal-reset mattn+ modernc-",
		"phase=insert&metric=rate":                    "native- zombiezen!wal-reset mattn+ modernc-",
		"phase=insert&metric=memory":                  "zombiezen!wal-reset native- mattn+ modernc-",
		"phase=insert&metric=cpu":                     "zombiezen!wal-reset native- mattn- modernc-",
		"phase=insert&driver=modernc":                 "modernc+",
		"phase=mix&metric=p99":                        "native- mattn+ modernc- zombiezen!wal-reset",
		"phase=mix&metric=p99:read":                   "zombiezen!wal-reset modernc+ mattn- native-",
		"phase=mix&metric=p99:write&driver=zombiezen": "zombiezen!wal-reset",
		"phase=insert&driver=zombiezen&driver=native": "native- zombiezen!wal-reset",
	} {
		path := "/api/v1/runs/1/cells?" + query
		var words []string
		for _, c := range get[*Cells](t, server, path).Tables[0].Cells {
			mark := "-"
			if c.Sound {
				mark = "+"
			}
			if c.Harmful != nil {
				mark = strings.TrimSuffix(mark, "-") + "!" + strings.Join(c.Harmful, ",")
			}
			words = append(words, c.Driver+mark)
		}
		if got := strings.Join(words, " "); got != want {
			t.Errorf("%s: %s, want %s", query, got, want)
		}
		least := get[*Cells](t, server, path).Answer
		if of := strings.HasPrefix(least, "Least memory: zombiezen! with ") && strings.Contains(least, "; without a known defect that can lose data, mattn with "); of != strings.Contains(query, "metric=memory") {
			t.Errorf("%s: %q", query, least)
		}
	}
	table := get[*Cells](t, server, "/api/v1/runs/1/cells?phase=mix&metric=p99").Tables[0]
	for _, c := range table.Cells {
		if read := c.Kinds[0]; read.Name != "read" || read.Sound != (c.Driver == "modernc") || read.N != 10 || read.Ratio == nil {
			t.Errorf("%s: %+v", c.Driver, read)
		}
	}
	if fmt.Sprint(table.Operations) != "[read write]" || fmt.Sprint(table.Settings) != "[journal_mode=wal page_size=4096]" || table.Differing != nil {
		t.Errorf("%+v", table)
	}
	for _, s := range get[*Trends](t, server, "/api/v1/trends?workload=simple&driver=zombiezen&driver=mattn&phase=insert").Series {
		want := map[string]string{"zombiezen": "[wal-reset]", "mattn": "[]"}[s.Driver]
		if got := fmt.Sprint(s.Points[0].Harmful); got != want {
			t.Errorf("trend of %s: harmful defects %s, want %s", s.Driver, got, want)
		}
	}
	for _, c := range get[*Run](t, server, "/api/v1/runs/1").Cases {
		if harm := fmt.Sprint(c.Harmful); (harm == "[wal-reset]") != (c.Driver == "zombiezen") {
			t.Errorf("%s: %s", c.Driver, harm)
		}
	}
}

// TestOwnCost checks that an answer says if sqlite3perf's own overhead could explain the difference between
// two drivers. The row of a driver must say so about its lead over the next slower driver, even if the
// driver is not the fastest.
func TestOwnCost(t *testing.T) {
	r := aRun(1, 1.5)
	for i, d := range []string{"mattn", "modernc", "ncruces"} {
		r.Cases[i].Driver = d
		r.Cases[i].Info = driver.Info{Name: d, Kind: []driver.Kind{driver.Cgo, driver.Transpiled, driver.Wasm}[i], Interface: []driver.Interface{driver.Direct, driver.DatabaseSQL, driver.DatabaseSQL}[i]}
		r.Cases[i].Added = []result.AddedTime{{Phase: "insert", Operation: estimate.Estimate{Low: 100, High: float64([]int{100, 100, 20_000}[i])}}}
	}
	server := serveRuns(t, r)
	table := get[*Cells](t, server, "/api/v1/runs/1/cells?phase=insert").Tables[0]
	if c := table.Cells; c[0].Doubtful != "" || c[1].Doubtful != "ncruces" || c[2].Doubtful != "" || !c[0].First || c[1].First || table.Pair != nil {
		t.Errorf("%+v", table)
	}
	for drivers, own := range map[string]bool{"driver=mattn&driver=modernc": false, "driver=modernc&driver=ncruces": true} {
		p := get[*Cells](t, server, "/api/v1/runs/1/cells?phase=insert&"+drivers).Tables[0].Pair
		if p == nil || !p.Apart || strings.Contains(p.Added, "sqlite3perf's own overhead may explain the difference: it is at least 50% of the time of modernc") != own {
			t.Errorf("%s: %+v", drivers, p)
		}
	}
	run := get[*Run](t, server, "/api/v1/runs/1")
	if c := run.Choices; len(c) != 1 || c[0][0] != "without cgo" || !strings.HasPrefix(c[0][1], "modernc, 2.0 times as slow as mattn") {
		t.Errorf("%q", c)
	}
	if c := run.Cases[1]; c.Kind != driver.Transpiled || c.Interface != driver.DatabaseSQL {
		t.Errorf("%+v", c)
	}
}

// TestFirstOrTied checks that the fastest row, and the rows that do not differ significantly from
// it, are marked as first or tied.
func TestFirstOrTied(t *testing.T) {
	r := aRun(1, 1)
	for i := range r.Trials {
		x := &r.Trials[i]
		if x.Case > 1 {
			x.Samples[0].WallNS = 2e6 + int64((x.Round+x.Case)%2*1000)
		}
	}
	c := get[*Cells](t, serveRuns(t, r), "/api/v1/runs/1/cells?phase=insert").Tables[0].Cells
	if c[0].First || !c[1].First || !c[2].First || len(c[2].Tied) != 1 {
		t.Errorf("%+v", c)
	}
}

// TestKindsOfP99 checks that an answer about 99th percentiles names the kind of operations of each
// percentile.
func TestKindsOfP99(t *testing.T) {
	r := aRun(1, 2)
	for i := range r.Trials {
		mix := &r.Trials[i].Samples[1]
		mix.Latency = append(mix.Latency, latency.Summary{Operation: "put", Count: 1000, P50NS: 20_000, P99NS: 90_000, MaxNS: 100_000})
	}
	server := serveRuns(t, r)
	table := get[*Cells](t, server, "/api/v1/runs/1/cells?phase=mix&metric=p99").Tables[0]
	c := table.Cells[0]
	if table.Of != "the slowest kind (put)" || fmt.Sprint(table.Operations) != "[get put]" || len(c.Kinds) != 2 || c.Kinds[0].Name != "get" || c.Kinds[0].Median != 5e-6 || c.Kinds[0].N != 10 || c.Kinds[0].Ratio == nil ||
		c.Kinds[1].Name != "put" || c.Kinds[1].Median != 90e-6 || c.Kinds[1].Low == nil || *c.Median != 90e-6 {
		t.Errorf("%+v\n%+v", table, c)
	}
	// The 99th percentile of each kind of operations is also a metric.
	var tails []string
	for _, m := range get[*Run](t, server, "/api/v1/runs/1").Metrics {
		if strings.HasPrefix(m.Name, tailLatency) {
			tails = append(tails, m.Name+", "+m.Title)
		}
	}
	if want := []string{"p99, 99th percentile of the latency", "p99:get, 99th percentile of the latency of get", "p99:put, 99th percentile of the latency of put"}; !slices.Equal(tails, want) {
		t.Errorf("metrics %q, want %q", tails, want)
	}
	for kind, want := range map[string]float64{"get": 5e-6, "put": 90e-6} {
		cells := get[*Cells](t, server, "/api/v1/runs/1/cells?phase=mix&metric=p99:"+kind)
		if table := cells.Tables[0]; *table.Cells[0].Median != want || table.Unit != "s" || table.Of != "" || table.Cells[0].Kinds != nil || !strings.HasSuffix(cells.Metric.Title, " of "+kind) {
			t.Errorf("%s: %+v", kind, cells)
		}
	}
	for _, m := range get[*Run](t, serveRuns(t, aRun(1, 1)), "/api/v1/runs/1").Metrics {
		if strings.HasPrefix(m.Name, kindPrefix) {
			t.Errorf("a run with one kind of operations has the metric %s", m.Name)
		}
	}
	if table := get[*Cells](t, server, "/api/v1/runs/1/cells?phase=mix").Tables[0]; table.Of != "" || table.Cells[0].Kinds != nil {
		t.Errorf("of time: %+v", table)
	}
}

// TestRatios checks the ratios of metrics other than time. A driver has a ratio if two figures are
// known: its own, and that of the base (the driver that ratios are relative to). The answer says
// whether less or more is better.
func TestRatios(t *testing.T) {
	server := serveRuns(t, aRun(1, 2))
	for query, want := range map[string]string{
		"metric=memory&phase=insert":             "less: native 1.00 mattn 1.00 modernc 1.00",
		"metric=rate&phase=insert":               "more: native 1.00 mattn 0.50 modernc 0.25",
		"metric=rate&phase=insert&driver=mattn":  "more: mattn 0.50",
		"metric=cpu&phase=insert&driver=modernc": ": modernc 1.00",
		"metric=allocs&phase=insert":             "less: mattn none modernc none native none", // native allocates nothing
		"metric=failed&phase=insert":             "less: native none mattn none modernc none",
	} {
		c := get[*Cells](t, server, "/api/v1/runs/1/cells?"+query)
		text := string(c.Metric.Better) + ":"
		for _, x := range c.Tables[0].Cells {
			text += " " + x.Driver + " none"
			if x.Ratio != nil {
				text = strings.TrimSuffix(text, "none") + fmt.Sprintf("%.2f", x.Ratio.Median)
			}
		}
		if text != want || c.Tables[0].Base != "native" {
			t.Errorf("%s: %s, want %s", query, text, want)
		}
	}
}
