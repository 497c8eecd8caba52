package stats_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
)

func TestTooShort(t *testing.T) {
	for _, c := range []struct {
		metric  string
		wall    []time.Duration
		repeats int64
		want    bool
	}{
		{result.MetricTime, []time.Duration{999_999, 1_000, 5 * time.Second}, 0, true},
		{result.MetricTime, []time.Duration{time.Millisecond}, 0, false},
		{result.MetricTimePerOp, []time.Duration{300 * time.Microsecond}, 0, true},
		{result.MetricTime, []time.Duration{300 * time.Microsecond}, 3, true},
		{result.MetricTime, []time.Duration{300 * time.Microsecond}, 4, false},
		{result.MetricLatency, []time.Duration{300 * time.Microsecond}, 0, false},
		{result.MetricTime, nil, 0, false},
	} {
		cell := &stats.Cell{}
		for _, w := range c.wall {
			cell.Samples = append(cell.Samples, stats.Sample{Round: 1, Sample: &result.Sample{Metric: c.metric, WallNS: int64(w), Repeats: c.repeats, Operations: 100_000}})
		}
		if got := cell.TooShort(); got != c.want {
			t.Errorf("%s %v, %d times: %v", c.metric, c.wall, c.repeats, got)
		}
	}
}

// TestTooShortSide checks that a comparison by time is marked as too short if one of its sides is
// too short. A comparison by another metric must never be marked.
func TestTooShortSide(t *testing.T) {
	for i, want := range []bool{true, true, false} {
		times := [2]string{fmt.Sprint([]int{2, 20, 20}[i]), fmt.Sprint([]int{2, 0, 30}[i])}
		var l lab
		l.add("simple", "mattn", nil, "query="+times[0])
		l.add("simple", "modernc", nil, "query="+times[1])
		for j := range l.run.Trials {
			s := &l.run.Trials[j].Samples[0]
			s.WallNS, s.PeakRSSBytes = s.WallNS/4+1, 1
		}
		l.run.Compares = &result.Compares{Factor: result.FactorDriver, First: "mattn", Second: "modernc", Margin: 0.02}
		a := stats.Analyze(&l.run, "native")
		if got := stats.CompareRun(a).Cells[0].TooShort(); got != want {
			t.Errorf("%v: %v, want %v", times, got, want)
		}
		if stats.CompareRunBy(a, "memory").Cells[0].TooShort() {
			t.Errorf("%v: the comparison by memory is marked as too short", times)
		}
	}
}

// TestTooShortInMeans checks means over several phases. They must leave out phases that are too
// short to judge drivers by, and list these phases.
func TestTooShortInMeans(t *testing.T) {
	run := made(3, 2, 16, func(table, driver, _ int) float64 {
		return []float64{1, 2, 0.0003}[table] * float64(1+driver*(1+table*table))
	})
	o := stats.Analyze(run, "").Overall
	want := stats.LeftOut{Table: &stats.TableName{Workload: "w2", Phase: "p"}, Code: stats.ShortPhase, Drivers: []string{"d0"}}
	if d := cmp.Diff([]stats.LeftOut{want}, o.LeftOut); d != "" || len(o.Tables) != 2 {
		t.Errorf("%d tables; left out: %s", len(o.Tables), d)
	}
	if got := o.Drivers[1].Ratio.Median; math.Abs(got-math.Sqrt(2*3)) > 1e-6 {
		t.Errorf("summary %v, want that of two tables", got)
	}
	run.Compares = &result.Compares{Factor: result.FactorDriver, First: "d0", Second: "d1", Margin: 0.02}
	c := stats.CompareRun(stats.Analyze(run, ""))
	if c.Measured() != 3 || c.Averaged() != 2 || math.Abs(c.Mean.Median-math.Sqrt(2*3)) > 1e-6 {
		t.Errorf("mean %v of %d of %d cells", c.Mean.Median, c.Averaged(), c.Measured())
	}
}
