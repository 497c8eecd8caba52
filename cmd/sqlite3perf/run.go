package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"github.com/sqlite3perf/sqlite3perf/cmd/sqlite3perf/internal/cli"
	"github.com/sqlite3perf/sqlite3perf/internal/catalog"
	"github.com/sqlite3perf/sqlite3perf/internal/conditions"
	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/lab"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
	"github.com/sqlite3perf/sqlite3perf/internal/store"
)

func runCommand(env *cli.Environment) *cobra.Command {
	o := &runOptions{}
	var again string
	cmd := &cobra.Command{
		Use:   "run",
		Short: "Measure drivers on workloads, and rank them",
		Long: `Run measures every workload on every driver with every combination of settings. By
default it measures the quick set on all drivers that can be built here. Each trial is a
new process on a new database. After at least 6 rounds, a case is settled when the
intervals of its ratios are as narrow as --precision asks. The other cases go on until
--time is over.

A driver can also be another version, a checkout of its library, or have build tags and
other options: see sqlite3perf drivers --help.

With --hosts, the same is measured on other machines at the same time. Each machine has
its own run in the store here. The answer says which results are the same on all
machines and which are opposite.

Results go to standard output, progress to standard error, and every sample into the
store. A terminal gets the answer only; --full prints every table there too. Ctrl-C ends
the run after the current trials and reports what was measured; a second Ctrl-C ends it
at once.

A workload file can have an expectation, such as expect: {p99: < 5ms}. If the run does not
meet it, the exit status is 3. If intervals are too wide to say, the exit status is 4.

With --resume RUN, a run that was interrupted or had failures continues on its machine,
with its plan, seed and workloads. Nothing is measured twice.`,
		Example: `  sqlite3perf run
  sqlite3perf run --drivers mattn,modernc,native --workloads simple --rounds 10
  sqlite3perf run --drivers mattn,mattn@v1.14.22 --workloads ./mine.yaml
  sqlite3perf run --drivers mattn,mattn:tags=sqlite_fts5,mattn:GOGC=400
  sqlite3perf run --hosts pi,user@nvme --drivers mattn,modernc
  sqlite3perf run --set journal_mode=wal,delete --set synchronous=normal,full
  sqlite3perf run --resume last
  sqlite3perf run --drivers mattn --save-baseline main`,
		Args: cli.Arguments(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if again != "" || cmd.Flags().Changed("resume") {
				return resume(cmd.Context(), env, o, again)
			}
			return run(cmd.Context(), env, o)
		},
	}
	o.addFlags(cmd.Flags())
	cmd.Flags().StringVar(&again, "resume", "", "continue a stored `run` (its number, or last) with its own plan; trials that failed are repeated")
	cli.Reaching(cmd.Flags(), cli.Executes, "resume")
	cmd.Flags().StringVar(&o.saveBaseline, "save-baseline", "", "`name` for this run; gate, compare and show find the run by it: gate --baseline NAME")
	o.addHookFlags(cmd.Flags())
	cli.Grouped(cmd.Flags(), cli.GroupWhat, "resume", "save-baseline")
	return cmd
}

func run(ctx context.Context, env *cli.Environment, o *runOptions) error {
	began := env.Now()
	r, err := o.check(ctx, env)
	if err != nil {
		return err
	}
	if r.baseline, err = o.checkBaselineName(r); err != nil {
		return err
	}
	r.took = &split{began: began, builder: r.Builder}
	o.untilSettled(r)
	if err := firstAnswer(ctx, env, o, r); err != nil {
		return err
	}
	return measure(ctx, env, o, r)
}

func measure(ctx context.Context, env *cli.Environment, o *runOptions, r *request) error {
	if len(o.hosts.names) > 1 {
		return measureOnHosts(ctx, env, o, r)
	}
	a, failure := take(ctx, env, o, r)
	if a != nil && failure == nil && !o.quiet && r.took != nil {
		if _, building := r.Builder.Spent(); building > time.Second {
			env.Say("%s", r.took.words(env.Now(), a.Run))
		}
	}
	if a != nil && len(a.Run.Trials) > 0 {
		print := r.print
		if print == nil {
			print = func(a *stats.Analysis) error {
				if o.page.File == "" {
					return write(env, &o.output, a)
				}
				return errors.Join(write(env, &o.page, a), write(env, &o.output, a)) // the page and the output are both written, even if writing one fails
			}
		}
		if err := print(a); err != nil {
			if _, silent := errors.AsType[cli.StatusError](failure); failure != nil && !silent {
				return fmt.Errorf("%w; and %w", failure, err)
			}
			return err
		}
	}
	if failure != nil {
		r.sayHowToGoOn(env, o, a)
		return failure
	}
	return outcome(a)
}

// take measures the cases of a request and stores them as a run. If that fails, it returns the error
// and the analysis of what was measured. The analysis is nil if no run was begun. The first Ctrl-C ends
// the run after the current trials.
func take(ctx context.Context, env *cli.Environment, o *runOptions, r *request) (*stats.Analysis, error) {
	show := cli.NewProgress(env, o.quiet)
	show.Least = r.least
	defer show.Finish()
	env.OutliveReaders()
	var measuring atomic.Bool
	ctx, stop, release := env.Interruptible(ctx, show.Say, cli.StoppingTrials(measuring.Load))
	defer release()
	early := cli.Until(ctx, stop)
	p, err := newLocation(early, env, o, r, show)
	if err != nil {
		return nil, cli.UnlessInterrupted(stop, err)
	}
	defer p.remove()
	st, err := store.Open(early, r.storePath)
	if err == nil {
		defer st.Close()
		err = r.prepare(early, env, o, p, show)
	}
	if err := cli.UnlessInterrupted(stop, err); err != nil {
		return nil, err
	}
	measured, err := r.begin(early, env, o, p, st)
	if err != nil {
		return nil, cli.UnlessInterrupted(stop, err)
	}
	l := &lab.Laboratory{
		Run: measured, Cases: r.cases, Schedule: r.schedule, Recorder: st, Progress: show,
		Executor: p.executor, Noise: p.noise, Now: env.Now, Stop: stop,
	}
	measuring.Store(true)
	failure := l.Measure(ctx)
	if failure == nil {
		failure = cli.UnlessInterrupted(stop, nil) // after a Ctrl-C during the last trial, the run counts as interrupted too
	}
	return stats.Analyze(measured, lab.Floor), failure
}

