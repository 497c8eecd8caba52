package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/sqlite3perf/sqlite3perf/cmd/sqlite3perf/internal/cli"
	"github.com/sqlite3perf/sqlite3perf/internal/conditions"
	"github.com/sqlite3perf/sqlite3perf/internal/distinct"
	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/gate"
	"github.com/sqlite3perf/sqlite3perf/internal/lab"
	"github.com/sqlite3perf/sqlite3perf/internal/lab/build"
	"github.com/sqlite3perf/sqlite3perf/internal/lab/host"
	"github.com/sqlite3perf/sqlite3perf/internal/machines"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
)

func gateCommand(env *cli.Environment) *cobra.Command {
	o := &gateOptions{}
	return cli.WithFlags(o.addFlags, &cobra.Command{
		Use:   "gate --baseline BASELINE",
		Short: "Fail if a driver has become slower, or wrong",
		Long: `Gate measures a driver and fails if it is worse than its baseline. It is made for
scripts and CI. The baseline is a version of the driver (mattn@v1.14.22), another
driver, a run of the store (its number, last, or the name that run --save-baseline gave
it), or a JSON report (base.json).

A driver as the baseline is measured in the same rounds as the candidate; this is the
most reliable way. With a stored baseline, the same cases are measured again. A baseline
of another machine, SQLite or workload is refused without --allow-differences. A
suspected regression is then measured together with the baseline's driver, if that can
be built again.

A cell (a phase of a workload with its settings) is a regression if it takes clearly
more than --max-regression longer, in two measurements. Wrong answers and more failed
operations are regressions too. A cell passes if its whole interval excludes a
regression. If --time ends before that, the answer is "Not known yet": use more --time,
a greater --max-regression or fewer workloads, or mark the phases that don't matter
"untimed: true" in your copy of the workload. With --strict=false the exit status is 0.
The candidate must also meet what workload files expect.

Exit status: 0 passed; 3 a regression, or an expectation that is not met; 4 undecided:
a regression is possible, an expectation is not decided, some cells failed or had too
few rounds, or nothing was measured; 1 sqlite3perf failed; 2 wrong usage.`,
		Example: `  sqlite3perf gate --baseline mattn@v1.14.22 --workloads simple,read-write
  sqlite3perf gate --baseline main
  sqlite3perf gate --baseline base.json --max-regression 10% --also junit=gate.xml
  sqlite3perf gate --baseline modernc --drivers ./my-worker --format markdown`,
		Args: cli.Arguments(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := cli.InOrder(func() error { return o.checkGateHosts(cmd.Context()) }, o.checkOutputs); err != nil {
				return err
			}
			if len(o.hosts.names) > 1 {
				return gateOnHosts(cmd.Context(), env, o)
			}
			return gateHere(cmd.Context(), env, o)
		},
	})
}

type gateOptions struct {
	compareOptions
	most    string
	metrics []string
	differ  bool
	strict  bool
	also    []string
	chosen  []stats.Metric
	outputs []cli.OutputOptions // the outputs of --output and of each --also
}

