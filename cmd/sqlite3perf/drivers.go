package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/lab"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

func driversCommand(env *environment) *cobra.Command {
	var workers workerOptions
	var features, addedCost, inFull bool
	cmd := &cobra.Command{
		Use:   "drivers [DRIVER]...",
		Short: "List the drivers, whether they can be built here, and their limits",
		Long: `Drivers lists the drivers with the version that is measured unless another is
named (mattn@v1.14.22), whether their worker is built or can be built on this
machine, and what the library cannot do or does differently. It also lists the
variants and the paths of workers that are named. If a driver of the list is named,
only what is named is listed.

A variant of a driver is another version (mattn@v1.14.22, mattn@latest), a checkout
of its library (mattn=../go-sqlite3), or has options (mattn:tags=sqlite_fts5,GOGC=400):
  tags=A+B                build tags
  cflags=FLAGS            for the C compiler, added to CGO_CFLAGS
  GOAMD64=v3, GOARM64=v8.1, GOEXPERIMENT=A+B   how Go code is built
  GOGC=400, GOMEMLIMIT=512MiB, GOMAXPROCS=1    how it is run
  env.NAME=value          an environment variable of the worker
A comma in a value is written \, there.

With --features it builds the workers that are not built yet, and lists which
parts of SQLite, such as FTS5, each driver's SQLite has, by trying them.

With --defects it builds them too, and lists the known defects of each driver's versions:
what they mean, what they need to do harm, what to do, and who says so.

With --added-cost it lists what sqlite3perf adds to the time of each library, as
it was measured against loops written by hand (docs/proofs.md).`,
		Example: `  sqlite3perf drivers
  sqlite3perf drivers ./my-worker
  sqlite3perf drivers --features
  sqlite3perf drivers --features mattn:tags=sqlite_fts5
  sqlite3perf drivers --defects zombiezen
  sqlite3perf drivers --defects mattn@v1.14.22
  sqlite3perf drivers --added-cost`,
		Args: arguments(0, -1, "the driver"),
		RunE: func(cmd *cobra.Command, args []string) error {
			var asked []string
			for _, f := range []string{"features", "defects", "added-cost"} {
				if on, err := cmd.Flags().GetBool(f); err == nil && on {
					asked = append(asked, "--"+f)
				}
			}
			if len(asked) > 1 {
				return usagef("%s and %s exclude each other: give one of them", asked[0], asked[1])
			}
			shop, err := workers.workshop()
			if err != nil {
				return err
			}
			if addedCost {
				return listAddedCost(env.stdout, shop.known)
			}
			refs, err := shop.listed(cmd.Context(), args)
			switch {
			case err != nil:
				return err
			case features:
				return shop.listFeatures(cmd.Context(), env, refs)
			case inFull:
				return shop.listDefects(cmd.Context(), env, refs)
			}
			return shop.listDrivers(cmd.Context(), env, refs)
		},
	}
	cmd.Flags().BoolVar(&features, "features", false, "try which parts of SQLite each driver has")
	cmd.Flags().BoolVar(&inFull, "defects", false, "all that is said of the known defects of each driver")
	cmd.Flags().BoolVar(&addedCost, "added-cost", false, "what sqlite3perf adds to the time of each library")
	workers.addFlags(cmd.Flags())
	return cmd
}

// listed returns the drivers of the source tree, and after them the variants and workers
// that are named; or, if a driver of the tree is named, only what is named.
func (s workshop) listed(ctx context.Context, named []string) ([]lab.Ref, error) {
	own, err := s.refs(ctx, named...)
	if err != nil || slices.ContainsFunc(s.known, func(k lab.Known) bool { return slices.Contains(named, k.Name) }) {
		return own, err
	}
	var refs []lab.Ref
	for i := range s.known {
		refs = append(refs, lab.Ref{Name: s.known[i].Name, Known: &s.known[i]})
	}
	return append(refs, own...), nil
}

