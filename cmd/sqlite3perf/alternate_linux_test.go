package main

import (
	"math"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"github.com/sqlite3perf/sqlite3perf/cmd/sqlite3perf/internal/cli"
	"github.com/sqlite3perf/sqlite3perf/internal/lab"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
)

// BenchmarkAlternate measures two equal sides in two ways: with trials whose phases alternate,
// and with trials one after another. For each phase and each way, it reports the spread of the
// ratios in percent. The spread is the standard deviation of a normal distribution with the same
// interquartile range. docs/proofs.md has the figures.
func BenchmarkAlternate(b *testing.B) {
	p := newPlace(b)
	p.write("proofs.yaml", proofs, 0o644)
	o := &compareOptions{}
	flags := pflag.NewFlagSet("compare", pflag.ContinueOnError)
	o.addFlags(flags)
	if err := flags.Parse([]string{"--workloads", filepath.Join(p.dir, "proofs.yaml"), "--quiet",
		"--store", filepath.Join(p.dir, "results.db"), "--dir", filepath.Join(p.dir, "databases")}); err != nil {
		b.Fatal(err)
	}
	o.drivers, o.sided = []string{filepath.Join(p.dir, "good"), filepath.Join(p.dir, "better")}, true
	r, err := o.check(b.Context(), &cli.Environment{})
	if err != nil {
		b.Fatal(err)
	}
	for _, c := range r.cases {
		c.Worker = c.Ref.Path
	}
	processes := &lab.Processes{Dir: b.TempDir(), Limit: time.Minute}
	apart := lab.OneByOne(processes.Trial)
	ratios := map[string][]float64{}
	for round := 0; b.Loop(); round++ {
		for turn := range 2 {
			executor, way := lab.Executor(processes), "alternating"
			if turn != round%2 {
				executor, way = apart, "apart"
			}
			order := slices.Clone(r.cases)
			if round/2%2 == 1 {
				slices.Reverse(order)
			}
			list, err := executor.Trials(b.Context(), order, r.matrix.Seed)
			if err != nil {
				b.Fatal(err)
			}
			if order[0] != r.cases[0] {
				slices.Reverse(list)
			}
			first, second := list[0], list[1]
			if first.Status != result.OK || second.Status != result.OK {
				b.Fatalf("%+v, %+v", first.Reason, second.Reason)
			}
			for i, s := range first.Samples {
				name := "%-" + s.Phase + "-" + way
				ratios[name] = append(ratios[name], math.Log(float64(second.Samples[i].WallNS)/float64(s.WallNS)))
			}
		}
	}
	for unit, list := range ratios {
		slices.Sort(list)
		spread := (list[3*len(list)/4] - list[len(list)/4]) / 1.349
		b.ReportMetric(100*spread, unit)
	}
}
