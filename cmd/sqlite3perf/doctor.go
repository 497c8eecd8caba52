package main

import (
	"cmp"
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/sqlite3perf/sqlite3perf/cmd/sqlite3perf/internal/cli"
	"github.com/sqlite3perf/sqlite3perf/internal/crash"
	"github.com/sqlite3perf/sqlite3perf/internal/doctor"
	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/lab/machine"
)

type doctorOptions struct {
	runOptions
	noNoise bool
}

func doctorCommand(env *cli.Environment) *cobra.Command {
	o := &doctorOptions{}
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Say whether this machine is fit to measure, and what to do about it",
		Long: `Doctor looks for causes of wrong or noisy figures: the CPU's clock rate, other
processes, virtualization, memory, the file system and the cost of fsync on it, the
clock, and the build tools. Then it compares one driver with itself for about 15
seconds, to find how small a difference can be measured. Nothing is stored.

The first sentence is the answer. Each finding has a fact, its effect on figures, and
what to do. A fact that can't be read is called unknown.`,
		Example: "  sqlite3perf doctor\n  sqlite3perf doctor --dir /data\n  sqlite3perf doctor --no-noise --format json",
		Args:    cli.Arguments(0, 0, ""),
		RunE:    func(cmd *cobra.Command, _ []string) error { return checkMachine(cmd.Context(), env, o) },
	}
	f := cmd.Flags()
	cli.AddDirFlag(f, &o.dir)
	f.BoolVar(&o.noNoise, "no-noise", false, "do not measure noise")
	o.workers.AddFlags(f)
	cli.AddQuietFlag(f, &o.quiet)
	o.output.AddFlags(f)
	o.output.AddFullFlag(f)
	o.output.SetFormats("how the answer is printed", doctor.Formats.Names(), doctor.Formats.Check)
	return cmd
}

func checkMachine(ctx context.Context, env *cli.Environment, o *doctorOptions) error {
	if err := o.output.Check(); err != nil {
		return err
	}
	shop, err := o.workers.Workshop()
	if err != nil {
		return err
	}
	dir, err := cli.DatabasesDirectory(o.dir)
	if err != nil {
		return err
	}
	show := cli.NewProgress(env, o.quiet)
	defer show.Finish()
	ctx, stop, release := env.Interruptible(ctx, show.Say, cli.Stopping)
	defer release()
	scratch, err := cli.NewScratch(dir)
	if err != nil {
		return err
	}
	defer scratch.Remove()
	c, err := machine.Examine(scratch.Dir)
	if err != nil {
		return fmt.Errorf("%w: name another directory with --dir", err)
	}
	c.Version, c.Taken, c.Machine.Directory = cli.Version(), env.Now().UTC(), dir
	c.Unrecordable = crash.Available() != nil
	err = doctor.ExamineTools(cli.Until(ctx, stop), shop.Builder, shop.Known, c)
	if err == nil && !o.noNoise {
		a := &doctor.BesideItself{Builder: shop.Builder, Known: shop.Known, Dir: scratch.Dir, Show: show, Note: show.Note, Now: env.Now, CPUTime: env.CPUTime, Stop: stop}
		err = a.Measure(ctx, cli.Until(ctx, stop), c)
	}
	if err != nil {
		return cli.UnlessInterrupted(stop, err)
	}
	show.Finish()
	machine.Judge(c)
	err = o.output.Print(env, func(w io.Writer, format string, opts document.Options) error {
		opts.Lines, opts.Hints = o.output.Screen(env), cli.AllOfIt
		opts.Hints.Directory = "--dir"
		return doctor.Formats.Write(w, format, c, opts)
	}, "sqlite3perf doctor")
	return cmp.Or(err, cli.UnlessInterrupted(stop, nil))
}
