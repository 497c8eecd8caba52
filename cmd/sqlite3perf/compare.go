package main

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/sqlite3perf/sqlite3perf/cmd/sqlite3perf/internal/cli"
	"github.com/sqlite3perf/sqlite3perf/internal/compare"
	"github.com/sqlite3perf/sqlite3perf/internal/conditions"
	"github.com/sqlite3perf/sqlite3perf/internal/distinct"
	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/lab"
	"github.com/sqlite3perf/sqlite3perf/internal/report"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
	"github.com/sqlite3perf/sqlite3perf/internal/workload"
)

func compareCommand(env *cli.Environment) *cobra.Command {
	o := &compareOptions{}
	return cli.WithFlags(o.addFlags, &cobra.Command{
		Use:   "compare FIRST [SECOND] | RUN FIRST SECOND | --baseline NAME [RUN]",
		Short: "Say whether the second of two sides is slower than the first",
		Long: `Compare answers one question: does SECOND take longer than FIRST? A side is a driver
(mattn, modernc@v1.46.0, ./my-worker), a run of the store (its number, last, or the name
that run --save-baseline gave it), or a JSON report (base.json). With one driver, the sides
are two values of a setting or of a parameter, in the order in which you type them.

Two drivers, or two values, are measured now, in the same rounds, until every verdict is
clear or --time is over. Each cell (a phase of a workload with its settings) has a
verdict: slower, faster, no difference (the whole interval of the ratio lies within
--margin), probably one of these, or not known yet, with an estimate of the rounds that
are missing. Wrong and failed cells come first.

Two runs, or two reports, are compared in the cells that both have. A run of compare can
be named alone. After a run or a report you can name two of its drivers: probably slower
or faster is then what the tables of the run say, and slower or faster is also corrected
for all pairs of its drivers.

A terminal gets the beginning; --full prints everything.`,
		Example: `  sqlite3perf compare mattn modernc --workloads simple
  sqlite3perf compare modernc@v1.46.0 modernc
  sqlite3perf compare mattn --set synchronous=normal,full
  sqlite3perf compare 3 last
  sqlite3perf compare last mattn modernc
  sqlite3perf compare --baseline main
  sqlite3perf compare base.json new.json --format markdown`,
		Args: func(cmd *cobra.Command, args []string) error {
			if o.baseline != "" {
				return cli.Arguments(0, 1, "the run")(cmd, args)
			}
			return cli.Arguments(1, 3, "a side")(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error { return compareSides(cmd.Context(), env, o, args) },
	})
}

const roundsOfVerdicts = "exactly this many rounds, at least 6 (default: until every verdict is clear, or --time is over)"

type compareOptions struct {
	runOptions
	baseline string // for the command compare, the name of a baseline; for gate, a baseline or a driver
}

func (o *compareOptions) addFlags(f *pflag.FlagSet) {
	f.StringVar(&o.baseline, "baseline", "", "the first side: a run's `name` from run --save-baseline; the second side is RUN (default: last)")
	cli.Grouped(f, cli.GroupWhat, "baseline")
	o.addWorkFlags(f)
	o.addScheduleFlags(f)
	o.addMarginFlag(f, document.Share(stats.UsualMargin), "differences up to this `share` of the time don't count; a smaller share takes longer")
	f.Lookup("rounds").Usage = roundsOfVerdicts
	o.addHookFlags(f)
	o.addPlaceFlags(f)
	o.hosts.addFlags(f)
	o.output.AddFullFlag(f)
	o.output.SetFormats("how the comparison is printed", compare.Formats.Names(), compare.Formats.Check)
}

func compareSides(ctx context.Context, env *cli.Environment, o *compareOptions, args []string) error {
	if err := o.output.CheckFormat(); err != nil {
		if format := o.output.Format; compare.Formats.Check(format) != nil && report.Check(format) == nil {
			return cli.Usagef("--format %s has the samples of a run, not a comparison: want %s here, or show RUN --format %[1]s",
				format, strings.Join(compare.Formats.Names(), ", "))
		}
		return err
	}
	if o.baseline != "" {
		if !o.isStored(ctx, o.baseline) {
			return cli.Usagef("--baseline %s: the store has no baseline of that name: sqlite3perf run --save-baseline %[1]s saves one", document.Line(o.baseline))
		}
		args = append([]string{o.baseline}, args...)
		if len(args) == 1 {
			args = append(args, "last")
		}
	}
	isStored := func(side string) bool { return o.isStored(ctx, side) }
	stored := len(slices.DeleteFunc(slices.Clone(args), func(a string) bool { return !isStored(a) }))
	switch {
	case len(args) == 3 && (stored != 1 || !isStored(args[0])):
		return cli.Usagef("compare %s: three names are a run and two of its drivers, as in compare last mattn modernc; otherwise name two sides", strings.Join(args, " "))
	case len(args) == 3:
		return compareStored(ctx, env, o, args)
	case stored == 0:
		return compareLive(ctx, env, o, args)
	case stored < len(args):
		return cli.Usagef("compare %s: one side is stored and the other would be measured now, on whatever the machine is doing: name two drivers, or store both sides with run first", strings.Join(args, " "))
	}
	return compareStored(ctx, env, o, args)
}

// isStored reports whether an argument of compare names a stored run or a JSON report. Any other
// argument names a driver.
func isStored(side string) bool {
	return side == "last" || strings.Trim(side, "0123456789") == "" && side != "" || isReport(side)
}

func isReport(side string) bool { return strings.HasSuffix(side, ".json") }

func compareLive(ctx context.Context, env *cli.Environment, o *compareOptions, args []string) error {
	o.drivers, o.sided = args, true
	r, err := o.check(ctx, env)
	if err != nil {
		return err
	}
	if r.compares, err = o.sides(r); err != nil {
		return err
	}
	r.prepared = allBuilt
	r.ahead = tooFewRounds(r)
	if !o.exact {
		r.compares.Looks = true
		r.schedule.Settled = untilCompared
	}
	r.print = o.comparisonPrinter(env)
	return measure(ctx, env, &o.runOptions, r)
}

// untilCompared compares the run's cases and returns the IDs of those with a clear verdict. It is used as
// the field Settled of a [lab.Schedule]. If no verdicts are computed after the given round, the second
// result is false.
func untilCompared(run *result.Run, round int) ([]int, bool) {
	if !stats.Look(round) {
		return nil, false
	}
	return stats.CompareRun(stats.Analyze(run, lab.Floor)).Settled(), true
}

func (o *runOptions) comparisonPrinter(env *cli.Environment) func(*stats.Analysis) error {
	return func(a *stats.Analysis) error {
		return o.output.PrintAnswer(env, func(w io.Writer, format string, opts document.Options) error {
			c := stats.CompareRun(a)
			opts.Hints.Scale, opts.Hints.More = cli.ScaleHint, []string{cli.InStore(o.output.Store, cli.ShowAgain(a.Run.ID))}
			opts.Hints.Further = further(&o.output, a.Run, c)
			return compare.Formats.Write(w, format, compare.Compared{Comparison: c, First: a, Second: a}, opts)
		}, fmt.Sprintf("sqlite3perf compare %d", a.Run.ID))
	}
}

// further returns a command that measures further rounds, so that the unclear verdicts of a
// comparison may become clear. It returns "" if further rounds cannot make a verdict clear, or if
// the run cannot be extended.
func further(o *cli.OutputOptions, run *result.Run, c *stats.Comparison) string {
	rounds, open := 0, []*stats.Compared(nil)
	for _, x := range c.Cells {
		if x.Rounds > 0 && x.Rounds < stats.MaxRounds {
			rounds, open = max(rounds, x.Ratio.N+x.Rounds), append(open, x)
		}
	}
	switch {
	case open == nil:
		return ""
	case run.Stopped == result.StoppedRounds:
		return fmt.Sprintf("the same command with --rounds %d", rounds)
	}
	return toExtend(o, run, compare.TimeToSettle(open))
}

// onlyThese returns the command that measures two drivers of a stored run until their comparison is
// clear. It returns "" if no cell needs further rounds, or if a workload is not built in.
func onlyThese(o *cli.OutputOptions, pair []string, c *stats.Comparison) string {
	var workloads []string
	for _, x := range c.Cells {
		if x.Rounds > 0 {
			workloads = distinct.Append(workloads, x.Workload)
		}
	}
	if workloads == nil || slices.ContainsFunc(workloads, func(w string) bool { return !slices.Contains(workload.Builtins(), w) }) {
		return ""
	}
	return cli.InStore(o.Store, conditions.CommandLine([]string{"sqlite3perf", "compare", pair[0], pair[1], "--workloads", strings.Join(workloads, ",")}))
}

// allBuilt returns an error if one of the two compared drivers has no worker, because measuring the
// other driver alone would be useless.
func allBuilt(cases []*lab.Case) error {
	for _, c := range cases {
		if c.Unavailable != nil {
			return cli.Incomplete(fmt.Errorf("%s is unavailable: %s%s: nothing is left to compare, so nothing is measured or stored",
				c.Driver, c.Unavailable.Message, conditions.Said(c.Unavailable)))
		}
	}
	return nil
}

// tooFewRounds returns a warning if the requested number of rounds cannot show a difference between
// the sides. It returns "" otherwise.
func tooFewRounds(r *request) string {
	cells := 0
	for _, c := range r.cases {
		cells += len(c.Phases)
	}
	cells /= 2
	least := stats.LeastRounds(cells, false)
	if r.schedule.Rounds == 0 || r.schedule.Rounds >= least {
		return ""
	}
	return fmt.Sprintf("%d rounds are too few for a verdict on %d cells: give --rounds %d or more, or leave it out", r.schedule.Rounds, cells, least)
}

// sides finds the two compared drivers, or the two compared values of a setting or parameter.
func (o *compareOptions) sides(r *request) (*result.Compares, error) {
	c := &result.Compares{Margin: r.margin}
	if len(r.matrix.Drivers) == 2 {
		c.Factor, c.First, c.Second = result.FactorDriver, r.matrix.Side(r.matrix.Drivers[0]).Name, r.matrix.Side(r.matrix.Drivers[1]).Name
		if c.First == c.Second {
			return nil, cli.Usagef("both sides are %s, because of what the workloads need: name another driver", c.First)
		}
		return c, nil
	}
	var factors []string
	vary := func(factor result.Factor, flag, name string, values []string) (err error) {
		if len(values) > 2 {
			err = cli.Usagef("%s %s has %d values: compare takes two; run measures and ranks them all", flag, name, len(values))
		} else if len(values) > 1 {
			factors = append(factors, flag+" "+name)
			*c = result.Compares{Factor: factor, Name: name, First: values[0], Second: values[1], Margin: c.Margin}
		}
		return err
	}
	for name, values := range r.matrix.Settings {
		if err := vary(result.FactorSetting, "--set", name, values); err != nil {
			return nil, err
		}
	}
	for name, values := range r.matrix.Parameters {
		if err := vary(result.FactorParameter, "--param", name, document.Map(values, func(n int64) string { return fmt.Sprint(n) })); err != nil {
			return nil, err
		}
	}
	driver := r.matrix.Drivers[0].Name
	switch slices.Sort(factors); len(factors) {
	case 0:
		return nil, cli.Usagef("compare %s: with what? Name another driver, as in compare %[1]s modernc, or two values of a setting, as in compare %[1]s --set synchronous=normal,full", driver)
	case 1:
		for _, x := range r.cases {
			if c.Value(&x.Case) == "" {
				return nil, cli.Usagef("%s: workload %s has no parameter %s, so there is nothing to compare: leave it out of --workloads", factors[0], x.Workload, c.Name)
			}
		}
		return c, nil
	}
	return nil, cli.Usagef("%s have two values each: compare takes one; run measures every combination", document.And(factors))
}

func compareStored(ctx context.Context, env *cli.Environment, o *compareOptions, args []string) error {
	var pair []string // names of two drivers of a stored run
	again := "sqlite3perf compare " + strings.Join(args, " ")
	if len(args) == 3 {
		args, pair = args[:1], args[1:]
	}
	words := args[0] + " is stored"
	if len(args) == 2 {
		words = document.And(args) + " are stored"
	}
	margin := 0.0
	err := cli.InOrder(
		func() error { return o.onlyOfStored(words, "margin", "baseline") },
		func() (err error) { margin, err = cli.Share("--margin", o.margin); return err },
		o.output.Check,
	)
	if err != nil {
		return err
	}
	var sides []*stats.Analysis
	var names [2]string
	var more []string
	for i, a := range args {
		side, err := sampled(ctx, env, o.output.Store, a)
		if err != nil {
			return err
		}
		if names[i] = filepath.Base(a); !isReport(a) {
			names[i] = fmt.Sprintf("run %d", side.Run.ID)
			more = append(more, cli.InStore(o.output.Store, cli.ShowAgain(side.Run.ID)))
		}
		sides = append(sides, side)
	}
	if len(args) == 2 && (args[0] == args[1] || sides[0].Run.ID == sides[1].Run.ID && !slices.ContainsFunc(args, isReport)) {
		drivers := sides[0].Run.Drivers()
		if len(drivers) < 2 {
			return cli.Usagef("%s is %s: name another run; runs lists them", args[0], same(args))
		}
		return cli.Usagef("%s is %s: name another run, or two of its drivers, as in compare %[1]s %[3]s %[4]s", args[0], same(args), drivers[0], drivers[1])
	}
	if names[0] == names[1] && len(args) == 2 { // for example, two files named base.json in different directories
		names = [2]string(args)
	}
	first, second := sides[0], sides[len(sides)-1]
	c, err := o.comparison(args, names, pair, sides, margin)
	if err != nil {
		return err
	}
	next := ""
	switch {
	case pair != nil && len(first.Run.Drivers()) > 2:
		next = onlyThese(&o.output, pair, c)
	case first == second && !isReport(args[0]):
		next = further(&o.output, first.Run, c)
	}
	err = o.output.PrintAnswer(env, func(w io.Writer, format string, opts document.Options) error {
		opts.Hints.Scale, opts.Hints.More, opts.Hints.Further = cli.ScaleHint, more, next
		return compare.Formats.Write(w, format, compare.Compared{Comparison: c, First: first, Second: second}, opts)
	}, again)
	if err != nil {
		return err
	}
	return cli.CompleteIf(len(c.Cells) > 0 && c.Count(stats.Bad)+c.Count(stats.Differing) == 0)
}

func (o *compareOptions) comparison(args []string, names [2]string, pair []string, sides []*stats.Analysis, margin float64) (*stats.Comparison, error) {
	first, drivers := sides[0], sides[0].Run.Drivers()
	if pair != nil {
		for _, name := range pair {
			if !slices.Contains(drivers, name) {
				return nil, cli.Usagef("%s has no driver %q: it has %s", names[0], name, strings.Join(drivers, ", "))
			}
		}
		if pair[0] == pair[1] {
			return nil, cli.Usagef("both sides are %s: name two drivers of %s, which has %s", pair[0], names[0], strings.Join(drivers, ", "))
		}
		return stats.CompareDrivers(first, pair[0], pair[1], margin), nil
	}
	switch {
	case len(sides) == 2:
		return stats.CompareRuns(names, first, sides[1], margin), nil
	case first.Run.Compares == nil && len(drivers) > 1:
		return nil, cli.Usagef("%s was not made by compare: name a second one, or two of its drivers, as in compare %[1]s %[2]s %[3]s", args[0], drivers[0], drivers[1])
	case first.Run.Compares == nil:
		return nil, cli.Usagef("%s was not made by compare: name a second one", args[0])
	case cli.Typed(o.flags.Lookup("margin")):
		first.Run.Compares.Margin = margin
	}
	return stats.CompareRun(first), nil
}

// onlyOfStored returns an error if the user typed a flag that has no meaning for a stored run.
// Flags for the output are always allowed.
func (o *runOptions) onlyOfStored(stored string, allowed ...string) error {
	if unused := o.othersTyped(append(allowed, "store", "format", "output", "no-color", "full")); unused != nil {
		return cli.Usagef("%s: only for a new measurement, and %s: leave it out", strings.Join(unused, " "), stored)
	}
	return nil
}

func (o *runOptions) othersTyped(allowed []string) (names []string) {
	o.flags.Visit(func(f *pflag.Flag) {
		if cli.Typed(f) && !slices.Contains(allowed, f.Name) {
			names = append(names, "--"+f.Name)
		}
	})
	return names
}

// The function "same" describes how two arguments name the same run.
func same(args []string) string {
	if args[0] == args[1] {
		return "named twice"
	}
	return "the same run as " + args[1]
}
