package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sqlite3perf/sqlite3perf/cmd/sqlite3perf/internal/cli"
	"github.com/sqlite3perf/sqlite3perf/internal/directory"
	"github.com/sqlite3perf/sqlite3perf/internal/merging"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
)

type mergeOptions struct {
	store, format string
	quiet         bool
}

var mergeFormats = []string{cli.TableFormat, "json"}

func mergeCommand(env *cli.Environment) *cobra.Command {
	o := &mergeOptions{}
	cmd := &cobra.Command{
		Use:   "merge STORE...",
		Short: "Put the runs of other stores into one",
		Long: `Merge adds the runs of other stores to your store, or to the store of --store,
which is created if necessary. A run that is already there is not added again, so you
may repeat a merge. If a run has continued since an earlier merge, the rest is added. A
run or a store that cannot be read is left out, with a message that says what to do. If
nothing can be read, no store is created.

The other stores may be from somebody else. They are only read, through a copy next to
the store, and nothing that their schemas define is executed. A merged run keeps the
name of its file.

Exit status: 0 everything is in the store; 1 a run or a store was left out; 2 a store
was not found, or named twice: nothing is merged.`,
		Example: "  sqlite3perf merge pi.db vm1.db\n  sqlite3perf merge results-*.db --store all.db",
		Args:    cli.Arguments(1, -1, "a store to merge"),
		RunE:    func(cmd *cobra.Command, args []string) error { return merge(cmd.Context(), env, o, args) },
	}
	f := cmd.Flags()
	cli.AddStoreFlag(f, &o.store)
	cli.AddQuietFlag(f, &o.quiet)
	f.StringVar(&o.format, "format", cli.TableFormat, "how it is printed: "+strings.Join(mergeFormats, ", "))
	return cmd
}

func merge(ctx context.Context, env *cli.Environment, o *mergeOptions, names []string) error {
	to, err := o.check(names)
	if err != nil {
		return err
	}
	var out *merging.Report
	failure := env.Orderly(ctx, o.quiet, func(ctx context.Context, show *cli.Progress) (err error) {
		show.Told = env.Now() // a merge that takes less than the interval between lines prints no progress
		out, err = merging.Into(ctx, to, names, show.Merging)
		return err
	})
	if out == nil {
		return failure
	}
	if o.format == "json" {
		err = out.WriteJSON(env.RawOut)
	} else {
		err = out.WriteText(env.Stdout)
	}
	_, interrupted := errors.AsType[cli.StatusError](failure)
	switch {
	case err != nil:
		return err
	case interrupted || failure != nil && !out.Made():
		return failure
	case failure != nil:
		return fmt.Errorf("%w; the listed runs are in the store, and merging again adds the rest", failure)
	case !out.Whole():
		return cli.StatusError(cli.ExitFailed)
	}
	return nil
}

func (o *mergeOptions) check(names []string) (to string, err error) {
	if !slices.Contains(mergeFormats, o.format) {
		return "", cli.Usagef("unknown format %q: %s", o.format, driver.Suggest(o.format, mergeFormats))
	}
	if to, err = cli.StorePath(o.store); err != nil {
		return "", err
	}
	if dir := filepath.Dir(o.store); directory.Missing(dir) != nil {
		return "", cli.NoDirectory("--store "+o.store, dir)
	}
	for i, name := range names {
		if _, err := os.Stat(name); errors.Is(err, fs.ErrNotExist) {
			return "", cli.Usagef("store %s: there is no such file: name a store", name)
		}
		if cli.SameFile(name, to) {
			return "", cli.Usagef("%s is the store that the others are merged into: leave it out", name)
		}
		for _, other := range names[:i] {
			if cli.SameFile(name, other) {
				return "", cli.Usagef("%s and %s are the same file: name it once", other, name)
			}
		}
	}
	return to, nil
}
