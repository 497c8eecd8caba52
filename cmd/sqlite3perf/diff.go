package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/sqlite3perf/sqlite3perf/internal/conditions"
	"github.com/sqlite3perf/sqlite3perf/internal/diff"
	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/lab"
	"github.com/sqlite3perf/sqlite3perf/internal/lab/build"
	"github.com/sqlite3perf/sqlite3perf/internal/lab/process"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
	"github.com/sqlite3perf/sqlite3perf/internal/workload"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/plan"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

func diffCommand(env *environment) *cobra.Command {
	o := &diffOptions{}
	cmd := &cobra.Command{
		Use:   "diff DRIVER DRIVER...",
		Short: "Say whether another driver would answer differently",
		Long: `Diff answers one question: would my answers change if I switched? It runs the
statements of workloads on each driver, each on a new database, and lists those that
another driver answers differently from the first one. It compares rows, Go types,
column names and declared types, errors, rows affected and last insert IDs. For each
difference it shows the SQL, both answers, and the likely reason. Arguments and rows are
shown too: if they are of your database or recording, that is said on standard error.

The answer is stored, unless it has values of your database or recording: sqlite3perf show
prints it again, and report writes it as a page.

Values are read as by a program that does not know their types. Of each statement only
the first executions are compared (--executions). If the first driver itself gives two
different answers, as to random(), only errors, types and names are compared.

Without --workloads and --sql the statements are a built-in list of values in which
libraries differ: times, booleans, NULs, large integers, infinite reals and others.

The exit status is 4 if answers differ, or if every statement fails.`,
		Example: `  sqlite3perf diff mattn modernc --workloads ./mine.yaml
  sqlite3perf diff mattn modernc ncruces zombiezen
  sqlite3perf diff mattn@v1.14.22 mattn --workloads complex,analytics
  sqlite3perf diff mattn modernc --sql "SELECT CURRENT_TIMESTAMP, 1.0, x'00'"`,
		Args: arguments(2, -1, "a driver"),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.flags = cmd.Flags()
			return diffDrivers(cmd.Context(), env, o, args)
		},
	}
	cmd.Flags().SortFlags = false
	o.addFlags(cmd.Flags())
	return cmd
}

// diffOptions are the flags of diff. Those that it shares with run mean the same.
type diffOptions struct {
	runOptions
	sql        []string
	values     bool
	executions int
	format     string
	full       bool
}

func (o *diffOptions) addFlags(f *pflag.FlagSet) {
	o.addWorkFlags(f)
	f.Lookup("workloads").Usage = "built-in workloads or YAML files; all for every built-in one"
	f.StringArrayVar(&o.sql, "sql", nil, "a `statement` to run; several are run one after the other on a new database, not on that of a workload (repeatable)")
	reaching(f, reachesOut, "sql") // nothing limits it to its own database
	f.BoolVar(&o.values, "values", false, "also run the built-in list of values (default without --workloads and --sql)")
	f.IntVar(&o.executions, "executions", 20, "compare at most this many executions of each statement")
	f.StringVar(&o.scale, "scale", "quick", "how much work: quick, full, or a `factor` of full such as 0.1 (quick is 0.02 to 0.05 of full in most built-in workloads)")
	f.StringVar(&o.seed, "seed", "1", "`number` that all values are made from")
	f.StringVar(&o.dir, "dir", "", "`directory` in which databases are created and removed (default: in the user's cache directory)")
	f.DurationVar(&o.trialLimit, "trial-limit", 10*time.Minute, "end a driver that takes longer for the statements of a workload")
	o.workers.addFlags(f)
	f.BoolVar(&o.quiet, "quiet", false, "no progress")
	addStoreFlag(f, &o.store)
	f.StringVar(&o.format, "format", tableFormat, "how the answer is printed: "+strings.Join(diff.Formats.Names(), ", "))
	f.BoolVar(&o.full, "full", false, "show every statement of each group, uncut, also on a terminal")
}

// allWorkloads is the value of --workloads for every built-in workload.
const allWorkloads = "all"

// questions are what all drivers are asked in one database.
type questions struct {
	name     string // of the workload; "" for statements
	settings driver.Settings
	job      protocol.Answers
	begin    *lab.Case // what the database begins with; nil: nothing
}

