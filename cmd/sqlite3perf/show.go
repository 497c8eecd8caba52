package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sqlite3perf/sqlite3perf/cmd/sqlite3perf/internal/cli"
	"github.com/sqlite3perf/sqlite3perf/internal/conditions"
	"github.com/sqlite3perf/sqlite3perf/internal/directory"
	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/lab"
	"github.com/sqlite3perf/sqlite3perf/internal/machines"
	"github.com/sqlite3perf/sqlite3perf/internal/profile"
	"github.com/sqlite3perf/sqlite3perf/internal/report"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
	"github.com/sqlite3perf/sqlite3perf/internal/study"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
)

type showOptions struct {
	cli.OutputOptions
	text    string // name of the workload whose text is printed
	picture string
	figures bool
}

func showCommand(env *cli.Environment) *cobra.Command {
	o := &showOptions{}
	cmd := &cobra.Command{
		Use:   "show RUN [RUN...]",
		Short: "Print the results of a stored run, or of one on each of several machines",
		Long: `Show prints a run of the store, given by its number in the list of runs, or as "last":
the newest run that has ended. A terminal gets the answer: who is fastest, by how much,
how sure that is, and warnings. --full prints every table, as in files and pipes.

For a run of profiles, show prints where the time goes. Tune, locks, advise, diff,
cluster, crash and gate store their answer with a run: show prints it as they did, in
each of their formats (a gate's only as table, markdown and html), and with --figures
the measurements instead. --workload prints the text of a workload of the run, and on a
terminal also what the run measured with it and the settings in force. --chart prints a
picture of the run's page, as svg or png; an unknown name lists the pictures. Without
--chart, -o run3.png gets the first one, an overview. With -o run3.html, show writes the
same page as report.

Several runs must be of the same work on several machines. Show says which results are
the same on all of them and which are opposite.`,
		Example: "  sqlite3perf show last\n  sqlite3perf show last --full\n  sqlite3perf show 3 --workload simple > simple.yaml\n  sqlite3perf show 3 -o run3.csv\n  sqlite3perf show 3 -o run3.html\n  sqlite3perf show 4 5 6\n  sqlite3perf show 3 --chart summary -o summary.png",
		Args:    cli.Arguments(1, -1, "the run"),
		RunE:    func(cmd *cobra.Command, args []string) error { return o.show(cmd.Context(), env, args) },
	}
	f := cmd.Flags()
	f.StringVar(&o.text, "workload", "", "print the text of the run's workload with this `name`; on a terminal, also its results and settings in force")
	o.AddFullFlag(f)
	addFiguresFlag(f, &o.figures)
	cli.AddStoreFlag(f, &o.Store)
	f.StringVar(&o.picture, "chart", "", "one picture of the run's page, by its `name`")
	o.AddFlags(f)
	formats := slices.Concat(report.Formats(), report.PictureFormats.Names(), []string{profile.FirefoxFormat})
	o.SetFormats("how results are printed", formats, func(format string) error {
		if !slices.Contains(formats, format) {
			return fmt.Errorf("unknown format %q: %s", format, driver.Suggest(format, formats))
		}
		return nil
	})
	return cmd
}

func (o *showOptions) show(ctx context.Context, env *cli.Environment, args []string) error {
	if o.text != "" && (o.File != "" || o.Asked.Changed) {
		return cli.Usagef("--workload prints a text to standard output: leave out --output and --format")
	}
	if o.picture != "" && o.File == "" && !cli.Typed(o.Asked) {
		o.Format = "svg"
	}
	if err := o.Check(); err != nil {
		return err
	}
	if o.picture != "" {
		if err := o.OnlyOne("--chart writes one picture"); err != nil {
			return err
		}
	}
	switch {
	case o.picture != "" && !isPicture(o.Format):
		return cli.Usagef("--chart %s: a picture cannot be written as %s: want --format %s", o.picture, o.Format, document.Or(report.PictureFormats.Names()))
	case len(args) > 1 && (o.text != "" || o.picture != ""):
		return cli.Usagef("--workload and --chart are of one run: name one of %s", strings.Join(args, ", "))
	case len(args) > 1:
		return showMachines(ctx, env, &o.OutputOptions, args)
	}
	run, err := storedRun(ctx, env, o.Store, args[0], false)
	if err != nil {
		return err
	}
	if o.text != "" {
		if err := writeWorkload(env, run, o.text); err != nil || env.StdoutWidth == 0 {
			return err // files and pipes get the text exactly as the run read it
		}
		return report.WriteMeasured(env.Stdout, stats.Analyze(run, lab.Floor), o.text, document.Options{Width: env.StdoutWidth})
	}
	a := stats.Analyze(run, lab.Floor)
	for _, to := range o.Each() {
		one := *o
		one.OutputOptions = to
		if err := one.showRun(ctx, env, run, a); err != nil {
			return err
		}
	}
	return nil
}

