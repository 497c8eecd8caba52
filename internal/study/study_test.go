package study_test

import (
	"fmt"
	"hash/fnv"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sqlite3perf/sqlite3perf/internal/lab"
	"github.com/sqlite3perf/sqlite3perf/internal/lab/build"
	"github.com/sqlite3perf/sqlite3perf/internal/report"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
	"github.com/sqlite3perf/sqlite3perf/internal/study"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// refs returns the named drivers as values of the type build.Ref.
func refs(names ...string) []build.Ref {
	var list []build.Ref
	for _, n := range names {
		i := driver.Info{Name: n, Kind: driver.Cgo, Interface: driver.DatabaseSQL}
		if slices.Contains([]string{"bvinc", "crawshaw", "eatonphil", "zombiezen", "native", "sqinn"}, n) {
			i.Interface = driver.Direct
		}
		list = append(list, build.Ref{Name: n, Known: &build.Known{Manifest: build.Manifest{Info: i}}})
	}
	return list
}

var everyone = refs("bvinc", "crawshaw", "eatonphil", "glebarez", "mattn", "modernc", "native", "ncruces", "python-fetchall", "sqinn", "zombiezen")

// wall returns the time of a phase of a case in a round, in nanoseconds.
type wall func(c *result.Case, phase string, round int) int64

// made returns a run of a study with made-up figures.
func made(t *testing.T, name, scale string, asPublished bool, drivers []build.Ref, rounds int, took wall) *result.Run {
	t.Helper()
	s, err := study.Find(name)
	if err != nil {
		t.Fatal(err)
	}
	cases, err := s.Cases(scale, asPublished, drivers, 1)
	if err != nil {
		t.Fatal(err)
	}
	run := &result.Run{ID: 1, Scale: scale, Rounds: rounds, Stopped: "rounds", Machine: result.Machine{Cores: 4}, Study: &result.Study{Name: name, AsPublished: asPublished}}
	for _, c := range cases {
		run.Cases = append(run.Cases, c.Case)
	}
	for round := 1; round <= rounds; round++ {
		for i := range run.Cases {
			c := &run.Cases[i]
			tr := result.Trial{Case: c.ID, Round: round, Order: len(run.Trials) + 1, Status: result.OK}
			for _, p := range c.Phases {
				tr.Samples = append(tr.Samples, result.Sample{Phase: p, Metric: "time", WallNS: took(c, p, round), Operations: 1000, Rows: 1000})
			}
			run.Trials = append(run.Trials, tr)
		}
	}
	return run
}

func evaluate(t *testing.T, run *result.Run) *report.Study {
	t.Helper()
	r := study.Evaluate(stats.Analyze(run, "native"), "--scale full")
	if r == nil {
		t.Fatal("no report")
	}
	return r
}

// scaleOf has, for each study, a small scale. At this scale, sizes that differ in the study still
// differ.
var scaleOf = map[string]string{"cgo-or-not": "0.001", "driver-comparison": "0.001", "http-server": "0.01", "sqlite3perf": "0.001", "writers": "0.01"}

// TestPublishedFiguresAreMeasured checks that every published figure is in a table of its study,
// next to a measured figure. Figures that cannot be measured again are exceptions.
func TestPublishedFiguresAreMeasured(t *testing.T) {
	columns := map[string][]string{
		"cgo-or-not": {"mean_s", "stddev_s"}, "driver-comparison": {"ms"}, "http-server": {"requests_per_s"},
		"sqlite3perf": {"value"}, "writers": {"iterations", "ns_per_op"},
	}
	notMeasured := map[string]string{
		"sqlite3-shell": "the shell is no driver: the drivers' own times stand below",
	}
	for _, s := range study.All() {
		for _, asPublished := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s as published %v", s.Name, asPublished), func(t *testing.T) {
				r := evaluate(t, made(t, s.Name, scaleOf[s.Name], asPublished, everyone, 6, func(*result.Case, string, int) int64 { return 1e6 }))
				var got, want []float64
				rows := 0
				for _, table := range r.Tables {
					for _, row := range table.Rows {
						if len(row.Labels) != len(table.Labels) || len(row.Figures) != len(table.Columns) {
							t.Fatalf("%s: row %q has %d figures for %d columns", table.Title, row.Labels, len(row.Figures), len(table.Columns))
						}
						published, measured := false, false
						for i, f := range row.Figures {
							if table.Columns[i].Published {
								if f.Value != nil {
									got = append(got, *f.Value)
								}
								published = published || f.Value != nil || f.Text != "" && f.Text != "-"
								continue
							}
							measured = measured || f.Value != nil
						}
						if published {
							rows++
						}
						if published && !measured && !slices.ContainsFunc(row.Labels, func(l string) bool { return notMeasured[l] != "" }) {
							t.Errorf("%s: %q is not measured", table.Title, row.Labels)
						}
					}
				}
				for _, c := range columns[s.Name] {
					want = append(want, study.PublishedNumbers(s.Name, c)...)
				}
				slices.Sort(got)
				slices.Sort(want)
				if d := cmp.Diff(want, got); d != "" {
					t.Errorf("published figures (-file +tables):\n%s", d)
				}
				t.Logf("%d tables, %d rows with published figures of %d lines", len(r.Tables), rows, study.PublishedRows(s.Name))
			})
		}
	}
}

