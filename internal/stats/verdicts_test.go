package stats_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// made returns a run with some tables, drivers and rounds. The function "seconds" returns the time
// of each sample.
func made(tables, drivers, rounds int, seconds func(table, driver, round int) float64) *result.Run {
	run := &result.Run{}
	for t := range tables {
		for d := range drivers {
			c := result.Case{ID: len(run.Cases) + 1, Workload: fmt.Sprint("w", t), Driver: fmt.Sprint("d", d), Phases: []string{"p"}}
			run.Cases = append(run.Cases, c)
		}
	}
	for round := 1; round <= rounds; round++ {
		for _, c := range run.Cases {
			s := result.Sample{Phase: "p", Metric: "time/op", Operations: 1000, WallNS: int64(1e9 * seconds((c.ID-1)/drivers, (c.ID-1)%drivers, round))}
			run.Trials = append(run.Trials, result.Trial{Case: c.ID, Round: round, Order: len(run.Trials) + 1, Status: result.OK, Samples: []result.Sample{s}})
		}
	}
	return run
}

// TestTwiceInEveryRound checks a driver that takes twice the time of all other drivers. After six
// rounds it must differ significantly from each of them, in the tables and in the summary, even if
// the speed of the machine varies from round to round.
func TestTwiceInEveryRound(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 6))
	for _, drivers := range []int{2, 4, 10} {
		rounds := unsteady(r, 7)
		a := stats.Analyze(made(3, drivers, 6, func(_, d, round int) float64 {
			v := rounds[round] * math.Exp(0.03*r.NormFloat64())
			if d == drivers-1 {
				v *= 2
			}
			return v
		}), "d0")
		for _, d := range a.Overall.Drivers[:drivers-1] {
			if d.Beaten {
				t.Errorf("%d drivers: %s is beaten in the summary", drivers, d.Case.Driver)
			}
		}
		last := a.Overall.Drivers[drivers-1]
		if last.Case.Driver != fmt.Sprint("d", drivers-1) || last.Tied != nil {
			t.Errorf("%d drivers: summary ties %s with %v", drivers, last.Case.Driver, last.Tied)
		}
		for _, g := range a.Groups {
			if c := g.Tables[0].Cells[drivers-1]; c.Tied != nil || c.Beaten != (drivers > 2) {
				t.Errorf("%d drivers: %s ties %s with %v", drivers, g.Workload, c.Case.Driver, c.Tied)
			}
		}
	}
}

// TestTiesAreTheTests checks that two drivers are tied if their comparison is not significant,
// and that otherwise the faster one comes first.
func TestTiesAreTheTests(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 7))
	for range 30 {
		rounds := unsteady(r, 21)
		a := stats.Analyze(made(2, 8, 20, func(_, d, round int) float64 {
			return rounds[round] * (1 + 0.02*float64(d)) * math.Exp(0.03*r.NormFloat64()*r.ExpFloat64())
		}), "d0")
		for _, g := range a.Groups {
			tab := g.Tables[0]
			rank := 0
			for i, c := range tab.Cells {
				want := 0
				if i != tab.Base {
					rank++
					want = rank
				}
				if c.Rank != want {
					t.Errorf("row %d has rank %d, want %d", i+1, c.Rank, want)
				}
				tied := map[int]bool{}
				for _, j := range c.Tied {
					tied[j] = true
				}
				for j := range tab.Cells {
					if test, ok := tab.Against(i, j); ok && (test.Significant() == tied[j] || test.Significant() && (test.Sign() < 0) != (i < j)) {
						t.Errorf("%d and %d: %+v, tied with %v", i, j, test, c.Tied)
					}
				}
			}
			if tab.Cells[tab.Base].Case.Driver != "d0" {
				t.Errorf("the base is %s", tab.Cells[tab.Base].Case.Driver)
			}
		}
	}
}

