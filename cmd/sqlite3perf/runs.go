package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/sqlite3perf/sqlite3perf/cmd/sqlite3perf/internal/cli"
	"github.com/sqlite3perf/sqlite3perf/internal/catalog"
	"github.com/sqlite3perf/sqlite3perf/internal/store"
)

func runsCommand(env *cli.Environment) *cobra.Command {
	var o cli.OutputOptions
	cmd := &cobra.Command{
		Use:   "runs",
		Short: "List the stored runs",
		Long: `Runs lists the stored runs by number. ENDED also has the profiled phase of a run of
profiles, the command that stored its answer with a run, and the name of a baseline.
SETTINGS has the settings and parameters that were given for the workloads, with all
their values. If the runs are from several machines, there is a column MACHINE. --format
csv has the same columns; --format json has everything that the list knows of a run.`,
		Example: "  sqlite3perf runs\n  sqlite3perf runs --format json",
		Args:    cli.Arguments(0, 0, ""),
		RunE:    func(cmd *cobra.Command, _ []string) error { return listRuns(cmd.Context(), env, &o) },
	}
	cli.AddStoreFlag(cmd.Flags(), &o.Store)
	o.AddFlags(cmd.Flags())
	o.SetFormats("how the list is printed", catalog.Runs.Names(), catalog.Runs.Check)
	return cmd
}

func listRuns(ctx context.Context, env *cli.Environment, o *cli.OutputOptions) error {
	if err := o.Check(); err != nil {
		return err
	}
	path, err := cli.StorePath(o.Store)
	if err != nil {
		return err
	}
	if flag := o.Writes(path); flag != "" {
		return cli.Usagef("%s is the store, which is not written over: name another file", flag)
	}
	st, err := store.OpenReadOnly(ctx, path)
	if err != nil {
		return err
	}
	defer st.Close()
	list, err := st.List(ctx)
	if err != nil {
		return err
	}
	if err := o.Print(env, catalog.Runs.Of(list), o.Again("sqlite3perf runs")); err != nil {
		return err
	}
	orphans, err := st.Orphans(ctx)
	if err != nil {
		return err
	}
	if text := store.OrphansText(orphans); text != "" {
		fmt.Fprintf(env.Stderr, "store %s: %s\n", path, text)
	}
	return store.FirstDamaged(path, list)
}
