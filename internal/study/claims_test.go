package study_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/sqlite3perf/sqlite3perf/internal/report"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
	"github.com/sqlite3perf/sqlite3perf/internal/study"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// world returns made-up figures for a phase of a case: its time in ms for 1000 operations or
// rows, and whether some operations failed because of a lock.
type world func(c *result.Case, phase string) (ms float64, locked bool)

// claimed has, for each study, a function that returns made-up figures (a world). With the argument true,
// every claim is true in that world; with false, every claim is false.
var claimed = map[string]func(is bool) world{
	"cgo-or-not": func(is bool) world {
		return func(c *result.Case, phase string) (float64, bool) {
			nth := slices.Index([]int64{10_000, 479_827, 4_798_270}, c.Parameters["people"])
			switch {
			case c.Driver != "modernc":
				return 10, false
			case is && phase == "insert":
				return 20, false
			case is:
				return []float64{18, 15, 12}[nth], false
			case phase == "insert":
				return 10, false
			}
			return []float64{21, 22, 23}[nth], false
		}
	},
	"driver-comparison": func(is bool) world {
		return func(c *result.Case, phase string) (float64, bool) {
			times := map[string]float64{"mattn": 15, "crawshaw": 10, "sqinn": 11, "modernc": 24, "ncruces": 24, "zombiezen": 24, "glebarez": 24}
			switch {
			case !is && c.Workload == "large":
				times = map[string]float64{"mattn": 10, "crawshaw": 12, "sqinn": 8, "modernc": 12, "ncruces": 50, "zombiezen": 50, "glebarez": 50}
			case !is && c.Workload == "concurrent":
				times = map[string]float64{"mattn": 10, "crawshaw": 20, "sqinn": 20, "modernc": 10.5, "ncruces": 50, "zombiezen": 50, "glebarez": 50}
			case !is:
				times = map[string]float64{"mattn": 10, "crawshaw": 20, "sqinn": 20, "modernc": 12, "ncruces": 50, "zombiezen": 50, "glebarez": 50}
			case c.Workload == "large":
				times = map[string]float64{"mattn": 10, "crawshaw": 11, "sqinn": 20, "modernc": 14, "ncruces": 14, "zombiezen": 14, "glebarez": 14}
			case c.Workload == "concurrent":
				times["modernc"] = 28
			case phase == "query":
				times["sqinn"] = 9
			}
			return times[c.Driver], false
		}
	},
	"http-server": func(is bool) world {
		return func(c *result.Case, _ string) (float64, bool) {
			ms, pool := 10.0, c.Parameters["pool"]
			if is {
				if pool != 4 {
					ms *= 2
				}
				if c.Driver == "modernc" && pool >= 50 {
					ms *= 2
				}
				return ms, false
			}
			if pool == 4 {
				ms *= 2
			}
			if c.Driver == "modernc" {
				ms *= 3
				if pool >= 50 {
					ms /= 2
				}
			}
			return ms, false
		}
	},
	"sqlite3perf": func(is bool) world {
		return func(c *result.Case, phase string) (float64, bool) {
			ms := 10.0
			switch s := c.Settings; {
			case phase != "insert":
			case s["mode"] == "memory":
				ms *= 1.5
			case s["journal_mode"] == "wal" && s["synchronous"] == "normal", s["journal_mode"] == "delete" && s["synchronous"] == "off":
				ms *= 2
			case s["journal_mode"] == "delete":
				ms *= 4
			}
			ms *= map[int64]float64{10: 8, 100: 4, 500: 3}[c.Parameters["batch"]] + 1
			if c.Workload == "sqlite3perf-generate-ad-hoc" || phase == "offset" {
				ms *= 2
			}
			if c.Driver == "python-fetchall" {
				ms *= map[string]float64{"after-query": 0.5, "first-row": 10, "verify": 2, "read": 1}[phase]
			}
			if !is {
				ms = 1000 / ms
			}
			return ms, !is && c.Workload == "sqlite3perf-concurrent"
		}
	},
	"writers": func(is bool) world {
		return func(c *result.Case, _ string) (float64, bool) {
			ms, writers, mutex := 12.5, c.Parameters["writers"], c.Workload == "writers-parallel-mutex" || c.Workload == "writers-concurrent-mutex"
			if !is {
				ms = 50
			}
			switch size := c.Parameters["size"]; {
			case size > 0 && (size <= 1000) == is && c.Settings["synchronous"] == "full":
				ms *= 3
			case writers >= 100 && mutex != is && c.Workload != "writers-read-write":
				ms *= 3
			case c.Workload == "writers-read-write" && is:
				ms *= 1.2
			case c.Workload == "writers-read-write":
				ms *= 10
			}
			return ms, !is && writers == 256 && mutex
		}
	},
}

