package study_test

import (
	"flag"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/sqlite3perf/sqlite3perf/internal/lab"
	"github.com/sqlite3perf/sqlite3perf/internal/lab/build"
	"github.com/sqlite3perf/sqlite3perf/internal/report"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/study"
)

// typical has, for each study, a function that returns the time in ms of a phase of a case. The
// time is for all of its work or, in a mix, for 1000 operations. The times are those of the real
// run of 2026-11-22 that docs/studies.md showed. sqinn was not in that run, so its ratio to
// crawshaw is taken from the published figures of 2026.
var typical = map[string]func(c *result.Case, phase string) float64{
	"sqlite3perf": func(c *result.Case, phase string) float64 {
		rows, s := float64(c.Parameters["rows"]), c.Settings
		switch {
		case c.Workload == "sqlite3perf-paginate":
			return map[string]float64{"offset": 14, "keyset": 1}[phase]
		case c.Workload == "sqlite3perf-verify":
			ms := map[string]float64{"read": rows / 1500, "after-query": 0.05, "first-row": 0.02, "verify": rows / 1200}[phase]
			if c.Driver == "python-fetchall" {
				ms *= map[string]float64{"read": 2, "after-query": 2.11, "first-row": 1595, "verify": 1.98}[phase]
			}
			return ms
		case c.Workload == "sqlite3perf-concurrent":
			return 20
		case s["mode"] == "memory":
			return rows / 1330
		case s["journal_mode"] == "wal" && s["synchronous"] == "off":
			return rows / 732
		case s["journal_mode"] == "wal":
			return rows / 542
		case s["synchronous"] == "off":
			return rows / 454
		case c.Workload == "sqlite3perf-generate-ad-hoc":
			return rows / 98
		}
		return rows / map[int64]float64{10: 13, 100: 102, 500: 322, 1000: 487}[c.Parameters["batch"]]
	},
	"writers": func(c *result.Case, _ string) float64 {
		n, full := c.Parameters["writers"], c.Settings["synchronous"] == "full"
		at := func(by map[int64]float64) float64 {
			if v := by[n]; v > 0 {
				return v
			}
			return 1
		}
		switch size := c.Parameters["size"]; {
		case size >= 10_000_000:
			return 20_000 * map[bool]float64{true: 0.97, false: 1}[full]
		case size >= 1_000_000:
			return 2000 * map[bool]float64{true: 0.97, false: 1}[full]
		case size > 0 && full:
			return 245
		case size > 0:
			return map[int64]float64{10: 15.7, 100: 15, 1000: 21.6}[size]
		}
		mutex := 22 * at(map[int64]float64{256: 1.17})
		switch c.Workload {
		case "writers-concurrent-mutex":
			return mutex
		case "writers-read-write":
			return mutex * at(map[int64]float64{1: 1.36, 32: 1.47, 256: 1.25})
		case "writers-parallel":
			return 22 * at(map[int64]float64{256: 3.91})
		case "writers-parallel-mutex":
			return 22 * at(map[int64]float64{256: 1.48})
		}
		return 22 * at(map[int64]float64{256: 1.26})
	},
	"driver-comparison": func(c *result.Case, phase string) float64 {
		i := slices.Index([]string{"simple insert", "simple query", "real insert", "real query", "complex insert", "complex query",
			"many10 query", "many100 query", "many1000 query", "large50000 query", "large100000 query", "large200000 query",
			"concurrent2 query", "concurrent4 query", "concurrent8 query"}, c.Workload+number(c.Parameters["n"])+" "+phase)
		if ms := typicalOf[c.Driver]; i >= 0 && ms != nil {
			if c.Workload == "simple" || c.Workload == "complex" { // the real run had twice as many users
				return ms[i] / 2
			}
			return ms[i]
		}
		return 30
	},
	"cgo-or-not": func(c *result.Case, phase string) float64 {
		i := slices.Index([]int64{10_000, 47_983, 239_914}, c.Parameters["people"])
		ms := map[string][]float64{"insert": {27, 125, 577}, "group_by": {2.85, 14.8, 135}}[phase][i]
		if c.Driver == "modernc" {
			ms *= map[string][]float64{"insert": {1.37, 1.31, 1.43}, "group_by": {1.26, 1.29, 0.99}}[phase][i]
		}
		return ms
	},
	"http-server": func(c *result.Case, _ string) float64 {
		ms := 250 * map[int64]float64{1: 1.08, 4: 1, 8: 1.04, 50: 1.08, 100: 1.14}[c.Parameters["pool"]]
		return ms * map[string]float64{"crawshaw": 1.06, "mattn": 1, "modernc": 1.11, "zombiezen": 1.14}[c.Driver]
	},
}

