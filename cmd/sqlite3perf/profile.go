package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/sqlite3perf/sqlite3perf/cmd/sqlite3perf/internal/cli"
	"github.com/sqlite3perf/sqlite3perf/internal/catalog"
	"github.com/sqlite3perf/sqlite3perf/internal/directory"
	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/lab"
	"github.com/sqlite3perf/sqlite3perf/internal/lab/process"
	"github.com/sqlite3perf/sqlite3perf/internal/profile"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/store"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
)

type profileOptions struct {
	runOptions
	phase string
	force bool
	files *profile.Files
}

func profileCommand(env *cli.Environment) *cobra.Command {
	o := &profileOptions{}
	return cli.WithFlags(o.addFlags, &cobra.Command{
		Use:   "profile",
		Short: "Show where the time of a phase goes",
		Long: `Profile runs extra trials of one workload under profilers. It shows where the CPU time
of one phase goes: SQLite, the driver, database/sql, garbage collection, calls from Go
to C, the system. For two drivers it also shows the difference. The profiles are stored
as a run, so show and report print them again.

Linux's perf samples C and Go. Without perf, Go's profiler is used, and all time in C is
one row. Trials are repeated until each driver has 500 samples or --time is over. Each
share has its margin.

The directory -o gets profile.html and, for each driver, a flame graph and the raw
profiles for go tool pprof. For two drivers it also gets a flame graph of the
difference.`,
		Example: `  sqlite3perf profile --drivers mattn,modernc --workloads real --phase query
  sqlite3perf profile --drivers modernc@v1.46.0,modernc --workloads simple --phase insert --scale full
  sqlite3perf profile --drivers mattn --workloads ./mine.yaml -o mine --format json`,
		Args: cli.Arguments(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error { return profileDrivers(cmd.Context(), env, o) },
	})
}

// addFlags adds those flags of the command "run" that the command "profile" also has, and the flags that
// only "profile" has.
func (o *profileOptions) addFlags(f *pflag.FlagSet) {
	f.StringSliceVar(&o.drivers, "drivers", nil, "drivers to profile; if there are two, the difference is shown")
	o.addWorkFlags(f)
	f.Lookup("workloads").Usage = "the workload: a built-in one or a YAML file"
	f.StringVar(&o.phase, "phase", "", "the phase; necessary if several are timed")
	o.addScaleFlag(f)
	o.addTimeFlag(f, time.Minute, "begin no trial after this time; each driver's first trial always runs")
	o.addSeedFlag(f)
	o.addPlaceFlags(f)
	f.Lookup("output").Usage = "`directory` for the files (default: profile-WORKLOAD-PHASE)"
	f.Lookup("format").Usage = "how the answer is printed: " + strings.Join(profile.Formats.Names(), ", ")
	f.Lookup("format").DefValue = cli.TableFormat
	o.output.Known, o.output.Asked = profile.Formats.Check, nil // -o names a directory, so its extension does not decide the format
	o.output.AddFullFlag(f)
	f.BoolVar(&o.force, "force", false, "also replace files that profile did not write")
	cli.Grouped(f, cli.GroupWhat, "drivers", "phase")
	cli.Grouped(f, cli.GroupOutput, "force")
}

func (o *profileOptions) check(ctx context.Context, env *cli.Environment) (*request, error) {
	if err := o.output.OnlyOne("the files of a profile are in one directory"); err != nil {
		return nil, err
	}
	o.computing = cli.NewProgress(env, o.quiet).Computing
	r := &request{}
	return r, cli.InOrder(
		func() error { return o.checkFlags(r) },
		func() error { return o.checkDrivers(ctx, r) },
		func() error { return o.checkPlaces(r) },
		func() error { return o.checkWorkloads(r) },
		func() error { return o.checkMatrix(r) },
		func() error { return o.checkCase(r) },
		func() error { return o.checkFiles(r) },
	)
}

func (o *profileOptions) checkFlags(r *request) (err error) {
	if err := cmp.Or(o.output.CheckFormat(), cli.Positive("--time", o.time, "1m"), o.checkTrialLimit()); err != nil {
		return err
	}
	if len(o.drivers) == 0 {
		return cli.Usagef("--drivers is missing: name one, or two to see the difference, such as --drivers mattn,modernc")
	}
	if len(o.workloads) != 1 {
		return cli.Usagef("--workloads: profile takes one, such as --workloads real")
	}
	r.schedule.Time = o.time
	r.matrix.Seed, err = cli.Seed(o.seed)
	return err
}

func (o *profileOptions) checkCase(r *request) error {
	if err := r.oneValueEach("profile"); err != nil {
		return err
	}
	for name, values := range r.matrix.Parameters {
		if len(values) > 1 {
			return cli.Usagef("--param %s has %d values: profile takes one", name, len(values))
		}
	}
	n := 0
	for _, c := range r.cases {
		if c.Driver == r.cases[0].Driver {
			n++
		}
	}
	if n != 1 {
		return cli.Usagef("workload %s has %d cases, by its parameters: choose one with --param", r.matrix.Workloads[0].Name, n)
	}
	phases := r.cases[0].Phases
	switch {
	case o.phase == "" && len(phases) == 1:
		o.phase = phases[0]
	case o.phase == "":
		return cli.Usagef("workload %s has several timed phases: choose one with --phase: %s", r.cases[0].Workload, strings.Join(phases, ", "))
	case !slices.Contains(phases, o.phase):
		return cli.Usagef("workload %s has no timed phase %q: %s", r.cases[0].Workload, o.phase, driver.Suggest(o.phase, phases))
	}
	return nil
}

// checkFiles sets o.files to the files of the profile. It returns an error if they cannot be written or
// would replace, without --force, files that the command profile did not write.
func (o *profileOptions) checkFiles(r *request) error {
	drivers := document.Map(r.cases, func(c *lab.Case) string { return c.Driver })
	o.files = profile.FilesOf(o.output.File, r.cases[0].Workload, o.phase, drivers)
	into := o.files.Dir
	fi, err := os.Stat(into)
	switch {
	case errors.Is(err, fs.ErrNotExist) && filepath.Ext(into) == filepath.Ext(profile.PageFile):
		return cli.Usagef("-o %s: profile writes several files, so name a directory: the page is %s in it", into, profile.PageFile)
	case errors.Is(err, fs.ErrNotExist):
		if dir := filepath.Dir(into); !cli.IsDirectory(dir) {
			return cli.NoDirectory("-o "+into, dir)
		}
	case err != nil:
		return cli.Usagef("-o %w", err)
	case !fi.IsDir():
		return cli.Usagef("-o %s is a file: profile writes several, so name a directory", into)
	}
	scratch, err := process.Beside(filepath.Clean(into))
	if err != nil {
		return cli.Usagef("-o %s: cannot write there: %w: name another directory", into, directory.Reason(err))
	}
	scratch.Remove()
	if file := o.files.Foreign(); file != "" && !o.force {
		return cli.Usagef("%s exists, and profile did not write it, or it has been changed: name another directory with -o, or replace it with --force", file)
	}
	return nil
}

func profileDrivers(ctx context.Context, env *cli.Environment, o *profileOptions) error {
	r, err := o.check(ctx, env)
	if err != nil {
		return err
	}
	show := cli.NewProgress(env, o.quiet)
	defer show.Finish()
	env.OutliveReaders()
	var measuring atomic.Bool
	ctx, stop, release := env.Interruptible(ctx, show.Say, cli.StoppingTrials(measuring.Load))
	defer release()
	early := cli.Until(ctx, stop)
	at, err := newLocation(early, env, &o.runOptions, r, show)
	if err != nil {
		return err
	}
	defer at.remove()
	st, err := store.Open(early, r.storePath)
	if err == nil {
		defer st.Close()
		catalog.SayNeeded(r.cases, show.Note)
		err = cli.InOrder(
			func() error { return at.prepare(early, r.cases, show) },
			func() error { return at.needs(early, r.cases) },
		)
	}
	if err := cli.UnlessInterrupted(stop, err); err != nil {
		return err
	}
	perf, noPerf := lab.FindPerf(ctx, at.processes.Dir)
	p := &lab.Profiler{
		Phase: o.phase, Time: r.schedule.Time, Perf: perf, Noise: at.noise, Now: env.Now, Stop: stop,
		Trial: func(ctx context.Context, c *lab.Case, want lab.Profiling) (*result.Trial, error) {
			return at.processes.Profile(ctx, c, r.matrix.Seed, want)
		},
		Progress: show.Profiled,
	}
	profiled := newRun(r, at.machine, env.Now())
	measuring.Store(true)
	done, err := p.Run(ctx, r.cases)
	show.Finish()
	if err != nil {
		return err
	}
	if cli.Interrupted(stop) && !slices.ContainsFunc(done, func(d *lab.Profiled) bool { return d.Recording.Trials > 0 }) {
		return cli.StatusError(cli.ExitInterrupted)
	}
	profiled.Ended, profiled.Rounds, profiled.Warnings = env.Now().UTC(), p.Rounds, p.Warnings
	profiled.Stopped, profiled.Profiles = profile.End(done, cli.Interrupted(stop)), profile.Kept(done, o.phase, noPerf)
	if slices.ContainsFunc(profiled.Profiles.Cases, func(x result.Profile) bool { return x.Status == result.OK }) {
		if err = st.Begin(ctx, profiled); err != nil {
			err = fmt.Errorf("the profiles are not stored: %w", err)
		}
	}
	answer := profile.ProfileOf(profiled, document.Hints{Samples: moreSamples})
	err = errors.Join(err, o.files.Write(done, answer))
	output := o.output
	output.File = "" // -o is the directory of the files, so the answer goes to standard output
	err = errors.Join(err, output.Print(env, func(w io.Writer, format string, opts document.Options) error {
		opts.Lines = output.Screen(env)
		opts.Hints.Rest = []document.Hint{{Shows: "all of it", Command: cli.InStore(o.output.Store, fmt.Sprintf("sqlite3perf show %d --full", profiled.ID))}}
		return profile.Formats.Write(w, format, answer, opts)
	}, output.Again(fmt.Sprintf("sqlite3perf show %d", profiled.ID))))
	switch {
	case err != nil:
		return err
	case cli.Interrupted(stop):
		return cli.StatusError(cli.ExitInterrupted)
	}
	return cli.CompleteIf(!slices.ContainsFunc(answer.Drivers, func(d profile.ProfiledDriver) bool { return d.Status != result.OK }))
}

// moreSamples names flags that give a profile more samples.
const moreSamples = "--time 5m or --scale full"