func isPicture(format string) bool { return slices.Contains(report.PictureFormats.Names(), format) }

// showRun prints a run to one output.
func (o *showOptions) showRun(ctx context.Context, env *cli.Environment, run *result.Run, a *stats.Analysis) error {
	if o.picture == "" {
		q, err := asksFor(&o.OutputOptions, run, o.figures)
		if err != nil {
			return err
		}
		if q != nil {
			return q.show(ctx, env, &o.OutputOptions, a)
		}
	}
	if isPicture(o.Format) {
		return writePicture(env, &o.OutputOptions, a, o.picture)
	}
	if run.Profiles != nil {
		if err := profile.Formats.Check(o.Format); err != nil {
			return cli.Usagef("run %d has profiles instead of samples: %w", run.ID, err)
		}
	} else if o.Format == profile.FirefoxFormat {
		return cli.Usagef("--format %s: run %d has samples, and the format is for profiles: name a run of sqlite3perf profile", o.Format, run.ID)
	}
	return write(env, &o.OutputOptions, a)
}

func showMachines(ctx context.Context, env *cli.Environment, o *cli.OutputOptions, refs []string) error {
	for _, to := range o.Each() {
		if err := machines.Formats.Check(to.Format); err != nil {
			return cli.Usagef("--format %s has one run: want %s for several", to.Format, strings.Join(machines.Formats.Names(), ", "))
		}
	}
	var list []*stats.Analysis
	for _, ref := range refs {
		a, err := sampled(ctx, env, o.Store, ref)
		if err != nil {
			return err
		}
		if slices.ContainsFunc(list, func(other *stats.Analysis) bool { return other.Run.ID == a.Run.ID }) {
			return cli.Usagef("run %d is named twice", a.Run.ID)
		}
		list = append(list, a)
	}
	return writeMachines(env, o, machines.Named(list))
}

func writePicture(env *cli.Environment, o *cli.OutputOptions, a *stats.Analysis, name string) error {
	p, others, err := report.PictureNamed(a, name, described(a))
	switch {
	case err != nil && name == "":
		return cli.Usagef("--format %s: %w", o.Format, err)
	case err != nil:
		return cli.Usagef("--chart %s: %w", name, err)
	case o.File == "" && env.StdoutWidth > 0:
		return cli.Usagef("picture %s: a terminal does not show it: name a file with -o, such as -o %[1]s.%s", p.Name, o.Format)
	}
	err = o.Print(env, func(w io.Writer, format string, _ document.Options) error {
		return report.PictureFormats.Write(w, format, p, 0)
	}, o.Again(cli.ShowAgain(a.Run.ID)+" --chart "+p.Name))
	if err == nil && name == "" && len(others) > 0 {
		fmt.Fprintf(env.Stderr, "%s has the picture %s; --chart NAME writes another: %s\n", cmp.Or(o.File, "standard output"), p.Name, document.FirstOf(others, 3, ", "))
	}
	return err
}

// storedRun loads a run from the store in storeFile. If storeFile is "", it uses the default store. The
// parameter "ref" is the run's ID or "last", which is the run that started last. If the parameter
// "unfinished" is false, "last" ignores runs that have not ended. storedRun prints to standard error
// which parts of the run the store lacks.
func storedRun(ctx context.Context, env *cli.Environment, storeFile, ref string, unfinished bool) (*result.Run, error) {
	st, path, err := cli.ReadStore(ctx, storeFile)
	if err != nil {
		return nil, err
	}
	defer st.Close()
	var newest int64
	if ref == "last" {
		if newest, err = st.Newest(ctx); err != nil {
			return nil, err
		}
	}
	id := newest
	if !unfinished || newest == 0 {
		if id, err = st.Resolve(ctx, ref); err != nil {
			return nil, cli.WrongUsage(err)
		}
	}
	if newest != 0 && newest != id {
		fmt.Fprintf(env.Stderr, "run %d was killed or is being measured: give its number to name it; the last that has ended is run %d\n", newest, id)
	}
	run, err := st.Load(ctx, id)
	if err != nil {
		return nil, err
	}
	for _, w := range run.Warnings {
		if w.Code == result.WarningStore {
			fmt.Fprintf(env.Stderr, "store %s: run %d: %s\n", path, id, w.Message)
		}
	}
	return run, nil
}

const reportHint = "want a report such as sqlite3perf run --format json -o base.json writes"

