package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/sqlite3perf/sqlite3perf/cmd/sqlite3perf/internal/cli"
	"github.com/sqlite3perf/sqlite3perf/internal/bisect"
	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/lab"
	"github.com/sqlite3perf/sqlite3perf/internal/lab/build"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
)

func bisectCommand(env *cli.Environment) *cobra.Command {
	o := &bisectOptions{}
	return cli.WithFlags(o.addFlags, &cobra.Command{
		Use:   "bisect DRIVER@FIRST..LAST",
		Short: "Find the release of a driver that made a workload slower, faster, wrong or failed",
		Long: `Bisect finds the first release of a driver in which a cell (a phase of a workload with
its settings) is slower, faster, wrong or failed. Each step compares a release with the
first of the range, in the same rounds of one run, and halves the range. The first cell
that changes is followed, or the one that --phase names. In the end the found release is
compared with the release before it. The answer lists what else differs between the two:
SQLite's version, its compile options, and other modules.

If every step is clear, n releases take at most ⌈log₂ n⌉ + 1 builds. Unavailable
releases are skipped. A step ends when its verdict is clear, or after --time. If a step
stays unclear, the answer may be a range of releases.

Each step is a run in the store: sqlite3perf compare RUN prints it again.`,
		Example: `  sqlite3perf bisect mattn@v1.14.22..v1.14.53 --workloads simple
  sqlite3perf bisect modernc@v1.33.1..v1.62.0 --workloads ./mine.yaml --phase query
  sqlite3perf bisect modernc@v1.33.1..v1.62.0 --workloads ./mine.yaml --until-fixed`,
		Args: cli.Arguments(1, 1, "a range of releases"),
		RunE: func(cmd *cobra.Command, args []string) error { return bisectReleases(cmd.Context(), env, o, args[0]) },
	})
}

type bisectOptions struct {
	runOptions
	phase      string
	metric     string
	untilFixed bool
}

func (o *bisectOptions) addFlags(f *pflag.FlagSet) {
	f.StringVar(&o.phase, "phase", "", "follow only this phase (default: the first that changes)")
	f.StringVar(&o.metric, "metric", string(stats.Time), "metric to follow: "+strings.Join(metricNames, ", "))
	f.BoolVar(&o.untilFixed, "until-fixed", false, "find the release that made a cell better: faster, or no longer wrong or failed")
	cli.Grouped(f, cli.GroupWhat, "phase", "metric", "until-fixed")
	o.addWorkFlags(f)
	o.addScheduleFlags(f)
	o.addMarginFlag(f, "5%", "differences up to this `share` of the time don't count; a smaller share takes longer")
	f.Lookup("rounds").Usage = "exactly this many rounds in each step, at least 6 (default: until the verdict is clear, or --time is over)"
	f.Lookup("time").Usage = "a step stops before a round that would end after this time; six rounds always run"
	o.addPlaceFlags(f)
	o.output.AddFullFlag(f)
	o.output.SetFormats("how the answer is printed", bisect.Formats.Names(), bisect.Formats.Check)
}

func bisectReleases(ctx context.Context, env *cli.Environment, o *bisectOptions, text string) error {
	if err := o.output.CheckFormat(); err != nil {
		return err
	}
	metric, err := parseMetric("--metric", o.metric)
	if err != nil {
		return err
	}
	o.count(metric)
	o.sided = true
	among, err := o.among(ctx, text)
	if err != nil {
		return err
	}
	show := cli.NewProgress(env, o.quiet)
	r, err := o.check(ctx, env)
	if err != nil {
		return err
	}
	if err := checkPhase(o.phase, r.cases); err != nil {
		return err
	}
	releases, err := r.releases(ctx, among, text)
	if _, usage := errors.AsType[cli.UsageError](err); err != nil && !usage {
		err = fmt.Errorf("%w: connect, or compare two that have been built: sqlite3perf compare %s@%s %[2]s@%[4]s", err, among.Known.Name, among.First, among.Last)
	}
	if err != nil {
		return err
	}
	m := &measurement{env: env, o: o, r: r, ref: among.Ref}
	s := &bisect.Search{Releases: releases, Margin: r.margin, Phase: o.phase, Metric: metric, UntilFixed: o.untilFixed, Measure: m.compare}
	show.Note("%d releases, at most %d to build", len(releases), bisect.Steps(len(releases))+1)
	s.Begin = func(k, n int, first, second string) {
		show.Note("step %d of about %d: %s, compared with %s", k, n, second, first)
	}
	s.End = func(step *bisect.Step) { show.Note("%s", bisect.StepWords(step)) }
	found, failure := s.Run(ctx)
	return o.answer(env, among.Known.Name, found, failure)
}

// The method "among" parses a range of a driver's releases. The releases in the range are looked up
// later, after all other checks. Until then, o.drivers contains only the driver's pinned release, which is
// the release in the driver's go.mod.
func (o *runOptions) among(ctx context.Context, text string) (build.ReleaseRange, error) {
	shop, err := o.workers.Workshop()
	if err != nil {
		return build.ReleaseRange{}, err
	}
	list, err := build.ParseReleases(ctx, text, shop.Known)
	var pinned build.Ref
	if err == nil {
		pinned, err = list.Ref(ctx, "")
	}
	if err != nil {
		return list, cli.WrongUsage(err)
	}
	o.drivers = []string{pinned.Name}
	return list, nil
}

