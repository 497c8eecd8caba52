package study_test

import (
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"testing"

	"github.com/sqlite3perf/sqlite3perf/internal/report"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
)

// TestNoClearWinner checks the claim "no clear winner", which counts how many phases the most
// successful driver wins.
func TestNoClearWinner(t *testing.T) {
	claim := func(took wall) report.Claim {
		r := evaluate(t, made(t, "driver-comparison", "0.001", false, refs("mattn", "modernc", "zombiezen"), 6, took))
		for _, c := range r.Claims {
			if strings.Contains(c.Claim, "no clear winner") {
				return c
			}
		}
		t.Fatal("no such claim")
		return report.Claim{}
	}
	c := claim(func(c *result.Case, _ string, round int) int64 {
		if c.Driver == "zombiezen" {
			return int64(1e6 + round)
		}
		return int64(2e6 + round)
	})
	if x := c.Comparisons[0]; c.Verdict != fails || x.Median != 15 || *x.AtMost != 7 || !strings.Contains(x.What, "zombiezen") {
		t.Errorf("%s: %+v", c.Verdict, x)
	}
	c = claim(func(*result.Case, string, int) int64 { return 1e6 }) // all drivers are equally fast
	if x := c.Comparisons[0]; c.Verdict != holds || x.Median != 0 {
		t.Errorf("%s: %+v", c.Verdict, x)
	}
	c = claim(unsteady)
	if x := c.Comparisons[0]; c.Verdict != unknown || x.Median != 0 || !strings.Contains(x.Why, "is tied for first place") || !strings.Contains(x.Why, "in 15 more") {
		t.Errorf("%s: %+v", c.Verdict, x)
	}
	drivers := []string{"mattn", "modernc", "zombiezen"}
	phases := map[string]int{} // the number of each phase, in order of appearance; each driver is the fastest in every third phase
	c = claim(func(c *result.Case, phase string, round int) int64 {
		id := fmt.Sprint(c.Workload, phase, c.Parameters)
		if _, ok := phases[id]; !ok {
			phases[id] = len(phases)
		}
		return int64(1e6 + round + 1e6*((slices.Index(drivers, c.Driver)+phases[id])%3))
	})
	if x := c.Comparisons[0]; c.Verdict != holds || x.Median == 0 {
		t.Errorf("%s: %+v", c.Verdict, x)
	}
}

// unsteady returns times between 1 and 2 ms for every driver, so that no two drivers differ
// significantly.
func unsteady(c *result.Case, _ string, round int) int64 {
	h := fnv.New32a()
	fmt.Fprint(h, round, c.Workload, c.Parameters, c.Driver)
	return 1e6 + int64(h.Sum32()%1e6)
}

// TestNoClearWinnerAmongWhom checks that only drivers of the study can be winners, and that a
// single driver wins nothing.
func TestNoClearWinnerAmongWhom(t *testing.T) {
	for _, test := range []struct{ drivers, want string }{
		{"mattn", "no phase has figures of two drivers of the study"},
		{"native mattn modernc", "is tied for first place"},
	} {
		took := func(c *result.Case, _ string, round int) int64 {
			if c.Driver == "native" {
				return int64(1e5 + round)
			}
			return unsteady(c, "", round)
		}
		r := evaluate(t, made(t, "driver-comparison", "0.001", false, refs(strings.Fields(test.drivers)...), 6, took))
		for _, c := range r.Claims {
			if strings.Contains(c.Claim, "no clear winner") && (c.Verdict != unknown || !strings.Contains(c.Comparisons[0].Why, test.want)) {
				t.Errorf("%s: %s: %+v", test.drivers, c.Verdict, c.Comparisons[0])
			}
		}
	}
}

// TestClaimsOf2023 checks that the claims of 2023 use only the workloads of 2023.
func TestClaimsOf2023(t *testing.T) {
	took := func(c *result.Case, _ string, round int) int64 {
		switch {
		case c.Driver != "modernc":
			return int64(1e6 + round)
		case c.Workload == "real":
			return int64(0.5e6 + round)
		}
		return int64(1.6e6 + round)
	}
	for _, c := range evaluate(t, made(t, "driver-comparison", "0.001", false, refs("mattn", "modernc"), 6, took)).Claims {
		if strings.Contains(c.Claim, "modernc is much slower") && c.Verdict != holds {
			t.Errorf("%s: %+v", c.Verdict, c.Comparisons[0])
		}
	}
}
