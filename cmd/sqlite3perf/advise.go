package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/sqlite3perf/sqlite3perf/internal/advise"
	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/lab"
	"github.com/sqlite3perf/sqlite3perf/internal/lab/build"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
)

func adviseCommand(env *environment) *cobra.Command {
	o := &adviseOptions{}
	cmd := &cobra.Command{
		Use:   "advise [RUN]",
		Short: "Say which driver to take for a workload, and what would overturn that",
		Long: `Advise measures drivers on workloads, as run does, and gathers what else matters for
each: operations that failed, the slowest hundredth of them, peak memory, known defects
of the versions, the size of the binary, the time of a build, license and date. It
begins with a recommendation, the evidence for it, and what would overturn it. If the
facts do not decide, it says what would. Given a stored run, it measures nothing, and only
runs the statements again to compare the answers. The advice is stored with the run that
was measured for it, and sqlite3perf show prints it again.

A driver that gave a wrong answer is not recommended, however fast it is, and neither is
one with a known defect that can lose, damage or falsify data, unless something that the
run proves excludes that defect, such as another journal_mode. Of the others, a driver
that takes at least 5 % less time is recommended. Between drivers that are equally fast
the other facts decide, if all of them favor the same driver.`,
		Example: `  sqlite3perf advise --workloads ./mine.yaml --drivers mattn,modernc,ncruces,zombiezen
  sqlite3perf advise last
  sqlite3perf advise last -o advice.html
  sqlite3perf advise last --targets linux/arm64,windows/amd64 --cold-build`,
		Args: arguments(0, 1, "the run"),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.exact = cmd.Flags().Changed("rounds")
			if len(args) == 0 {
				return o.measured(cmd.Context(), env)
			}
			return o.stored(cmd.Context(), env, args[0])
		},
	}
	cmd.Flags().SortFlags = false
	o.addFlags(cmd.Flags())
	return cmd
}

// adviseOptions are the flags of advise: those of run, and what else is looked at.
type adviseOptions struct {
	runOptions
	cold    bool
	diff    bool
	targets []string
}

func (o *adviseOptions) addFlags(f *pflag.FlagSet) {
	f.StringSliceVar(&o.drivers, "drivers", nil, "candidates: mattn, mattn@v1.14.22, mattn:tags=sqlite_fts5,GOGC=400, mattn=../go-sqlite3, ./my-worker (default: all that are not optional)")
	f.StringSliceVar(&o.targets, "targets", nil, "build each candidate for these `platforms`, such as linux/arm64,windows/amd64, without a C compiler; takes minutes the first time")
	f.BoolVar(&o.diff, "diff", true, "run the statements of the workloads on all candidates, and compare the answers, as sqlite3perf diff does")
	f.BoolVar(&o.cold, "cold-build", false, "also build each candidate with an empty build cache; takes minutes the first time")
	o.addWorkFlags(f)
	o.addFigureFlags(f)
	o.addPlaceFlags(f)
	o.output.addFullFlag(f)
	o.output.setFormats("how the advice is printed", advise.Formats.Names(), advise.Formats.Check)
}

// ofStored are the flags that also apply to a stored run.
var ofStored = []string{"targets", "cold-build", "diff", "dir", "trial-limit", "source", "worker-cache", "quiet", "store", "format", "output", "no-color", "full"}

// checkTargets finds out whether the platforms are such.
func (o *adviseOptions) checkTargets(ctx context.Context, b *build.Builder) error {
	if o.targets == nil {
		return nil
	}
	known, err := b.Platforms(ctx)
	if err != nil {
		return err
	}
	for i, t := range o.targets {
		o.targets[i] = strings.TrimSpace(t)
		if !slices.Contains(known, o.targets[i]) {
			return usagef("--targets %s: want GOOS/GOARCH: %s", t, driver.Suggest(o.targets[i], known))
		}
	}
	return nil
}