// storedOrReport reads a run from the store or, if the argument ends in .json, from a JSON report.
func storedOrReport(ctx context.Context, env *cli.Environment, storeFile, side string) (*result.Run, error) {
	if strings.HasSuffix(side, ".json") {
		f, err := directory.OpenRegular(side)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, cli.Usagef("%s: there is no such file: %s", side, reportHint)
		}
		if err != nil {
			return nil, cli.Usagef("%w: %s", err, reportHint)
		}
		defer f.Close()
		run, err := report.ReadJSON(io.LimitReader(f, directory.MaxOwn)) // the JSON of a larger report is cut off, so parsing it fails
		if err != nil {
			return nil, cli.Usagef("%s: %w: %s", side, err, reportHint)
		}
		return run, nil
	}
	return storedRun(ctx, env, storeFile, side, false)
}

// The function "foreign" reports whether a run may be somebody else's, because it was merged or is from
// a JSON report. Nothing in such a run is executed, not even the SQL of its workloads. The parameter
// "named" is the run's name on the command line, which ends in .json for a report.
func foreign(run *result.Run, named string) bool {
	return run.Merged != "" || strings.HasSuffix(named, ".json")
}

// sampled analyzes a run from the store or a JSON report. It returns an error if the run has no
// samples.
func sampled(ctx context.Context, env *cli.Environment, storeFile, side string) (*stats.Analysis, error) {
	run, err := storedOrReport(ctx, env, storeFile, side)
	if err != nil {
		return nil, err
	}
	if run.Unsampled() != "" {
		return nil, cli.Usagef("run %d has %s instead of samples, which this command needs: name another run; sqlite3perf runs lists them", run.ID, run.Unsampled())
	}
	return stats.Analyze(run, lab.Floor), nil
}

// writeWorkload prints the text of a workload exactly as the run read it, followed by the SQL files
// that the workload names, each after a line with its name.
func writeWorkload(env *cli.Environment, run *result.Run, name string) error {
	i := slices.IndexFunc(run.Workloads, func(w result.Workload) bool { return w.Name == name })
	switch {
	case len(run.Workloads) == 0:
		return fmt.Errorf("run %d was stored by an older sqlite3perf, which did not store the texts of workloads", run.ID)
	case i < 0:
		names := document.Join(run.Workloads, ", ", func(w result.Workload) string { return w.Name })
		return cli.Usagef("run %d has no workload %q: it has %s", run.ID, name, names)
	}
	text := run.Workloads[i].Text
	for _, f := range run.Workloads[i].Includes {
		text += fmt.Sprintf("\n# %s\n%s", f.Name, f.Text)
	}
	_, err := io.WriteString(env.AsItIs(), text)
	return err
}

func write(env *cli.Environment, o *cli.OutputOptions, a *stats.Analysis) error {
	return o.Print(env, func(w io.Writer, format string, opts document.Options) error {
		return report.Write(w, format, a, ofRun(o, env, a, opts))
	}, o.Again(fmt.Sprintf("sqlite3perf show %d", a.Run.ID)))
}

// described returns the options of a report that all formats need: the evaluated study.
func described(a *stats.Analysis) report.Options {
	return report.Options{Study: study.Evaluate(a, "--scale full")}
}

// ofRun returns options for the report of a run: the parameter "options", the evaluated study, and
// hints for this run.
func ofRun(o *cli.OutputOptions, env *cli.Environment, a *stats.Analysis, options document.Options) report.Options {
	opts := described(a)
	opts.Options = options
	opts.Hints = document.Hints{Workloads: "--workloads", AddedCost: "sqlite3perf drivers --added-cost", Scale: cli.ScaleHint, Samples: moreSamples,
		Compare: cli.InStore(o.Store, fmt.Sprintf("sqlite3perf compare %d", a.Run.ID)), Rest: []document.Hint{
			{Shows: "all tables", Command: cli.InStore(o.Store, fmt.Sprintf("sqlite3perf show %d --full", a.Run.ID))},
			{Shows: "pictures", Command: cli.InStore(o.Store, fmt.Sprintf("sqlite3perf report %d", a.Run.ID))},
			{Shows: "explore", Command: cli.InStore(o.Store, "sqlite3perf serve")},
		}}
	opts.Hints.Full, opts.Hints.FullFlag = opts.Hints.Rest[0].Command, "--full"
	if list := a.Run.Workloads; len(list) > 1 {
		one := document.Hint{Shows: "one workload", Command: cli.InStore(o.Store, fmt.Sprintf("sqlite3perf show %d --workload %s", a.Run.ID, list[0].Name))}
		opts.Hints.Rest = slices.Insert(opts.Hints.Rest, 1, one)
	}
	opts.Hints.Further = furtherRounds(o, a)
	if conditions.Resumable(a.Run, cli.Version(), false) == nil {
		opts.Hints.Resume = cli.InStore(o.Store, fmt.Sprintf("sqlite3perf run --resume %d", a.Run.ID))
	}
	if a.Run.Compares != nil {
		opts.Hints.Rest = slices.Insert(opts.Hints.Rest, 0, document.Hint{Shows: "verdicts", Command: opts.Hints.Compare})
	}
	opts.Lines = o.Screen(env)
	return opts
}
