package main

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"github.com/sqlite3perf/sqlite3perf/cmd/sqlite3perf/internal/cli"
	"github.com/sqlite3perf/sqlite3perf/internal/lab"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/worker/estimate"
)

// quietly ignores the progress of building workers.
type quietly struct{}

func (quietly) Building(int, int, string)     {}
func (quietly) Built(int, int, string, error) {}

// BenchmarkSlices measures the drivers of a default run, first on workloads with one client, and then on
// workloads with several clients. Each round measures them in several ways: each trial alone, trials that take
// turns at whole phases, and trials that take turns at slices (parts of phases) of several lengths. If a phase
// has several clients, its slices are at least 250 times as long as the printed length. For each phase and
// each way, BenchmarkSlices prints how much longer an operation takes than in a trial alone (the geometric
// mean over the drivers), and how much the ratios between drivers vary from round to round. Then it prints how
// far these ratios differ from the ratios of trials alone, and from the ratios with the longest slices.
// docs/proofs.md has the figures.
func BenchmarkSlices(b *testing.B) {
	b.Run("client", func(b *testing.B) {
		benchmarkSlices(b, "simple,point-read,many,group-by,analytics", 2*time.Millisecond, 5*time.Millisecond, 20*time.Millisecond)
	})
	b.Run("clients", func(b *testing.B) {
		benchmarkSlices(b, "read-write,locks,http-server,../../internal/study/sqlite3perf/concurrent.yaml", 80*time.Microsecond, 2*time.Millisecond)
	})
}

func benchmarkSlices(b *testing.B, workloads string, lengths ...time.Duration) {
	lengths = append([]time.Duration{alone, onePiece}, lengths...)
	o := &runOptions{}
	flags := pflag.NewFlagSet("run", pflag.ContinueOnError)
	o.addFlags(flags)
	dir := b.TempDir()
	if err := flags.Parse([]string{"--quiet", "--store", filepath.Join(dir, "results.db"), "--workloads", workloads}); err != nil {
		b.Fatal(err)
	}
	r, err := o.check(b.Context(), &cli.Environment{})
	if err == nil {
		err = lab.Prepare(b.Context(), r.cases, r.Builder, quietly{})
	}
	if err != nil {
		b.Fatal(err)
	}
	processes := &lab.Processes{Dir: dir, Limit: time.Minute}
	if err := processes.CheckNeeds(b.Context(), r.cases); err != nil {
		b.Fatal(err)
	}
	groups := map[string][]*lab.Case{}
	for _, c := range r.cases {
		if c.Unavailable == nil {
			work := c.Workload
			if len(c.Parameters) > 0 {
				work += strings.TrimPrefix(fmt.Sprint(c.Parameters), "map")
			}
			groups[work] = append(groups[work], c)
		}
	}
	logs := map[string]map[time.Duration]map[string][]float64{} // logarithms of times per operation in each round, by workload and phase, by length of the slices, and by driver
	round := func(record bool) {
		for _, name := range slices.Sorted(maps.Keys(groups)) {
			for _, l := range rand.Perm(len(lengths)) {
				processes.Slice = lengths[l]
				cases := groups[name]
				order := slices.Clone(cases)
				rand.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
				together := len(order)
				if lengths[l] == alone {
					together, processes.Slice = 1, 0
				}
				var list []*result.Trial
				for part := range slices.Chunk(order, together) {
					trials, err := processes.Trials(b.Context(), part, r.matrix.Seed)
					if err != nil {
						b.Fatal(err)
					}
					list = append(list, trials...)
				}
				for i, t := range list {
					if t.Status != result.OK {
						b.Fatalf("%s on %s: %+v", name, order[i].Driver, t.Reason)
					}
					for _, s := range t.Samples {
						if !record {
							continue
						}
						at := name + " " + s.Phase
						if logs[at] == nil {
							logs[at] = map[time.Duration]map[string][]float64{}
						}
						if logs[at][lengths[l]] == nil {
							logs[at][lengths[l]] = map[string][]float64{}
						}
						logs[at][lengths[l]][order[i].Driver] = append(logs[at][lengths[l]][order[i].Driver], math.Log(float64(s.WallNS)/float64(max(1, s.Operations))))
					}
				}
			}
		}
	}
	round(false) // this round is not recorded; it measures the speeds from which slices are computed
	for b.Loop() {
		round(true)
	}
	excess := map[time.Duration][]float64{} // for each length of slices, one value per phase: the variance of the differences from trials alone, minus the variance that noise explains
	for _, at := range slices.Sorted(maps.Keys(logs)) {
		for _, l := range lengths {
			fmt.Println(line(at, l, logs[at], alone, lengths[len(lengths)-1]))
			d := difference(logs[at][l], logs[at][alone])
			excess[l] = append(excess[l], d.variance-d.noise)
		}
	}
	root := func(variance float64) float64 { return 100 * math.Sqrt(max(0, variance)) }
	for _, l := range lengths[1:] {
		e := estimate.Of(excess[l])
		fmt.Printf("%s: without noise, the ratios of the median phase differ by %.1f%% [%.1f%%, %.1f%%] from those of trials alone\n",
			length(l), root(e.Median), root(e.Low), root(e.High))
	}
}

