package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/sqlite3perf/sqlite3perf/cmd/sqlite3perf/internal/cli"
	"github.com/sqlite3perf/sqlite3perf/internal/bisect"
	"github.com/sqlite3perf/sqlite3perf/internal/crash"
	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/lab"
	"github.com/sqlite3perf/sqlite3perf/internal/lab/process"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
)

func crashCommand(env *cli.Environment) *cobra.Command {
	o := &crashOptions{}
	return cli.WithFlags(o.addFlags, &cobra.Command{
		Use:   "crash",
		Short: "Which commits survive a crash or a power cut",
		Long: `Crash shows for each driver and combination of settings which acknowledged transactions
survive if the process is killed, the power fails or the disk reports errors, and what
this safety costs. It records once what a driver does to its files, computes what a disk
can hold after a fault at every operation, and opens each of these states with the same
driver and with plain C. In each, the database must be intact, and its content must
be that after one of the transactions. No disk is harmed, and no power is cut.

Without --set, it takes the driver's own default, and the journal modes delete,
truncate, persist and wal, each with synchronous off, normal, full and extra, and with a
checkpoint every 20 pages. The models of power cuts, and what they cannot say, are in
docs/durability.md. With --keep, the files of failing states are kept; --replay opens
such a state again, with any drivers. --bisect finds the release that changed something.
With --drivers rqlite, a node starts with each state, of which there are half as many.

It records on Linux (amd64). Where the system forbids recording, only the faults kill,
shared and cancel are tried, and the answer says so. Before everything else it proves
that it notices what it must notice; otherwise it prints no result.

The exit status is 4 if a setting is worse than SQLite's documentation says, or if
something could not be explored.`,
		Example: `  sqlite3perf crash --drivers mattn,modernc
  sqlite3perf crash --drivers mattn --set journal_mode=wal --set synchronous=normal,full
  sqlite3perf crash --drivers modernc --set journal_mode=delete --set synchronous=full --keep states
  sqlite3perf crash --bisect ncruces@v0.22.0..v0.36.0 --set journal_mode=wal,delete --set synchronous=full
  sqlite3perf crash --replay states/modernc-delete-full-posix-412 --drivers mattn,modernc`,
		Args: cli.Arguments(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error { return exploreCrashes(cmd.Context(), env, o) },
	})
}

type crashOptions struct {
	runOptions
	transactions, states int
	faults, judges       []string
	attach               []string
	keep, replay, bisect string
	budget               time.Duration
}

func (o *crashOptions) addFlags(f *pflag.FlagSet) {
	f.StringSliceVar(&o.drivers, "drivers", nil, "drivers to explore: mattn, mattn@v1.14.22, mattn=../go-sqlite3 (default: all that are not optional)")
	cli.Reaching(f, cli.Executes, "drivers")
	o.addWorkFlags(f)
	f.Lookup("workloads").Usage = "one built-in workload or YAML file whose transactions are committed (default: ledger)"
	f.IntVar(&o.transactions, "transactions", 24, "record at most this many transactions")
	f.IntVar(&o.states, "states", 200, "judge at most this many different states of the files after each kind of fault, for each driver and combination of settings")
	f.StringSliceVar(&o.judges, "judges", []string{crash.PlainC}, "drivers that open each state, in addition to the driver that wrote it. With the fault \"shared\", these drivers take turns as the other process that writes")
	cli.Reaching(f, cli.Executes, "judges")
	f.DurationVar(&o.budget, "budget", 0, "repeat the fault \"shared\" with other seeds for this long, for each driver and combination of settings (default: once with each of --judges)")
	f.StringSliceVar(&o.faults, "faults", nil, "kinds of faults: kill, ordered, posix, errors, shared, cancel (default: all)")
	o.addScaleFlag(f)
	f.StringVar(&o.seed, "seed", "1", "`number` that all values and the choice of states are made from")
	f.StringVar(&o.bisect, "bisect", "", "`releases` of a driver, such as ncruces@v0.22.0..v0.36.0: find the first release in which other transactions survive than in the oldest, or with other numbers of syncs or writes")
	f.StringSliceVar(&o.attach, "attach", nil, "`tables` of the workload to put into a second database file, which is attached to the first (default: none)")
	f.StringVar(&o.keep, "keep", "", "new or empty `directory` for the files of states that fail")
	f.StringVar(&o.replay, "replay", "", "open again, with --drivers, the state that --keep has written to this `directory`")
	cli.Reaching(f, cli.Writes, "keep")
	cli.Reaching(f, cli.ReachesOut, "replay")
	cli.Grouped(f, cli.GroupWhat, "drivers", "transactions", "attach", "states", "faults", "judges", "seed", "replay", "bisect")
	cli.Grouped(f, cli.GroupOutput, "keep")
	cli.AddDirFlag(f, &o.dir)
	f.DurationVar(&o.trialLimit, "trial-limit", 2*time.Minute, "end a worker that takes longer")
	cli.Grouped(f, cli.GroupLong, "budget", "trial-limit")
	o.workers.AddFlags(f)
	cli.AddQuietFlag(f, &o.quiet)
	cli.AddStoreFlag(f, &o.output.Store)
	o.output.AddFlags(f)
	o.output.AddFullFlag(f)
	o.output.SetFormats("how results are printed", crash.Formats.Names(), crash.Formats.Check)
}

// crashSettings are the settings that are explored without --set.
var crashSettings = []string{"journal_mode=delete,truncate,persist,wal", "synchronous=off,normal,full,extra", "wal_autocheckpoint=20"}

func (o *crashOptions) check(ctx context.Context, r *request) (*crash.Explorer, error) {
	x := &crash.Explorer{Transactions: o.transactions, States: o.states, Limit: o.trialLimit, Budget: o.budget, Attach: o.attach}
	switch {
	case o.budget < 0:
		return nil, cli.Usagef("--budget %v: want a time, such as 10m", o.budget)
	case o.transactions < 1 || o.transactions > 10_000:
		return nil, cli.Usagef("--transactions %d: want 1 to 10,000, such as 24", o.transactions)
	case len(o.judges) == 0:
		return nil, cli.Usagef("--judges names none: want such as native,modernc, or leave it out")
	case o.states < 1:
		return nil, cli.Usagef("--states %d: want at least 1, such as 200", o.states)
	}
	for _, name := range o.faults {
		f := crash.Fault(strings.TrimSpace(name))
		if !slices.Contains(crash.Faults, f) {
			return nil, cli.Usagef("--faults %s: want some of kill, ordered, posix, errors, shared, cancel", name)
		}
		x.Faults = append(x.Faults, f)
	}
	if x.Unrecorded = crash.Available(); x.Unrecorded != nil {
		for _, f := range x.Faults {
			if !slices.Contains(crash.LiveFaults, f) {
				return nil, cli.Incomplete(fmt.Errorf("--faults %s: %w: without --faults, kill, shared and cancel are tried", f, x.Unrecorded))
			}
		}
		if x.Faults == nil {
			x.Faults = crash.LiveFaults
		}
	}
	if x.Faults == nil {
		x.Faults = crash.Faults
	}
	if o.budget > 0 && !slices.Contains(x.Faults, crash.Shared) {
		return nil, cli.Usagef("--budget repeats the fault shared: add it to --faults, or leave out --budget")
	}
	if len(o.workloads) == 0 {
		o.workloads = []string{"ledger"}
	}
	if len(o.workloads) > 1 {
		return nil, cli.Usagef("--workloads %s: crash takes one", strings.Join(o.workloads, ","))
	}
	own := len(o.set) == 0 && o.dsn == ""
	err := cli.InOrder(
		o.output.Check,
		o.checkTrialLimit,
		func() (err error) { r.matrix.Seed, err = cli.Seed(o.seed); return err },
		func() error { return o.checkDrivers(ctx, r) },
		func() error { return o.checkPlaces(r) },
		func() error { return o.checkWorkloads(r) },
		func() error { return o.checkMatrix(r) },
	)
	if err != nil {
		return nil, err
	}
	if err := o.checkKeep(); err != nil {
		return nil, err
	}
	x.Seed, x.Keep = r.matrix.Seed, o.keep
	planned(x, r.cases, own)
	if own {
		o.set = crashSettings
		if err := o.checkMatrix(r); err != nil {
			return nil, err
		}
		// Cases of clusters are left out, because a database server has none of these settings.
		planned(x, slices.DeleteFunc(slices.Clone(r.cases), func(c *lab.Case) bool { return c.Ref.Kind() == driver.Cluster }), false)
	}
	x.Plan, x.Workload = r.cases[0].Plan, r.cases[0].Workload
	for _, c := range r.cases {
		if c.Begins() {
			return nil, cli.Usagef("workload %s begins with a copy of a database: crash takes workloads that create their own", c.Workload)
		}
	}
	return x, nil
}

func planned(x *crash.Explorer, cases []*lab.Case, own bool) {
	for _, c := range cases {
		x.Cells = append(x.Cells, crash.Planned{Worker: crash.Worker{Ref: c.Ref}, Settings: c.Settings.With(driver.Settings{"pool_size": "1"}), Own: own})
	}
}

// checkKeep checks --keep, and creates the directory.
func (o *crashOptions) checkKeep() error {
	if o.keep == "" {
		return nil
	}
	if list, err := os.ReadDir(o.keep); err == nil && len(list) > 0 {
		return cli.Usagef("--keep %s is not empty: name a new directory", o.keep)
	}
	if dir := filepath.Dir(filepath.Clean(o.keep)); !cli.IsDirectory(dir) {
		return cli.NoDirectory("--keep "+o.keep, dir)
	}
	if err := os.MkdirAll(o.keep, 0o755); err != nil {
		return cli.Usagef("--keep %s: cannot write there: %w", o.keep, err)
	}
	return nil
}

func exploreCrashes(ctx context.Context, env *cli.Environment, o *crashOptions) error {
	switch {
	case o.replay != "" && o.bisect != "":
		return cli.Usagef("--replay and --bisect: leave one out")
	case o.replay != "":
		return replayCrash(ctx, env, o)
	case o.bisect != "":
		return bisectCrashes(ctx, env, o)
	}
	r := &request{}
	x, err := o.check(ctx, r)
	if err != nil {
		return err
	}
	started := env.Now()
	var out *crash.Crashes
	err = env.Orderly(ctx, o.quiet, func(ctx context.Context, show *cli.Progress) (err error) {
		out, err = o.explore(ctx, r, x, show)
		return err
	})
	if _, unfit := errors.AsType[*crash.WorkloadError](err); unfit {
		return cli.Usagef("--workloads %s: %w", strings.Join(o.workloads, ","), err)
	}
	_, stopped := errors.AsType[cli.StatusError](err)
	if err != nil && !stopped {
		return err
	}
	if out == nil || len(out.Cells) == 0 || stopped {
		return cmp.Or(err, error(cli.StatusError(cli.ExitIncomplete)))
	}
	cases := document.Map(out.Cells, func(c crash.Cell) result.Case {
		return result.Case{Workload: out.Workload, Driver: c.Driver, Settings: c.Settings, Scale: o.scale}
	})
	if err := o.output.Answer(ctx, env, unsampledRun(r, out.Machine, started, out.Warnings, cases), out, crash.Formats.Of(out)); err != nil {
		return err
	}
	return cli.CompleteIf(out.AsDocumented())
}

// memoryDirectory is the directory of Linux whose files are in memory.
const memoryDirectory = "/dev/shm"

// explore builds the workers and runs the exploration x.
func (o *crashOptions) explore(ctx context.Context, r *request, x *crash.Explorer, show *cli.Progress) (*crash.Crashes, error) {
	scratch, observer, err := cli.Observed(r.dir)
	if err != nil {
		return nil, err
	}
	defer scratch.Remove()
	worker, done := o.prepare(r, x, scratch.Dir, show)
	defer done()
	if err := o.findJudges(ctx, r, x, worker, show); err != nil {
		return nil, err
	}
	for i := range x.Cells {
		if err := worker(ctx, &x.Cells[i].Worker); err != nil {
			return nil, err
		}
	}
	observer.BeforeRound(0)
	out, err := x.Run(ctx)
	out.Warnings = append(observer.BeforeRun(), observer.AfterRun()...)
	out.Machine = observer.Machine
	out.Machine.Directory = r.dir // not scratch.Dir, which no longer exists when users read this
	return out, err
}

// prepare sets the directories in which x works. The returned function "worker" builds the worker of a
// driver. The returned function "done" removes the directory in memory. The caller must call it at the end.
func (o *crashOptions) prepare(r *request, x *crash.Explorer, dir string, show *cli.Progress) (worker func(context.Context, *crash.Worker) error, done func()) {
	done = func() {}
	if cli.IsDirectory(memoryDirectory) { // files in memory are faster, and an exploration creates and removes thousands of files
		if memory, err := process.NewScratch(memoryDirectory, cli.RunDirectory); err == nil {
			done, x.Memory = memory.Remove, memory.Dir
		}
	}
	x.Dir, x.Note = dir, show.Note
	executables := map[string]string{}
	return func(ctx context.Context, w *crash.Worker) (err error) {
		if executables[w.Ref.Name] == "" {
			if executables[w.Ref.Name], err = r.Worker(ctx, w.Ref, show.Note); err != nil {
				return err
			}
		}
		w.Executable = executables[w.Ref.Name]
		return nil
	}, done
}

// findJudges builds the workers of the judges: the drivers that open a database after a fault and say what
// has survived. If plain C cannot be built and the user named no judges, the first explored driver judges.
func (o *crashOptions) findJudges(ctx context.Context, r *request, x *crash.Explorer, worker func(context.Context, *crash.Worker) error, show *cli.Progress) error {
	refs, err := r.Refs(ctx, o.judges...)
	if err != nil {
		return err
	}
	for _, ref := range refs {
		w := crash.Worker{Ref: ref}
		if err := worker(ctx, &w); err != nil {
			if o.flags.Changed("judges") {
				return err
			}
			show.Note("%s cannot judge: %v", ref.Name, err)
			w = x.Cells[0].Worker
			if err := worker(ctx, &w); err != nil {
				return err
			}
		}
		x.Judges = append(x.Judges, w)
	}
	return nil
}

// bisectCrashes finds the release of a driver that changed which data survives a crash, or how much work
// the driver does to protect the data.
func bisectCrashes(ctx context.Context, env *cli.Environment, o *crashOptions) error {
	if len(o.drivers) > 0 || o.keep != "" {
		return cli.Usagef("--bisect: leave out --drivers and --keep")
	}
	among, err := o.among(ctx, o.bisect)
	if err != nil {
		return err
	}
	r := &request{}
	x, err := o.check(ctx, r)
	if err != nil {
		return err
	}
	if x.Unrecorded != nil {
		return cli.Incomplete(x.Unrecorded)
	}
	releases, err := r.releases(ctx, among, "--bisect "+o.bisect)
	if err != nil {
		return err
	}
	var found *crash.Found
	err = env.Orderly(ctx, o.quiet, func(ctx context.Context, show *cli.Progress) error {
		scratch, err := cli.NewScratch(r.dir)
		if err != nil {
			return err
		}
		defer scratch.Remove()
		worker, done := o.prepare(r, x, scratch.Dir, show)
		defer done()
		if err := o.findJudges(ctx, r, x, worker, show); err != nil {
			return err
		}
		show.Note("%d releases, about %d to build", len(releases), bisect.Steps(len(releases))+2)
		found, err = crash.Search(ctx, releases, func(ctx context.Context, release string) (*crash.Crashes, error) {
			ref, err := among.Ref(ctx, release)
			if err != nil {
				return nil, err
			}
			w := crash.Worker{Ref: ref}
			if err := worker(ctx, &w); err != nil {
				return nil, err
			}
			for i := range x.Cells {
				x.Cells[i].Worker = w
			}
			return x.Run(ctx)
		})
		return err
	})
	if err != nil {
		return err
	}
	return o.output.Print(env, func(w io.Writer, format string, opts document.Options) error {
		return crash.FoundFormats.Write(w, format, found, opts)
	}, "sqlite3perf crash --bisect "+o.bisect)
}

// replayCrash reads a database that crash --keep has written, and opens it with each driver.
func replayCrash(ctx context.Context, env *cli.Environment, o *crashOptions) error {
	a, err := crash.ReadArtifact(o.replay)
	if err != nil {
		return cli.Usagef("--replay %s: %w: want a directory that crash --keep has written", o.replay, err)
	}
	named := len(o.drivers) > 0
	if !named {
		o.drivers = []string{a.Driver, crash.PlainC}
	}
	r := &request{}
	err = cli.InOrder(
		o.output.Check, o.checkTrialLimit,
		func() error { return o.checkDrivers(ctx, r) },
		func() (err error) { r.dir, err = cli.DatabasesDirectory(o.dir); return err },
	)
	if err != nil {
		return err
	}
	refs, err := r.Refs(ctx, a.Driver)
	if err != nil {
		return err
	}
	if refs[0].Kind() != driver.Cluster {
		refs = r.matrix.Drivers
	} else if named && (len(o.drivers) > 1 || o.drivers[0] != a.Driver) {
		return cli.Usagef("--drivers %s: only %s can start with the files of its server: leave --drivers out", strings.Join(o.drivers, ","), a.Driver)
	}
	var lines document.List
	kept := true
	err = env.Orderly(ctx, o.quiet, func(ctx context.Context, show *cli.Progress) error {
		scratch, err := cli.NewScratch(r.dir)
		if err != nil {
			return err
		}
		defer scratch.Remove()
		for _, ref := range refs {
			path, err := r.Worker(ctx, ref, show.Note)
			if err != nil {
				return err
			}
			g, why, err := a.Open(ctx, crash.Worker{Ref: ref, Executable: path}, o.replay, scratch.Dir, o.trialLimit)
			if err != nil {
				return err
			}
			kept = kept && g == crash.Kept
			lines.Note(document.Item{Label: ref.Name, Text: crash.Verdict(g, why)})
		}
		return nil
	})
	if err != nil {
		return err
	}
	d := document.Document{document.Paragraph{Text: a.Describe()}, lines}
	if err := document.RenderText(env.Stdout, d, document.Options{Width: env.StdoutWidth}); err != nil {
		return err
	}
	return cli.CompleteIf(kept)
}