var typicalOf = map[string][]float64{
	"bvinc":     {112, 42.3, 36, 12, 77, 62.5, 1.13, 4.81, 42.1, 10.4, 16.3, 30, 9.35, 21.7, 42},
	"crawshaw":  {127, 36.4, 36.6, 9.67, 76.4, 48.1, 1.13, 4.19, 35.2, 12.3, 23.5, 42.4, 10.1, 15.3, 33.6},
	"eatonphil": {115, 41.5, 34.6, 11.4, 79, 69.5, 1.14, 5.23, 40.2, 10.4, 14, 30.3, 8.94, 18.7, 39.1},
	"glebarez":  {594, 52.6, 89.3, 24.6, 339, 95.3, 2.16, 6.65, 51.6, 28.4, 45.9, 85.6, 19.1, 27.2, 49.2},
	"mattn":     {160, 46.3, 40.6, 11.4, 96.8, 54.1, 1.39, 5.39, 44.9, 10.9, 16.2, 37.8, 9.96, 20.8, 48.1},
	"modernc":   {230, 45.9, 53.6, 15.2, 143, 72.9, 1.53, 5.21, 42.1, 10.3, 17.3, 35.8, 9.61, 22.1, 41.8},
	"ncruces":   {225, 54.5, 47.8, 16.6, 142, 77.7, 1.56, 6.2, 52.3, 10.5, 16.9, 36.1, 12.2, 24.4, 46.9},
	"sqinn":     {79, 20.5, 36, 11, 56.1, 26.1, 2.73, 4.65, 29.6, 18.7, 42.1, 89.7, 7.74, 13.7, 30.6},
	"zombiezen": {224, 20.3, 52.7, 13.3, 161, 49.6, 1.03, 2.66, 18.7, 23.2, 36.6, 64.5, 5.08, 10.4, 23.7},
}

func number(n int64) string {
	if n == 0 {
		return ""
	}
	return strconv.FormatInt(n, 10)
}

// The time that a real run takes for each trial and for each connection, in addition to the work of
// the phases.
const (
	trialTook      = 100 * time.Millisecond
	connectionTook = time.Millisecond
)

// quick returns the cases of a study's quick form (scale "quick").
func quick(t *testing.T, s *study.Study, drivers []build.Ref) []*lab.Case {
	t.Helper()
	cases, err := s.Cases("quick", false, drivers, 1)
	if err != nil {
		t.Fatal(err)
	}
	return cases
}

// quietly simulates the quick form (scale "quick") of a study on a machine. The times of trials
// vary by the fraction in the parameter "varies", and the times of rounds by a tenth. The function
// "takes" returns the time of a phase in ms. A round takes as long as its trials together.
func quietly(s *study.Study, cases []*lab.Case, takes func(c *result.Case, phase string) float64, varies float64, seed uint64) *result.Run {
	run := &result.Run{ID: 1, Scale: "quick", Machine: result.Machine{Cores: 2}, Study: &result.Study{Name: s.Name, Looks: true}}
	for _, c := range cases {
		run.Cases = append(run.Cases, c.Case)
	}
	settle, settled, spent := s.Settled(study.Time), []int(nil), time.Duration(0)
	for round := 1; len(settled) < len(run.Cases); round++ {
		var took time.Duration
		slow := math.Exp(0.1 * rand.New(rand.NewPCG(seed, uint64(round))).NormFloat64())
		for i := range run.Cases {
			c := &run.Cases[i]
			if slices.Contains(settled, c.ID) || cases[i].Once && round > 1 {
				continue
			}
			tr := result.Trial{Case: c.ID, Round: round, Order: len(run.Trials) + 1, Status: result.OK}
			lasts := trialTook + time.Duration(c.Settings.PoolSize())*connectionTook + time.Duration(c.Parameters["time"])*time.Millisecond
			for _, p := range c.Phases {
				h := fnv.New64a()
				_, _ = h.Write([]byte(p))
				r := rand.New(rand.NewPCG(seed, h.Sum64()^uint64(c.ID)<<32^uint64(round)))
				ns := takes(c, p) * 1e6 * slow * math.Exp(varies*r.NormFloat64())
				tr.Samples = append(tr.Samples, result.Sample{Phase: p, Metric: "time", WallNS: int64(ns), Operations: 1000, Rows: 1000})
				if c.Parameters["time"] == 0 {
					lasts += time.Duration(ns)
				}
			}
			tr.Started, tr.TookNS = run.Started.Add(spent+took), int64(lasts)
			took += lasts
			run.Trials = append(run.Trials, tr)
		}
		if spent += took; round > lab.MinRounds && spent > study.Time {
			break // a real run would not have begun this round, because it does not end in time
		}
		run.Rounds = round
		if ids, judged := settle(run, round); judged {
			settled = ids
		}
	}
	run.Trials = slices.DeleteFunc(run.Trials, func(tr result.Trial) bool { return tr.Round > run.Rounds })
	return run
}

