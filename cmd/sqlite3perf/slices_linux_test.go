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
)

// quietly ignores the progress of building workers.
type quietly struct{}

func (quietly) Building(int, int, string)     {}
func (quietly) Built(int, int, string, error) {}

// BenchmarkSlices measures the drivers of a default run in each round in several ways: each trial
// alone, trials that take turns at whole phases, and trials that take turns at slices of several
// lengths. For each phase and each way it prints three figures. The first is how much longer an
// operation takes than in a trial alone, as the geometric mean over the drivers. The second is how far
// the ratios between drivers differ from those of trials alone, as the standard deviation over the
// drivers. The third is how much the ratios vary from round to round. docs/proofs.md has the figures.
func BenchmarkSlices(b *testing.B) {
	o := &runOptions{}
	flags := pflag.NewFlagSet("run", pflag.ContinueOnError)
	o.addFlags(flags)
	dir := b.TempDir()
	if err := flags.Parse([]string{"--quiet", "--store", filepath.Join(dir, "results.db"), "--workloads", "simple,point-read,read-write,many,group-by,analytics"}); err != nil {
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
			groups[c.Workload] = append(groups[c.Workload], c)
		}
	}
	const alone, onePiece = time.Duration(-2), time.Duration(-1)
	lengths := []time.Duration{alone, onePiece, 2 * time.Millisecond, 5 * time.Millisecond, 20 * time.Millisecond}
	logs := map[string]map[time.Duration]map[string][]float64{} // logarithms of times in each round, by workload and phase, by length, and by driver
	round := func(record bool) {
		for _, name := range slices.Sorted(maps.Keys(groups)) {
			for _, l := range rand.Perm(len(lengths)) {
				processes.Slice = lengths[l]
				cases := groups[name]
				order := slices.Clone(cases)
				rand.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
				together := len(order)
				if lengths[l] == alone {
					together = 1
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
						logs[at][lengths[l]][order[i].Driver] = append(logs[at][lengths[l]][order[i].Driver], math.Log(float64(s.WallNS)))
					}
				}
			}
		}
	}
	round(false) // not recorded, because slices need the speeds that this round measures
	for b.Loop() {
		round(true)
	}
	for _, at := range slices.Sorted(maps.Keys(logs)) {
		for _, l := range lengths {
			fmt.Println(line(at, l, logs[at][l], logs[at][alone]))
		}
	}
}

func line(at string, l time.Duration, got, whole map[string][]float64) string {
	var more, apart, vary []float64
	for _, driver := range slices.Sorted(maps.Keys(got)) {
		more = append(more, middle(got[driver])-middle(whole[driver]))
	}
	all := average(more)
	for _, x := range more {
		apart = append(apart, x-all)
	}
	drivers := slices.Sorted(maps.Keys(got))
	for _, d := range drivers[1:] {
		var ratios []float64
		for k, x := range got[d] {
			ratios = append(ratios, x-got[drivers[0]][k])
		}
		slices.Sort(ratios)
		vary = append(vary, (ratios[3*len(ratios)/4]-ratios[len(ratios)/4])/1.349)
	}
	worst := slices.MaxFunc(apart, func(x, y float64) int { return cmp.Compare(math.Abs(x), math.Abs(y)) })
	name := map[time.Duration]string{-2: "alone", -1: "one piece"}[l]
	return fmt.Sprintf("%-24s %9s: time %+5.1f%%, ratios differ by %4.1f%% (most: %+5.1f%%, %s), vary by %4.1f%%",
		strings.ReplaceAll(at, " ", "/"), cmp.Or(name, l.String()), 100*(math.Exp(all)-1), 100*deviation(apart), 100*worst, drivers[slices.Index(apart, worst)], 100*middle(vary))
}

func middle(list []float64) float64 {
	list = slices.Sorted(slices.Values(list))
	return (list[(len(list)-1)/2] + list[len(list)/2]) / 2
}

func average(list []float64) (sum float64) {
	for _, x := range list {
		sum += x
	}
	return sum / float64(len(list))
}

func deviation(list []float64) float64 {
	var sum float64
	for _, x := range list {
		sum += x * x
	}
	return math.Sqrt(sum / float64(len(list)))
}
