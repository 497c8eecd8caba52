package study_test

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sqlite3perf/sqlite3perf/internal/lab/build"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/study"
)

const forever = math.MaxInt64

// looking simulates a run of a study that spends its time on the claims, with made-up figures. The
// run ends after the given number of rounds, or when no case needs further trials. Each trial takes
// a second.
func looking(t *testing.T, name string, drivers []build.Ref, rounds int, limit time.Duration, took wall) *result.Run {
	t.Helper()
	s, err := study.Find(name)
	if err != nil {
		t.Fatal(err)
	}
	all := made(t, name, "quick", false, drivers, rounds, took)
	run := *all
	run.Trials, run.Rounds, run.Study = nil, 0, &result.Study{Name: name, Looks: true}
	settle, settled := s.Settled(limit), []int(nil)
	for round := 1; round <= rounds && len(settled) < len(run.Cases); round++ {
		for _, tr := range all.Trials {
			once := run.Cases[tr.Case-1].Parameters["time"] >= 6_000
			if tr.Round == round && !slices.Contains(settled, tr.Case) && (round == 1 || !once) {
				tr.Started, tr.TookNS = run.Started.Add(time.Duration(len(run.Trials))*time.Second), 1e9
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

// trials returns the number of a case's trials.
func trials(run *result.Run, id int) (n int) {
	for i := range run.Trials {
		if run.Trials[i].Case == id {
			n++
		}
	}
	return n
}

// open returns times that vary so much that no claim about times can be decided.
func open(c *result.Case, phase string, round int) int64 {
	r := rand.New(rand.NewPCG(uint64(c.ID), uint64(round)))
	return int64(1e6 * (1 + 9*r.Float64()))
}

// TestTimeGoesToClaims checks that after the first rounds only cases on which a claim depends are
// measured. If the time suffices, each open claim must have a comparison that uses all rounds.
func TestTimeGoesToClaims(t *testing.T) {
	for _, s := range study.All() {
		run := looking(t, s.Name, everyone, 14, forever, open)
		few, more, once := 0, 0, 0
		for _, c := range run.Cases {
			switch n := trials(run, c.ID); {
			case n == 1 && c.Parameters["time"] >= 6_000:
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
			most, times := 0, false
			for _, x := range c.Comparisons {
				if x.Summary == nil || x.Unit != "" && x.Interval == nil { // the figure is a count
					continue
				}
				if most, times = max(most, x.N), true; x.N < study.Look {
					t.Errorf("%s: %q: %s has %d rounds", s.Name, c.Claim, x.What, x.N)
				}
			}
			if c.Verdict == unknown && times && most != 14 {
				t.Errorf("%s: %q has %d rounds", s.Name, c.Claim, most)
			}
		}
	}
}

// TestClearClaimsEndTheRun checks that measuring ends when all claims are decided.
func TestClearClaimsEndTheRun(t *testing.T) {
	drivers := refs("crawshaw", "glebarez", "mattn", "modernc", "ncruces", "sqinn", "zombiezen")
	run := looking(t, "http-server", drivers, 14, forever, func(c *result.Case, phase string, round int) int64 {
		ms, _ := claimed["http-server"](true)(c, phase)
		return int64(ms * 1e6 * (1 + float64(round)/10_000))
	})
	if run.Rounds != study.Look {
		t.Errorf("%d rounds, although all claims are decided after %d", run.Rounds, study.Look)
	}
	for _, c := range evaluate(t, run).Claims {
		if c.Verdict != holds {
			t.Errorf("%q: %s", c.Claim, c.Verdict)
		}
	}
}

// TestDecidedOnce checks that a comparison that was decided at a look (during the run) keeps its verdict and
// figures, with an interval of 99 %. The comparisons that were decided at the end must have intervals of 97 %.
func TestDecidedOnce(t *testing.T) {
	run := looking(t, "cgo-or-not", refs("mattn", "modernc"), 20, forever, func(c *result.Case, phase string, round int) int64 {
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
		if x.Verdict != unknown || x.N != 20 || x.Interval.Confidence < 0.97 || x.Interval.Confidence > 0.98 {
			t.Errorf("%s: %s, %+v by %+v", x.What, x.Verdict, x.Summary, x.Interval)
		}
	}
	if !slices.ContainsFunc(r.Notes, func(n string) bool { return strings.Contains(n, "clear after 10 or 20 rounds, by an interval of 99%") }) {
		t.Errorf("notes %q", r.Notes)
	}
}

// TestQuickLeavesOut checks that the quick form (scale "quick") of a study with all drivers leaves out cases
// on which no claim depends. It must not leave out any driver of the study.
func TestQuickLeavesOut(t *testing.T) {
	for name, had := range map[string][]string{"http-server": {"crawshaw", "mattn", "modernc", "zombiezen"}, "sqlite3perf": {"mattn", "python-fetchall"}} {
		s, err := study.Find(name)
		if err != nil {
			t.Fatal(err)
		}
		points := func(drivers []build.Ref) map[string]int {
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

// TestTimeGoesToWhatItDecides checks which of two open claims are measured after a look (an
// evaluation of the claims during the run). With little time, only the claim that needs few rounds
// is measured. With more time, both claims are measured.
func TestTimeGoesToWhatItDecides(t *testing.T) {
	near := func(c *result.Case, phase string, round int) int64 {
		noise := math.Exp(0.1 * rand.New(rand.NewPCG(uint64(c.ID), uint64(round))).NormFloat64())
		switch {
		case c.Workload == "writers-read-write" && c.Parameters["writers"] == 1: // the claim allows at most 1.5
			return int64(1.49e6 * noise)
		case c.Parameters["size"] >= 1_000_000: // the claim allows a difference of 10 %
			return int64(1e6 * noise)
		}
		return 1e6 + int64(c.ID*round)
	}
	const look = 1000 * time.Second // a time limit soon after the first look, because each trial takes a second
	for limit, want := range map[time.Duration][]string{look: {"writers-sizes"}, 1000 * time.Hour: {"writers-concurrent-mutex", "writers-read-write", "writers-sizes"}} {
		run := looking(t, "writers", refs("mattn", "modernc"), study.Look+2, limit, near)
		var got []string
		for _, c := range run.Cases {
			if trials(run, c.ID) > study.Look {
				got = append(got, c.Workload)
			}
		}
		slices.Sort(got)
		if got = slices.Compact(got); !slices.Equal(got, want) {
			t.Errorf("with a limit of %v: %q are measured after the look, want %q", limit, got, want)
		}
	}
}

// TestTimeGoesToTies checks a driver that is tied in some phases and might still win most phases.
// Only as many of these phases must be measured as the driver needs, and they must be the phases
// that can be decided soonest.
func TestTimeGoesToTies(t *testing.T) {
	won := []string{"simple query", "many query 10", "many query 100", "many query 1000", "concurrent query 2", "concurrent query 4"}
	tied := map[string]struct {
		with   string
		varies float64
	}{"large query 50000": {"crawshaw", 0.05}, "large query 200000": {"modernc", 0.4}}
	run := looking(t, "driver-comparison", refs("crawshaw", "mattn", "modernc", "sqinn", "zombiezen"), study.Look+2, forever, func(c *result.Case, phase string, round int) int64 {
		name := strings.TrimSpace(c.Workload + " " + phase + " " + number(c.Parameters["n"]))
		tie, varies := tied[name], 0.001
		ms := map[string]float64{"mattn": 1, "sqinn": 20, "modernc": 4, "crawshaw": 1.5, "zombiezen": 10}[c.Driver]
		switch {
		case tie.with == c.Driver || tie.with != "" && c.Driver == "zombiezen":
			ms, varies = 0.1, tie.varies
		case slices.Contains(won, name) && c.Driver == "zombiezen":
			ms = 0.1
		}
		return int64(1e6 * ms * math.Exp(varies*rand.New(rand.NewPCG(uint64(c.ID), uint64(round))).NormFloat64()))
	})
	var got []string
	for _, c := range run.Cases {
		if trials(run, c.ID) > study.Look {
			got = append(got, fmt.Sprintf("%s %d %s", c.Workload, c.Parameters["n"], c.Driver))
		}
	}
	if want := []string{"large 50000 crawshaw", "large 50000 zombiezen"}; !slices.Equal(got, want) {
		t.Errorf("%q are measured after the look, want %q", got, want)
	}
}

// TestSoakErrorsAtBounds checks comparisons whose true figure is exactly at a bound, so any decision
// is wrong. Over all simulated runs, at least one and at most 5 % of these comparisons must be
// decided. Evaluations during the run, and plans based on the samples so far, must not increase
// that share.
func TestSoakErrorsAtBounds(t *testing.T) {
	runs := cmp.Or(*simulated, 40)
	bounds := func(c *result.Case, phase string) float64 {
		ms := float64(c.Parameters["people"]) / 1000
		if c.Driver == "modernc" {
			ms *= map[string]float64{"insert": 1.5, "group_by": 1.1}[phase]
		}
		return ms
	}
	s, err := study.Find("cgo-or-not")
	if err != nil {
		t.Fatal(err)
	}
	cases := quick(t, s, refs("mattn", "modernc"))
	wrong, all := 0, 0
	for seed := range uint64(runs) {
		run := quietly(s, cases, bounds, 0.18, seed)
		for _, c := range evaluate(t, run).Claims[:2] { // without the third claim, whose figure is not at a bound
			for _, x := range c.Comparisons {
				if all++; x.Verdict != unknown {
					wrong++
				}
			}
		}
	}
	t.Logf("a study's comparison is decided, of figures that are at its bound: nominal at most 5.0 %%, found %.1f %% of %d", 100*float64(wrong)/float64(all), all)
	if wrong*20 > all || wrong == 0 {
		t.Errorf("%d of %d comparisons at their bounds were decided, want at least one and at most 5 %%", wrong, all)
	}
}
