package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/sqlite3perf/sqlite3perf/cmd/sqlite3perf/internal/cli"
	"github.com/sqlite3perf/sqlite3perf/internal/conditions"
	"github.com/sqlite3perf/sqlite3perf/internal/diff"
	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/lab"
	"github.com/sqlite3perf/sqlite3perf/internal/lab/build"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/workload"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

func diffCommand(env *cli.Environment) *cobra.Command {
	o := &diffOptions{}
	return cli.WithFlags(o.addFlags, &cobra.Command{
		Use:   "diff DRIVER DRIVER...",
		Short: "Say whether another driver would answer differently",
		Long: `Diff answers one question: would my answers change if I switched? It runs the statements
of workloads on each driver, in new databases, and lists the statements whose answers
differ from the first driver's. It compares rows, Go types, column names and declared
types, errors, rows affected and last insert IDs. For each difference it shows
the SQL, both answers, and the likely reason. It also shows arguments and rows; if they
are from your database or recording, standard error says so.

The answer is stored, unless it has values of your database or recording, so show and
report print it again.

Values are read as by a program that does not know their types. Only the first
executions of each statement are compared (--executions). If the first driver itself
gives two different answers, as to random(), only errors, types and names are compared.

Without --workloads and --sql, the statements are a built-in list of values in which
libraries differ: times, booleans, NULs, large integers, infinite reals and others.

The exit status is 4 if answers differ, or if every statement fails.`,
		Example: `  sqlite3perf diff mattn modernc --workloads ./mine.yaml
  sqlite3perf diff mattn modernc ncruces zombiezen
  sqlite3perf diff mattn@v1.14.22 mattn --workloads complex,analytics
  sqlite3perf diff mattn modernc --sql "SELECT CURRENT_TIMESTAMP, 1.0, x'00'"`,
		Args: cli.Arguments(2, -1, "a driver"),
		RunE: func(cmd *cobra.Command, args []string) error { return diffDrivers(cmd.Context(), env, o, args) },
	})
}

type diffOptions struct {
	runOptions
	sql        []string
	values     bool
	executions int
}

func (o *diffOptions) addFlags(f *pflag.FlagSet) {
	o.addWorkFlags(f)
	f.Lookup("workloads").Usage = "built-in workloads or YAML files; all means every built-in workload"
	f.StringArrayVar(&o.sql, "sql", nil, "a `statement` to run on a new database (repeatable: run in order)")
	cli.Reaching(f, cli.ReachesOut, "sql") // the SQL may open any file
	f.BoolVar(&o.values, "values", false, "also run the built-in list of values (default without --workloads and --sql)")
	f.IntVar(&o.executions, "executions", 20, "compare at most this many executions of each statement")
	o.addScaleFlag(f)
	f.StringVar(&o.seed, "seed", "1", "`number` that all values are made from")
	cli.AddDirFlag(f, &o.dir)
	f.DurationVar(&o.trialLimit, "trial-limit", 10*time.Minute, "end a driver that takes longer for a workload")
	o.workers.AddFlags(f)
	cli.AddQuietFlag(f, &o.quiet)
	cli.AddStoreFlag(f, &o.output.Store)
	f.StringVar(&o.output.Format, "format", cli.TableFormat, "how the answer is printed: "+strings.Join(diff.Formats.Names(), ", "))
	f.BoolVar(&o.output.Full, "full", false, "every statement of each group, uncut, also on a terminal")
}

const allWorkloads = "all"

func diffDrivers(ctx context.Context, env *cli.Environment, o *diffOptions, args []string) error {
	if err := diff.Formats.Check(o.output.Format); err != nil {
		return cli.WrongUsage(err)
	}
	if o.executions < 1 {
		return cli.Usagef("--executions %d: want at least 1", o.executions)
	}
	if err := o.checkTrialLimit(); err != nil {
		return err
	}
	o.sided = true
	r := &request{}
	refs, work, err := o.checkDiff(ctx, r, args)
	if err != nil {
		return err
	}
	started := env.Now()
	var d *diff.Diffed
	err = env.Orderly(ctx, o.quiet, func(ctx context.Context, show *cli.Progress) (err error) {
		d, err = o.diff(ctx, r, refs, work, show)
		return err
	})
	if err != nil {
		return err
	}
	if list := diff.OfUsers(work); list != nil && d.Differ() {
		fmt.Fprintf(env.Stderr, "the output has arguments and rows of %s's data: read it before you pass it on\n", strings.Join(list, ", "))
	}
	run := o.runOf(r, work, d, started)
	if why := diff.NotKept(work, d, openedFiles); why != "" {
		fmt.Fprintf(env.Stderr, "the answer is not stored: %s\n", why)
	} else {
		cli.Keep(ctx, env, o.output.Store, run, d)
	}
	if err := o.output.PrintStored(env, run, diffWriter(&o.output, d)); err != nil {
		return err
	}
	return cli.CompleteIf(!d.Differ() && d.Answered())
}

// runOf returns a run that has no samples. The store keeps this run together with the comparison d.
func (o *diffOptions) runOf(r *request, work []diff.Questions, d *diff.Diffed, started time.Time) *result.Run {
	var cases []result.Case
	for _, side := range d.Sides {
		for i := range work {
			w := &work[i]
			c := result.Case{Workload: cmp.Or(w.Name, "statements"), Driver: side.Name, Settings: w.Settings}
			if w.Begin != nil {
				c.WorkloadSHA256, c.Scale, c.Parameters = w.Begin.WorkloadSHA256, w.Begin.Scale, w.Begin.Parameters
			}
			cases = append(cases, c)
		}
	}
	run := unsampledRun(r, cli.MachineHere(r.dir), started, nil, cases)
	run.Seed = d.Seed
	return run
}