// TestRunIsCorrected checks that the tables of a run are corrected together. If all tables find
// differences, p-values must be unchanged.
func TestRunIsCorrected(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 8))
	adjusted := func(differ int) stats.Test {
		a := stats.Analyze(made(10, 2, 20, func(table, d, _ int) float64 {
			v := math.Exp(0.03 * r.NormFloat64())
			if d == 1 && table < differ {
				v *= 1.5
			}
			return v
		}), "d0")
		if want := differ; a.Reliability.Telling != want && a.Reliability.Telling != want+1 { // the summary over all tables may find a difference too
			t.Errorf("%d tables tell drivers apart, want %d", a.Reliability.Telling, want)
		}
		if a.Reliability.Tables != 11 || a.Reliability.Comparisons != 11 {
			t.Errorf("%+v", a.Reliability)
		}
		test, _ := a.Groups[0].Tables[0].Against(0, 1)
		return test
	}
	if x := adjusted(10); x.Adjusted != x.P {
		t.Errorf("all differ: %+v", x)
	}
	if x := adjusted(1); !near(x.Adjusted, x.P*11) && !near(x.Adjusted, x.P*11/2) {
		t.Errorf("one differs: %+v", x)
	}
}

// TestOneDifferenceInFewRounds checks runs of two drivers with so few rounds that no table's
// p-value could be significant after the correction for 15 tables. A very clear difference must
// be found nevertheless, and noise must not be taken for a difference.
func TestOneDifferenceInFewRounds(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 11))
	for _, rounds := range []int{6, 7, 9} {
		a := stats.Analyze(made(15, 2, rounds, func(table, d, _ int) float64 {
			v := math.Exp(0.03 * r.NormFloat64())
			if d == 1 && table == 4 {
				v *= 1.5
			}
			return v
		}), "d0")
		told := 0
		for _, g := range a.Groups {
			if x := g.Tables[0].Pairs[0]; x.Significant() {
				told++
			} else if g.Workload == "w4" {
				t.Errorf("%d rounds: the difference has %+v", rounds, x)
			}
		}
		if summary := a.Overall.Pairs[0]; summary.Significant() {
			told++
		}
		if told > 2 || a.Reliability.Telling != told {
			t.Errorf("%d rounds: %d tables tell drivers apart, but Telling is %d", rounds, told, a.Reliability.Telling)
		}
	}
}

// failing analyzes a run of two workloads. The parameter "shares" has, for each driver, the share
// of its operations that fail in the first workload. The greater the share, the faster the driver
// is.
func failing(shares ...float64) *stats.Analysis {
	r := rand.New(rand.NewPCG(1, 9))
	run := made(2, len(shares), 8, func(_, d, _ int) float64 { return (1 - shares[d]/2) * math.Exp(0.01*r.NormFloat64()) })
	for i := range run.Trials {
		s := &run.Trials[i].Samples[0]
		s.Operations = 100_000
		if share := shares[(run.Trials[i].Case-1)%len(shares)]; run.Trials[i].Case <= len(shares) && share > 0 {
			s.Failed = int64(share*100_000) + r.Int64N(40)
		}
	}
	return stats.Analyze(run, "d0")
}