func diffDrivers(ctx context.Context, env *environment, o *diffOptions, args []string) error {
	if err := diff.Formats.Check(o.format); err != nil {
		return usageError{err}
	}
	if o.executions < 1 {
		return usagef("--executions %d: want at least 1", o.executions)
	}
	if o.trialLimit <= 0 {
		return usagef("--trial-limit %v: want a time above 0, such as 10m", o.trialLimit)
	}
	o.sided = true
	r := &request{}
	refs, work, err := o.checkDiff(ctx, r, args)
	if err != nil {
		return err
	}
	show := newProgress(env, o.quiet)
	defer show.finish()
	started := env.now()
	ctx, stop, release := env.interruptible(ctx, show.say, stopping)
	defer release()
	d, err := o.diff(until(ctx, stop), r, refs, work, show.say)
	if interrupted(stop) {
		return statusError(exitInterrupted)
	}
	if err != nil {
		return err
	}
	show.finish()
	if list := ofUsers(work); list != nil && d.Differ() {
		fmt.Fprintf(env.stderr, "the output has arguments and rows of %s's data: read it before you pass it on\n", strings.Join(list, ", "))
	}
	var id int64
	if why := notKept(work, d); why != "" {
		fmt.Fprintf(env.stderr, "the answer is not stored: %s\n", why)
	} else {
		id = o.keep(ctx, env, r, work, d, started)
	}
	output := &outputOptions{format: o.format, full: o.full, store: o.store}
	if err := output.printAnswer(env, diffWriter(output, d), showAgain(id)); err != nil {
		return err
	}
	if d.Differ() || !d.Answered() {
		return statusError(exitIncomplete)
	}
	return nil
}

// notKept says why a comparison is not stored, or returns "". A store has no values of a user's
// database or recording, so that it can be passed on.
func notKept(work []questions, d *diff.Diffed) string {
	var data []string
	users := ofUsers(work)
	for i := range work {
		w := &work[i]
		name := "the workload " + document.Line(w.name)
		// The texts of recorded statements may have values.
		replays := w.job.Plan != nil && slices.ContainsFunc(w.job.Plan.Phases, func(ph plan.Phase) bool { return ph.Replay != nil })
		switch {
		case w.job.Files:
			data = append(data, "files that --sql may have opened")
		case replays || slices.Contains(users, name):
			data = append(data, name+"'s data")
		}
	}
	shows := func(r *diff.Result) bool { return len(r.Groups) > 0 || len(r.Failing) > 0 }
	if data == nil || !slices.ContainsFunc(d.Results, shows) {
		return ""
	}
	return "it has statements and values of " + document.And(data)
}

// keep stores the answer with a run that has nothing else, and returns its number, or 0.
func (o *diffOptions) keep(ctx context.Context, env *environment, r *request, work []questions, d *diff.Diffed, started time.Time) int64 {
	run := newRun(r, machineHere(r.dir), started)
	run.Seed, run.Schedule, run.Asked, run.Cases = d.Seed, nil, nil, nil
	for _, side := range d.Sides {
		for i := range work {
			w := &work[i]
			c := result.Case{Workload: cmp.Or(w.name, "statements"), Driver: side.Name, Settings: w.settings}
			if w.begin != nil {
				c.WorkloadSHA256, c.Scale, c.Parameters = w.begin.WorkloadSHA256, w.begin.Scale, w.begin.Parameters
			}
			c.ID = len(run.Cases) + 1
			run.Cases = append(run.Cases, c)
		}
	}
	kept, err := d.Keep()
	return keepRun(ctx, env, o.store, run, kept, err)
}

// diffWriter writes a comparison of answers.
func diffWriter(o *outputOptions, d *diff.Diffed) answerWriter {
	return func(w io.Writer, format string, opts document.Options) error {
		opts.Color = false
		return diff.Formats.Write(w, format, d, diff.Options{Options: opts, Full: o.full})
	}
}

// readDiff reads a comparison of answers.
func readDiff(o *outputOptions, a *stats.Analysis, _ loader) (answerWriter, error) {
	d, err := diff.Stored(a.Run)
	if err != nil {
		return nil, err
	}
	return diffWriter(o, d), nil
}

