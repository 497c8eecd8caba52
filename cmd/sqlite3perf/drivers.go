package main

import (
	"cmp"
	"context"
	"io"

	"github.com/spf13/cobra"

	"github.com/sqlite3perf/sqlite3perf/cmd/sqlite3perf/internal/cli"
	"github.com/sqlite3perf/sqlite3perf/internal/catalog"
	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/lab/build"
	"github.com/sqlite3perf/sqlite3perf/internal/lab/process"
)

func driversCommand(env *cli.Environment) *cobra.Command {
	o := &driversOptions{}
	cmd := &cobra.Command{
		Use:   "drivers [DRIVER]...",
		Short: "List the drivers, whether they can be built here, and their limits",
		Long: `Drivers lists the drivers, with their versions, limits and peculiarities. It says when
the default version was released, whether the worker is built or can be built here, and
whether the library is maintained, according to its repository. If you name drivers,
variants or paths of workers, only these are listed. A terminal gets the table; drivers
NAME prints all about one driver, and --full about all.

A variant of a driver is another version (mattn@v1.14.22, mattn@latest), a checkout of
its library (mattn=../go-sqlite3), or has options (mattn:tags=sqlite_fts5,GOGC=400):
  tags=A+B                build tags
  cflags=FLAGS            for the C compiler, added to CGO_CFLAGS
  GOAMD64=v3, GOARM64=v8.1, GOEXPERIMENT=A+B   how Go code is built
  GOGC=400, GOMEMLIMIT=512MiB, GOMAXPROCS=1    how it is run
  env.NAME=value          an environment variable of the worker
Write a comma in a value as \, there.

--features builds missing workers, and tries which parts of SQLite, such as FTS5, each
driver has. --defects builds them too, and lists the known defects of each driver's
versions: the effect, the conditions, the remedy and the source. --added-cost lists what
sqlite3perf adds to the time of each library, measured against loops written by hand
(docs/proofs.md).`,
		Example: `  sqlite3perf drivers
  sqlite3perf drivers mattn
  sqlite3perf drivers ./my-worker
  sqlite3perf drivers --features
  sqlite3perf drivers --features mattn:tags=sqlite_fts5
  sqlite3perf drivers --defects zombiezen
  sqlite3perf drivers --defects mattn@v1.14.22
  sqlite3perf drivers --added-cost`,
		Args: cli.Arguments(0, -1, "the driver"),
		RunE: func(cmd *cobra.Command, args []string) error { return listDrivers(cmd, env, o, args) },
	}
	f := cmd.Flags()
	f.BoolVar(&o.features, "features", false, "try which parts of SQLite each driver has")
	f.BoolVar(&o.defects, "defects", false, "explain the known defects of each driver")
	f.BoolVar(&o.addedCost, "added-cost", false, "list what sqlite3perf adds to the time of each library")
	o.workers.AddFlags(f)
	o.output.AddFlags(f)
	o.output.AddFullFlag(f)
	o.output.SetFormats("how the list is printed", driversFormats.Names(), driversFormats.Check)
	return cmd
}

type driversOptions struct {
	workers                      cli.WorkerOptions
	output                       cli.OutputOptions
	features, defects, addedCost bool
}

func listDrivers(cmd *cobra.Command, env *cli.Environment, o *driversOptions, args []string) error {
	var asked []string
	for _, f := range []string{"features", "defects", "added-cost"} {
		if on, err := cmd.Flags().GetBool(f); err == nil && on {
			asked = append(asked, "--"+f)
		}
	}
	if len(asked) > 1 {
		return cli.Usagef("%s and %s exclude each other: give one of them", asked[0], asked[1])
	}
	if err := o.output.Check(); err != nil {
		return err
	}
	if len(asked) > 0 && o.output.Format == "json" {
		return cli.Usagef("%s has no format json: leave out %s or --format json", asked[0], asked[0])
	}
	shop, err := o.workers.Workshop()
	if err != nil {
		return err
	}
	refs, err := listed(cmd.Context(), shop, args)
	if err != nil {
		return err
	}
	if o.addedCost {
		known, err := ofTheList(refs)
		if err != nil {
			return err
		}
		return printDrivers(env, &o.output, catalog.List{Document: catalog.AddedCost(known)}, false)
	}
	d, err := o.list(cmd.Context(), env, shop, refs)
	if err != nil {
		return err
	}
	return printDrivers(env, &o.output, d, len(args) == 0 && !o.features && !o.defects)
}

// list returns the table that the flags ask for: the drivers, their features or their defects.
func (o *driversOptions) list(ctx context.Context, env *cli.Environment, shop cli.Workshop, refs []build.Ref) (l catalog.List, err error) {
	c := &catalog.Catalog{Builder: shop.Builder, Known: shop.Known, Naming: "--drivers",
		Scratch: func() (*process.Scratch, error) { return cli.NewScratch("") }}
	defer c.Close()
	if !o.features && !o.defects {
		return c.Drivers(ctx, refs)
	}
	err = env.Orderly(ctx, false, func(ctx context.Context, show *cli.Progress) (err error) {
		c.Note = show.Say
		if o.features {
			l.Document, err = c.Features(ctx, refs)
		} else {
			l.Document, err = c.Defects(ctx, refs)
		}
		return err
	})
	return l, err
}

// ofTheList returns the drivers of the source tree that the refs name. A ref may also name a variant of
// such a driver, which is the driver with options. For any other ref, ofTheList returns an error.
func ofTheList(refs []build.Ref) (known []build.Known, err error) {
	for _, r := range refs {
		if r.Known == nil {
			return nil, cli.Usagef("%s: --added-cost knows only the drivers of the list: sqlite3perf drivers prints it", r.Name)
		}
		known = append(known, *r.Known)
	}
	return known, nil
}

// listed returns the named drivers or, if none is named, all drivers of the source tree.
func listed(ctx context.Context, s cli.Workshop, named []string) ([]build.Ref, error) {
	if len(named) > 0 {
		return s.Refs(ctx, named...)
	}
	var refs []build.Ref
	for i := range s.Known {
		refs = append(refs, build.Ref{Name: s.Known[i].Name, Known: &s.Known[i]})
	}
	return refs, nil
}

var driversFormats = document.Question[catalog.List]{Name: "list of drivers", Fits: true,
	Document: func(l catalog.List, _ document.Options) document.Document { return l.Document }, JSON: catalog.List.JSON}.Formats()

// printDrivers prints a list of drivers. If the parameter "fits" is true and standard output is a terminal,
// it prints only as much as fits on the screen. Without a terminal, no line is wrapped.
func printDrivers(env *cli.Environment, o *cli.OutputOptions, l catalog.List, fits bool) error {
	return o.Print(env, func(w io.Writer, format string, opts document.Options) error {
		opts.Width = cmp.Or(opts.Width, document.Unlimited)
		opts.Hints.Rest = []document.Hint{{Shows: "details", Command: "sqlite3perf drivers NAME"}, {Shows: "all of it", Command: "sqlite3perf drivers --full"}}
		if fits {
			opts.Lines = o.Screen(env)
		}
		return driversFormats.Write(w, format, l, opts)
	}, "the same command")
}