func TestFailingIsNotRanked(t *testing.T) {
	for _, tc := range []struct {
		name   string
		shares []float64
		want   []string
		why    string
	}{
		{"none", []float64{0, 0, 0}, []string{"1", "2", "3"}, ""},
		{"one", []float64{0, 0.5, 0}, []string{"1", "-", "2"}, "more of its operations failed (50.0%) than of"},
		{"less than matters", []float64{0, 0.0005, 0}, []string{"1", "2", "3"}, ""},
		{"a little more than matters", []float64{0, 0.0015, 0}, []string{"1", "-", "2"}, "(0.2%) than of"},
		{"all alike", []float64{0.1, 0.1, 0.1}, []string{"1", "2", "3"}, ""},
		{"one more", []float64{0.1, 0.15, 0.1}, []string{"1", "-", "2"}, "(15.0%) than of"},
		{"the base", []float64{0.5, 0, 0}, []string{"-", "1", "2"}, "(50.0%) than of"},
	} {
		a := failing(tc.shares...)
		tab := a.Groups[0].Tables[0]
		left := false
		for i, c := range tab.Cells {
			unranked := tc.want[c.Case.ID-1] == "-"
			left = left || unranked
			if (unranked || c.Floor) != (c.Rank == 0) || unranked != (c.Unranked != "") || unranked && (i != 2 || !strings.Contains(c.Unranked, tc.why)) {
				t.Errorf("%s: row %d is %s with rank %d, unranked %q", tc.name, i+1, c.Case.Driver, c.Rank, c.Unranked)
			}
			for j := range tab.Cells {
				if _, ok := tab.Against(i, j); ok && (c.Unranked != "" || tab.Cells[j].Unranked != "") {
					t.Errorf("%s: %d and %d are compared", tc.name, i, j)
				}
			}
		}
		var want []stats.LeftOut
		if left {
			want = []stats.LeftOut{{Table: &stats.TableName{Workload: "w0", Phase: "p"}, Code: stats.MoreFailed, Drivers: []string{tab.Cells[2].Case.Driver}}}
		}
		if d := cmp.Diff(want, a.Overall.LeftOut); d != "" {
			t.Errorf("%s: the summary leaves out %s", tc.name, d)
		}
	}
}

func TestAllFailedIsNoFigure(t *testing.T) {
	var l lab
	l.add("mix", "a", nil, "mix=10")
	for i := range l.run.Trials {
		s := &l.run.Trials[i].Samples[0]
		s.Metric, s.Operations, s.Failed = "time/op", 7, 7
		s.Errors = []protocol.ErrorCount{{Name: "SQLITE_BUSY", Count: 7}}
	}
	if o := l.outcomes()["a"]; o.Status != result.Failed || o.Reason.Message != "no operation succeeded (7 × SQLITE_BUSY)" {
		t.Errorf("%s: %+v", o.Status, o.Reason)
	}
}

// BenchmarkAnalyze analyzes a large run: 10 drivers, 15 tables, 60 rounds.
func BenchmarkAnalyze(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 10))
	run := made(15, 10, 60, func(_, d, _ int) float64 { return (1 + 0.1*float64(d)) * math.Exp(0.1*r.NormFloat64()) })
	for b.Loop() {
		began := time.Now()
		stats.Analyze(run, "d0")
		b.ReportMetric(time.Since(began).Seconds(), "s/run")
	}
}

// TestCompareFamilies checks that figures computed from a run are compared like its tables. The
// p-values must be corrected for all of the figures, and for judging the run repeatedly.
func TestCompareFamilies(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 9))
	family := func(rounds, sets int, slower float64) (list [][]stats.Point) {
		for i := range sets {
			var points []stats.Point
			for n := range rounds {
				points = append(points, stats.Point{Round: n, Value: math.Exp(0.03*r.NormFloat64() + slower*float64(i))})
			}
			list = append(list, points)
		}
		return list
	}
	clear := family(6, 2, 1)
	once, looked := &stats.Analysis{Confidence: stats.Confidence}, &stats.Analysis{Confidence: stats.Sequential}
	if p, q := once.CompareFamilies(clear)[0][0].Adjusted, looked.CompareFamilies(clear)[0][0].Adjusted; p >= stats.Alpha || q < 1.5*p {
		t.Errorf("six rounds with the same result have p %g, and %g in a run that was judged repeatedly", p, q)
	}
	alone, together := 0, 0
	const runs = 400
	for range runs {
		families := [][][]stats.Point{family(12, 3, 0), family(12, 3, 0), family(12, 3, 0), family(12, 3, 0), family(12, 3, 0)}
		a := &stats.Analysis{Confidence: stats.Confidence}
		for i, pairs := range a.CompareFamilies(families...) {
			for j, p := range pairs {
				if p.Significant() {
					together++
				}
				if a.CompareFamilies(families[i])[0][j].Significant() {
					alone++
				}
			}
		}
	}
	if together > runs/10 || alone < 2*together {
		t.Errorf("in %d runs of five equal families, %d pairs differ if all families are corrected together, %d if each is corrected alone", runs, together, alone)
	}
}