// measured measures the candidates and prints the advice.
func (o *adviseOptions) measured(ctx context.Context, env *environment) error {
	o.computing = newProgress(env, o.quiet).Computing
	r, err := o.check(ctx)
	if err != nil {
		return err
	}
	if err := o.checkTargets(ctx, r.builder); err != nil {
		return err
	}
	o.untilSettled(r)
	q := o.questions(r) // before the measurement, which lets go of the workloads
	if len(q.refs) < 2 {
		return usagef("--drivers %s: advise chooses between candidates: name two or more, such as mattn,modernc; sqlite3perf run measures one", strings.Join(o.drivers, ","))
	}
	r.print = func(a *stats.Analysis) error {
		l := o.looked()
		if o.diff && a.Run.Stopped != result.StoppedInterrupted {
			if err := o.compareAnswers(ctx, env, r, q, &l); err != nil {
				return err
			}
		}
		if err := o.addFootprints(ctx, env, r.builder, q.byName(), a, &l); err != nil {
			return err
		}
		lasting := l
		if l.Answers != nil {
			if why := notKept(q.work, l.Answers); why != "" {
				lasting.Answers, lasting.NotDiff = nil, "the comparison is not stored: "+why
			}
		}
		kept, err := lasting.Keep()
		keepAnswer(ctx, env, r.storePath, a.Run.ID, kept, err)
		return o.output.printAnswer(env, adviceWriter(a, l, nil), showAgain(a.Run.ID))
	}
	return measure(ctx, env, &o.runOptions, r)
}

// adviceExecutions is how many executions of each statement are compared.
const adviceExecutions = 20

// inquiry is who is asked what, so that answers can be compared.
type inquiry struct {
	refs []build.Ref
	work []questions
}

// byName returns who is asked by the names in the run, where a driver on a workload with needs
// is the variant that has them.
func (q inquiry) byName() map[string]build.Ref {
	refs := map[string]build.Ref{}
	for _, ref := range q.refs {
		refs[ref.Name] = ref
	}
	return refs
}

// questions returns the statements of each workload, in the first of its settings. The floor is
// not asked.
func (o *adviseOptions) questions(r *request) (q inquiry) {
	d := &diffOptions{executions: adviceExecutions}
	for _, c := range r.cases {
		floor := c.Ref.Known != nil && c.Ref.Known.Name == floorDriver
		if !floor && !slices.ContainsFunc(q.refs, func(ref build.Ref) bool { return ref.Name == c.Ref.Name }) {
			q.refs = append(q.refs, c.Ref)
		}
		if slices.ContainsFunc(q.work, func(w questions) bool { return w.name == c.Workload }) {
			continue
		}
		w := d.asked(c.Workload, c.Settings, c.Plan, nil)
		w.begin, w.job.Loaded = c, c.Begins()
		q.work = append(q.work, w)
	}
	return q
}

// looked returns what the options ask to look at.
func (o *adviseOptions) looked() advise.Looked {
	return advise.Looked{Diff: o.diff, Cold: o.cold, Targets: o.targets != nil}
}

// compareAnswers asks the candidates that have a worker, and notes their answers or why that
// could not be done.
func (o *adviseOptions) compareAnswers(ctx context.Context, env *environment, r *request, q inquiry, l *advise.Looked) error {
	show := newProgress(env, o.quiet)
	defer show.finish()
	ctx, stop, release := env.interruptible(ctx, show.say, stopping)
	defer release()
	refs := slices.DeleteFunc(slices.Clone(q.refs), func(ref build.Ref) bool {
		return slices.ContainsFunc(r.cases, func(c *lab.Case) bool { return c.Driver == ref.Name && c.Unavailable != nil })
	})
	if len(refs) < 2 {
		return nil
	}
	d := &diffOptions{runOptions: o.runOptions}
	answers, err := d.diff(until(ctx, stop), r, refs, q.work, show.say)
	if interrupted(stop) {
		return statusError(exitInterrupted)
	}
	if err != nil {
		l.NotDiff = document.Line(err.Error())
		return nil
	}
	l.Answers = answers
	return nil
}

