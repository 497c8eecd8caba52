package stats_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/sqlite3perf/sqlite3perf/result"
	"github.com/sqlite3perf/sqlite3perf/stats"
)

func TestTooShort(t *testing.T) {
	for _, c := range []struct {
		metric string
		wall   []time.Duration
		want   bool
	}{
		{result.MetricTime, []time.Duration{999_999, 1_000, 5 * time.Second}, true},
		{result.MetricTime, []time.Duration{time.Millisecond}, false},
		{result.MetricTimePerOp, []time.Duration{300 * time.Microsecond}, true},
		{result.MetricLatency, []time.Duration{300 * time.Microsecond}, false},
		{result.MetricTime, nil, false},
	} {
		cell := &stats.Cell{}
		for _, w := range c.wall {
			cell.Samples = append(cell.Samples, stats.Sample{Round: 1, Sample: &result.Sample{Metric: c.metric, WallNS: int64(w), Operations: 100_000}})
		}
		if got := cell.TooShort(); got != c.want {
			t.Errorf("%s %v: %v", c.metric, c.wall, got)
		}
	}
}

// TestTooShortSide checks that a comparison is too short if one of its sides is, but not
// by another metric than time.
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
		if stats.CompareRunBy(a, stats.Memory).Cells[0].TooShort() {
			t.Errorf("%v: memory is too short", times)
		}
	}
}
