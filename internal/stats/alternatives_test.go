package stats_test

import (
	"math"
	"testing"

	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// alternatives returns a run of three alternatives (ways of doing the same work), each with two
// cases. The second way takes half the time, but is followed by a checkpoint. The third way fails
// in its second case.
func alternatives() *result.Run {
	run := &result.Run{}
	for way := range 3 {
		for place := range 2 {
			c := result.Case{ID: len(run.Cases) + 1, Workload: []string{"a", "b"}[place], Driver: "modernc", Phases: []string{"write", "read"}}
			run.Cases = append(run.Cases, c)
			for round := range 8 {
				t := result.Trial{Case: c.ID, Round: round + 1, Order: len(run.Trials) + 1, Status: result.OK}
				if way == 2 && place == 1 {
					t.Status, t.Reason = result.Refused, &protocol.Reason{Message: "no"}
					run.Trials = append(run.Trials, t)
					continue
				}
				write := result.Sample{Phase: "write", Metric: result.MetricTime, WallNS: 80e6, Operations: 10, Costs: protocol.Costs{PeakRSSBytes: 10 << 20, DatabaseBytes: int64(place+1) << 20}}
				read := result.Sample{Phase: "read", Metric: result.MetricTimePerOp, WallNS: 100e6, Operations: 10, Costs: protocol.Costs{PeakRSSBytes: 12 << 20}}
				if way == 1 {
					write.WallNS, write.CheckpointNS, read.WallNS, read.Operations, read.PeakRSSBytes = 10e6, 10e6, 200e6, 20, 30<<20
				}
				if way == 2 {
					read.Failed = 1
				}
				t.Samples = []result.Sample{write, read}
				run.Trials = append(run.Trials, t)
			}
		}
	}
	return run
}

func TestAlternatives(t *testing.T) {
	a := stats.AlternativesOf(alternatives(), 3, "")
	ratios := a.Ratios(1, 0)
	if len(ratios) != 8 || math.Abs(ratios[0].Value-0.5) > 1e-9 { // the mean of 0.25 for write (with its checkpoint) and 1 for read (per operation)
		t.Errorf("%v", ratios)
	}
	phases := a.Phases(1, 0, 0.95)
	if len(phases) != 4 || phases[0].String() != "a write" || math.Abs(phases[0].Ratio.Median-0.25) > 1e-9 || phases[3].String() != "b read" || math.Abs(phases[3].Ratio.Median-1) > 1e-9 {
		t.Errorf("%v", phases)
	}
	if status, reason := a.Bad(2); status != result.Refused || reason == nil {
		t.Errorf("%v %v", status, reason)
	}
	if status, _ := a.Bad(1); status != result.OK {
		t.Error(status)
	}
	if _, none := a.MoreFailed(1, 1); none {
		t.Error("MoreFailed reports the second alternative, whose operations never failed")
	}
	run := alternatives()
	for i := range run.Trials {
		if x := &run.Trials[i]; x.Status != result.OK {
			x.Status, x.Samples = result.OK, run.Trials[0].Samples
		}
	}
	if told, seems := stats.AlternativesOf(run, 3, "").MoreFailed(2, 6); !told || !seems {
		t.Errorf("operations of the third alternative failed in each round, but told is %v and seems is %v", told, seems)
	}
	if told, _ := stats.AlternativesOf(run, 3, "").MoreFailed(2, 7); told {
		t.Error("eight rounds are not enough for seven comparisons: 7 × 2/256 > 0.05")
	}
	if a.Memory(0) != 12<<20 || a.Memory(1) != 30<<20 || a.DatabaseBytes(0) != 2<<20 {
		t.Errorf("%v %v %v", a.Memory(0), a.Memory(1), a.DatabaseBytes(0))
	}
	one := stats.AlternativesOf(alternatives(), 3, "write").Ratios(1, 0)
	if math.Abs(one[0].Value-0.25) > 1e-9 {
		t.Errorf("%v", one)
	}
}

// TestAlternativesShort checks that short phases count only if all phases are too short.
func TestAlternativesShort(t *testing.T) {
	run := alternatives()
	for i := range run.Trials {
		for k := range run.Trials[i].Samples {
			if s := &run.Trials[i].Samples[k]; s.Phase == "write" && run.Trials[i].Case <= 2 {
				s.WallNS = 1000
			}
		}
	}
	if r := stats.AlternativesOf(run, 3, "").Ratios(1, 0); math.Abs(r[0].Value-1) > 1e-9 {
		t.Errorf("%v", r)
	}
	if r := stats.AlternativesOf(run, 3, "write").Ratios(1, 0); r[0].Value < 100 {
		t.Errorf("%v", r)
	}
}

// TestPhasesTogether checks that the intervals of all phases together have a confidence of 95 %, so
// that each single interval has a higher confidence.
func TestPhasesTogether(t *testing.T) {
	run := &result.Run{}
	phases := []string{"a", "b", "c", "d"}
	for c := range 2 {
		run.Cases = append(run.Cases, result.Case{ID: c + 1, Workload: "w", Driver: "d", Phases: phases})
		for n := range 20 {
			x := result.Trial{Case: c + 1, Round: n + 1, Order: n, Status: result.OK}
			for _, p := range phases {
				x.Samples = append(x.Samples, result.Sample{Phase: p, Metric: result.MetricTime, WallNS: int64(1e9 + 1e6*(7*n+c)), Operations: 1})
			}
			run.Trials = append(run.Trials, x)
		}
	}
	for _, p := range stats.AlternativesOf(run, 2, "").Phases(1, 0, 0.95) {
		if p.Ratio.Interval == nil || p.Ratio.Interval.Confidence < 1-0.05/4 {
			t.Errorf("%s: %+v", p.Phase, p.Ratio.Interval)
		}
	}
}