// TestEveryClaimBothWays checks that every claim holds if the figures support it, and does not
// hold if they support the opposite.
func TestEveryClaimBothWays(t *testing.T) {
	drivers := refs("crawshaw", "glebarez", "mattn", "modernc", "ncruces", "sqinn", "zombiezen")
	for _, s := range study.All() {
		drivers, scale := drivers, "full"
		switch s.Name {
		case "sqlite3perf":
			drivers = refs("mattn", "python-fetchall")
		case "driver-comparison", "http-server": // the claims of these studies are not about sizes
			scale = "quick"
		}
		for _, want := range []report.Verdict{holds, fails} {
			w := claimed[s.Name](want == holds)
			run := made(t, s.Name, scale, false, drivers, 8, func(c *result.Case, phase string, round int) int64 {
				ms, _ := w(c, phase)
				return int64(ms * 1e6 * (1 + float64(round)/10_000))
			})
			for i := range run.Trials {
				for j := range run.Trials[i].Samples {
					m := &run.Trials[i].Samples[j]
					if _, locked := w(&run.Cases[run.Trials[i].Case-1], m.Phase); locked {
						m.Errors = []protocol.ErrorCount{{Code: 5, Name: "SQLITE_BUSY", Count: 1, WaitNS: 5e9}}
					}
				}
			}
			for _, c := range evaluate(t, run).Claims {
				if c.Verdict == want {
					continue
				}
				t.Errorf("%s: %q: %s, want %s", s.Name, c.Claim, c.Verdict, want)
				for _, x := range c.Comparisons {
					t.Logf("  %s: %s %+v, wanted %s, %+v %s", x.What, x.Verdict, x.Summary, x.Wanted(), x.Test, x.Why)
				}
			}
		}
	}
}

// TestClaimsOfWhatFailed checks that a report says so if the compared cells differ in their shares
// of failed operations.
func TestClaimsOfWhatFailed(t *testing.T) {
	of := made(t, "http-server", "quick", false, refs("crawshaw", "mattn", "modernc"), 8, func(c *result.Case, _ string, round int) int64 {
		return int64(1e6 * (1 + float64(round)/10_000))
	})
	for i := range of.Trials {
		for j := range of.Trials[i].Samples {
			if s := &of.Trials[i].Samples[j]; of.Cases[of.Trials[i].Case-1].Driver == "modernc" {
				s.Failed = s.Operations / 10
			}
		}
	}
	found := 0
	for _, c := range evaluate(t, of).Claims {
		for _, x := range c.Comparisons {
			if strings.Contains(x.Why, "the shares of operations that failed seem to differ: ") {
				found++
				if x.Verdict != unknown || !strings.Contains(x.Why, " of modernc") {
					t.Errorf("%s: %s, %s", x.What, x.Verdict, x.Why)
				}
			}
		}
	}
	if found == 0 {
		t.Error("no claim says that shares of failed operations differ")
	}
	// If no figure next to the verdict shows the reason, the report must say it in words.
	var b strings.Builder
	a := stats.Analyze(of, "")
	if err := report.Write(&b, "markdown", a, report.Options{Study: study.Evaluate(a, "--scale full")}); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(b.String(), "the shares of operations that failed seem to differ: "); n != found {
		t.Errorf("the report says it %d times, want %d", n, found)
	}
}
