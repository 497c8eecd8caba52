package stats_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
)

// crossed returns a run of two settings with two values each. The phase takes 1.5 times as long
// with synchronous=full as with normal, and 1.2 times as long with journal_mode=delete as with wal.
func crossed(drivers ...string) *result.Run {
	times := map[string]float64{"wal": 1, "delete": 1.2, "normal": 1, "full": 1.5}
	return crossing([]string{"normal", "full"}, func(journal, sync string) float64 { return times[journal] * times[sync] }, drivers...)
}

// crossing returns a run of two settings. The function "takes" returns the time in seconds for a
// combination of their values.
func crossing(syncs []string, takes func(journal, sync string) float64, drivers ...string) *result.Run {
	r := rand.New(rand.NewPCG(3, 1))
	run := &result.Run{}
	var seconds []float64
	for _, journal := range []string{"wal", "delete"} {
		for _, sync := range syncs {
			for i, d := range drivers {
				seconds = append(seconds, takes(journal, sync)*(1+float64(i)))
				run.Cases = append(run.Cases, result.Case{ID: len(run.Cases) + 1, Workload: "w", Driver: d, Phases: []string{"p"},
					Settings: driver.Settings{"journal_mode": journal, "synchronous": sync, "cache_size": "100"}})
			}
		}
	}
	for round := 1; round <= 16; round++ {
		slow := 1 + 0.3*math.Sin(float64(round))
		for i, c := range run.Cases {
			wall := 1e9 * slow * seconds[i] * math.Exp(0.01*r.NormFloat64())
			run.Trials = append(run.Trials, result.Trial{Case: c.ID, Round: round, Status: result.OK,
				Samples: []result.Sample{{Phase: "p", Metric: "time", WallNS: int64(wall), Operations: 10}}})
		}
	}
	return run
}

func TestFactorial(t *testing.T) {
	a := stats.Analyze(crossed("d"), "")
	if len(a.Factorials) != 1 {
		t.Fatalf("%d factorials, want 1", len(a.Factorials))
	}
	f := a.Factorials[0]
	if want := "journal_mode=wal,delete synchronous=normal,full"; f.String() != want {
		t.Errorf("%s, want %s", f, want)
	}
	var rows []string
	for _, c := range f.Tables[0].Cells {
		rows = append(rows, fmt.Sprint(c.Rank, " ", c.As, " ", len(c.Tied)))
	}
	want := []string{"1 journal_mode=wal synchronous=normal 0", "2 journal_mode=delete synchronous=normal 0",
		"3 journal_mode=wal synchronous=full 0", "4 journal_mode=delete synchronous=full 0"}
	if d := cmp.Diff(want, rows); d != "" {
		t.Error(d)
	}
	effects := map[string]float64{"journal_mode=delete": 1.2, "synchronous=full": 1.5}
	for _, e := range f.Effects {
		want := effects[e.To.String()]
		if i := e.Ratio.Interval; !e.Significant() || e.Over != 2 || i.Low > want || i.High < want || i.High/i.Low > 1.05 {
			t.Errorf("%s instead of %s: %v %+v over %d, want %v", e.To, e.From, e.Ratio.Median, i, e.Over, want)
		}
		delete(effects, e.To.String())
	}
	if len(effects) > 0 {
		t.Errorf("no effects of %v", effects)
	}
	if a.Reliability.Comparisons != 6 {
		t.Errorf("%d comparisons, want every two of the four rows", a.Reliability.Comparisons)
	}
}