// releases lists the releases of a range. The parameter "named" is the range as the user typed it.
func (r *request) releases(ctx context.Context, among build.ReleaseRange, named string) ([]string, error) {
	list, err := r.Builder.Releases(ctx, among.Known, among.First, among.Last)
	if none, ok := errors.AsType[*build.NoReleaseError](err); ok {
		return nil, cli.Usagef("%s: %w: the nearest releases are %s", named, err, strings.Join(none.Nearest, ", "))
	}
	return list, err
}

func (o *bisectOptions) answer(env *cli.Environment, driver string, found *bisect.Finding, failure error) error {
	missing, _ := errors.AsType[*bisect.Missing](failure)
	start, _ := errors.AsType[*bisect.StartError](failure)
	switch {
	case start != nil && !o.untilFixed:
		return cli.Incomplete(fmt.Errorf("%w: begin with another release, or find the one that fixed it with --until-fixed", failure))
	case missing != nil:
		return cli.Incomplete(fmt.Errorf("nothing can be compared: %w", failure))
	case len(found.Steps) == 0:
		return failure
	}
	b := bisect.Bisection{Finding: found, Driver: driver}
	if found.Pair != nil {
		b.Also = bisect.Differences(found.Pair)
	}
	err := o.output.Print(env, func(w io.Writer, format string, opts document.Options) error {
		opts.Lines, opts.Hints = o.output.Screen(env), cli.AllOfIt
		return bisect.Formats.Write(w, format, b, opts)
	}, fmt.Sprintf("sqlite3perf compare %d", found.LastRun()))
	if failure = cmp.Or(failure, err); failure != nil {
		return failure
	}
	return cli.CompleteIf(found.Certain())
}

func checkPhase(phase string, cases []*lab.Case) error {
	var phases []string
	for _, c := range cases {
		phases = append(phases, c.Phases...)
	}
	if phase == "" || slices.Contains(phases, phase) {
		return nil
	}
	slices.Sort(phases)
	return cli.Usagef("--phase %s: no chosen workload has it: %s", phase, driver.Suggest(phase, slices.Compact(phases)))
}

type measurement struct {
	env  *cli.Environment
	o    *bisectOptions
	r    *request
	ref  func(ctx context.Context, release string) (build.Ref, error)
	told bool
}

// compare measures two releases in one run. If the parameter "change" is not nil, compare measures
// only the cases that the change concerns. The method is used as the field Measure of the [bisect.Search].
func (m *measurement) compare(ctx context.Context, first, second string, change *bisect.Change, settled func(*result.Run, int) ([]int, bool)) (*stats.Analysis, error) {
	r := *m.r
	names := map[string]string{}
	r.matrix.Drivers = nil
	for _, release := range []string{first, second} {
		ref, err := m.ref(ctx, release)
		if err != nil {
			return nil, err
		}
		names[r.matrix.Side(ref).Name] = release
		r.matrix.Drivers = append(r.matrix.Drivers, ref)
	}
	var err error
	if r.cases, err = r.matrix.Cases(); err != nil {
		return nil, err
	}
	if change != nil {
		r.cases = slices.DeleteFunc(r.cases, func(c *lab.Case) bool { return !change.Of(&c.Case) })
		for i, c := range r.cases {
			c.ID = i + 1
		}
	}
	r.compares = &result.Compares{Factor: result.FactorDriver, First: r.matrix.Side(r.matrix.Drivers[0]).Name, Second: r.matrix.Side(r.matrix.Drivers[1]).Name, Margin: r.margin}
	if !m.o.exact {
		r.compares.Looks, r.schedule.Settled = true, settled
	}
	if !m.told && !m.o.untilFixed {
		r.tried = func(ctx context.Context, p *lab.Processes, show lab.Building) error {
			return m.start(ctx, p, show, r.cases, first)
		}
	}
	r.told, m.told = m.told, true
	r.prepared = func(cases []*lab.Case) error {
		for _, c := range cases {
			if c.Unavailable != nil {
				return &bisect.Missing{Release: names[c.Driver], Why: c.Unavailable.Message}
			}
		}
		return nil
	}
	return take(ctx, m.env, &m.o.runOptions, &r)
}

// start runs one trial of each case of the first release, until a trial succeeds. If all trials fail, it
// returns a [bisect.StartError], so that no other release is built in vain.
func (m *measurement) start(ctx context.Context, p *lab.Processes, show lab.Building, cases []*lab.Case, first string) error {
	cases = slices.DeleteFunc(slices.Clone(cases), func(c *lab.Case) bool { return c.Driver != cases[0].Driver })
	if err := lab.Prepare(ctx, cases, m.r.Builder, show); err != nil {
		return err
	}
	var start *bisect.StartError
	for _, c := range cases {
		if c.Unavailable != nil {
			return nil // the comparison of the two releases will report why the worker is missing
		}
		t, err := p.Trial(ctx, c, m.r.matrix.Seed)
		if err != nil {
			return err
		}
		if t.Status == result.OK || t.Reason == nil {
			return nil
		}
		if start == nil {
			start = &bisect.StartError{Release: first, Cell: stats.TableName{Workload: c.Workload, Phase: c.Phases[0]}, Status: t.Status, Reason: t.Reason}
		}
	}
	return start
}