func diffWriter(o *cli.OutputOptions, d *diff.Diffed) cli.AnswerWriter {
	return func(w io.Writer, format string, opts document.Options) error {
		opts.Color = false
		return diff.Formats.Write(w, format, d, diff.Options{Options: opts, Full: o.Full})
	}
}

func (o *diffOptions) checkDiff(ctx context.Context, r *request, args []string) (refs []build.Ref, work []diff.Questions, err error) {
	for _, arg := range args {
		if cli.IsWorkload(arg) {
			return nil, nil, cli.Usagef("%s is a workload, and diff takes drivers: name it with --workloads %s", arg, strings.Join(append(slices.Clone(o.workloads), arg), ","))
		}
	}
	err = cli.InOrder(
		func() (err error) { r.matrix.Seed, err = cli.Seed(o.seed); return err },
		func() (err error) { r.dir, err = cli.DatabasesDirectory(o.dir); return err },
		func() (err error) { r.Workshop, err = o.workers.Workshop(); return err },
		func() (err error) { refs, err = r.Refs(ctx, args...); return err },
	)
	if err != nil {
		return nil, nil, err
	}
	for _, ref := range refs { // a driver may be named several times, but a matrix has each driver only once
		if !slices.ContainsFunc(r.matrix.Drivers, func(other build.Ref) bool { return other.Name == ref.Name }) {
			r.matrix.Drivers = append(r.matrix.Drivers, ref)
		}
	}
	if len(o.workloads) > 0 || o.flags.Changed("workloads") {
		if slices.Contains(o.workloads, allWorkloads) {
			if len(o.workloads) > 1 {
				return nil, nil, cli.Usagef("--workloads %s: %s is every built-in one: name it alone", strings.Join(o.workloads, ","), allWorkloads)
			}
			o.workloads = workload.Builtins()
		}
		if work, err = o.askedOfWorkloads(r); err != nil {
			return nil, nil, err
		}
		for i := range refs {
			refs[i] = r.matrix.Side(refs[i])
		}
	}
	statements, err := o.askedOfStatements(len(work) == 0)
	if err != nil {
		return nil, nil, err
	}
	return refs, append(work, statements...), nil
}

// askedOfWorkloads returns the statements of the named workloads. If a parameter has several
// values, it uses the first. It returns an error if the user gave a setting several values.
func (o *diffOptions) askedOfWorkloads(r *request) ([]diff.Questions, error) {
	err := cli.InOrder(
		func() error { return o.checkWorkloads(r) },
		func() error { return o.checkMatrix(r) },
		func() error { return r.oneValueEach("diff") },
	)
	return diff.AskedOfEach(r.cases, o.executions), err
}

func (r *request) oneValueEach(command string) error {
	for name, values := range r.matrix.Settings {
		if len(values) > 1 {
			return cli.Usagef("--set %s has %d values: %s takes one", name, len(values), command)
		}
	}
	return nil
}

func (o *diffOptions) askedOfStatements(alone bool) (work []diff.Questions, err error) {
	settings := driver.Settings{}
	if alone {
		given, err := o.dsnSettings()
		if err != nil {
			return nil, cli.WrongUsage(err)
		}
		maps.Copy(settings, given)
		err = cli.EachList("--set", o.set, func(name, value string) error {
			v, err := driver.ParseSetting(name, value)
			if _, twice := settings[name]; err == nil && twice {
				err = fmt.Errorf("setting %s has two values: diff takes one", name)
			}
			settings[name] = v
			return err
		})
		if err != nil {
			return nil, cli.WrongUsage(err)
		}
		if len(o.param) > 0 {
			return nil, cli.Usagef("--param is of a workload: name one with --workloads")
		}
	}
	if len(o.sql) > 0 {
		var list []protocol.Ask
		for _, sql := range o.sql {
			for statement := range driver.Statements(sql) {
				list = append(list, protocol.Ask{SQL: statement})
			}
		}
		if list == nil {
			return nil, cli.Usagef("--sql has no statement: want such as --sql 'SELECT 1.0'")
		}
		work = append(work, diff.QuestionsOf("", settings, protocol.Answers{Statements: list, Executions: o.executions, Files: o.allowFiles}))
	}
	if o.values || alone && len(o.sql) == 0 {
		work = append(work, diff.QuestionsOf("values", settings, protocol.Answers{Statements: diff.Probes(), Executions: o.executions, Files: o.allowFiles}))
	}
	return work, nil
}

// diff runs the statements on each driver, and compares all answers with those of the first driver.
func (o *diffOptions) diff(ctx context.Context, r *request, refs []build.Ref, work []diff.Questions, show *cli.Progress) (*diff.Diffed, error) {
	x := &diff.Asker{
		Refs: refs, Seed: r.matrix.Seed, Executions: o.executions, Limit: o.trialLimit, Note: show.Note,
		TooLong: fmt.Errorf("it took longer than --trial-limit %v", o.trialLimit),
		Refused: func(e *lab.JobError) error {
			return cli.Incomplete(fmt.Errorf("%s%s [%s]", document.Line(cli.Flagged(e.Reason.Fields, e.Reason.Message)), conditions.Said(&e.Reason), e.Reason.Code))
		},
	}
	for _, ref := range refs {
		path, err := r.Worker(ctx, ref, show.Note)
		if err != nil {
			return nil, err
		}
		x.Executables = append(x.Executables, path)
	}
	scratch, err := cli.NewScratch(r.dir)
	if err != nil {
		return nil, err
	}
	defer scratch.Remove()
	x.Dir = scratch.Dir
	return x.Compare(ctx, work)
}

// openedFiles is the name, in a message, for files whose data a comparison may contain.
const openedFiles = "files that --sql may have opened"