// checkDiff finds the drivers, and what they are asked. Nothing has been created yet.
func (o *diffOptions) checkDiff(ctx context.Context, r *request, args []string) ([]build.Ref, []questions, error) {
	var err error
	for _, arg := range args {
		if isWorkload(arg) {
			return nil, nil, usagef("%s is a workload, and diff takes drivers: name it with --workloads %s", arg, strings.Join(append(slices.Clone(o.workloads), arg), ","))
		}
	}
	if r.matrix.Seed, err = seed(o.seed); err != nil {
		return nil, nil, err
	}
	if r.dir, err = databasesDirectory(o.dir); err != nil {
		return nil, nil, err
	}
	source, known, err := o.workers.find()
	if err != nil {
		return nil, nil, err
	}
	if r.builder, err = o.workers.builder(source); err != nil {
		return nil, nil, err
	}
	refs, err := findDrivers(ctx, r.builder, args, known)
	if err != nil {
		return nil, nil, err
	}
	for _, ref := range refs { // a matrix has each driver once
		if !slices.ContainsFunc(r.matrix.Drivers, func(other build.Ref) bool { return other.Name == ref.Name }) {
			r.matrix.Drivers = append(r.matrix.Drivers, ref)
		}
	}
	var work []questions
	if len(o.workloads) > 0 || o.flags.Changed("workloads") {
		if slices.Contains(o.workloads, allWorkloads) {
			if len(o.workloads) > 1 {
				return nil, nil, usagef("--workloads %s: %s is every built-in one: name it alone", strings.Join(o.workloads, ","), allWorkloads)
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

// askedOfWorkloads resolves the workloads. Of one that has several values of a parameter,
// it takes the first.
func (o *diffOptions) askedOfWorkloads(r *request) ([]questions, error) {
	if err := inOrder(func() error { return o.checkWorkloads(r) }, func() error { return o.checkMatrix(r) }); err != nil {
		return nil, err
	}
	for name, values := range r.matrix.Settings {
		if len(values) > 1 {
			return nil, usagef("--set %s has %d values: diff takes one", name, len(values))
		}
	}
	var work []questions
	seen := map[string]bool{}
	for _, c := range r.cases {
		if !seen[c.Workload] {
			seen[c.Workload] = true
			q := o.asked(c.Workload, c.Settings, c.Plan, nil)
			q.begin, q.job.Loaded = c, c.Begins()
			work = append(work, q)
		}
	}
	return work, nil
}

// ofUsers names the workloads whose answers have data of a user: of a database, or of a
// recording with the values of parameters.
func ofUsers(work []questions) (names []string) {
	recorded := func(s plan.Replayed) bool {
		return slices.ContainsFunc(s.Parameters, func(p plan.Recorded) bool { return p.Lengths == nil })
	}
	for i := range work {
		p := work[i].job.Plan
		if p == nil {
			continue
		}
		replayed := slices.ContainsFunc(p.Phases, func(ph plan.Phase) bool {
			return ph.Replay != nil && slices.ContainsFunc(ph.Replay.Statements, recorded)
		})
		if work[i].job.Loaded || replayed {
			names = append(names, "the workload "+document.Line(work[i].name))
		}
	}
	return names
}

// askedOfStatements returns what --sql and --values ask for.
func (o *diffOptions) askedOfStatements(alone bool) (work []questions, err error) {
	settings := driver.Settings{}
	if alone {
		given, err := o.dsnSettings()
		if err != nil {
			return nil, usageError{err}
		}
		for name, value := range given {
			settings[name] = value
		}
		err = eachList("--set", o.set, func(name, value string) error {
			v, err := driver.ParseSetting(name, value)
			if _, twice := settings[name]; err == nil && twice {
				err = fmt.Errorf("setting %s has two values: diff takes one", name)
			}
			settings[name] = v
			return err
		})
		if err != nil {
			return nil, usageError{err}
		}
		if len(o.param) > 0 {
			return nil, usagef("--param is of a workload: name one with --workloads")
		}
	}
	if len(o.sql) > 0 {
		var list []protocol.Ask
		for _, sql := range o.sql {
			for sql = driver.TrimScript(sql); sql != ""; sql = driver.TrimScript(sql) {
				n := driver.StatementLen(sql)
				list = append(list, protocol.Ask{SQL: sql[:n]})
				sql = sql[n:]
			}
		}
		if list == nil {
			return nil, usagef("--sql has no statement: want such as --sql 'SELECT 1.0'")
		}
		work = append(work, o.asked("", settings, nil, list))
	}
	if o.values || alone && len(o.sql) == 0 {
		work = append(work, o.asked("values", settings, nil, diff.Probes()))
	}
	return work, nil
}

// rowsReported is how many rows of an answer are reported in full.
const rowsReported = 100

func (o *diffOptions) asked(name string, s driver.Settings, p *plan.Plan, list []protocol.Ask) questions {
	return questions{name: name, settings: s.With(driver.Settings{"pool_size": "1"}), job: protocol.Answers{Plan: p, Statements: list, Executions: o.executions, Rows: rowsReported, Files: p == nil && o.allowFiles}}
}

// diff asks each driver, and compares the answers with those of the first.
func (o *diffOptions) diff(ctx context.Context, r *request, refs []build.Ref, work []questions, say func(string, ...any)) (*diff.Diffed, error) {
	executables := make([]string, len(refs))
	for i, ref := range refs {
		var err error
		executables[i], _, err = r.builder.Worker(ctx, ref, func() {
			if !o.quiet {
				say("building the worker for %s", ref.Name)
			}
		})
		var unavailable *build.BuildError
		switch {
		case errors.As(err, &unavailable):
			return nil, incompleteError{fmt.Errorf("%s is unavailable: %s%s", ref.Name, unavailable.Reason.Message, conditions.Said(&unavailable.Reason))}
		case err != nil:
			return nil, fmt.Errorf("driver %s: %w", ref.Name, err)
		}
	}
	scratch, err := process.NewScratch(r.dir, runDirectory)
	if err != nil {
		return nil, err
	}
	defer scratch.Remove()
	n := 0
	answers := func(i int, w *questions) (*lab.Answered, error) {
		n++
		limited, cancel := context.WithTimeout(ctx, o.trialLimit)
		defer cancel()
		path := filepath.Join(scratch.Dir, fmt.Sprintf("%d.db", n))
		if w.begin != nil {
			if err := w.begin.CopyTo(limited, path); err != nil {
				return nil, err
			}
		}
		settings := w.settings
		if ref := refs[i]; ref.Known != nil && w.begin != nil {
			settings = lab.Asked(ref.Known.Info, settings, w.begin.Given)
		}
		a, err := lab.Answers(limited, executables[i], lab.JobRequest{
			Job: protocol.Job{Answers: &w.job}, Path: path, Settings: settings, Seed: r.matrix.Seed, Ref: refs[i],
		}, nil)
		var told *lab.JobError
		switch {
		case err == nil:
			return a, nil
		case ctx.Err() == nil && limited.Err() != nil:
			err = fmt.Errorf("it took longer than --trial-limit %v", o.trialLimit)
		case errors.As(err, &told):
			err = incompleteError{fmt.Errorf("%s%s [%s]", document.Line(flagged(told.Reason.Fields, told.Reason.Message)), conditions.Said(&told.Reason), told.Reason.Code)}
		}
		return nil, fmt.Errorf("%s: %w", strings.Join(slices.DeleteFunc([]string{refs[i].Name, w.name}, func(s string) bool { return s == "" }), ", "), err)
	}
	d := &diff.Diffed{Seed: r.matrix.Seed, Most: o.executions}
	var sides []*diff.Side
	for i, ref := range refs {
		s := &diff.Side{Name: ref.Name}
		for j := range refs[:i] {
			if refs[j].Name == ref.Name {
				s.Name = ref.Name + " again"
			}
		}
		if ref.Known != nil {
			_, s.PrimaryOnly = ref.Known.Limit("codes", "extended")
		}
		for k := range work {
			if name := work[k].name; name != "" && !o.quiet {
				say("%s: %s", s.Name, name)
			}
			a, err := answers(i, &work[k])
			if err != nil {
				return nil, err
			}
			s.Work = append(s.Work, diff.Work{Name: work[k].name, Proof: a.Proof, Answers: a.Answers, Skipped: a.Skipped, Times: a.Times})
			if a.TimesAsText && !slices.Contains(d.TimesAsText, s.Name) {
				d.TimesAsText = append(d.TimesAsText, s.Name)
			}
			for _, name := range a.Skipped {
				if name = work[k].name + ": " + name; !slices.Contains(d.Skipped, name) {
					d.Skipped = append(d.Skipped, name)
				}
			}
		}
		sides = append(sides, s)
		d.Sides = append(d.Sides, diff.DiffSideOf(s.Name, s.Work[0].Proof))
	}
	compare := func() {
		d.Results = nil
		for _, s := range sides[1:] {
			d.Results = append(d.Results, diff.Compare(sides[0], s))
		}
	}
	if compare(); !d.Differ() {
		return d, nil
	}
	// Answers that differ may do so each time.
	for k := range work {
		a, err := answers(0, &work[k])
		if err != nil {
			return nil, err
		}
		sides[0].Work[k].Again = a.Answers
	}
	compare()
	return d, nil
}