// prepare does everything before the first trial. If it returns an error, nothing is measured.
func (r *request) prepare(ctx context.Context, env *cli.Environment, o *runOptions, p *location, show *cli.Progress) error {
	if !r.told {
		catalog.SayWithout(&r.matrix, show.Note)
		catalog.SayNeeded(r.cases, show.Note)
	}
	if r.tried != nil {
		if err := r.tried(ctx, p.processes, show); err != nil {
			return err
		}
	}
	if p.processes != nil {
		show.Await(func() *cli.Await { return r.waits(ctx, env) })
	}
	if err := p.prepare(ctx, r.cases, show); err != nil {
		return err
	}
	if r.prepared != nil {
		if err := r.prepared(r.cases); err != nil {
			return err
		}
	}
	if err := anyWorker(r.cases, o.quiet); err != nil {
		return err
	}
	if err := p.needs(ctx, r.cases); err != nil {
		return err
	}
	if r.ahead != "" {
		show.Say("%s", r.ahead)
	}
	if r.study == nil && !r.told {
		catalog.SayUnset(r.cases, "--set", show.Note)
	}
	return r.fits(ctx, o, p, show)
}

// waits returns what the user waits for while workers are built, or nil if no worker has to be built.
func (r *request) waits(ctx context.Context, env *cli.Environment) *cli.Await {
	if r.await != nil {
		return r.await
	}
	if e := r.Builder.Expect(ctx, refsOf(r.cases), env.Pace()); e.Total > 0 {
		return &cli.Await{For: "the first trial", Built: e}
	}
	return nil
}

// begin stores a new run before its first trial. For a resumed run it notes in the store that the
// run continues.
func (r *request) begin(ctx context.Context, env *cli.Environment, o *runOptions, p *location, st *store.Store) (*result.Run, error) {
	if r.resumed != nil {
		return r.resumed, r.goOn(ctx, env, o, p.machine, st)
	}
	run := newRun(r, p.machine, env.Now())
	run.TrialLimitNS = int64(o.trialLimit)
	if o.hooks != (result.Hooks{}) {
		run.Hooks = &o.hooks
	}
	return run, st.Begin(ctx, run)
}

// anyWorker returns an error if no case has a worker, because then nothing can be measured or stored. The
// error contains the reasons only if the parameter "quiet" is true. Otherwise the reasons have already been
// printed.
func anyWorker(cases []*lab.Case, quiet bool) error {
	var reasons []string
	for _, c := range cases {
		if c.Unavailable == nil {
			return nil
		}
		if reason := c.Driver + ": " + c.Unavailable.Message + conditions.Said(c.Unavailable); quiet && !slices.Contains(reasons, reason) {
			reasons = append(reasons, reason)
		}
	}
	message := "no driver has a worker: nothing is measured or stored"
	if reasons != nil {
		message += ": " + document.Line(strings.Join(reasons, "; "))
	}
	return cli.Incomplete(errors.New(message))
}

func newRun(r *request, m result.Machine, now time.Time) *result.Run {
	run := &result.Run{
		Version: cli.Version(), Started: now.UTC(), Command: os.Args[1:],
		Seed: r.matrix.Seed, Scale: r.matrix.Scale, Precision: r.precision,
		LeftOut: r.leftOut, Study: r.study, Compares: r.compares, Search: r.search, Baseline: r.baseline, Machine: m, Host: r.host,
	}
	if run.Schedule = (&result.Schedule{Rounds: r.schedule.Rounds}); r.schedule.Rounds == 0 {
		run.Schedule.TimeNS = int64(r.schedule.Time)
	}
	if m := r.matrix; len(m.Settings)+len(m.Parameters) > 0 {
		run.Asked = &result.Asked{Settings: m.Settings, Parameters: m.Parameters}
	}
	run.Cases = document.Map(r.cases, func(c *lab.Case) result.Case { return c.Case })
	run.Workloads = lab.Texts(r.cases)
	return run
}

// unsampledRun returns a run that has no samples. The store keeps it together with an answer.
func unsampledRun(r *request, m result.Machine, started time.Time, warnings []result.Warning, cases []result.Case) *result.Run {
	run := newRun(r, m, started)
	run.Schedule, run.Asked, run.Warnings, run.Cases = nil, nil, warnings, cases
	for i := range cases {
		cases[i].ID = i + 1
	}
	return run
}

// outcome returns the exit status of a run as an error. It is the status of an interruption if the run
// was interrupted, and the status of a regression if a workload's expectation is not met. It is the
// status of an incomplete run if an expectation is undecided, or if a driver has no figures for a
// phase. For a complete run, outcome returns nil.
func outcome(a *stats.Analysis) error {
	if a.Run.Stopped == result.StoppedInterrupted {
		return cli.StatusError(cli.ExitInterrupted)
	}
	expected := a.Expectations()
	if expected.Any(stats.NotMet) {
		return cli.StatusError(cli.ExitRegression)
	}
	return cli.CompleteIf(a.Complete() && !expected.Any(stats.Undecided))
}
