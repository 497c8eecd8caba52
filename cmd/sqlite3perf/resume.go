package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sqlite3perf/sqlite3perf/cmd/sqlite3perf/internal/cli"
	"github.com/sqlite3perf/sqlite3perf/internal/conditions"
	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/lab"
	"github.com/sqlite3perf/sqlite3perf/internal/lab/build"
	"github.com/sqlite3perf/sqlite3perf/internal/lab/process"
	"github.com/sqlite3perf/sqlite3perf/internal/report"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
	"github.com/sqlite3perf/sqlite3perf/internal/store"
	"github.com/sqlite3perf/sqlite3perf/internal/workload"
)

// withResume lists the flags that are allowed with --resume. --time extends a run whose time is over.
// The other flags do not affect what is measured, or they name executables, files, directories and
// hosts, which are never taken from a store.
var withResume = []string{"resume", "allow-files", "dir", "time", "trial-limit", "source", "worker-cache", "quiet", "store", "format", "output", "no-color", "full", "html", "ssh", "drivers", "hosts", "workloads", "prepare", "cleanup"}

func resume(ctx context.Context, env *cli.Environment, o *runOptions, name string) error {
	if refused := o.othersTyped(withResume); refused != nil {
		return cli.Usagef("--resume %s: the run says what is measured: leave out %s", name, strings.Join(refused, ", "))
	}
	run, err := storedRun(ctx, env, o.output.Store, name, true)
	if err != nil {
		return err
	}
	if run.Merged != "" {
		return cli.Usagef("run %d was merged from %s: resume it there, with --store, and merge again", run.ID, document.Line(run.Merged))
	}
	if err := cmp.Or(conditions.Resumable(run, cli.Version(), cli.Typed(o.flags.Lookup("time"))), o.checkExtended(run)); err != nil {
		return cli.Usagef("run %d %w", run.ID, err)
	}
	if before := hookWords(run.Hooks); before != hookWords(&o.hooks) {
		return cli.Usagef("run %d had %s: type that again, because commands are never taken from a store", run.ID, before)
	}
	o.computing = cli.NewProgress(env, o.quiet).Computing
	r, err := o.resumeRequest(ctx, env, run)
	if err != nil {
		return err
	}
	return measure(ctx, env, o, r)
}

// checkExtended returns an error if the user typed a --time that does not extend the run.
func (o *runOptions) checkExtended(run *result.Run) error {
	took := run.Took().Round(time.Second)
	switch {
	case !cli.Typed(o.flags.Lookup("time")):
		return nil
	case run.Schedule.Rounds > 0:
		return fmt.Errorf("has a fixed number of rounds: leave out --time, or start a new run with more --rounds")
	case o.time <= took:
		return fmt.Errorf("has already taken %v, and --time is the time of the whole run: give more than %v", took, took)
	}
	return nil
}

// toExtend returns the command that measures a run for a further time. It returns "" if the parameter
// "further" is not above 0, or if the run cannot go on. Only a run that ended because its time was over
// can be extended. The confidence intervals of such a run stay correct if a user repeatedly looks at
// them and then measures more.
func toExtend(o *cli.OutputOptions, run *result.Run, further time.Duration) string {
	if run.Stopped != result.StoppedTime || further <= 0 || conditions.Resumable(run, cli.Version(), true) != nil {
		return ""
	}
	const step = 10 * time.Second
	total := (run.Took() + further + further/4 + step).Truncate(step) // adds a quarter to the further time, because that time is only an estimate
	return cli.InStore(o.Store, fmt.Sprintf("sqlite3perf run --resume %d --time %s", run.ID, document.Elapsed(total)))
}

// resumeRequest makes the request that continues a stored run.
func (o *runOptions) resumeRequest(ctx context.Context, env *cli.Environment, run *result.Run) (*request, error) {
	r := &request{resumed: run, told: true, leftOut: run.LeftOut, compares: run.Compares, precision: run.Precision, host: run.Host}
	r.matrix.Seed, r.matrix.Scale, r.matrix.Computing = run.Seed, run.Scale, o.computing
	r.schedule = lab.Schedule{Rounds: run.Schedule.Rounds, Time: time.Duration(run.Schedule.TimeNS)}
	switch {
	case run.Compares != nil && run.Compares.Looks:
		r.schedule.Settled = untilCompared
	case run.Compares == nil && run.Schedule.Rounds == 0 && run.Precision > 0:
		r.schedule.Settled = stats.UntilSettled(lab.Floor, run.Precision)
	}
	if run.Compares != nil {
		r.print = o.comparisonPrinter(env)
	}
	if cli.Typed(o.flags.Lookup("time")) {
		r.schedule.Time = o.time
	}
	if run.TrialLimitNS > 0 && !cli.Typed(o.flags.Lookup("trial-limit")) {
		o.trialLimit = time.Duration(run.TrialLimitNS)
	}
	return r, cli.InOrder(
		o.output.Check,
		func() error { return o.findRetyped(ctx, r, run) },
		func() error { return o.checkResumedPlaces(r) },
		func() error { return o.resumeDrivers(ctx, r, run) },
		func() error { return o.resumeWorkloads(r, run) },
		func() error { return o.resumeCases(r, run) },
		func() error {
			if run.Host != nil {
				return o.checkHosts(r)
			}
			return nil
		},
	)
}

