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
			if len(args) == 0 {
				return o.measured(cmd.Context(), env)
			}
			return o.stored(cmd.Context(), env, args[0])
		},
	}
	o.addFlags(cmd.Flags())
	return cmd
}

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

// checkTargets checks that Go can build for the platforms.
func (o *adviseOptions) checkTargets(ctx context.Context, s workshop) error {
	if o.targets == nil {
		return nil
	}
	known, err := s.builder.Platforms(ctx)
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
	if err := o.checkTargets(ctx, r.workshop); err != nil {
		return err
	}
	o.untilSettled(r)
	q := o.questions(r) // before the measurement, which lets go of the workloads
	if len(q.refs) < 2 {
		return usagef("--drivers %s: advise chooses between candidates: name two or more, such as mattn,modernc; sqlite3perf run measures one", strings.Join(o.drivers, ","))
	}
	r.print = func(a *stats.Analysis) error {
		l := o.looked()
		if a.Run.Stopped != result.StoppedInterrupted {
			err := inOrder(
				func() error { return o.compareAnswers(ctx, env, r, q, &l) },
				func() error { return o.addFootprints(ctx, env, r.workshop, q.byName(), &l) },
			)
			if err != nil {
				return err
			}
		}
		lasting := l
		if l.Answers != nil {
			if why := notKept(q.work, l.Answers); why != "" {
				lasting.Answers, lasting.NotDiff = nil, "the comparison is not stored: "+why
			}
		}
		keepAnswer(ctx, env, r.storePath, a.Run.ID, lasting)
		return o.output.printAnswer(env, adviceWriter(a, l, nil), showAgain(a.Run.ID))
	}
	return measure(ctx, env, &o.runOptions, r)
}

// adviceExecutions is how many executions of each statement are compared.
const adviceExecutions = 20

// inquiry is who is asked what, so that answers can be compared.
type inquiry struct {
	refs []lab.Ref
	work []questions
}

// byName returns who is asked by the names in the run, where a driver on a workload with needs
// is the variant that has them.
func (q inquiry) byName() map[string]lab.Ref {
	refs := map[string]lab.Ref{}
	for _, ref := range q.refs {
		refs[ref.Name] = ref
	}
	return refs
}

// questions returns the statements of each workload, in the first of its settings. The floor is
// not asked.
func (o *adviseOptions) questions(r *request) (q inquiry) {
	for _, c := range r.cases {
		floor := c.Ref.Known != nil && c.Ref.Known.Name == floorDriver
		if !floor && !slices.ContainsFunc(q.refs, func(ref lab.Ref) bool { return ref.Name == c.Ref.Name }) {
			q.refs = append(q.refs, c.Ref)
		}
		if slices.ContainsFunc(q.work, func(w questions) bool { return w.name == c.Workload }) {
			continue
		}
		q.work = append(q.work, askedOf(c, adviceExecutions))
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
	refs := slices.DeleteFunc(slices.Clone(q.refs), func(ref lab.Ref) bool {
		return slices.ContainsFunc(r.cases, func(c *lab.Case) bool { return c.Driver == ref.Name && c.Unavailable != nil })
	})
	if !o.diff || len(refs) < 2 {
		return nil
	}
	return env.orderly(ctx, o.quiet, func(ctx context.Context, show *progress) error {
		answers, err := (&diffOptions{runOptions: o.runOptions}).diff(ctx, r, refs, q.work, show)
		if l.Answers = answers; err != nil {
			l.Answers, l.NotDiff = nil, document.Line(err.Error())
		}
		return nil
	})
}

// stored prints the advice that a stored run gives.
func (o *adviseOptions) stored(ctx context.Context, env *environment, ref string) error {
	o.output.store = o.store
	r, l := &request{}, o.looked()
	var a *stats.Analysis
	var unasked []string
	err := inOrder(
		func() error {
			return o.onlyOfStored(ref+" is stored", "targets", "cold-build", "diff", "dir", "trial-limit", "source", "worker-cache", "quiet")
		},
		o.output.check,
		func() (err error) { r.workshop, err = o.workers.workshop(); return err },
		func() error { return o.checkTargets(ctx, r.workshop) },
		func() (err error) { a, err = sampled(ctx, env, o.store, ref); return err },
		func() (err error) { unasked, err = o.answerAgain(ctx, env, r, ref, a, &l); return err },
	)
	if err == nil && a.Run.Stopped != result.StoppedInterrupted {
		err = o.addFootprints(ctx, env, r.workshop, r.measuredRefs(ctx, a), &l)
	}
	if err != nil {
		return err
	}
	return o.output.printAnswer(env, adviceWriter(a, l, unasked), fmt.Sprintf("sqlite3perf advise %d", a.Run.ID))
}

// adviceWriter writes the advice of a run. unasked says what was not asked of the candidates.
func adviceWriter(a *stats.Analysis, l advise.Looked, unasked []string) answerWriter {
	return func(w io.Writer, format string, opts document.Options) error {
		advice := advise.Of(a, l)
		advice.NotIn = append(unasked, notLookedAt(l)...)
		return advise.Formats.Write(w, format, advice, opts)
	}
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

// addFootprints finds the footprints of the drivers' workers, keyed by the drivers' names in
// the run. It skips the floor, which is not a candidate, and workers that are not built
// here. If a build fails, it prints the reason and leaves the driver out.
func (o *adviseOptions) addFootprints(ctx context.Context, env *environment, s workshop, refs map[string]lab.Ref, l *advise.Looked) error {
	l.Footprints = map[string]*result.Footprint{}
	return env.orderly(ctx, o.quiet, func(ctx context.Context, show *progress) error {
		for _, name := range slices.Sorted(maps.Keys(refs)) {
			ref := refs[name]
			if ref.Known != nil && ref.Known.Name == floorDriver {
				continue
			}
			f, err := s.builder.Footprint(ctx, ref, lab.FootprintOptions{Cold: o.cold, Targets: o.targets}, func(what string) {
				show.say("building %s %s", ref.Name, what)
			})
			unavailable, ok := errors.AsType[*lab.BuildError](err)
			switch {
			case ok:
				show.say("%s: its size and license are left out: %v", ref.Name, unavailable)
			case err != nil:
				return err
			case f != nil:
				l.Footprints[name] = f
			}
		}
		return nil
	})
}
