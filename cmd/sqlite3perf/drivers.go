package main

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/sqlite3perf/sqlite3perf/lab"
)

func driversCommand(env *environment) *cobra.Command {
	var source, cache string
	cmd := &cobra.Command{
		Use:   "drivers",
		Short: "List the drivers, whether they can be built here, and their limits",
		Long: `Drivers lists the drivers with the version that is measured unless another is
named (mattn@v1.14.22), whether their worker is built or can be built on this
machine, and what the library cannot do or does differently.`,
		Example: "  sqlite3perf drivers",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := configure(cmd); err != nil {
				return err
			}
			src, err := lab.FindSource(source)
			if err != nil {
				return usageError{err}
			}
			known, err := src.Drivers()
			if err != nil {
				return err
			}
			if cache == "" {
				if cache, err = lab.DefaultCache(); err != nil {
					return err
				}
			}
			b := &lab.Builder{Source: src, Cache: cache}
			w := tabwriter.NewWriter(env.stdout, 0, 0, 2, ' ', 0)
			fmt.Fprintln(w, "DRIVER\tVERSION\tKIND\tINTERFACE\tWORKER")
			for i := range known {
				k := &known[i]
				state := "not built yet"
				var unavailable *lab.BuildError
				built, err := b.Built(cmd.Context(), lab.Ref{Name: k.Name, Known: k})
				switch {
				case errors.As(err, &unavailable):
					state = "unavailable: " + unavailable.Error()
				case err != nil:
					return err
				case built:
					state = "built"
				}
				fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", k.Name, k.Version, k.Kind, k.Interface, state)
			}
			if err := w.Flush(); err != nil {
				return err
			}
			fmt.Fprintln(env.stdout)
			for _, k := range known {
				fmt.Fprintf(env.stdout, "%s (%s): %s\n", k.Name, k.Module, k.About)
				for _, what := range slices.Sorted(maps.Keys(k.Limits)) {
					fmt.Fprintf(env.stdout, "  %s: %s\n", what, strings.TrimSpace(k.Limits[what]))
				}
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&source, "source", "", "`directory` of sqlite3perf's source tree (default: found)")
	cmd.Flags().StringVar(&cache, "worker-cache", "", "`directory` for built workers (default: in the user's cache directory)")
	return cmd
}
