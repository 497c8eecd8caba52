package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/lab/build"
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
			source, known, err := workers.find()
			if err != nil {
				return err
			}
			if addedCost {
				return listAddedCost(env.stdout, known)
			}
			b, err := workers.builder(source)
			if err != nil {
				return err
			}
			if features {
				return listFeatures(cmd.Context(), env, b, known, args)
			}
			if inFull {
				return listDefects(cmd.Context(), env, b, known, args)
			}
			return listDrivers(cmd.Context(), env, b, known, args)
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
func listed(ctx context.Context, b *build.Builder, known []build.Known, named []string) ([]build.Ref, error) {
	own, err := findDrivers(ctx, b, named, known)
	if err != nil {
		return nil, err
	}
	if slices.ContainsFunc(known, func(k build.Known) bool { return slices.Contains(named, k.Name) }) {
		return own, nil
	}
	var refs []build.Ref
	for i := range known {
		refs = append(refs, build.Ref{Name: known[i].Name, Known: &known[i]})
	}
	return append(refs, own...), nil
}

// listDrivers lists the drivers, and the variants and workers that are named, followed by
// what to know about each.
func listDrivers(ctx context.Context, env *environment, b *build.Builder, known []build.Known, named []string) error {
	refs, err := listed(ctx, b, known, named)
	if err != nil {
		return err
	}
	w := tabwriter.NewWriter(env.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "DRIVER\tVERSION\tKIND\tINTERFACE\tWORKER")
	missing := map[string]error{}
	p := &prober{builder: b}
	defer p.close()
	var defective [][]string
	var all []build.Known
	for _, ref := range refs {
		var k build.Known
		var version, state string
		if ref.Known != nil {
			k = *ref.Known
			k.Name = ref.Name
			version, state, err = workerState(ctx, b, ref)
		} else {
			var proof protocol.Proof
			k.Info, proof, err = build.DescribeRef(ctx, ref.Path, ref)
			version, state = cmp.Or(document.Line(proof.ModuleVersion), "-"), ref.Name
		}
		var unavailable *build.BuildError
		switch {
		case errors.As(err, &unavailable) && ref.Known != nil:
			missing[k.Name] = unavailable
		case err != nil:
			return err
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", document.Line(k.Name), version, document.Line(string(k.Kind)), document.Line(string(k.Interface)), state)
		all = append(all, k)
		var lines []string
		if missing[k.Name] == nil && ref.Name != floorDriver {
			lines = defectLines(p.library(ctx, ref))
		}
		defective = append(defective, lines)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(env.stdout)
	for i, k := range all {
		fmt.Fprintf(env.stdout, "%s (%s): %s\n", document.Line(k.Name), document.Line(k.Module), document.Line(k.About))
		if err := missing[k.Name]; err != nil {
			fmt.Fprintf(env.stdout, "  unavailable: %v\n", err)
		}
		for _, what := range slices.Sorted(maps.Keys(k.Limits)) {
			fmt.Fprintf(env.stdout, "  %s: %s\n", document.Line(what), document.Line(k.Limits[what]))
		}
		for _, line := range slices.Concat(defective[i], addedCostLines(k.AddedCost)) {
			fmt.Fprintf(env.stdout, "  %s\n", line)
		}
		if k.Optional {
			fmt.Fprintf(env.stdout, "  optional: measured only where it is named, as in --drivers mattn,%s\n", k.Name)
		}
	}
	return nil
}

// workerState returns which version of a driver would be measured, and the state of its
// worker. The error is a [*build.BuildError] if there can't be a worker.
func workerState(ctx context.Context, b *build.Builder, ref build.Ref) (version, state string, err error) {
	version = cmp.Or(ref.Version, ref.Known.Version, "-")
	if ref.Dir != "" {
		version = "-"
	}
	if len(ref.Known.Command) > 0 {
		_, with, err := b.Worker(ctx, ref, nil)
		if err != nil {
			return version, "unavailable", err
		}
		return with["module_version"], "found", nil
	}
	built, err := b.Built(ctx, ref)
	switch {
	case err != nil:
		return version, "unavailable", err
	case built:
		return version, "built", nil
	}
	return version, "not built yet", nil
}