// findRetyped returns an error that says which drivers, directory and host the user must type again. The
// store may be somebody else's, and must not decide what is executed, written or connected to. Released
// drivers ([build.Released]) are safe. findRetyped ignores --drivers, --hosts and --workloads that the user
// has not typed.
func (o *runOptions) findRetyped(ctx context.Context, r *request, run *result.Run) (err error) {
	if r.Workshop, err = o.workers.Workshop(); err != nil {
		return err
	}
	for flag, list := range map[string]*[]string{"drivers": &o.drivers, "hosts": &o.hosts.names, "workloads": &o.workloads} {
		if !cli.Typed(o.flags.Lookup(flag)) {
			*list = nil // a value from the environment is meant for new runs
		}
	}
	if err := o.retypedDrivers(ctx, r, run); err != nil {
		return err
	}
	var missing []string
	add := func(flag string, values ...string) {
		if len(values) > 0 {
			missing = append(missing, "--"+flag, document.Line(conditions.ShellWord(strings.Join(values, ","))))
		}
	}
	add("drivers", slices.DeleteFunc(run.Drivers(), func(name string) bool {
		_, ok := r.retyped[name]
		return ok || build.Released(name, r.Known)
	})...)
	if run.Host != nil && !slices.Equal(o.hosts.names, []string{run.Host.Name}) {
		if o.hosts.asked() {
			return cli.Usagef("--hosts %s: run %d was measured on %s", strings.Join(o.hosts.names, ","), run.ID, document.Line(run.Host.Name))
		}
		add("hosts", run.Host.Name)
	}
	if run.Host == nil && o.hosts.asked() {
		return cli.Usagef("--hosts %s: run %d was measured on this machine: leave it out", strings.Join(o.hosts.names, ","), run.ID)
	}
	if usual, err := cli.DatabasesDirectory(""); o.dir == "" && run.Host == nil && (err != nil || usual != run.Machine.Directory) {
		add("dir", run.Machine.Directory)
	}
	if missing == nil {
		return nil
	}
	hint := ""
	if run.Host != nil {
		hint = ", and --ssh if it was given"
	}
	return cli.Usagef("run %d: the store may come from another user, so the programs, directories and hosts that it names are not used unless you type them again: "+
		"if you trust the store, add %s%s", run.ID, strings.Join(missing, " "), hint)
}

func (o *runOptions) retypedDrivers(ctx context.Context, r *request, run *result.Run) error {
	names, err := build.JoinRefs(o.drivers, r.Known)
	if err != nil {
		return cli.WrongUsage(err)
	}
	refs, err := r.Refs(ctx, names...)
	if err != nil {
		return err
	}
	r.retyped = map[string]build.Ref{}
	for i, ref := range refs {
		if !build.Released(ref.Name, r.Known) && !slices.Contains(run.Drivers(), ref.Name) {
			return cli.Usagef("--drivers %s: run %d has no such driver: it has %s", names[i], run.ID, document.Line(strings.Join(run.Drivers(), ", ")))
		}
		r.retyped[ref.Name] = ref
	}
	return nil
}

func (o *runOptions) checkResumedPlaces(r *request) error {
	if err := cli.InOrder(o.checkTrialLimit, func() error { return o.checkPlaces(r) }); err != nil {
		return err
	}
	if run := r.resumed; run.Host == nil && run.Stopped == "" && process.InUse(r.dir, cli.RunDirectory) {
		return cli.Usagef("run %d has not ended, and something is being measured in %s: wait until that has ended", run.ID, document.Line(r.dir))
	}
	return nil
}

// resumeDrivers finds the drivers of a run in the versions that the run measured. The drivers keep the
// names that they have in the run.
func (o *runOptions) resumeDrivers(ctx context.Context, r *request, run *result.Run) error {
	a := stats.Analyze(run, lab.Floor)
	for _, name := range run.Drivers() {
		ref, ok := r.retyped[name]
		var err error
		if ok {
			ref, err = r.InMeasuredVersion(ctx, ref, name, a)
		} else {
			ref, err = r.MeasuredRef(ctx, name, a)
		}
		if err == nil {
			ref, err = r.Builder.Resolve(ctx, ref)
		}
		if err != nil {
			return cli.Usagef("run %d cannot be resumed: %w", run.ID, err)
		}
		ref.Name = name
		r.matrix.Drivers = append(r.matrix.Drivers, ref)
	}
	return nil
}

