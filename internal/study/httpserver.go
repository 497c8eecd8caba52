package study

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/lab/build"
	"github.com/sqlite3perf/sqlite3perf/internal/report"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
)

// The drivers and sizes of the pool for which the study published figures.
var (
	httpDrivers = []string{"crawshaw", "mattn", "modernc", "zombiezen"}
	httpPools   = []int64{1, 4, 8, 50, 100}
)

// corePool returns the published size of the pool that is nearest, by ratio, to the machine's
// number of cores. If two sizes are equally near, it returns the larger one.
func (c *cells) corePool() int64 {
	cores := float64(max(c.run.Machine.Cores, 1))
	off := func(n int64) float64 { return max(float64(n)/cores, cores/float64(n)) }
	best := httpPools[0]
	for _, n := range httpPools {
		if off(n) <= off(best) {
			best = n
		}
	}
	return best
}

var httpServer = &Study{
	Name:      "http-server",
	Asks:      "one SELECT per request: which driver and which size of its pool serve most",
	Published: "requests per second of 100,000 requests, 50 at a time, once",
	Rounds:    6,
	had:       httpDrivers,
	trial:     500 * time.Millisecond,
	quick: func(c *cells) string {
		return fmt.Sprintf("%s requests instead of 100,000, to a table of %s rows instead of 100,000; if there is too little time for all drivers, those that are not in the study have only pools of 4 and 50, and no fixed rate", document.Thousands(c.one("http-server", "requests")), document.Thousands(c.one("http-server", "rows")))
	},
	legs: []leg{
		{workload: "http-server", form: correctedOnly, quick: httpQuick, fewer: httpFewer, on: serves},
		{workload: "steady.yaml", form: correctedOnly, on: serves, fewer: map[string][]int64{"pool": {}}},
		{workload: "http-server", form: publishedOnly, quick: httpQuick, fewer: httpFewer, on: func(r build.Ref) bool { return serves(r) && !databaseSQL(r) }},
		{workload: "http-server", form: publishedOnly, quick: httpQuick, fewer: httpFewer, on: databaseSQL, settings: map[string]string{"pool_idle": "2"}},
	},
	tables: func(c *cells) []report.StudyTable {
		if c.asPublished {
			return []report.StudyTable{c.closedLoopTable().StudyTable}
		}
		return []report.StudyTable{c.closedLoopTable().StudyTable, c.steadyTable().StudyTable}
	},
	claims: []claim{
		{text: "the packages do not differ much (within 1.5 times of mattn, at a pool of about the number of cores)", over: func(c *cells) []comparison {
			pool := c.corePool()
			return document.Map([]string{"crawshaw", "modernc", "zombiezen"}, func(d string) comparison {
				return comparison{what: fmt.Sprintf("pool %d: %s / mattn", pool, d), m: opsPerS,
					x: figureOf(httpKey(d, pool)), y: figureOf(httpKey("mattn", pool)), atLeast: 1 / 1.5, atMost: 1.5}
			})
		}},
		{text: "a pool of about the number of cores is best", over: func(c *cells) []comparison {
			var list []comparison
			pool := c.corePool()
			for _, n := range httpPools {
				if n < 4*pool && pool < 4*n {
					continue // n is too close to "pool" to be compared with it
				}
				best := comparison{what: fmt.Sprintf("the four drivers: pool %d / pool %d", pool, n), m: opsPerS, atLeast: 1}
				for _, d := range httpDrivers {
					best.x, best.y = append(best.x, quotient{over: httpKey(d, pool)}), append(best.y, quotient{over: httpKey(d, n)})
				}
				list = append(list, best)
			}
			return list
		}},
		{text: "modernc loses most at pools of 50 and 100", over: func(c *cells) []comparison {
			var list []comparison
			pool := c.corePool()
			for _, n := range []int64{50, 100} {
				if n <= pool {
					continue
				}
				for _, d := range []string{"crawshaw", "mattn", "zombiezen"} {
					list = append(list, comparison{what: fmt.Sprintf("pool %d / pool %d: modernc / %s", n, pool, d), m: opsPerS,
						x: per(httpKey("modernc", n), httpKey("modernc", pool)), y: per(httpKey(d, n), httpKey(d, pool)), atMost: 1})
				}
			}
			return list
		}},
	},
}

// httpQuick has every published size of the pool, but few requests and rows. If that takes too
// long, drivers without published figures get only the sizes of httpFewer.
var (
	httpQuick = map[string][]int64{"pool": httpPools, "requests": {10_000}, "rows": {10_000}}
	httpFewer = map[string][]int64{"pool": {4, 50}}
)

