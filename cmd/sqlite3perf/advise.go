package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/sqlite3perf/sqlite3perf/cmd/sqlite3perf/internal/cli"
	"github.com/sqlite3perf/sqlite3perf/internal/advise"
	"github.com/sqlite3perf/sqlite3perf/internal/conditions"
	"github.com/sqlite3perf/sqlite3perf/internal/diff"
	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/lab"
	"github.com/sqlite3perf/sqlite3perf/internal/lab/build"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
)

func adviseCommand(env *cli.Environment) *cobra.Command {
	o := &adviseOptions{}
	return cli.WithFlags(o.addFlags, &cobra.Command{
		Use:   "advise [RUN]",
		Short: "Say which driver to take for a workload, and what would overturn that",
		Long: `Advise measures drivers on workloads, as run does, and collects other facts about each:
failed operations, the 99th percentile of latency, peak memory, known defects, the
size of the binary, the time of a build, license and date. It prints a recommendation,
the evidence, and what would change the recommendation. If the facts do not decide, it
says what would. For a stored run it measures nothing, and only runs the statements
again to compare the answers. The advice is stored with its run, so show prints it
again.

A driver with a wrong answer is never recommended. Nor is one with a known defect that
can lose, damage or falsify data, unless the run proves that the defect cannot occur,
for example because of another journal_mode. Of the others, a driver that takes at least
5% less time is recommended. Between equally fast drivers the other facts decide, if all
of them favor the same driver.`,
		Example: `  sqlite3perf advise --workloads ./mine.yaml --drivers mattn,modernc,ncruces,zombiezen
  sqlite3perf advise last
  sqlite3perf advise last -o advice.html
  sqlite3perf advise last --targets linux/arm64,windows/amd64 --cold-build`,
		Args: cli.Arguments(0, 1, "the run"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return o.measured(cmd.Context(), env)
			}
			return o.stored(cmd.Context(), env, args[0])
		},
	})
}

type adviseOptions struct {
	runOptions
	cold    bool
	diff    bool
	targets []string
}

func (o *adviseOptions) addFlags(f *pflag.FlagSet) {
	f.StringSliceVar(&o.drivers, "drivers", nil, "candidates: mattn, mattn@v1.14.22, mattn:tags=sqlite_fts5,GOGC=400, mattn=../go-sqlite3, ./my-worker (default: all that are not optional)")
	f.StringSliceVar(&o.targets, "targets", nil, "also build each candidate for these `platforms`, such as linux/arm64,windows/amd64, without a C compiler; takes minutes")
	f.BoolVar(&o.diff, "diff", true, "compare the answers of all candidates, as sqlite3perf diff does")
	f.BoolVar(&o.cold, "cold-build", false, "also build each candidate with an empty build cache; takes minutes")
	cli.Grouped(f, cli.GroupWhat, "drivers", "targets", "diff", "cold-build")
	o.addWorkFlags(f)
	o.addFigureFlags(f)
	o.addPlaceFlags(f)
	o.output.AddFullFlag(f)
	o.output.SetFormats("how the advice is printed", advise.Formats.Names(), advise.Formats.Check)
}

func (o *adviseOptions) checkTargets(ctx context.Context, s cli.Workshop) error {
	if o.targets == nil {
		return nil
	}
	known, err := s.Builder.Platforms(ctx)
	if err != nil {
		return err
	}
	for i, t := range o.targets {
		o.targets[i] = strings.TrimSpace(t)
		if !slices.Contains(known, o.targets[i]) {
			return cli.Usagef("--targets %s: want GOOS/GOARCH: %s", t, driver.Suggest(o.targets[i], known))
		}
	}
	return nil
}