// stored prints the advice that a stored run gives.
func (o *adviseOptions) stored(ctx context.Context, env *environment, ref string) error {
	var unused []string
	o.flags.Visit(func(f *pflag.Flag) {
		if typed(f) && !slices.Contains(ofStored, f.Name) {
			unused = append(unused, "--"+f.Name)
		}
	})
	if unused != nil {
		return usagef("%s: only for what is measured now, and %s is stored: leave it out", strings.Join(unused, " "), ref)
	}
	if err := o.output.check(); err != nil {
		return err
	}
	o.output.store = o.store
	source, known, err := o.workers.find()
	if err != nil {
		return err
	}
	builder, err := o.workers.builder(source)
	if err != nil {
		return err
	}
	if err := o.checkTargets(ctx, builder); err != nil {
		return err
	}
	run, err := measuredRun(ctx, env, o.store, ref)
	if err != nil {
		return err
	}
	l := o.looked()
	a := stats.Analyze(run, floorDriver)
	unasked, err := o.answerAgain(ctx, env, builder, known, ref, a, &l)
	if err != nil {
		return err
	}
	if err := o.addFootprints(ctx, env, builder, measuredRefs(ctx, a, known), a, &l); err != nil {
		return err
	}
	return o.output.printAnswer(env, adviceWriter(a, l, unasked), fmt.Sprintf("sqlite3perf advise %d", a.Run.ID))
}

// addFootprints finds out what the candidates cost that is not time, unless the run was
// interrupted.
func (o *adviseOptions) addFootprints(ctx context.Context, env *environment, b *build.Builder, refs map[string]build.Ref, a *stats.Analysis, l *advise.Looked) (err error) {
	if a.Run.Stopped != result.StoppedInterrupted {
		l.Footprints, err = o.footprints(ctx, env, b, refs)
	}
	return err
}

// adviceWriter writes the advice of a run. unasked says what was not asked of the candidates.
func adviceWriter(a *stats.Analysis, l advise.Looked, unasked []string) answerWriter {
	told := advise.Of(a, l)
	told.NotIn = append(unasked, notLookedAt(l)...)
	return func(w io.Writer, format string, opts document.Options) error {
		return advise.Formats.Write(w, format, told, opts)
	}
}

// readAdvice reads the advice of a run.
func readAdvice(_ *outputOptions, a *stats.Analysis, _ loader) (answerWriter, error) {
	l, err := advise.Stored(a.Run)
	if err != nil {
		return nil, err
	}
	return adviceWriter(a, l, nil), nil
}

// notLookedAt lists the facts that were not looked at, and how to have them.
func notLookedAt(l advise.Looked) (list []string) {
	switch {
	case !l.Diff:
		list = append(list, "whether the candidates answer alike (--diff)")
	case l.NotDiff != "":
		list = append(list, "whether the candidates answer alike, because "+l.NotDiff)
	}
	if !l.Cold {
		list = append(list, "builds with an empty build cache (--cold-build)")
	}
	if !l.Targets {
		list = append(list, "for which platforms each can be built without a C compiler (--targets linux/arm64,windows/amd64)")
	}
	return list
}

// footprints returns the footprints of the drivers' workers, keyed by the drivers' names in
// the run. It skips the floor, which is not a candidate, and workers that are not built
// here. If a build fails, it prints the reason and leaves the driver out.
func (o *adviseOptions) footprints(ctx context.Context, env *environment, b *build.Builder, refs map[string]build.Ref) (map[string]*result.Footprint, error) {
	show := newProgress(env, o.quiet)
	defer show.finish()
	ctx, stop, release := env.interruptible(ctx, show.say, stopping)
	defer release()
	list := map[string]*result.Footprint{}
	for _, name := range slices.Sorted(maps.Keys(refs)) {
		ref := refs[name]
		if ref.Known != nil && ref.Known.Name == floorDriver {
			continue
		}
		f, err := b.Footprint(until(ctx, stop), ref, build.FootprintOptions{Cold: o.cold, Targets: o.targets}, func(what string) {
			show.say("building %s %s", ref.Name, what)
		})
		if interrupted(stop) {
			return nil, statusError(exitInterrupted)
		}
		if unavailable, ok := errors.AsType[*build.BuildError](err); ok {
			show.say("%s: its size and license are left out: %v", ref.Name, unavailable)
			continue
		}
		if err != nil {
			return nil, err
		}
		if f != nil {
			list[name] = f
		}
	}
	return list, nil
}
