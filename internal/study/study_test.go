package study_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

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
			t.Errorf("%s: no published figure next to mattn@v1.14.22", name)
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
		t.Error("no row has both a time and a rate")
	}
}