func (o *adviseOptions) measured(ctx context.Context, env *cli.Environment) error {
	r, err := o.check(ctx, env)
	if err != nil {
		return err
	}
	if err := o.checkTargets(ctx, r.Workshop); err != nil {
		return err
	}
	o.untilSettled(r)
	q := o.questions(r) // called before the measurement, because measure frees the workloads
	if len(q.refs) < 2 {
		return cli.Usagef("--drivers %s: advise chooses between candidates: name two or more, such as mattn,modernc; sqlite3perf run measures one", strings.Join(o.drivers, ","))
	}
	r.print = func(a *stats.Analysis) error {
		l := o.looked()
		if a.Run.Stopped != result.StoppedInterrupted {
			err := cli.InOrder(
				func() error { return o.compareAnswers(ctx, env, r, q, &l) },
				func() error { return o.addFootprints(ctx, env, r.Workshop, q.byName(), &l) },
			)
			if err != nil {
				return err
			}
		}
		lasting := l
		if l.Answers != nil {
			if why := diff.NotKept(q.work, l.Answers, openedFiles); why != "" {
				lasting.Answers, lasting.NotDiff = nil, "the comparison is not stored: "+why
			}
		}
		return o.output.Answer(ctx, env, a.Run, lasting, advise.Formats.Of(advise.Of(a, l, uncollected(l)...)))
	}
	return measure(ctx, env, &o.runOptions, r)
}

// inquiry has the statements of each workload, and the drivers whose answers to these statements are
// compared.
type inquiry struct {
	refs []build.Ref
	work []diff.Questions
}

// byName returns the drivers as a map. The keys are the names of the drivers in the run. If a workload
// needs a variant of a driver (the driver with options), the key is the name of the variant.
func (q inquiry) byName() map[string]build.Ref {
	refs := map[string]build.Ref{}
	for _, ref := range q.refs {
		refs[ref.Name] = ref
	}
	return refs
}

// questions returns the statements of each workload with the first combination of its settings. It also
// returns the drivers that run the statements, which are all drivers except plain C ([lab.Floor]).
func (o *adviseOptions) questions(r *request) (q inquiry) {
	for _, c := range r.cases {
		floor := c.Ref.Known != nil && c.Ref.Known.Name == lab.Floor
		if !floor && !slices.ContainsFunc(q.refs, func(ref build.Ref) bool { return ref.Name == c.Ref.Name }) {
			q.refs = append(q.refs, c.Ref)
		}
	}
	q.work = diff.AskedOfEach(r.cases, advise.Executions)
	return q
}

func (o *adviseOptions) looked() advise.Looked {
	return advise.Looked{Diff: o.diff, Cold: o.cold, Targets: o.targets != nil}
}

// compareAnswers runs the workloads' statements on the candidates that have a worker, and compares their
// answers. It stores the comparison in l.Answers or, if the comparison fails, the reason in l.NotDiff. It
// does nothing without --diff or with fewer than two candidates.
func (o *adviseOptions) compareAnswers(ctx context.Context, env *cli.Environment, r *request, q inquiry, l *advise.Looked) error {
	refs := slices.DeleteFunc(slices.Clone(q.refs), func(ref build.Ref) bool {
		return slices.ContainsFunc(r.cases, func(c *lab.Case) bool { return c.Driver == ref.Name && c.Unavailable != nil })
	})
	if !o.diff || len(refs) < 2 {
		return nil
	}
	return env.Orderly(ctx, o.quiet, func(ctx context.Context, show *cli.Progress) error {
		answers, err := (&diffOptions{runOptions: o.runOptions}).diff(ctx, r, refs, q.work, show)
		if l.Answers = answers; err != nil {
			l.Answers, l.NotDiff = nil, document.Line(err.Error())
		}
		return nil
	})
}

func (o *adviseOptions) stored(ctx context.Context, env *cli.Environment, ref string) error {
	r, l := &request{}, o.looked()
	var a *stats.Analysis
	var unasked []string
	err := cli.InOrder(
		func() error {
			return o.onlyOfStored(ref+" is stored", "targets", "cold-build", "diff", "dir", "trial-limit", "source", "worker-cache", "quiet")
		},
		o.output.Check,
		func() (err error) { r.Workshop, err = o.workers.Workshop(); return err },
		func() error { return o.checkTargets(ctx, r.Workshop) },
		func() (err error) { a, err = sampled(ctx, env, o.output.Store, ref); return err },
		func() (err error) { unasked, err = o.answerAgain(ctx, env, r, ref, a, &l); return err },
	)
	if err == nil && a.Run.Stopped != result.StoppedInterrupted {
		err = o.addFootprints(ctx, env, r.Workshop, r.MeasuredRefs(ctx, a), &l)
	}
	if err != nil {
		return err
	}
	o.output.Source = conditions.PageSource(a.Run)
	return o.output.PrintAnswer(env, advise.Formats.Of(advise.Of(a, l, append(unasked, uncollected(l)...)...)), fmt.Sprintf("sqlite3perf advise %d", a.Run.ID))
}

