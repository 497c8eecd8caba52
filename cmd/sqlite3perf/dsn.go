package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sqlite3perf/sqlite3perf/cmd/sqlite3perf/internal/cli"
	"github.com/sqlite3perf/sqlite3perf/internal/conditions"
	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/dsn"
	"github.com/sqlite3perf/sqlite3perf/internal/lab"
	"github.com/sqlite3perf/sqlite3perf/internal/lab/build"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

type dsnOptions struct{ runOptions }

func dsnCommand(env *cli.Environment) *cobra.Command {
	o := &dsnOptions{}
	cmd := &cobra.Command{
		Use:   "dsn DSN",
		Short: "Say what each driver makes of a data source name",
		Long: `Dsn shows for each driver which options of a data source name take effect, and which the
driver ignores without an error. It also shows where the drivers' defaults differ for
settings that the name does not set, and how each driver spells the same settings.

Each driver opens the name as the library's users would, but in temporary directories: a
file at the path of the name is neither read nor written. Every option is tried alone
and with another value, and all settings are read back on two connections. Settings that
no PRAGMA reports (mode, cache, txlock) are found by trying. The proposed spellings are
tested in the same way.

Keys and passwords in the name are not printed. A terminal gets the beginning; --full
prints everything.`,
		Example: `  sqlite3perf dsn 'file:x.db?_journal=WAL&_sync=1&_pragma=busy_timeout(5000)'
  sqlite3perf dsn 'x.db?_fk=1' --drivers mattn,modernc -o dsn.json`,
		Args: cli.Arguments(1, 1, "the data source name, in quotes"),
		RunE: func(cmd *cobra.Command, args []string) error { return tellDSN(cmd.Context(), env, o, args[0]) },
	}
	f := cmd.Flags()
	o.flags = f
	f.StringSliceVar(&o.drivers, "drivers", nil, "drivers to ask: mattn, mattn@v1.14.22, mattn=../go-sqlite3, ./my-worker (default: all that are not optional)")
	o.workers.AddFlags(f)
	o.output.AddFlags(f)
	o.output.SetFormats("how the answer is printed", dsn.Formats.Names(), dsn.Formats.Check)
	o.output.AddFullFlag(f)
	cli.AddQuietFlag(f, &o.quiet)
	return cmd
}

func tellDSN(ctx context.Context, env *cli.Environment, o *dsnOptions, text string) error {
	if err := o.output.Check(); err != nil {
		return err
	}
	name, err := dsn.Parse(text)
	if err != nil {
		return cli.WrongUsage(err)
	}
	shop, err := o.workers.Workshop()
	if err != nil {
		return err
	}
	_, refs, err := o.chosenDrivers(ctx, shop, func(k build.Known) bool { return k.Opening != nil })
	if err != nil {
		return err
	}
	var told []*dsn.Told
	err = env.Orderly(ctx, o.quiet, func(ctx context.Context, show *cli.Progress) (err error) {
		var leftOut []string
		if told, leftOut, err = o.askAll(ctx, shop, refs, name, show); err != nil {
			return err
		}
		show.Finish()
		if len(told) == 0 {
			return fmt.Errorf("no driver is left: %s", strings.Join(leftOut, "; "))
		}
		for _, why := range leftOut {
			show.Say("%s", why)
		}
		return nil
	})
	if err != nil {
		return err
	}
	return o.output.PrintAnswer(env, dsn.Formats.Of(&dsn.DSN{Name: name, Told: told}), "")
}

// askAll asks the worker of each driver how the driver treats the data source name. The result
// "leftOut" has the reasons why drivers are left out: their workers cannot be built, or refuse the
// job.
func (o *dsnOptions) askAll(ctx context.Context, shop cli.Workshop, refs []build.Ref, name *dsn.Name, show *cli.Progress) (list []*dsn.Told, leftOut []string, err error) {
	scratch, err := cli.NewScratch("")
	if err != nil {
		return nil, nil, err
	}
	defer scratch.Remove()
	for i, ref := range refs {
		path, _, err := shop.Builder.Worker(ctx, ref, func() { show.Building(i+1, len(refs), ref.Name) })
		if unavailable, ok := errors.AsType[*build.BuildError](err); ok {
			leftOut = append(leftOut, fmt.Sprintf("%s is left out: %v", ref.Name, unavailable))
			continue
		}
		if err != nil {
			return nil, nil, err
		}
		dir := filepath.Join(scratch.Dir, strconv.Itoa(i))
		if err := os.Mkdir(dir, 0o700); err != nil {
			return nil, nil, err
		}
		t, err := dsn.Tell(ctx, path, ref, name, dir)
		if refused, ok := errors.AsType[*lab.JobError](err); ok {
			why := refused.Reason.Message
			if code := refused.Reason.Code; code != protocol.CodeUnsupported && code != protocol.CodeUsage {
				why += conditions.Said(&refused.Reason)
			}
			leftOut = append(leftOut, fmt.Sprintf("%s is left out: %s", ref.Name, document.Line(name.Mask(why))))
			continue
		}
		if err != nil {
			return nil, nil, err
		}
		list = append(list, t)
	}
	return list, leftOut, nil
}