// TestClaimsFindTheirCells checks that every comparison of every claim finds its cells at every
// scale, provided that the drivers that it names are measured. A claim is an exception if it gives
// a reason.
func TestClaimsFindTheirCells(t *testing.T) {
	for _, s := range study.All() {
		for _, scale := range []string{"quick", scaleOf[s.Name]} {
			for _, asPublished := range []bool{false, true} {
				r := evaluate(t, made(t, s.Name, scale, asPublished, everyone, 6, func(*result.Case, string, int) int64 { return 1e6 }))
				if len(r.Claims) == 0 {
					t.Errorf("%s has no claims", s.Name)
				}
				for _, c := range r.Claims {
					if len(c.Comparisons) == 0 {
						t.Errorf("%s: %q compares nothing", s.Name, c.Claim)
					}
					for _, x := range c.Comparisons {
						if x.Summary == nil {
							t.Errorf("%s at %s: %q: %s: %s", s.Name, scale, c.Claim, x.What, x.Why)
						}
						if strings.Contains(x.What, "%!") || x.Wanted() == "" {
							t.Errorf("%s: comparison %q, claimed %q", s.Name, x.What, x.Wanted())
						}
					}
				}
			}
		}
	}
}

// TestQuickIsSmaller checks that the sizes and durations of a study's quick form (scale "quick")
// are limited, that its cases are numbered from 1, and that no two of them are alike.
func TestQuickIsSmaller(t *testing.T) {
	for _, s := range study.All() {
		t.Run(s.Name, func(t *testing.T) {
			cases, err := s.Cases("quick", false, everyone[:1], 1)
			if err != nil {
				t.Fatal(err)
			}
			seen := map[string]bool{}
			for i, c := range cases {
				key := fmt.Sprint(c.Workload, c.Parameters, c.Settings, c.Driver)
				if c.ID != i+1 || seen[key] {
					t.Errorf("case %d: %s", c.ID, key)
				}
				seen[key] = true
				if c.Parameters["rows"] > 100_000 || c.Parameters["people"] > 240_000 || c.Parameters["users"] > 100_000 || c.Parameters["time"] > 12_000 {
					t.Errorf("%s at quick: %v", c.Workload, c.Parameters)
				}
			}
		})
	}
}

// TestQuickIsPlanned checks that a study's quick form (scale "quick") leaves time for work without
// a fixed duration, whatever the number of drivers. Phases of fixed duration share the rest of the
// time, and the drivers of the study keep all values of the parameters.
func TestQuickIsPlanned(t *testing.T) {
	s, err := study.Find("writers")
	if err != nil {
		t.Fatal(err)
	}
	drivers := refs("bvinc", "crawshaw", "eatonphil", "glebarez", "mattn", "modernc", "native", "ncruces", "tailscale", "zombiezen")
	last := int64(0)
	for n := len(drivers); n >= 1; n-- {
		some := slices.Clone(drivers[:n])
		some[0] = drivers[4]
		if n > 4 {
			some[4] = drivers[0]
		}
		for _, asPublished := range []bool{false, true} {
			cases, err := s.Cases("quick", asPublished, some, 1)
			if err != nil {
				t.Fatal(err)
			}
			if least := study.Least(cases, s.Rounds); least > 4*time.Minute {
				t.Errorf("%d drivers: at least %v", n, least)
			}
			points, each, long := map[string]int{}, cases[0].Parameters["time"], 0
			for _, c := range cases {
				if c.Parameters["time"] == 6_000 && c.Driver == "mattn" && c.Parameters["writers"] == 256 {
					long++ // the phase is longer than SQLite waits for a lock
					continue
				}
				points[c.Driver]++
				if c.Parameters["time"] != each {
					t.Errorf("%d drivers: %s lasts %d ms, another %d", n, c.Workload, c.Parameters["time"], each)
				}
			}
			if long != 6 {
				t.Errorf("%d drivers: %d long phases", n, long)
			}
			if want := 46; !asPublished && points["mattn"] != want {
				t.Errorf("%d drivers: mattn is measured at %d points, want %d", n, points["mattn"], want)
			}
			if asPublished {
				continue
			}
			if each < 50 || each > 500 || n < 2 && each < last {
				t.Errorf("%d drivers: %d ms, and %d ms with one more", n, each, last)
			}
			if all := points["native"]; n == 10 && (all == 0 || all >= 46) {
				t.Errorf("native is measured at %d points", all)
			}
			last = each
		}
	}
}