// TestFactorialNeighbors checks a factor with three values. It must have the changes from its
// first value, and the changes between neighboring values. If the factors' effects multiply, no
// change may depend on the other factor.
func TestFactorialNeighbors(t *testing.T) {
	times := map[string]float64{"wal": 1, "delete": 1.2, "off": 1, "normal": 2, "full": 3}
	f := stats.Analyze(crossing([]string{"off", "normal", "full"}, func(journal, sync string) float64 { return times[journal] * times[sync] }, "d"), "").Factorials[0]
	var got []string
	for _, e := range f.Effects {
		got = append(got, fmt.Sprintf("%s/%s %.1f over %d", e.To.Value, e.From.Value, e.Ratio.Median, e.Over))
		if len(e.Dependences) != 1 || e.Dependences[0].Significant() || e.Dependences[0].P() < 0.05 {
			t.Errorf("%s instead of %s depends on another factor: %+v", e.To, e.From, e.Dependences)
		}
	}
	want := []string{"delete/wal 1.2 over 3", "normal/off 2.0 over 2", "full/off 3.0 over 2", "full/normal 1.5 over 2"}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// TestFactorialDependence checks an effect that depends on another factor. It must be computed for
// each value of that factor.
func TestFactorialDependence(t *testing.T) {
	f := stats.Analyze(crossing([]string{"normal", "full"}, func(journal, sync string) float64 {
		return map[string]float64{"wal normal": 1, "wal full": 4.5, "delete normal": 4, "delete full": 4}[journal+" "+sync]
	}, "d"), "").Factorials[0]
	var got []string
	for _, e := range f.Effects {
		for _, d := range e.Dependences {
			if !d.Significant() || d.P() >= 0.05 {
				t.Errorf("%s does not depend on %s: %v", e.To, d.Factor, d.P())
			}
			for _, with := range d.Effects {
				got = append(got, fmt.Sprintf("%s with %s %.1f %v over %d", with.To, with.With, with.Ratio.Median, with.Significant(), with.Over))
			}
		}
	}
	want := []string{"journal_mode=delete with synchronous=normal 4.0 true over 1", "journal_mode=delete with synchronous=full 0.9 true over 1",
		"synchronous=full with journal_mode=wal 4.5 true over 1", "synchronous=full with journal_mode=delete 1.0 false over 1"}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// TestFactorialOfDrivers checks that each of several drivers has its own effects and rows.
func TestFactorialOfDrivers(t *testing.T) {
	f := stats.Analyze(crossed("d", "e"), "").Factorials[0]
	if n := len(f.Tables[0].Cells); n != 8 || len(f.Effects) != 4 {
		t.Errorf("%d rows, %d effects, want 8 and 4", n, len(f.Effects))
	}
	if c := f.Tables[0].Cells[0]; c.As != "d journal_mode=wal synchronous=normal" {
		t.Errorf("the first row is %s", c.As)
	}
	many := []string{"a", "b", "c", "d", "e", "f", "g"}
	if f := stats.Analyze(crossed(many...), "").Factorials[0]; len(f.Tables) != 0 || len(f.Effects) != 14 {
		t.Errorf("28 rows: %d tables, %d effects, want 0 and 14", len(f.Tables), len(f.Effects))
	}
}

// TestFactorialFailures checks that no effect of a value is reported if more operations fail with
// this value, or if its case failed.
func TestFactorialFailures(t *testing.T) {
	run := crossed("d")
	for i := range run.Trials {
		switch x := &run.Trials[i]; x.Case {
		case 3: // journal_mode=delete synchronous=normal
			x.Samples[0].Failed = 1
		case 4: // journal_mode=delete synchronous=full
			x.Status, x.Samples = result.Refused, nil
		}
	}
	f := stats.Analyze(run, "").Factorials[0]
	if len(f.Effects) != 1 || f.Effects[0].To.String() != "synchronous=full" || f.Effects[0].Over != 1 {
		t.Errorf("%d effects: %+v", len(f.Effects), f.Effects)
	}
}

// TestFactorialPerOperation checks a parameter whose values change the number of operations. They
// must be compared by the time per operation.
func TestFactorialPerOperation(t *testing.T) {
	run := &result.Run{}
	for i, n := range []int64{10, 1000} {
		run.Cases = append(run.Cases, result.Case{ID: i + 1, Workload: "w", Driver: "d", Phases: []string{"p"}, Parameters: map[string]int64{"n": n}})
		for round := 1; round <= 6; round++ {
			run.Trials = append(run.Trials, result.Trial{Case: i + 1, Round: round, Status: result.OK,
				Samples: []result.Sample{{Phase: "p", Metric: "time", WallNS: n * int64(100+round), Operations: n}}})
		}
	}
	f := stats.Analyze(run, "").Factorials[0]
	if tab := f.Tables[0]; !tab.PerOp || tab.Cells[0].Tied == nil || tab.Cells[1].Ratio.Median != 1 {
		t.Errorf("%+v", tab.Cells[0])
	}
	if !strings.HasPrefix(f.String(), "n=10,1000") {
		t.Errorf("%s", f)
	}
}

// TestNoFactorial checks that a run has no factorial if all of its cases have the same settings.
func TestNoFactorial(t *testing.T) {
	if f := stats.Analyze(made(2, 2, 6, func(int, int, int) float64 { return 1 }), "").Factorials; f != nil {
		t.Errorf("%v", f)
	}
}

// TestRaceOfSearch checks cases that a search dropped early. They must have no rank, even if they
// have enough samples, and must come after the cases that were measured to the end.
func TestRaceOfSearch(t *testing.T) {
	run := crossed("d")
	run.Rounds = 16
	var kept []result.Trial
	for _, x := range run.Trials {
		if last := map[int]int{2: 8, 4: 2}[x.Case]; last == 0 || x.Round <= last {
			kept = append(kept, x)
		}
	}
	run.Trials = kept
	rows := func() (list []string) {
		for _, c := range stats.Analyze(run, "").Factorials[0].Tables[0].Cells {
			list = append(list, fmt.Sprintf("%d %s: %s", c.Rank, c.As, c.Unranked))
		}
		return list
	}
	run.Search = &result.Search{Race: "each"}
	want := []string{"1 as now: ", "2 journal_mode=delete: ", "0 synchronous=full: left out of the race after 8 rounds",
		"0 journal_mode=delete synchronous=full: left out of the race after 2 rounds"}
	if d := cmp.Diff(want, rows()); d != "" {
		t.Error(d)
	}
	run.Search.Confirms = true // this run of the search drops no cases, so the trials are missing for another reason
	if got := rows(); !strings.HasPrefix(got[2], "3 synchronous=full: ") {
		t.Errorf("%q", got)
	}
}

// besideCluster returns a run of a cluster with two numbers of nodes, and of a local driver
// that was measured with one of the numbers or both.
func besideCluster(local ...string) *result.Run {
	run := &result.Run{}
	add := func(name string, kind driver.Kind, nodes string) {
		run.Cases = append(run.Cases, result.Case{ID: len(run.Cases) + 1, Workload: "w", Driver: name, Info: driver.Info{Kind: kind}, Phases: []string{"p"},
			Settings: driver.Settings{"nodes": nodes, "cache_size": "100"}})
	}
	for _, nodes := range []string{"1", "3"} {
		if slices.Contains(local, nodes) {
			add("near", driver.Cgo, nodes)
		}
		add("far", driver.Cluster, nodes)
	}
	for round := 1; round <= 8; round++ {
		for i := range run.Cases {
			wall := int64(1e8*(i+1)) + int64(1e5*round*(i%2+1))
			run.Trials = append(run.Trials, result.Trial{Case: i + 1, Round: round, Status: result.OK,
				Samples: []result.Sample{{Phase: "p", Metric: "time", WallNS: wall, Operations: 10, Checksum: strings.Repeat("a", 64)}}})
		}
	}
	return run
}

// TestBesideCluster checks a run of a local driver and a cluster. If the local driver was measured
// once, it must have one row, without the cluster's settings, that counts in each table. If it was
// measured with each setting, it must have a row for each.
func TestBesideCluster(t *testing.T) {
	for _, c := range []struct {
		local []string
		rows  string
	}{
		{[]string{"1"}, "near; far nodes=1; far nodes=3"},
		{[]string{"1", "3"}, "near nodes=1; far nodes=1; near nodes=3; far nodes=3"},
	} {
		a := stats.Analyze(besideCluster(c.local...), "near")
		var rows []string
		for _, cell := range a.Factorials[0].Tables[0].Cells {
			rows = append(rows, cell.As)
		}
		if got := strings.Join(rows, "; "); got != c.rows {
			t.Errorf("rows %q, want %q", got, c.rows)
		}
		if o := a.Overall; len(o.Tables) != 2 || len(o.LeftOut) > 0 || len(o.Drivers) != 2 || o.Base != "near" {
			t.Errorf("overall: tables %v, left out %v, drivers %+v, base %q; want 2 tables, 2 drivers and base near", o.Tables, o.LeftOut, o.Drivers, o.Base)
		}
		for _, e := range a.Factorials[0].Effects {
			if e.Driver == "near" && len(c.local) == 1 {
				t.Errorf("the local driver has the effect %+v", e)
			}
		}
	}
}

// TestBesideClusterIsVerified checks that the values read by the cluster, with each setting, are
// compared with the values read by the local driver.
func TestBesideClusterIsVerified(t *testing.T) {
	run := besideCluster("1")
	run.Cases = append(run.Cases, result.Case{ID: 4, Workload: "w", Driver: "nearer", Info: driver.Info{Kind: driver.Cgo}, Phases: []string{"p"}, Settings: run.Cases[0].Settings})
	for i := range run.Trials {
		if run.Trials[i].Case == 3 {
			run.Trials[i].Samples[0].Checksum = strings.Repeat("b", 64)
		}
	}
	for round := 1; round <= 8; round++ {
		trial := run.Trials[0]
		trial.Case, trial.Round = 4, round
		run.Trials = append(run.Trials, trial)
	}
	for _, g := range stats.Analyze(run, "").Groups {
		for _, o := range g.Outcomes {
			if want := map[bool]result.Status{true: result.Wrong, false: result.OK}[o.Case.ID == 3]; o.Status != want {
				t.Errorf("%s with %v: %s, want %s", o.Case.Driver, o.Case.Settings, o.Status, want)
			}
		}
	}
}