// resumeWorkloads parses the workloads of a run from the texts that the run has. It reads a file
// that the user typed again only if the text is not enough. Such a file must not have changed.
func (o *runOptions) resumeWorkloads(r *request, run *result.Run) error {
	var options []workload.Option
	if o.allowFiles {
		options = append(options, workload.AllowFiles)
	}
	var seen []string
	for i := range run.Cases {
		c := &run.Cases[i]
		if slices.Contains(seen, c.Workload) {
			continue
		}
		seen = append(seen, c.Workload)
		w, err := lab.WorkloadAgain(run, c, false, options...)
		if err != nil {
			if w, err = o.workloadFile(r, c, err); err != nil {
				return cli.Usagef("run %d cannot be resumed: workload %s: %w", run.ID, document.Line(c.Workload), err)
			}
		}
		r.matrix.Workloads = append(r.matrix.Workloads, w)
	}
	return nil
}

// workloadFile reads a workload from a file that the user typed again. The parameter "why" is the
// reason why the text that is stored with the run is not enough.
func (o *runOptions) workloadFile(r *request, c *result.Case, why error) (*workload.Workload, error) {
	if len(o.workloads) == 0 {
		return nil, fmt.Errorf("%w: name its file again with --workloads", why)
	}
	for _, file := range o.workloads {
		w, err := loadWorkload(r.dir, file, o.allowFiles)
		if err != nil || w.Name != c.Workload {
			why = cmp.Or(err, why)
			continue
		}
		if w.SHA256() != c.WorkloadSHA256 {
			return nil, fmt.Errorf("%s, or the database that it begins with, has been changed since: restore it, or start a new run", file)
		}
		return w, nil
	}
	return nil, why
}

// resumeCases plans the cases of a run again, exactly as they were planned first.
func (o *runOptions) resumeCases(r *request, run *result.Run) error {
	var planned []*lab.Case
	asked := cmp.Or(run.Asked, &result.Asked{})
	for _, w := range r.matrix.Workloads {
		cases, err := r.matrix.CasesOf(w, asked.Settings, asked.Parameters)
		if err != nil {
			return cli.Usagef("run %d cannot be resumed: %w", run.ID, err)
		}
		planned = append(planned, cases...)
	}
	for i := range run.Cases {
		c := &run.Cases[i]
		k := slices.IndexFunc(planned, func(p *lab.Case) bool { return lab.SamePlan(c, &p.Case) })
		if k < 0 {
			return cli.Usagef("run %d cannot be resumed: its case %d (%s, %s, %s) cannot be planned again: %s", run.ID, c.ID,
				document.Line(c.Workload), document.Line(c.Driver), document.Line(document.Assigned(c.Settings)), conditions.StartAgain)
		}
		planned[k].Case = *c
		r.cases = append(r.cases, planned[k])
	}
	return nil
}

// goOn notes in the store that the run continues. It returns an error if the machine or a worker
// has changed.
func (r *request) goOn(ctx context.Context, env *cli.Environment, o *runOptions, m result.Machine, st *store.Store) error {
	run := r.resumed
	if dir := run.Machine.Directory; run.Host != nil && o.dir == "" && dir != m.Directory {
		return cli.Usagef("run %d was begun in another directory there: add --dir %s", run.ID, document.Line(conditions.ShellWord(dir)))
	}
	if differ := conditions.MachinesDiffer(run.Machine, m); differ != nil {
		return cli.Usagef("run %d was begun on another machine: %s: resume it there, or start a new run here; show has the command of this one", run.ID, document.Line(strings.Join(differ, "; ")))
	}
	for i, c := range r.cases {
		before := &run.Cases[i]
		if err := conditions.SameWorker(run, before, c); err != nil {
			return cli.Usagef("run %d cannot be resumed: %s %w", run.ID, document.Line(c.Driver), err)
		}
		if before.Worker == "" { // the case had no worker before
			run.Cases[i] = c.Case
		}
	}
	// If the run is resumed once more, that resumption must use these values, not the values with which the
	// run began.
	run.Schedule.TimeNS = int64(r.schedule.Time)
	run.Machine.Directory, run.TrialLimitNS = m.Directory, int64(o.trialLimit)
	return st.Resume(ctx, run, lab.Resume(run, r.cases, env.Now()))
}

// furtherRounds returns the command that extends a run until all its figures are precise. It returns "" if
// they are precise already, if further rounds would not help, if the run is a comparison, or if the run
// cannot be extended.
func furtherRounds(o *cli.OutputOptions, a *stats.Analysis) string {
	run := a.Run
	rounds := report.FurtherRounds(a)
	switch {
	case rounds == 0 || rounds >= stats.MaxRounds || run.Compares != nil || run.Rounds == 0:
		return ""
	case run.Stopped == result.StoppedRounds:
		return fmt.Sprintf("the same command with --rounds %d", run.Rounds+rounds)
	}
	return toExtend(o, run, run.Took()/time.Duration(run.Rounds)*time.Duration(rounds))
}

// hookWords returns the flags for the commands that ran around each trial of a run.
func hookWords(h *result.Hooks) string {
	var words []string
	for flag, command := range map[string]string{"--prepare": cmp.Or(h, &result.Hooks{}).Prepare, "--cleanup": cmp.Or(h, &result.Hooks{}).Cleanup} {
		if command != "" {
			words = append(words, flag+" "+conditions.ShellWord(command))
		}
	}
	if words == nil {
		return "neither --prepare nor --cleanup"
	}
	slices.Sort(words)
	return document.And(words)
}