// addFootprints adds to l the footprints of the drivers' workers: size, build time, license and more.
// The keys of l.Footprints are the drivers' names in the run. addFootprints skips plain C ([lab.Floor]),
// which is not a candidate, and workers that sqlite3perf does not build, such as the user's own. If a
// build fails, addFootprints prints the reason and leaves the driver out.
func (o *adviseOptions) addFootprints(ctx context.Context, env *cli.Environment, s cli.Workshop, refs map[string]build.Ref, l *advise.Looked) error {
	l.Footprints = map[string]*result.Footprint{}
	return env.Orderly(ctx, o.quiet, func(ctx context.Context, show *cli.Progress) error {
		for _, name := range slices.Sorted(maps.Keys(refs)) {
			ref := refs[name]
			if ref.Known != nil && ref.Known.Name == lab.Floor {
				continue
			}
			f, err := s.Builder.Footprint(ctx, ref, build.FootprintOptions{Cold: o.cold, Targets: o.targets}, func(what string) {
				show.Say("building %s %s", ref.Name, what)
			})
			unavailable, ok := errors.AsType[*build.BuildError](err)
			switch {
			case ok:
				show.Say("%s: its size and license are left out: %v", ref.Name, unavailable)
			case err != nil:
				return err
			case f != nil:
				l.Footprints[name] = f
			}
		}
		return nil
	})
}

// answerAgain runs the statements of a stored run's workloads again and compares the answers. The
// workloads' texts are from the run, and the candidates have the versions that the run measured. The result
// "unasked" lists the questions that could not be asked, each with the reason. Without --diff, answerAgain
// does nothing.
func (o *adviseOptions) answerAgain(ctx context.Context, env *cli.Environment, r *request, named string, a *stats.Analysis, l *advise.Looked) (unasked []string, err error) {
	note := func(format string, args ...any) { unasked = append(unasked, fmt.Sprintf(format, args...)) }
	if !o.diff {
		return nil, nil
	}
	q := inquiry{}
	var silent []string // workloads whose statements are not run, each with the reason
	q.work, silent = advise.AskedAgain(a.Run, foreign(a.Run, named))
	for _, name := range advise.Candidates(a.Run) {
		ref, err := r.MeasuredRef(ctx, name, a)
		switch {
		case errors.Is(err, cli.ErrRetype):
			note("how %s answers, which %v", document.Line(name), cli.ErrRetype)
		case err != nil:
			note("how %s answers, because %s", document.Line(name), document.Line(err.Error()))
		default:
			q.refs = append(q.refs, ref)
		}
	}
	if silent != nil {
		note("whether the candidates answer alike on %s (%s)", strings.Join(silent, "; "), advise.DiffAgain(a.Run))
	}
	if len(q.work) == 0 || len(q.refs) < 2 {
		return unasked, nil
	}
	r.matrix.Seed = a.Run.Seed
	if r.dir, err = cli.DatabasesDirectory(o.dir); err != nil {
		return nil, err
	}
	for i, ref := range q.refs {
		q.refs[i], err = r.Builder.Resolve(ctx, ref)
		if gone, ok := errors.AsType[*build.VersionError](err); ok {
			note("whether the candidates answer alike, because %s", document.Line(gone.Error()))
			return unasked, nil
		}
		if err != nil {
			return nil, err
		}
	}
	return unasked, o.compareAnswers(ctx, env, r, q, l)
}

// uncollected lists the facts that were not collected. Each has the flag that collects it, or the reason
// why it could not be collected.
func uncollected(l advise.Looked) (list []string) {
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