// simulated is how many runs each test named TestSoak… simulates. If it is 0, each test has its own
// number. These commands make the figures in docs/proofs.md:
//
//	go test ./internal/study -run TestSoakQuietMachine -simulated 20 -v
//	go test ./internal/study -run TestSoakErrorsAtBounds -simulated 300 -v
var simulated = flag.Int("simulated", 0, "how many `runs` are simulated (default: as many as take seconds)")

// TestSoakQuietMachine checks how many of the 29 claims the quick forms (scale "quick") of the
// studies decide on machines whose trials vary by 10 % and by 18 %, and that six rounds of all
// cases decide fewer.
func TestSoakQuietMachine(t *testing.T) {
	for varies, want := range map[float64]int{0.1: 27, 0.18: 25} {
		t.Run(fmt.Sprint(varies), func(t *testing.T) {
			decided, before := quickForms(t, varies, 1)
			if decided < want || before >= want {
				t.Errorf("%d claims are decided, want at least %d; in six rounds %d, want fewer than that", decided, want, before)
			}
			all, runs := decided, max(*simulated, 1)
			for seed := 2; seed <= runs; seed++ {
				decided, _ := quickForms(t, varies, uint64(seed))
				all += decided
			}
			t.Logf("%.1f claims are decided on average", float64(all)/float64(runs))
		})
	}
}

// quickForms simulates the quick forms (scale "quick") of all studies. It returns how many of the
// 29 claims are decided, and how many were decided after six rounds.
func quickForms(t *testing.T, varies float64, seed uint64) (decided, before int) {
	t.Helper()
	drivers := refs("bvinc", "crawshaw", "eatonphil", "glebarez", "mattn", "modernc", "native", "ncruces", "sqinn", "tailscale", "zombiezen")
	count := func(claims []report.Claim) (n int) {
		for _, c := range claims {
			if c.Verdict != unknown {
				n++
			}
		}
		return n
	}
	claims := 0
	for _, s := range study.All() {
		own := drivers
		if s.Name == "sqlite3perf" {
			own = slices.Concat(drivers, refs("python-fetchall"))
		}
		run := quietly(s, quick(t, s, own), typical[s.Name], varies, seed)
		list := evaluate(t, run).Claims
		six := *run
		six.Rounds, six.Study = lab.MinRounds, &result.Study{Name: s.Name}
		six.Trials = slices.DeleteFunc(slices.Clone(run.Trials), func(tr result.Trial) bool { return tr.Round > lab.MinRounds })
		then := count(evaluate(t, &six).Claims)
		t.Logf("%s: %d of %d in %d rounds, %d in six", s.Name, count(list), len(list), run.Rounds, then)
		for _, c := range list {
			if c.Verdict == unknown {
				t.Logf("  open: %s", c.Claim)
			}
		}
		claims, decided, before = claims+len(list), decided+count(list), before+then
	}
	if claims != 29 {
		t.Errorf("%d claims, want 29", claims)
	}
	return decided, before
}