func (o *gateOptions) addFlags(f *pflag.FlagSet) {
	f.StringVar(&o.baseline, "baseline", "", "a driver such as mattn@v1.14.22, a `run`, the name of a saved baseline, or a JSON report")
	cli.Reaching(f, cli.Executes, "baseline")
	f.StringSliceVar(&o.drivers, "drivers", nil, "the candidate (default: the baseline's driver in its pinned version, or the drivers of a stored baseline)")
	f.StringVar(&o.most, "max-regression", "5%", "`share` by which the candidate may be worse")
	f.StringSliceVar(&o.metrics, "metrics", []string{string(stats.Time)}, "metrics to judge: "+strings.Join(metricNames, ", "))
	f.BoolVar(&o.differ, "allow-differences", false, "accept a baseline of another machine, SQLite or workload, with a warning")
	f.BoolVar(&o.strict, "strict", true, "exit with status 4 if a regression is possible or was not confirmed")
	f.StringArrayVar(&o.also, "also", nil, "also write the result to a file, `format=file` such as junit=gate.xml (repeatable)")
	cli.Reaching(f, cli.Writes, "also")
	cli.Grouped(f, cli.GroupWhat, "baseline", "drivers", "metrics", "allow-differences")
	cli.Grouped(f, cli.GroupLong, "max-regression", "strict")
	cli.Grouped(f, cli.GroupOutput, "also")
	o.addWorkFlags(f)
	o.addScheduleFlags(f)
	f.Lookup("rounds").Usage = roundsOfVerdicts
	o.addHookFlags(f)
	o.addPlaceFlags(f)
	o.hosts.addFlags(f)
	o.output.AddFullFlag(f)
	o.output.SetFormats("how the result is printed", gate.Formats.Names(), gate.Formats.Check)
}

// gateHere judges the candidate on one machine and writes the result to all outputs. If the gate could
// not judge, gateHere writes the reason to the output files, so that they don't keep an older result.
func gateHere(ctx context.Context, env *cli.Environment, o *gateOptions) error {
	out, failure := o.judged(ctx, env)
	_, interrupted := errors.AsType[cli.StatusError](failure)
	_, nothing := errors.AsType[cli.IncompleteError](failure)
	begun := failure == nil || nothing || len(out.Runs) > 0
	switch err := o.write(env, *out, begun); {
	case err != nil && interrupted:
		fmt.Fprintf(env.Stderr, "sqlite3perf: %v\n", err)
	case err != nil && failure != nil:
		return fmt.Errorf("%w; and %w", failure, err)
	case err != nil:
		return err
	}
	return gateStatus(out, failure)
}

func gateOnHosts(ctx context.Context, env *cli.Environment, o *gateOptions) error {
	seed, err := cli.Seed(o.seed)
	if err != nil {
		return err
	}
	list := make([]machines.GatedOn, len(o.hosts.names))
	failures := make([]error, len(list))
	unreached := o.hosts.onHosts(env, func(i int, own *cli.Environment, hosts hostOptions) {
		options := *o // a copy, because judging changes the options
		options.drivers, options.hosts, options.seed = slices.Clone(o.drivers), hosts, fmt.Sprint(seed)
		var out *gate.Gated
		out, failures[i] = options.judged(ctx, own)
		list[i] = machines.GatedOn{Name: hosts.names[0], Gated: *out, Options: document.Options{Hints: options.hints(*out)}}
	})
	statuses := make([]error, len(list))
	for i := range list {
		if usage, ok := errors.AsType[cli.UsageError](failures[i]); ok { // a usage error is the same on all hosts, so it is returned once
			return usage
		}
		statuses[i] = gateStatus(&list[i].Gated, failures[i])
	}
	if unreached != nil && o.output.File == "" {
		return cli.Incomplete(unreached)
	}
	err = o.output.Print(env, machines.GateFormats.Of(list), "sqlite3perf gate")
	switch {
	case err != nil && unreached != nil:
		return fmt.Errorf("%w; and %w", unreached, err)
	case err != nil:
		return err
	case unreached != nil:
		return cli.Incomplete(unreached)
	}
	return cli.Worst(statuses)
}

// gateStatus returns the parameter "failure". If "failure" is nil, it returns the exit status for the
// result.
func gateStatus(out *gate.Gated, failure error) error {
	switch {
	case failure != nil:
		return failure
	case out.Shut():
		return cli.StatusError(cli.ExitRegression)
	}
	return cli.CompleteIf(out.Complete())
}

