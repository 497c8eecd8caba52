package addedcost

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"math"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/estimate"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// Test runs a small amount of the work with the driver and with the hand-written loops. It checks
// that the two sides read the same data and leave the same data in the database.
func Test(t *testing.T, l Library) {
	w := work(size{users: 500, reads: 300, transactions: 200})
	engine, hand, err := l.pair(t.Context(), w, t.TempDir(), false)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range []string{queryPhase, mixPhase, txPhase, leftPhase} {
		if hand[p].Checksum == "" {
			t.Errorf("phase %s: the hand-written loops have no checksum to compare", p)
		}
	}
	for _, p := range timed {
		if engine[p].WallNS <= 0 || hand[p].WallNS <= 0 {
			t.Errorf("phase %s: not timed: engine %d ns, hand %d ns", p, engine[p].WallNS, hand[p].WallNS)
		}
	}
	if engine[queryPhase].Checksum == engine[leftPhase].Checksum {
		t.Error("the transactions changed no row")
	}
}

// Benchmark measures pairs: the same work with the driver and with hand-written loops. For the
// phases insert and query it reports the median of the pairs' ratios of wall time. For a mix it
// reports the median of the wall time per operation that the driver takes in addition to the loops.
// Each median has its 95 % interval. The log also has CPU time, which is steadier if other processes
// use the CPU too. With -record, it writes all figures to [driver.AddedCostFile] in the working
// directory, which is the directory of the driver.
func Benchmark(b *testing.B, l Library) {
	n := size{users: 50_000, reads: 50_000, transactions: 20_000}
	if l.Slow {
		n = size{n.users / 10, n.reads / 10, n.transactions / 10}
	}
	w := work(n)
	root := b.TempDir()
	var engine, hand []side
	for b.Loop() {
		dir, err := os.MkdirTemp(root, "pair")
		if err != nil {
			b.Fatal(err)
		}
		e, h, err := l.pair(b.Context(), w, dir, len(hand)%2 == 1, txPhase)
		if err != nil {
			b.Fatal(err)
		}
		if err := os.RemoveAll(dir); err != nil {
			b.Fatal(err)
		}
		engine, hand = append(engine, e), append(hand, h)
	}
	b.ReportMetric(0, "ns/op") // without this call, the benchmark would report the time of a pair of runs, which is not a useful figure
	phases := compareAll(n, engine, hand)
	var table strings.Builder
	fmt.Fprintf(&table, "%d pairs; per row or operation: median [95 %% interval]\n", len(hand))
	fmt.Fprintf(&table, "%-7s %9s  %-22s %-22s %-22s %-22s %s\n", "phase", "hand", "wall ratio", "CPU ratio", "wall added ns", "CPU added ns", "allocations")
	for _, p := range phases {
		fmt.Fprintf(&table, "%-7s %6.0f ns  %-22v %-22v %-22v %-22v %s\n", p.Phase, p.Hand, p.WallRatio, p.CPURatio, p.WallAdded, p.CPUAdded,
			allocations(p.Phase, n, engine[0], hand[0]))
		e, unit := p.WallRatio, p.Phase+"-ratio"
		if p.Phase == mixPhase || p.Phase == txPhase {
			e, unit = p.WallAdded, p.Phase+"-ns/op-added"
		}
		b.ReportMetric(e.Median, unit)
		b.ReportMetric(e.Low, unit+"-lo")
		b.ReportMetric(e.High, unit+"-hi")
	}
	b.Log(table.String())
	if *record {
		c := driver.AddedCost{
			Measured: time.Now().UTC().Format(time.DateOnly), Machine: machine(), Runtime: runtime.Version(),
			Pairs: len(hand), Phases: phases,
		}
		if err := write(driver.AddedCostFile, c); err != nil {
			b.Fatal(err)
		}
	}
}

var record = flag.Bool("record", false, "the benchmark of added cost writes its figures to "+driver.AddedCostFile)

// write writes a driver's figures to a file. It keeps the field Causes of the file's previous
// content.
func write(file string, c driver.AddedCost) error {
	var old driver.AddedCost
	switch data, err := os.ReadFile(file); {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return err
	default:
		if err := json.Unmarshal(data, &old); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
	}
	c.Causes = old.Causes
	data, err := json.MarshalIndent(c, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(file, append(data, '\n'), 0o644)
}

// machine returns the number of cores, the platform and, if Linux reports it, the name of the
// processor.
func machine() string {
	words := fmt.Sprintf("%d cores, %s/%s", runtime.NumCPU(), runtime.GOOS, runtime.GOARCH)
	info, _ := os.ReadFile("/proc/cpuinfo") // the file exists only on Linux
	for line := range strings.Lines(string(info)) {
		if name, model, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			return words + ", " + strings.TrimSpace(model)
		}
	}
	return words
}

// allocations returns how many allocations the driver and the hand-written loops make per row or
// operation. It needs only one run of each side, because noise does not affect these numbers.
func allocations(phase string, n size, engine, hand side) string {
	ops := float64(n.operations(phase))
	return fmt.Sprintf("%.2f, by hand %.2f", float64(engine[phase].Allocs)/ops, float64(hand[phase].Allocs)/ops)
}

func compareAll(n size, engine, hand []side) (list []driver.AddedPhase) {
	for _, p := range timed {
		list = append(list, compare(p, n.operations(p), engine, hand))
	}
	return list
}

// compare compares the times of one phase in all pairs. For pair i, engine[i] has the samples of the
// driver, and hand[i] has the samples of the hand-written loops.
func compare(phase string, ops int64, engine, hand []side) driver.AddedPhase {
	wall := func(s *protocol.Sample) float64 { return float64(s.WallNS) }
	cpu := func(s *protocol.Sample) float64 { return float64(s.UserNS + s.SystemNS) }
	over := func(unit float64, f func(e, h *protocol.Sample) float64) estimate.Estimate {
		values := make([]float64, len(hand))
		for i := range hand {
			values[i] = f(engine[i][phase], hand[i][phase])
		}
		e := estimate.Of(values)
		for _, v := range []*float64{&e.Median, &e.Low, &e.High} {
			*v = math.Round(*v*unit) / unit // drops insignificant digits
		}
		return e
	}
	ratio := func(of func(*protocol.Sample) float64) estimate.Estimate {
		return over(1e4, func(e, h *protocol.Sample) float64 { return of(e) / of(h) })
	}
	added := func(of func(*protocol.Sample) float64) estimate.Estimate {
		return over(10, func(e, h *protocol.Sample) float64 { return (of(e) - of(h)) / float64(ops) })
	}
	return driver.AddedPhase{
		Phase: phase, Hand: over(10, func(_, h *protocol.Sample) float64 { return wall(h) / float64(ops) }).Median,
		WallRatio: ratio(wall), CPURatio: ratio(cpu),
		WallAdded: added(wall), CPUAdded: added(cpu),
	}
}
