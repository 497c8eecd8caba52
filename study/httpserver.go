package study

import "fmt"

// The drivers and pools that were published.
var (
	servers = []string{"crawshaw", "mattn", "modernc", "zombiezen"}
	pools   = []int64{1, 4, 8, 50, 100}
)

// corePool is the pool that is nearest to the number of cores of those published.
const corePool = 4

var httpServer = &Study{
	Name:      "http-server",
	Asks:      "one SELECT per request: which driver and which size of its pool serve most",
	Published: "requests per second of 100,000 requests, 50 at a time, once",
	Rounds:    6,
	legs: []leg{
		{workload: "http-server", form: correctedOnly, quick: serverQuick},
		{workload: "http-server", form: publishedOnly, quick: serverQuick, on: direct},
		{workload: "http-server", form: publishedOnly, quick: serverQuick, on: databaseSQL, settings: map[string]string{"pool_idle": "2"}},
	},
	QuickDrivers: []string{"crawshaw", "mattn", "modernc", "zombiezen", "native"},
	Why:          "at the scale quick the published drivers and the floor, so that it ends within 5 minutes: --drivers names others",
	tables: func(c *cells) []Table {
		t := Table{Title: "Requests per second, by driver and size of its pool", Labels: []string{"driver", "pool"},
			Columns: []Column{
				{Title: "published", Unit: "req/s", Published: true},
				{Title: "here", Unit: "req/s", Statistic: "median"},
				{Title: "p99", Unit: "ms", Statistic: "median alone"},
				{Title: "errors", Statistic: "total"},
			},
			Corrected: c.either([]string{
				"every connection of the pool stays open while it is idle, with every driver alike",
				"6 rounds, each with a server of its own, and every answer verified",
			}, []string{
				"database/sql keeps 2 idle connections: larger pools measure how fast connections open and close; direct drivers keep all",
			}),
			Notes: []string{"closed loop, as published: a request that waits is not sent, so that its waiting is not seen; a workload with a rate shows it"},
		}
		for _, d := range c.driversOf("http-server", servers...) {
			for _, n := range pools {
				p := publishedFigures("http-server").where("driver", d, "pool_size", fmt.Sprint(n))
				k := served(d, n)
				t.Rows = append(t.Rows, Row{Labels: []string{d, fmt.Sprint(n)},
					Figures: []Figure{given(p.number("requests_per_s")), c.figure(k, opsPerS, median), c.figure(k, p99, justMedian), c.figure(k, lockErrors, total)}})
			}
		}
		return []Table{t}
	},
	claims: []claim{
		{text: "the packages do not differ much (within 1.5 times of mattn, at a pool of about the number of cores)", over: func(*cells) []comparison {
			var list []comparison
			for _, d := range []string{"crawshaw", "modernc", "zombiezen"} {
				list = append(list, comparison{what: fmt.Sprintf("pool %d: %s / mattn", corePool, d), m: opsPerS,
					x: only(served(d, corePool)), y: only(served("mattn", corePool)), atLeast: 1 / 1.5, atMost: 1.5})
			}
			return list
		}},
		{text: "a pool of about the number of cores is best", over: func(*cells) []comparison {
			var list []comparison
			for _, n := range []int64{1, 50, 100} {
				c := comparison{what: fmt.Sprintf("the four drivers: pool %d / pool %d", corePool, n), m: opsPerS, atLeast: 1}
				for _, d := range servers {
					c.x, c.y = append(c.x, quotient{over: served(d, corePool)}), append(c.y, quotient{over: served(d, n)})
				}
				list = append(list, c)
			}
			return list
		}},
		{text: "modernc loses most at pools of 50 and 100", over: func(*cells) []comparison {
			var list []comparison
			for _, n := range []int64{50, 100} {
				for _, d := range []string{"crawshaw", "mattn", "zombiezen"} {
					list = append(list, comparison{what: fmt.Sprintf("pool %d / pool %d: modernc / %s", n, corePool, d), m: opsPerS,
						x: per(served("modernc", n), served("modernc", corePool)), y: per(served(d, n), served(d, corePool)), atMost: 1})
				}
			}
			return list
		}},
	},
}

// serverQuick has every published pool, and few requests.
var serverQuick = map[string][]int64{"pool": pools, "requests": {4_000}, "rows": {10_000}}

func served(driver string, pool int64) key {
	return key{workload: "http-server", phase: "requests", driver: driver}.at("pool", pool)
}