func httpKey(driver string, pool int64) key {
	return key{workload: "http-server", phase: "requests", driver: driver}.at("pool", pool)
}

// httpNearCeiling is a percentage of the load generator's greatest rate. Above this percentage, a
// rate depends on the load generator as much as on the server.
const httpNearCeiling = 80

func (c *cells) closedLoopTable() *table {
	t := c.table(report.StudyTable{Title: "Requests per second, by driver and size of its pool", Labels: []string{"driver", "pool"},
		Columns: []report.StudyColumn{{Title: "pub.", Unit: "req/s", Published: true}},
		Corrected: either(c, []string{
			"every connection of the pool stays open while it is idle, with every driver alike",
			"rounds instead of one run, each with its own server, and every answer verified",
		}, []string{
			"database/sql keeps 2 idle connections: larger pools measure how fast connections open and close; direct drivers keep all",
		}),
	}, slices.Concat([]column{{"here", reqPerS, median}, {"ceiling", ofCeiling, justMedian}, {"p50", p50, justMedian}, {"p99", p99, justMedian}}, httpTail, httpServerColumns)...)
	var near []string
	var reached []stats.Point
	for _, d := range c.driversOf("http-server", httpDrivers...) {
		for _, n := range httpPools {
			p := publishedFigures("http-server").where("driver", result.BaseDriver(d), "pool_size", fmt.Sprint(n))
			k := httpKey(d, n)
			if len(p) == 0 && !c.planned(k) {
				continue
			}
			if x, why := c.find(k); why == "" {
				reached = append(reached, ceiling.values(x)...)
			}
			figures := t.add(k, []string{d, fmt.Sprint(n)}, given(p.number("requests_per_s")))
			if share := figures[2].Value; share != nil && *share > httpNearCeiling {
				near = append(near, fmt.Sprintf("%s with %d", d, n))
			}
		}
	}
	if len(reached) > 0 {
		t.Notes = append(t.Notes, fmt.Sprintf("ceiling %%: share of the %s req/s that the load generator reaches here, at the median of the run, over as many connections, of a server that does nothing; each server is held against what it was just before",
			document.Thousands(int64(stats.Summarize(stats.Values(reached)).Median))))
	}
	if len(near) > 0 {
		t.Warnings = append(t.Warnings, fmt.Sprintf("at more than %d%% of the ceiling, where a faster driver would not show it: %s", httpNearCeiling, strings.Join(near, ", ")))
	}
	t.lockNote()
	t.Notes = append(t.Notes, "CPU and RSS are the server's own; server and load generator share the machine",
		"closed loop, as published: a request that waits is not sent, so that its waiting is not seen"+either(c, "; the next table shows it", ""))
	return t
}

// httpTail and httpServerColumns are columns of both tables of this study: the highest latencies of a
// server, and its errors, CPU time and memory.
var (
	httpTail          = []column{{"p99.9", p999, justMedian}, {"p99.99", p9999, justMedian}}
	httpServerColumns = []column{{"errors", lockErrors, total}, {"CPU", cpu, justMedian}, {"RSS", rss, justMedian}}
)

func (c *cells) steadyTable() *table {
	t := c.table(report.StudyTable{Title: fmt.Sprintf("Latency at a fixed rate of %s requests per second", document.Thousands(c.one("http-steady", "rate"))), Labels: []string{"driver", "pool"},
		Corrected: []string{"latency counts from when a request was due, whether or not a connection was free; the study had closed loop only"}},
		// The column of the 99th percentile has an interval, because the table is about this percentile.
		slices.Concat([]column{{"p50", p50, justMedian}, {"p99", p99, median}}, httpTail, []column{{"late p99", lateness, justMedian}}, httpServerColumns)...)
	var late []string
	for _, d := range c.driversOf("http-steady", httpDrivers...) {
		for _, n := range c.values("http-steady", "pool") {
			k := key{workload: "http-steady", phase: "steady", driver: d}.at("pool", n)
			if !c.planned(k) && !slices.Contains(httpDrivers, d) {
				continue
			}
			figures := t.add(k, []string{d, fmt.Sprint(n)})
			if p, own := figures[1].Value, figures[4].Value; p != nil && own != nil && *own > *p/2 {
				late = append(late, fmt.Sprintf("%s with %d", d, n))
			}
		}
	}
	t.Notes = []string{"late p99: by how much the load generator itself sent late, which is in the latency"}
	if len(late) > 0 {
		t.Warnings = append(t.Warnings, "more than half of the latency is the load generator's own lateness, so that it says more of the machine than of the server: "+strings.Join(late, ", "))
	}
	return t
}
