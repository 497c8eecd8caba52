package study_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/sqlite3perf/sqlite3perf/lab"
	"github.com/sqlite3perf/sqlite3perf/result"
	"github.com/sqlite3perf/sqlite3perf/study"
)

// looking measures a study, with made-up figures, as the lab does if the time is spent on
// the claims. It ends after these rounds or when every case is settled.
func looking(t *testing.T, name string, drivers []lab.Ref, rounds int, took wall) *result.Run {
	t.Helper()
	s, err := study.Find(name)
	if err != nil {
		t.Fatal(err)
	}
	all := made(t, name, "quick", false, drivers, rounds, took)
	run := *all
	run.Trials, run.Rounds, run.Study = nil, 0, &result.Study{Name: name, Looks: true}
	settle, settled := s.Settled(), []int(nil)
	for round := 1; round <= rounds && len(settled) < len(run.Cases); round++ {
		for _, tr := range all.Trials {
			once := run.Cases[tr.Case-1].Parameters["time"] >= 10_000
			if tr.Round == round && !slices.Contains(settled, tr.Case) && (round == 1 || !once) {
				run.Trials = append(run.Trials, tr)
			}
		}
		run.Rounds = round
		if ids, judged := settle(&run, round); judged {
			settled = ids
		}
	}
	return &run
}

// trials counts a case's trials.
func trials(run *result.Run, id int) (n int) {
	for i := range run.Trials {
		if run.Trials[i].Case == id {
			n++
		}
	}
	return n
}

// open takes a time that varies so much that no claim about times can be decided.
func open(c *result.Case, phase string, round int) int64 {
	r := rand.New(rand.NewPCG(uint64(c.ID), uint64(round)))
	return int64(1e6 * (1 + 9*r.Float64()))
}

// TestTimeGoesToClaims checks that after the first rounds only cases on which a claim
// rests are measured, and that every comparison finds more rounds in the quick form than
// these.
func TestTimeGoesToClaims(t *testing.T) {
	for _, s := range study.All() {
		run := looking(t, s.Name, everyone, 14, open)
		few, more, once := 0, 0, 0
		for _, c := range run.Cases {
			switch n := trials(run, c.ID); {
			case n == 1 && c.Parameters["time"] >= 10_000:
				once++
			case n == 6:
				few++
			case n == 14:
				more++
			case n != study.Look:
				t.Errorf("%s: %s on %s with %v has %d trials", s.Name, c.Workload, c.Driver, c.Parameters, n)
			}
			if n := trials(run, c.ID); n != 6 && c.Driver == "native" {
				t.Errorf("%s: native, on which no claim rests, has %d trials", s.Name, n)
			}
		}
		t.Logf("%s: of %d cases %d have one long trial, %d have 6 rounds, %d have all", s.Name, len(run.Cases), once, few, more)
		if few == 0 || more == 0 {
			t.Errorf("%s: %d cases have 6 rounds, %d all", s.Name, few, more)
		}
		for _, c := range evaluate(t, run).Claims {
			for _, x := range c.Comparisons {
				switch {
				case x.Summary == nil || x.Unit != "" && x.Interval == nil: // a count
				case c.Verdict != unknown && x.N < study.Look, c.Verdict == unknown && x.N != 14 && x.Verdict == unknown:
					t.Errorf("%s: %q: %s has %d rounds", s.Name, c.Claim, x.What, x.N)
				}
			}
		}
	}
}

// TestClearClaimsEndTheRun checks that nothing is measured any more when all claims are
// decided.
func TestClearClaimsEndTheRun(t *testing.T) {
	drivers := refs("crawshaw", "glebarez", "mattn", "modernc", "ncruces", "sqinn", "zombiezen")
	run := looking(t, "http-server", drivers, 14, func(c *result.Case, phase string, round int) int64 {
		ms, _ := claimed["http-server"](true)(c, phase)
		return int64(ms * 1e6 * (1 + float64(round)/10_000))
	})
	if run.Rounds != study.Look {
		t.Errorf("%d rounds, though all is clear after %d", run.Rounds, study.Look)
	}
	for _, c := range evaluate(t, run).Claims {
		if c.Verdict != holds {
			t.Errorf("%q: %s", c.Claim, c.Verdict)
		}
	}
}

// TestDecidedOnce checks that a comparison that was decided at the look keeps its verdict
// and its figures, by an interval of 99 %, and that the others have one of 96 %.
func TestDecidedOnce(t *testing.T) {
	run := looking(t, "cgo-or-not", refs("mattn", "modernc"), 20, func(c *result.Case, phase string, round int) int64 {
		switch {
		case phase == "group_by":
			return open(c, phase, round)
		case c.Driver == "modernc" && round <= study.Look:
			return 2e6 + int64(round)
		}
		return 1e6 + int64(round)
	})
	r := evaluate(t, run)
	if c := r.Claims[0]; c.Verdict != holds {
		t.Errorf("%q: %s", c.Claim, c.Verdict)
	}
	for _, x := range r.Claims[0].Comparisons {
		if x.N != study.Look || x.Interval.Confidence < 0.99 || x.Median < 1.99 {
			t.Errorf("%s: %+v by %+v", x.What, x.Summary, x.Interval)
		}
	}
	for _, x := range r.Claims[2].Comparisons {
		if x.Verdict != unknown || x.N != 20 || x.Interval.Confidence < 0.96 || x.Interval.Confidence > 0.97 {
			t.Errorf("%s: %s, %+v by %+v", x.What, x.Verdict, x.Summary, x.Interval)
		}
	}
	if !slices.ContainsFunc(r.Notes, func(n string) bool { return strings.Contains(n, "clear after 10 rounds, by an interval of 99 %") }) {
		t.Errorf("notes %q", r.Notes)
	}
}

// TestQuickLeavesOut checks that with all drivers the quick form leaves out cases on which
// no claim rests, and none of the drivers that the study had.
func TestQuickLeavesOut(t *testing.T) {
	for name, had := range map[string][]string{"http-server": {"crawshaw", "mattn", "modernc", "zombiezen"}, "sqlite3perf": {"mattn", "python-fetchall"}} {
		s, err := study.Find(name)
		if err != nil {
			t.Fatal(err)
		}
		points := func(drivers []lab.Ref) map[string]int {
			cases, err := s.Cases("quick", false, drivers, 1)
			if err != nil {
				t.Fatal(err)
			}
			n := map[string]int{}
			for _, c := range cases {
				n[c.Driver]++
			}
			return n
		}
		all, few := points(everyone), points(append(refs("ncruces"), refs(had...)...))
		for _, d := range had {
			if all[d] != few[d] || all[d] == 0 {
				t.Errorf("%s: %s is measured at %d points of %d", name, d, all[d], few[d])
			}
		}
		if all["ncruces"] == 0 || all["ncruces"] >= few["ncruces"] {
			t.Errorf("%s: ncruces is measured at %d points, and at %d if there are few drivers", name, all["ncruces"], few["ncruces"])
		}
	}
}