// listDrivers lists drivers, followed by what to know about each.
func (s workshop) listDrivers(ctx context.Context, env *environment, refs []lab.Ref) error {
	p := &prober{builder: s.builder}
	defer p.close()
	var rows [][]string
	var about strings.Builder
	for _, ref := range refs {
		var k lab.Known
		var version, state string
		var err error
		if ref.Known != nil {
			k = *ref.Known
			k.Name = ref.Name
			version, state, err = s.workerState(ctx, ref)
		} else {
			var proof protocol.Proof
			k.Info, proof, err = lab.DescribeRef(ctx, ref.Path, ref)
			version, state = cmp.Or(proof.ModuleVersion, "-"), ref.Name
		}
		missing, unavailable := errors.AsType[*lab.BuildError](err)
		if err != nil && (!unavailable || ref.Known == nil) {
			return err
		}
		rows = append(rows, []string{k.Name, version, string(k.Kind), string(k.Interface), state})
		var lines []string
		if unavailable {
			lines = append(lines, fmt.Sprintf("unavailable: %v", missing))
		}
		for _, what := range slices.Sorted(maps.Keys(k.Limits)) {
			lines = append(lines, document.Line(what)+": "+document.Line(k.Limits[what]))
		}
		if !unavailable && ref.Name != floorDriver {
			lines = append(lines, defectLines(p.library(ctx, ref))...)
		}
		lines = append(lines, addedCostLines(k.AddedCost)...)
		if k.Optional {
			lines = append(lines, "optional: measured only where it is named, as in --drivers mattn,"+k.Name)
		}
		fmt.Fprintf(&about, "%s (%s): %s\n", document.Line(k.Name), document.Line(k.Module), document.Line(k.About))
		for _, line := range lines {
			fmt.Fprintf(&about, "  %s\n", line)
		}
	}
	if err := printTable(env.stdout, "DRIVER|VERSION|KIND|INTERFACE|WORKER", rows); err != nil {
		return err
	}
	_, err := fmt.Fprintf(env.stdout, "\n%s", about.String())
	return err
}

// workerState returns which version of a driver would be measured, and the state of its
// worker. The error is a [*lab.BuildError] if there can't be a worker.
func (s workshop) workerState(ctx context.Context, ref lab.Ref) (version, state string, err error) {
	version = cmp.Or(ref.Version, ref.Known.Version, "-")
	if ref.Dir != "" {
		version = "-"
	}
	if len(ref.Known.Command) > 0 {
		_, with, err := s.builder.Worker(ctx, ref, nil)
		if err != nil {
			return version, "unavailable", err
		}
		return with["module_version"], "found", nil
	}
	built, err := s.builder.Built(ctx, ref)
	switch {
	case err != nil:
		return version, "unavailable", err
	case built:
		return version, "built", nil
	}
	return version, "not built yet", nil
}

// listFeatures prints a line for each feature. It has a column for each driver whose
// worker is available.
func (s workshop) listFeatures(ctx context.Context, env *environment, refs []lab.Ref) error {
	titles := []string{"FEATURE"}
	rows := make([][]string, len(driver.Features))
	for i, f := range driver.Features {
		rows[i] = []string{f.Name}
	}
	err := env.orderly(ctx, false, func(ctx context.Context, show *progress) error {
		p := &prober{builder: s.builder}
		defer p.close()
		for _, ref := range refs {
			path, _, err := s.builder.Worker(ctx, ref, func() { show.say("building the worker for %s", ref.Name) })
			if unavailable, ok := errors.AsType[*lab.BuildError](err); ok {
				show.say("%s is left out: %v", ref.Name, unavailable)
				continue
			}
			if err != nil {
				return err
			}
			processes, err := p.processes()
			if err != nil {
				return err
			}
			has, err := processes.Features(ctx, ref, path)
			if err != nil {
				return err
			}
			titles = append(titles, ref.Name)
			for i := range rows {
				word := "-"
				if has[i] {
					word = "yes"
				}
				rows[i] = append(rows[i], word)
			}
		}
		return nil
	})
	if err == nil {
		err = printTable(env.stdout, strings.Join(titles, "|"), rows)
	}
	if err != nil {
		return err
	}
	for i := range s.known {
		k := &s.known[i]
		for _, key := range slices.Sorted(maps.Keys(k.Variants)) {
			fmt.Fprintf(env.stdout, "%s, %s: %[1]s:%[3]s has it\n", k.Name, key, k.Variants[key])
		}
		for _, key := range slices.Sorted(maps.Keys(k.Obtain)) {
			fmt.Fprintf(env.stdout, "%s, %s: %s\n", k.Name, key, k.Obtain[key])
		}
	}
	return nil
}