// TestLeast checks that the result of Least includes all three parts: starting processes, opening
// connections, and phases of fixed duration.
func TestLeast(t *testing.T) {
	var few, slow lab.Case
	few.Settings = driver.Settings{"pool_size": "1"}
	slow.Settings, slow.Parameters = driver.Settings{"pool_size": "256"}, map[string]int64{"time": 1000}
	a, b := study.Least([]*lab.Case{&few}, 6), study.Least([]*lab.Case{&few, &slow}, 6)
	if a <= 0 || b-a != 6*(a/6+255*time.Millisecond+time.Second) {
		t.Errorf("%v, %v", a, b)
	}
}

// groups returns made-up times. Inserting takes exactly twice as long with modernc. Grouping
// takes 1.6, 1.3 and 1.15 times as long, for tables of increasing size.
func groups(c *result.Case, phase string, round int) int64 {
	size := slices.Index([]int64{10, 480, 4798}, c.Parameters["people"])
	base := 1_000_000 * math.Pow(10, float64(size)) * (1 + float64(round)/1000)
	switch {
	case c.Driver == "modernc" && phase == "insert":
		base *= 2
	case c.Driver == "modernc":
		base *= []float64{1.6, 1.3, 1.15}[size]
	}
	return int64(base)
}

func TestClaimsOfCgoOrNot(t *testing.T) {
	r := evaluate(t, made(t, "cgo-or-not", "0.001", false, refs("mattn", "modernc"), 10, groups))
	type line struct {
		Verdict report.Verdict
		Ratio   string
	}
	var got []line
	for _, c := range r.Claims {
		for _, x := range c.Comparisons {
			got = append(got, line{x.Verdict, fmt.Sprintf("%.3f", x.Median)})
		}
	}
	want := []line{
		{holds, "2.000"}, {holds, "2.000"}, {holds, "2.000"},
		{holds, "1.600"}, {holds, "1.300"}, {holds, "1.150"},
		{holds, "0.719"},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	for _, c := range r.Claims {
		if c.Verdict != holds {
			t.Errorf("%q: %s", c.Claim, c.Verdict)
		}
	}
	// The p-values of seven comparisons are corrected together.
	if x := r.Claims[0].Comparisons[0].Test; x == nil || x.Adjusted < x.P || x.N != 10 {
		t.Errorf("test %+v", x)
	}
	row := r.Tables[0].Rows[1]
	if d := cmp.Diff([]string{"insert", "10000", "10", "modernc"}, row.Labels); d != "" {
		t.Error(d)
	}
	mean, sd, median := row.Figures[2], row.Figures[3], row.Figures[4]
	if math.Abs(*mean.Value-0.002011) > 1e-9 || math.Abs(*sd.Value-6.0553e-6) > 1e-9 || math.Abs(*median.Value-0.002011) > 1e-9 || median.Interval == nil {
		t.Errorf("mean %v, standard deviation %v, median %v %v", *mean.Value, *sd.Value, *median.Value, median.Interval)
	}
}

// TestClaimsOtherwise checks a claim about a difference. It must not hold if all times are equal. It must
// stay undecided if a driver is missing or there are too few rounds.
func TestClaimsOtherwise(t *testing.T) {
	equal := func(*result.Case, string, int) int64 { return 1e6 }
	for _, test := range []struct {
		drivers []build.Ref
		rounds  int
		want    report.Verdict
		why     string
	}{
		{refs("mattn", "modernc"), 6, fails, ""},
		{refs("mattn", "modernc"), 5, unknown, "5 rounds, of at least 6"},
		{refs("mattn", "native"), 6, unknown, "modernc is not among the drivers of this run"},
	} {
		r := evaluate(t, made(t, "cgo-or-not", "0.001", false, test.drivers, test.rounds, equal))
		c := r.Claims[0]
		if c.Verdict != test.want || c.Comparisons[0].Why != test.why {
			t.Errorf("%s: %s, want %s: %s", c.Verdict, c.Comparisons[0].Why, test.want, test.why)
		}
	}
}

// TestFailedDriver checks that a driver that failed has its status instead of a figure,
// and that claims about it cannot be decided.
func TestFailedDriver(t *testing.T) {
	run := made(t, "cgo-or-not", "0.001", false, refs("mattn", "modernc"), 6, groups)
	for i := range run.Trials {
		if run.Cases[run.Trials[i].Case-1].Driver == "modernc" {
			run.Trials[i].Status, run.Trials[i].Samples = result.Failed, nil
			run.Trials[i].Reason = &protocol.Reason{Code: "crash", Message: "it crashed"}
		}
	}
	r := evaluate(t, run)
	if f := r.Tables[0].Rows[1].Figures[4]; f.Value != nil || f.Text != "failed" {
		t.Errorf("figure %+v", f)
	}
	if c := r.Claims[0]; c.Verdict != unknown || c.Comparisons[0].Why != "modernc is failed: it crashed" {
		t.Errorf("%s: %+v", c.Verdict, c.Comparisons[0])
	}
}

// TestVersions checks that a claim about a driver is decided by the figures of any version of the
// driver, and that two versions of a driver both have rows.
func TestVersions(t *testing.T) {
	drivers := refs("mattn", "modernc")
	drivers[1].Name = "modernc@v1.30.0"
	r := evaluate(t, made(t, "cgo-or-not", "0.001", false, drivers, 6, groups2))
	if c := r.Claims[0]; c.Verdict != holds {
		t.Errorf("%s: %+v", c.Verdict, c.Comparisons)
	}
	drivers = append(drivers, refs("modernc")...)
	r = evaluate(t, made(t, "cgo-or-not", "0.001", false, drivers, 6, groups2))
	var got []string
	for _, row := range r.Tables[0].Rows[:3] {
		got = append(got, row.Labels[3])
	}
	if d := cmp.Diff([]string{"mattn", "modernc", "modernc@v1.30.0"}, got); d != "" {
		t.Error(d)
	}
}

// TestPublishedBesideVersions checks that the published figures of a driver are shown next to
// any version of the driver.
func TestPublishedBesideVersions(t *testing.T) {
	for _, name := range []string{"cgo-or-not", "http-server", "driver-comparison", "writers", "sqlite3perf"} {
		drivers := refs("mattn")
		drivers[0].Name = "mattn@v1.14.22"
		r := evaluate(t, made(t, name, "0.001", false, drivers, 6, func(*result.Case, string, int) int64 { return 1e6 }))
		found := false
		for _, table := range r.Tables {
			for _, row := range table.Rows {
				i := slices.IndexFunc(table.Columns, func(c report.StudyColumn) bool { return c.Published })
				found = found || i >= 0 && slices.Contains(row.Labels, "mattn@v1.14.22") && row.Figures[i].Value != nil
			}
		}
		if !found {
			t.Errorf("%s: no published figure beside mattn@v1.14.22", name)
		}
	}
}

// TestPoolOfCores checks that the pool for the number of cores has the nearest of the published
// sizes.
func TestPoolOfCores(t *testing.T) {
	for cores, want := range map[int]string{1: "pool 1:", 2: "pool 4:", 6: "pool 8:", 16: "pool 8:", 64: "pool 50:"} {
		run := made(t, "http-server", "quick", false, refs("crawshaw", "mattn", "modernc", "zombiezen"), 6, func(*result.Case, string, int) int64 { return 1e6 })
		run.Machine.Cores = cores
		if got := evaluate(t, run).Claims[0].Comparisons[0].What; !strings.HasPrefix(got, want) {
			t.Errorf("%d cores: %s, want %s", cores, got, want)
		}
	}
}

// groups2 is [groups] for any version of modernc.
func groups2(c *result.Case, phase string, round int) int64 {
	d := *c
	d.Driver, _, _ = strings.Cut(c.Driver, "@")
	return groups(&d, phase, round)
}

// TestCountsOfLockErrors checks that lock errors are counted over all trials. If there are none, but the
// phase was shorter than the time that SQLite waits for a lock, the claims must stay undecided.
func TestCountsOfLockErrors(t *testing.T) {
	const ends, drop = "ends the errors", "parallel, there is either a sharp drop"
	verdicts := func(run *result.Run) (v [2]report.Verdict) {
		for _, c := range evaluate(t, run).Claims {
			for i, text := range []string{ends, drop} {
				if strings.Contains(c.Claim, text) {
					v[i] = c.Verdict
				}
			}
		}
		return v
	}
	for _, test := range []struct {
		scale   string
		without [2]report.Verdict
		with    [2]report.Verdict
	}{
		{"full", [2]report.Verdict{holds, fails}, [2]report.Verdict{fails, holds}},
		{"quick", [2]report.Verdict{holds, fails}, [2]report.Verdict{fails, holds}},
		{"0.01", [2]report.Verdict{unknown, unknown}, [2]report.Verdict{fails, holds}},
	} {
		run := made(t, "writers", test.scale, false, refs("mattn"), 6, func(*result.Case, string, int) int64 { return 1e6 })
		if got := verdicts(run); got != test.without {
			t.Errorf("%s, without an error: %q", test.scale, got)
		}
		for i := range run.Trials { // in each of these cases, one trial has one error
			c := run.Cases[run.Trials[i].Case-1]
			if (c.Workload == "writers-parallel" || c.Workload == "writers-parallel-mutex") && c.Parameters["writers"] == 256 && run.Trials[i].Round == 3 {
				run.Trials[i].Samples[0].Errors = []protocol.ErrorCount{{Code: 5, Name: "SQLITE_BUSY", Count: 1, WaitNS: 5e9}}
			}
		}
		if got := verdicts(run); got != test.with {
			t.Errorf("%s, with an error: %q", test.scale, got)
		}
	}
}

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

func TestFind(t *testing.T) {
	for name, want := range map[string]string{
		"cgo-or-no": `unknown study "cgo-or-no": did you mean "cgo-or-not"?`,
		"writer":    `unknown study "writer": did you mean "writers"?`,
		"zzzzzzzzz": `unknown study "zzzzzzzzz": known are cgo-or-not, driver-comparison, http-server, sqlite3perf, writers`,
	} {
		if _, err := study.Find(name); err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// TestEvaluateNone checks that a run has no report on a study if the run is not of a study, or
// if this version does not know the study.
func TestEvaluateNone(t *testing.T) {
	for _, s := range []*result.Study{nil, {Name: "of another version"}} {
		if r := study.Evaluate(stats.Analyze(&result.Run{Study: s}, "native"), "--scale full"); r != nil {
			t.Errorf("%+v", r)
		}
	}
}

// TestRateIsOfTheMedianTime checks that the time and the rate of a cell agree even if half of
// the rounds were slow.
func TestRateIsOfTheMedianTime(t *testing.T) {
	run := made(t, "writers", "quick", false, refs("mattn"), 6, func(_ *result.Case, _ string, round int) int64 {
		return int64(1+round/4) * 1e6
	})
	r := study.Evaluate(stats.Analyze(run, "native"), "--scale full")
	seen := 0
	for _, table := range r.Tables {
		ns := slices.IndexFunc(table.Columns, func(c report.StudyColumn) bool { return c.Unit == "ns/op" && !c.Published })
		rate := slices.IndexFunc(table.Columns, func(c report.StudyColumn) bool { return c.Unit == "op/s" })
		if ns < 0 || rate < 0 {
			continue
		}
		for _, row := range table.Rows {
			if x, y := row.Figures[ns].Value, row.Figures[rate].Value; x != nil && y != nil {
				seen++
				if got := *x * *y; math.Abs(got-1e9) > 1 {
					t.Errorf("%s %v: %v ns/op × %v op/s = %v", table.Title, row.Labels, *x, *y, got)
				}
			}
		}
	}
	if seen == 0 {
		t.Error("no row has both")
	}
}