// length returns the name of a length of slices, such as "alone" or "5ms".
func length(l time.Duration) string {
	return cmp.Or(map[time.Duration]string{alone: "alone", onePiece: "one piece"}[l], l.String())
}

// Special lengths of slices. With "alone", each trial runs alone; with "onePiece", trials take turns at
// whole phases.
const alone, onePiece = time.Duration(-2), time.Duration(-1)

// line returns the figures of a phase for slices of length l, compared with trials alone and with
// the longest slices. logs has the logarithms of times by length of the slices, driver and round.
func line(at string, l time.Duration, logs map[time.Duration]map[string][]float64, alone, longest time.Duration) string {
	drivers := slices.Sorted(maps.Keys(logs[l]))
	var more, vary []float64
	for i, d := range drivers {
		more = append(more, middle(logs[l][d])-middle(logs[alone][d]))
		if i > 0 {
			vary = append(vary, spread(minus(logs[l][d], logs[l][drivers[0]])))
		}
	}
	return fmt.Sprintf("%-20s %9s: time %+5.1f%%; ratios vary by %4.1f%%; alone: %s; longest: %s",
		strings.ReplaceAll(at, " ", "/"), length(l), 100*(math.Exp(average(more))-1), 100*middle(vary),
		difference(logs[l], logs[alone]), difference(logs[l], logs[longest]))
}

// differing compares two ways to measure. It says how much the ratios between drivers depend on the way.
// A driver's difference is its time measured one way, relative to its time measured the other way. From
// it, the mean difference of all drivers in the round is subtracted, because this mean changes no ratio.
type differing struct {
	variance float64           // variance of the drivers' median differences
	noise    float64           // the part of the variance that noise explains
	most     estimate.Estimate // the largest difference, with its 95 % interval
	driver   string            // the driver with the largest difference
}

func (d differing) String() string {
	return fmt.Sprintf("%4.1f%% (noise %4.1f%%), most %+5.1f%% [%+.1f%%, %+.1f%%] %s",
		100*math.Sqrt(d.variance), 100*math.Sqrt(d.noise), 100*d.most.Median, 100*d.most.Low, 100*d.most.High, d.driver)
}

// difference compares two ways to measure. The parameters have the logarithms of times, by driver
// and round.
func difference(got, other map[string][]float64) (all differing) {
	drivers := slices.Sorted(maps.Keys(got))
	mean := make([]float64, len(got[drivers[0]]))
	for _, d := range drivers {
		for k, x := range minus(got[d], other[d]) {
			mean[k] += x / float64(len(drivers))
		}
	}
	for _, d := range drivers {
		e := estimate.Of(minus(minus(got[d], other[d]), mean))
		se := (e.High - e.Low) / (2 * 1.96)
		all.variance += e.Median * e.Median / float64(len(drivers))
		all.noise += se * se / float64(len(drivers))
		if math.Abs(e.Median) > math.Abs(all.most.Median) {
			all.most, all.driver = e, d
		}
	}
	return all
}

// minus returns x minus y, round by round.
func minus(x, y []float64) []float64 {
	list := slices.Clone(x)
	for k := range list {
		list[k] -= y[k]
	}
	return list
}

// spread estimates the standard deviation of the values in the parameter "list" from the distance between
// their quartiles.
func spread(list []float64) float64 {
	list = slices.Sorted(slices.Values(list))
	return (list[3*len(list)/4] - list[len(list)/4]) / 1.349
}

func middle(list []float64) float64 { return estimate.Of(list).Median }

func average(list []float64) (sum float64) {
	for _, x := range list {
		sum += x
	}
	return sum / float64(len(list))
}
