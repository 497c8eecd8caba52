package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/sqlite3perf/sqlite3perf/store"
)

func showCommand(env *environment) *cobra.Command {
	var storeFile string
	o := &outputOptions{}
	cmd := &cobra.Command{
		Use:     "show RUN",
		Short:   "Print the results of a stored run",
		Long:    `Show prints a run of the store: by its number, as runs lists them, or "last".`,
		Example: "  sqlite3perf show last\n  sqlite3perf show 3 --format csv -o run3.csv",
		Args:    arguments(1, 1, "the run"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := configure(cmd); err != nil {
				return err
			}
			if err := o.check(); err != nil {
				return err
			}
			path, err := storePath(storeFile)
			if err != nil {
				return err
			}
			st, err := store.OpenReadOnly(path)
			if err != nil {
				return err
			}
			defer st.Close()
			id, err := st.Resolve(cmd.Context(), args[0])
			if err != nil {
				return usageError{err}
			}
			run, err := st.Load(cmd.Context(), id)
			if err != nil {
				return err
			}
			for _, w := range run.Warnings {
				if w.Code == store.WarningStore {
					fmt.Fprintf(env.stderr, "store %s: run %d: %s\n", path, id, w.Message)
				}
			}
			return write(env, o, run)
		},
	}
	addStoreFlag(cmd.Flags(), &storeFile)
	o.addFlags(cmd.Flags())
	return cmd
}

// floorDriver is the driver that every other's distance is measured from.
const floorDriver = "native"
