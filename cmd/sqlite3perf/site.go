package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/sqlite3perf/sqlite3perf/cmd/sqlite3perf/internal/cli"
	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/lab"
	"github.com/sqlite3perf/sqlite3perf/internal/lab/build"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
	"github.com/sqlite3perf/sqlite3perf/internal/store"
	"github.com/sqlite3perf/sqlite3perf/internal/website"
)

func siteCommand(env *cli.Environment) *cobra.Command {
	var storeFile string
	cmd := &cobra.Command{
		Use:   "site DIR",
		Short: "Write the stored runs as static pages, for example for GitHub Pages",
		Long: `Site writes the store to a directory, as pages that need neither a server nor scripts.
These are the list of the runs, a page and the figures of each run, a page for each driver
with its releases, the changes over time, and a badge for each driver (badges/mattn.svg).
It uploads nothing. Links are relative, so you can serve the directory from anywhere.

Another call writes only what has changed, and removes the pages of runs that are no
longer in the store. The directory must be new or empty, or have a site. Files that
site did not write are kept. The pages have host names, commands and settings of the
runs, but no samples.`,
		Example: "  sqlite3perf site ./public\n  sqlite3perf site ./public --store ./results.db",
		Args:    cli.Arguments(1, 1, "the directory for the pages"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return writeSite(cmd.Context(), env, storeFile, args[0])
		},
	}
	cli.AddStoreFlag(cmd.Flags(), &storeFile)
	return cmd
}

func writeSite(ctx context.Context, env *cli.Environment, storeFile, dir string) error {
	st, path, err := cli.ReadStore(ctx, storeFile)
	if err != nil {
		return err
	}
	defer st.Close()
	executable, err := os.Executable()
	if err != nil {
		return err
	}
	builder, err := build.SHA256Of(executable) // pages of another executable may be different, so they are rendered again
	if err != nil {
		return err
	}
	written, err := website.Write(ctx, st, dir, website.Options{Floor: lab.Floor, Builder: builder,
		Describe: described,
		Answer: func(ctx context.Context, w io.Writer, a *stats.Analysis, opts document.Options) (string, error) {
			o := &cli.OutputOptions{Store: storeFile, Format: pageFormat}
			q, err := asksFor(o, a.Run, false)
			if q == nil || err != nil {
				return "", err
			}
			says, write, err := q.read(o, a, cli.Analyzed(ctx, storeFile))
			if err != nil {
				return "", err
			}
			return says, write(w, pageFormat, opts)
		}})
	if _, wrong := errors.AsType[*website.DirectoryError](err); wrong {
		return cli.WrongUsage(err)
	}
	if err != nil {
		return err
	}
	fmt.Fprintln(env.Stdout, filepath.Join(dir, "index.html"))
	if err := store.FirstDamaged(path, written.Entries); err != nil {
		return err
	}
	env.Say("%s, %s in %s; %d written, %d removed", document.Counted(written.Runs, "run"), document.Megabytes(written.Bytes),
		document.Counted(written.Files, "file"), written.Changed, written.Removed)
	return nil
}