// judged measures the candidate and judges it. If that fails, the field Why of the returned result has
// the error, unless the user interrupted the gate.
func (o *gateOptions) judged(ctx context.Context, env *cli.Environment) (*gate.Gated, error) {
	out := &gate.Gated{Gate: stats.NewGate(0), Where: "go.mod"}
	out.Baseline, out.Candidate = o.baseline, strings.Join(o.drivers, ", ")
	failure := o.judge(ctx, env, out)
	_, interrupted := errors.AsType[cli.StatusError](failure)
	out.Interrupted = interrupted || failure != nil && len(out.Runs) > 0
	if failure != nil && !interrupted {
		out.Why = fmt.Sprintf("%v%s", failure, hint(failure))
	}
	if n := len(out.Runs); n > 0 {
		cli.Keep(ctx, env, o.output.Store, out.Runs[n-1].Run, out)
	}
	return out, failure
}

// judge measures the candidate and judges it. If that fails, the parameter "out" contains the results so
// far.
func (o *gateOptions) judge(ctx context.Context, env *cli.Environment, out *gate.Gated) error {
	most, err := o.checkGate()
	if err != nil {
		return err
	}
	out.Max = most
	o.computing = cli.NewProgress(env, o.quiet).Computing
	var r *request
	if o.isStored(ctx, o.baseline) {
		out.Base, r, out.Differences, err = o.stored(ctx, env)
		out.Candidate = strings.Join(o.drivers, ", ")
	} else {
		r, err = o.live(ctx, env, most)
		if len(o.drivers) > 0 {
			out.Candidate = o.drivers[len(o.drivers)-1]
		}
	}
	if err != nil {
		return err
	}
	if out.Base != nil {
		names := document.Map(r.cases, func(c *lab.Case) string { return c.Driver })
		out.Candidate = strings.Join(distinct.Append(nil, names...), ", ")
	}
	if len(out.Differences) > 0 && !o.differ {
		return cli.Usagef("the baseline %s cannot judge this: %s: measure a new baseline, or a driver as the baseline, or give --allow-differences", o.baseline, strings.Join(out.Differences, "; "))
	}
	out.Asked = gate.Asked{Sides: [2]string{o.baseline, out.Candidate}, Metrics: o.chosen, Exact: o.exact, Report: strings.HasSuffix(o.baseline, ".json")}
	if out.Base == nil || len(r.matrix.Drivers) == 1 {
		r.prepared = allBuilt
	}
	if !o.exact {
		r.schedule.Settled = func(run *result.Run, round int) ([]int, bool) {
			if !stats.Look(round) {
				return nil, false
			}
			a := stats.Analyze(run, lab.Floor)
			g := stats.NewGate(most, out.Compare(a)...)
			if len(out.Runs) == 0 { // if out.Runs is not empty, this is the second measurement, which does not judge expectations
				g.Expected = a.ExpectationsOfSecond()
			}
			return g.Settled(), true
		}
	}
	a, failure := take(ctx, env, &o.runOptions, r)
	if failure != nil && (a == nil || len(a.Run.Trials) == 0) {
		return failure
	}
	out.Gate, out.Runs = stats.NewGate(most, out.Compare(a)...), []*stats.Analysis{a}
	out.Strict, out.Expected = o.strict, a.ExpectationsOfSecond()
	if failure != nil {
		out.Confirm()
		return failure
	}
	repeats, failure := out.Repeats(ctx, r.cases, r.compares, !o.exact, cli.Version(), func(before *result.Case, now *lab.Case) (build.Ref, error) {
		return o.baselineDriver(ctx, env, r, out.Base, before, now)
	})
	var confirmed []*stats.Comparison
	for _, next := range repeats {
		r.cases, r.compares = next.Cases, next.Compares
		if !o.quiet {
			fmt.Fprintf(env.Stderr, "measuring %s again, to confirm what seems to be a regression\n", document.Counted(len(r.cases), "case"))
		}
		var second *stats.Analysis
		second, failure = take(ctx, env, &o.runOptions, r)
		if second != nil {
			confirmed = append(confirmed, out.Compare(second)...)
			out.Runs = append(out.Runs, second)
		}
		if failure != nil {
			break
		}
	}
	out.Confirm(confirmed...)
	return failure
}

