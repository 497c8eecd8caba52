package addedcost

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/sqlite3perf/sqlite3perf/worker/estimate"
	"github.com/sqlite3perf/sqlite3perf/worker/result"
)

// Test does a little of the work on both sides and holds them to the same
// data: read, and left in the database.
func Test(t *testing.T, l Library) {
	w, err := newWork(size{users: 500, reads: 300, transactions: 200})
	if err != nil {
		t.Fatal(err)
	}
	engine, hand, err := l.pair(t.Context(), w, t.TempDir(), false, true)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range []string{queryPhase, mixPhase, txPhase, leftPhase} {
		if hand[p].Checksum == "" {
			t.Errorf("phase %s: nothing was compared", p)
		}
	}
	for _, p := range []string{insertPhase, queryPhase, mixPhase, txPhase} {
		if engine[p].WallNS <= 0 || hand[p].WallNS <= 0 {
			t.Errorf("phase %s: not timed: engine %d ns, hand %d ns", p, engine[p].WallNS, hand[p].WallNS)
		}
	}
	if engine[queryPhase].Checksum == engine[leftPhase].Checksum {
		t.Error("the transactions have left no trace")
	}
}

// Benchmark measures pairs and reports, of each phase, the median of the pairs'
// ratios of wall time, or of what the engine adds per operation of a mix, with
// its interval. Its log has the same for CPU time, which is steadier where
// other processes want the CPU too.
func Benchmark(b *testing.B, l Library) {
	n := size{users: 50_000, reads: 50_000, transactions: 20_000}
	w, err := newWork(n)
	if err != nil {
		b.Fatal(err)
	}
	root := b.TempDir()
	var engine, hand []side
	for b.Loop() {
		dir, err := os.MkdirTemp(root, "pair")
		if err != nil {
			b.Fatal(err)
		}
		e, h, err := l.pair(b.Context(), w, dir, len(hand)%2 == 1, false)
		if err != nil {
			b.Fatal(err)
		}
		if err := os.RemoveAll(dir); err != nil {
			b.Fatal(err)
		}
		engine, hand = append(engine, e), append(hand, h)
	}
	b.ReportMetric(0, "ns/op") // of a pair: says nothing
	var table strings.Builder
	fmt.Fprintf(&table, "%d pairs; per row or operation: median [95 %% interval]\n", len(hand))
	fmt.Fprintf(&table, "%-7s %9s  %-22s %-22s %-22s %-22s\n", "phase", "hand", "wall ratio", "CPU ratio", "wall added ns", "CPU added ns")
	for _, p := range []struct {
		name  string
		ops   int64
		added bool // judged by what is added per operation, not by the ratio
	}{
		{insertPhase, n.users, false}, {queryPhase, n.users, false}, {mixPhase, n.reads, true}, {txPhase, n.transactions, true},
	} {
		c := compare(p.name, p.ops, engine, hand)
		fmt.Fprintf(&table, "%-7s %6.0f ns  %-22v %-22v %-22v %-22v\n", p.name, c.hand.Median, c.wallRatio, c.cpuRatio, c.wallAdded, c.cpuAdded)
		e, unit := c.wallRatio, p.name+"-ratio"
		if p.added {
			e, unit = c.wallAdded, p.name+"-ns/op-added"
		}
		b.ReportMetric(e.Median, unit)
		b.ReportMetric(e.Low, unit+"-lo")
		b.ReportMetric(e.High, unit+"-hi")
	}
	b.Log(table.String())
}

// comparison is one phase of all pairs.
type comparison struct {
	hand                estimate.Estimate // wall time in ns per operation
	wallRatio, cpuRatio estimate.Estimate // engine ÷ hand
	wallAdded, cpuAdded estimate.Estimate // engine - hand, in ns per operation
}

func compare(phase string, ops int64, engine, hand []side) comparison {
	wall := func(s *result.Sample) float64 { return float64(s.WallNS) }
	cpu := func(s *result.Sample) float64 { return float64(s.UserNS + s.SystemNS) }
	over := func(f func(e, h *result.Sample) float64) estimate.Estimate {
		values := make([]float64, len(hand))
		for i := range hand {
			values[i] = f(engine[i][phase], hand[i][phase])
		}
		return estimate.Of(values)
	}
	ratio := func(of func(*result.Sample) float64) estimate.Estimate {
		return over(func(e, h *result.Sample) float64 { return of(e) / of(h) })
	}
	added := func(of func(*result.Sample) float64) estimate.Estimate {
		return over(func(e, h *result.Sample) float64 { return (of(e) - of(h)) / float64(ops) })
	}
	return comparison{
		hand:      over(func(_, h *result.Sample) float64 { return wall(h) / float64(ops) }),
		wallRatio: ratio(wall), cpuRatio: ratio(cpu),
		wallAdded: added(wall), cpuAdded: added(cpu),
	}
}
