package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/sqlite3perf/sqlite3perf/lab"
	"github.com/sqlite3perf/sqlite3perf/report"
)

func driversCommand(env *environment) *cobra.Command {
	var workers workerOptions
	var features, addedCost bool
	cmd := &cobra.Command{
		Use:   "drivers [WORKER]...",
		Short: "List the drivers, whether they can be built here, and their limits",
		Long: `Drivers lists the drivers with the version that is measured unless another is
named (mattn@v1.14.22), whether their worker is built or can be built on this
machine, and what the library cannot do or does differently. With the paths of
workers it lists these too.

With --features it builds the workers that are not built yet, and lists which
parts of SQLite, such as FTS5, each driver's SQLite has, by trying them.

With --added-cost it lists what sqlite3perf adds to the time of each library, as
it was measured against loops written by hand (docs/methodology.md).`,
		Example: `  sqlite3perf drivers
  sqlite3perf drivers ./my-worker
  sqlite3perf drivers --features
  sqlite3perf drivers --added-cost`,
		Args: arguments(0, -1, "the worker"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if features && addedCost {
				return usagef("--features and --added-cost exclude each other: give one of them")
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
			return listDrivers(cmd.Context(), env, b, known, args)
		},
	}
	cmd.Flags().BoolVar(&features, "features", false, "try which parts of SQLite each driver has")
	cmd.Flags().BoolVar(&addedCost, "added-cost", false, "what sqlite3perf adds to the time of each library")
	workers.addFlags(cmd.Flags())
	return cmd
}

// listDrivers lists the drivers and the workers at these paths, followed by what to know
// about each.
func listDrivers(ctx context.Context, env *environment, b *lab.Builder, known []lab.Known, paths []string) error {
	w := tabwriter.NewWriter(env.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "DRIVER\tVERSION\tKIND\tINTERFACE\tWORKER")
	missing := map[string]error{}
	for i := range known {
		k := &known[i]
		version, state, err := workerState(ctx, b, lab.Ref{Name: k.Name, Known: k})
		var unavailable *lab.BuildError
		switch {
		case errors.As(err, &unavailable):
			missing[k.Name] = unavailable
		case err != nil:
			return err
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", k.Name, version, k.Kind, k.Interface, state)
	}
	own, err := external(ctx, paths, w)
	if err != nil {
		return err
	}
	if err := w.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(env.stdout)
	for _, k := range append(known, own...) {
		fmt.Fprintf(env.stdout, "%s (%s): %s\n", report.Line(k.Name), report.Line(k.Module), report.Line(k.About))
		if err := missing[k.Name]; err != nil {
			fmt.Fprintf(env.stdout, "  unavailable: %v\n", err)
		}
		for _, what := range slices.Sorted(maps.Keys(k.Limits)) {
			fmt.Fprintf(env.stdout, "  %s: %s\n", report.Line(what), report.Line(k.Limits[what]))
		}
		for _, line := range addedCostLines(k.AddedCost) {
			fmt.Fprintf(env.stdout, "  %s\n", line)
		}
		if k.Optional {
			fmt.Fprintf(env.stdout, "  optional: measured only where it is named, as in --drivers mattn,%s\n", k.Name)
		}
	}
	return nil
}

// external lists the workers that are given by their paths.
func external(ctx context.Context, paths []string, out io.Writer) ([]lab.Known, error) {
	var list []lab.Known
	for _, path := range paths {
		if !strings.ContainsAny(path, `/\`) {
			return nil, usagef("drivers %s: want the path of a worker, such as ./%s: the others are listed anyway", path, path)
		}
		ref, err := lab.ParseRef(ctx, path, nil)
		if err != nil {
			return nil, usageError{err}
		}
		info, proof, err := lab.DescribeRef(ctx, ref.Path, ref)
		if err != nil {
			return nil, err
		}
		list = append(list, lab.Known{Manifest: lab.Manifest{Info: info}})
		fmt.Fprintf(out, "%s\t%s\t%s\t%s\t%s\n", report.Line(info.Name), cmp.Or(report.Line(proof.ModuleVersion), "-"), report.Line(string(info.Kind)), report.Line(string(info.Interface)), path)
	}
	return list, nil
}

// workerState returns which version of a driver would be measured, and the state of its
// worker. The error is a [*lab.BuildError] if there can't be a worker.
func workerState(ctx context.Context, b *lab.Builder, ref lab.Ref) (version, state string, err error) {
	version = cmp.Or(ref.Known.Version, "-")
	built, err := b.Built(ctx, ref)
	switch {
	case err != nil:
		return version, "unavailable", err
	case len(ref.Known.Command) > 0:
		_, with, err := b.Worker(ctx, ref, nil)
		if err != nil {
			return version, "unavailable", err
		}
		return with["module_version"], "found", nil
	case built:
		return version, "built", nil
	}
	return version, "not built yet", nil
}