func (o *gateOptions) checkOutputs() error {
	if len(o.output.More) > 0 {
		if err := o.output.CheckFormat(); err != nil {
			return err
		}
	}
	for _, entry := range o.also {
		format, file, ok := strings.Cut(entry, "=")
		if !ok || file == "" {
			return cli.Usagef("--also %s: want format=file, such as junit=gate.xml", entry)
		}
		if err := gate.Formats.Check(format); err != nil {
			return cli.Usagef("--also %s: %w", entry, err)
		}
		o.outputs = append(o.outputs, cli.OutputOptions{Format: format, File: file, Flag: "--also " + entry, Store: o.output.Store, Known: gate.Formats.Check})
	}
	o.outputs = append(o.output.Each(), o.outputs...)
	kept, err := cli.StorePath(o.output.Store)
	if err != nil {
		return err
	}
	for i := range o.outputs {
		to := &o.outputs[i]
		if err := to.Check(); err != nil {
			return err
		}
		if to.File == "" {
			continue
		}
		if _, whole := to.Target(); whole && slices.ContainsFunc(o.outputs[:i], func(other cli.OutputOptions) bool { return other.File != "" && cli.SameFile(other.File, to.File) }) {
			return cli.Usagef("%s: another format is already written to that file: name another file", to.Named())
		}
		if cli.SameFile(to.File, kept) {
			return cli.Usagef("%s is the store, which is not written over: name another file", to.Named())
		}
		for _, read := range append([]string{o.baseline}, o.workloads...) {
			if cli.SameFile(to.File, read) {
				return cli.Usagef("%s is read, so it is not written over: name another file", to.Named())
			}
		}
	}
	return nil
}

// checkGateHosts parses the names in --hosts. It returns an error if the baseline is stored, because
// other machines would not measure it. It also returns an error if several hosts are named, but one of
// the outputs can have only one machine's result.
func (o *gateOptions) checkGateHosts(ctx context.Context) (err error) {
	if !o.hosts.asked() {
		return nil
	}
	if o.isStored(ctx, o.baseline) {
		return cli.Usagef("--baseline %s is stored, but on another machine the baseline must be measured together with the candidate: name a driver such as mattn@v1.14.22, or leave out --hosts", o.baseline)
	}
	if o.hosts.names, err = host.Parse(o.hosts.names); err != nil {
		return cli.Usagef("--hosts: %w", err)
	}
	if len(o.hosts.names) == 1 {
		return nil
	}
	if len(o.also) > 0 {
		return cli.Usagef("--also %s takes the result of one machine, but each of several hosts has its own: judge one host at a time", o.also[0])
	}
	if err := o.output.CheckFormat(); err != nil {
		return err
	}
	if err := machines.Formats.Check(o.output.Format); err != nil {
		return cli.Usagef("--format %s shows the result of one machine, but each of several hosts has its own: want %s, or one host at a time", o.output.Format, strings.Join(machines.Formats.Names(), ", "))
	}
	return nil
}

func (o *gateOptions) checkGate() (most float64, err error) {
	if o.baseline == "" {
		return 0, cli.Usagef("--baseline is missing: want a driver such as mattn@v1.14.22, a run, the name of a saved baseline, or a JSON report")
	}
	if most, err = cli.Share("--max-regression", o.most); err != nil {
		return 0, err
	}
	for _, name := range o.metrics {
		metric, err := parseMetric("--metrics", name)
		if err != nil {
			return 0, err
		}
		o.chosen = append(o.chosen, metric)
	}
	if len(o.chosen) == 0 {
		return 0, cli.Usagef("--metrics names none: want such as time,allocs")
	}
	o.count(o.chosen...)
	return most, nil
}

