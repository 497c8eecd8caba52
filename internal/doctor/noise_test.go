package doctor

import (
	"slices"
	"testing"
	"time"

	"github.com/sqlite3perf/sqlite3perf/internal/lab"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// equalCases returns a run of two equal cases. The parameter "value" is a function that returns the
// wall time in ns of a case in a round.
func equalCases(rounds int, value func(id, round int) int64) *result.Run {
	run := &result.Run{Rounds: rounds, Scale: "quick"}
	for id := 1; id <= 2; id++ {
		run.Cases = append(run.Cases, result.Case{ID: id, Workload: "simple", Driver: "modernc", Phases: []string{"insert", "query"}})
		for r := 1; r <= rounds; r++ {
			t := result.Trial{Case: id, Round: r, Order: len(run.Trials) + 1, Status: result.OK, Proof: &protocol.Proof{ModuleVersion: "v1"}}
			for _, phase := range run.Cases[0].Phases {
				t.Samples = append(t.Samples, result.Sample{Phase: phase, Metric: result.MetricTime, WallNS: value(id, r), Operations: 1})
			}
			run.Trials = append(run.Trials, t)
		}
	}
	return run
}

func TestNoiseOf(t *testing.T) {
	jitter := func(id, round int) int64 { return 1e8 + int64((id*7+round*5)%11)*1e6 }
	n, reason := noiseOf(stats.Analyze(equalCases(20, jitter), lab.Floor), 20*time.Second)
	if reason != nil || n.Driver != "modernc" || n.Version != "v1" || n.Workload != "simple" || n.RoundNS != 1e9 || len(n.Phases) != 2 {
		t.Fatalf("got %+v, %v", n, reason)
	}
	p := n.Phases[0]
	if len(p.Ratios) != 20 || p.Median < 0.1 || p.Median > 0.11 || !(p.Least < 1 && p.Most > 1 && p.Half > 0 && p.Widest > p.Half) {
		t.Errorf("got %+v", p)
	}
	for i, rounds := range []int{6, 30, 300} {
		if tell := p.Smallest[i]; tell.Rounds != rounds || tell.TookNS != int64(rounds)*1e9 || i > 0 && tell.Difference >= p.Smallest[i-1].Difference {
			t.Errorf("got %+v", p.Smallest)
		}
	}
}

// TestLengths checks the numbers of rounds for which the command `sqlite3perf doctor` gives the smallest
// visible difference. The last one is the number of rounds that fit into 5 minutes, or the least number
// of rounds of a run, if that is greater.
func TestLengths(t *testing.T) {
	for round, want := range map[time.Duration][]int{
		time.Second: {6, 30, 300}, 10 * time.Second: {6, 30}, 20 * time.Second: {6, 15}, 50 * time.Second: {6}, time.Minute: {6}, 0: {6, 30, 300e9},
	} {
		if got := lengths(round); !slices.Equal(got, want) {
			t.Errorf("%v: got %v, want %v", round, got, want)
		}
	}
}

func TestNoNoise(t *testing.T) {
	run := equalCases(8, func(int, int) int64 { return 1e8 })
	run.Trials[11].Status, run.Trials[11].Reason = result.Failed, &protocol.Reason{Code: protocol.CodeCrash, Message: "it crashed"}
	if n, reason := noiseOf(stats.Analyze(run, lab.Floor), time.Second); n != nil || reason == nil || reason.Code != protocol.CodeCrash {
		t.Errorf("got %+v, %+v", n, reason)
	}
	run = equalCases(8, func(_, round int) int64 { return int64(round-1) * 1e8 })
	if n, reason := noiseOf(stats.Analyze(run, lab.Floor), time.Second); n != nil || reason == nil || reason.Phase != "insert" {
		t.Errorf("got %+v, %+v", n, reason)
	}
}