func (o *gateOptions) live(ctx context.Context, env *cli.Environment, most float64) (*request, error) {
	if shop, err := o.workers.Workshop(); err == nil && baselineName.MatchString(o.baseline) && !isDriver(o.baseline, shop.Known) {
		names := document.Map(shop.Known, func(k build.Known) string { return k.Name })
		return nil, cli.Usagef("--baseline %s: it is neither a driver nor a baseline of the store: %s (sqlite3perf run --save-baseline %[1]s saves one)", o.baseline, driver.Suggest(o.baseline, names))
	}
	if len(o.drivers) == 0 {
		name, _, version := strings.Cut(o.baseline, "@")
		if !version || strings.ContainsAny(o.baseline, `/\`) {
			return nil, cli.Usagef("--baseline %s: which driver is the candidate? Name it with --drivers", o.baseline)
		}
		o.drivers = []string{name}
	}
	if len(o.drivers) > 1 {
		return nil, cli.Usagef("--drivers %s: a baseline that is a driver judges one candidate", strings.Join(o.drivers, ","))
	}
	o.drivers, o.sided = []string{o.baseline, o.drivers[0]}, true
	r, err := o.check(ctx, env)
	if err != nil {
		return nil, err
	}
	r.margin = most
	if r.compares, err = o.sides(r); err != nil {
		return nil, err
	}
	r.compares.Looks = !o.exact
	return r, nil
}

const passHint = "give it more --time, a quieter machine, a greater --max-regression or fewer workloads, or mark phases that don't matter \"untimed: true\" in your copy of a workload (sqlite3perf workloads NAME --yaml > mine.yaml); with --strict=false the exit status is 0"

// write writes the result to all outputs. If the parameter "begun" is false, the gate failed before it
// began. In this case, nothing is written to standard output, because the command prints the error. In
// GitHub Actions, the method also writes annotations to standard error, unless standard output has them.
func (o *gateOptions) write(env *cli.Environment, g gate.Gated, begun bool) error {
	annotated, hints, again := false, o.hints(g), "sqlite3perf gate"
	if len(hints.More) > 0 {
		again = hints.More[0]
	}
	for i := range o.outputs {
		to := &o.outputs[i]
		if to.File == "" && !begun {
			continue
		}
		annotated = annotated || to.File == "" && to.Format == "github"
		err := to.Print(env, func(w io.Writer, format string, opts document.Options) error {
			opts.Hints, opts.Lines = hints, to.Screen(env)
			if n := len(g.Runs); n > 0 {
				opts.Source = conditions.PageSource(g.Runs[n-1].Run)
			}
			opts.Hints.Rest = cli.AllOfIt.Rest
			return gate.Formats.Write(w, format, g, opts)
		}, again)
		if err != nil {
			return err
		}
	}
	if os.Getenv("GITHUB_ACTIONS") == "true" && !annotated {
		return gate.Formats.Write(env.RawErr, "github", g, document.Options{})
	}
	return nil
}

// hints returns the commands that show more about the measurement, and what to do if the candidate
// does not pass.
func (o *gateOptions) hints(g gate.Gated) document.Hints {
	base, h := "", document.Hints{Scale: cli.ScaleHint, Pass: passHint}
	if g.Base != nil {
		base = fmt.Sprint(g.Base.Run.ID)
		if strings.HasSuffix(o.baseline, ".json") {
			base = conditions.ShellWord(o.baseline)
		}
		base += " "
	}
	for i, a := range g.Runs {
		sides := base
		if a.Run.Compares != nil {
			sides = ""
		}
		show := fmt.Sprintf("show %d", a.Run.ID)
		if i == len(g.Runs)-1 {
			show += " " + figuresFlag // without this flag, the command show prints the verdict, which this run stores
		}
		for _, command := range []string{fmt.Sprintf("compare %s%d", sides, a.Run.ID), show} {
			h.More = append(h.More, cli.InStore(o.output.Store, "sqlite3perf "+command))
		}
	}
	return h
}
