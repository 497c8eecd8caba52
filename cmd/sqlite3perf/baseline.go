package main

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/sqlite3perf/sqlite3perf/cmd/sqlite3perf/internal/cli"
	"github.com/sqlite3perf/sqlite3perf/internal/conditions"
	"github.com/sqlite3perf/sqlite3perf/internal/distinct"
	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/lab"
	"github.com/sqlite3perf/sqlite3perf/internal/lab/build"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
	"github.com/sqlite3perf/sqlite3perf/internal/workload"
)

// baselineName matches the names that a baseline can have. None of them looks like the number of a run or
// like a variant of a driver, such as mattn@v1.14.22 or mattn:GOGC=400.
var baselineName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.-]*$`)

// checkBaselineName returns the value of --save-baseline, or an error if it cannot be the name of a baseline.
func (o *runOptions) checkBaselineName(r *request) (string, error) {
	name := o.saveBaseline
	switch {
	case !o.flags.Changed("save-baseline"):
		return "", nil
	case !baselineName.MatchString(name) || len(name) > 60 || isStored(name):
		return "", cli.Usagef("--save-baseline %s: want a name of letters, digits, - and _, such as main", document.Line(name))
	case isDriver(name, r.Known):
		return "", cli.Usagef("--save-baseline %s: a driver has that name: want another one, such as main", name)
	case len(o.hosts.names) > 1:
		return "", cli.Usagef("--save-baseline %s: each of several hosts has its own run: measure one host at a time", name)
	}
	return name, nil
}

func isDriver(name string, known []build.Known) bool {
	return slices.ContainsFunc(known, func(k build.Known) bool { return k.Name == name })
}

// isBaseline reports whether the store has a baseline with this name. It returns false for the name of a
// driver.
func (o *runOptions) isBaseline(ctx context.Context, name string) bool {
	shop, err := o.workers.Workshop()
	if err != nil || !baselineName.MatchString(name) || isDriver(name, shop.Known) {
		return false // if there is an error, it is reported when drivers are looked up
	}
	st, _, err := cli.ReadStore(ctx, o.output.Store)
	if err != nil {
		return false
	}
	defer st.Close()
	id, err := st.Baseline(ctx, name)
	return err == nil && id > 0
}

// isStored reports whether the argument names a stored run, a JSON report or a baseline. Any other argument
// names a driver.
func (o *runOptions) isStored(ctx context.Context, side string) bool {
	return isStored(side) || o.isBaseline(ctx, side)
}

// stored loads the stored baseline, and prepares to measure its cases again. The result "differences" lists
// how the conditions of the new measurement differ from those of the baseline.
func (o *gateOptions) stored(ctx context.Context, env *cli.Environment) (base *stats.Analysis, r *request, differences []string, err error) {
	if base, err = sampled(ctx, env, o.output.Store, o.baseline); err != nil {
		return nil, nil, nil, err
	}
	run := base.Run
	drivers := run.Drivers()
	if len(drivers) == 0 {
		return nil, nil, nil, cli.Usagef("the baseline %s has no case", o.baseline)
	}
	if err := o.checkStored(drivers); err != nil {
		return nil, nil, nil, err
	}
	for _, name := range []string{"set", "dsn", "param", "events", "scale", "seed"} {
		if cli.Typed(o.flags.Lookup(name)) {
			return nil, nil, nil, cli.Usagef("--%s: the baseline %s says what is measured: leave it out, or make a driver the baseline", name, o.baseline)
		}
	}
	if len(o.workloads) == 0 {
		o.workloads = distinct.Append(nil, document.Map(run.Cases, func(c result.Case) string { return c.Workload })...)
		for _, name := range o.workloads {
			if !slices.Contains(workload.Builtins(), name) {
				return nil, nil, nil, cli.Usagef("the baseline's workload %s is not built in: name its file with --workloads", name)
			}
		}
	}
	o.scale, o.seed = run.Scale, fmt.Sprint(run.Seed)
	r = &request{}
	err = cli.InOrder(
		func() error { return o.checkSchedule(r) },
		func() error { return o.checkDrivers(ctx, r) },
		func() error { return o.checkPlaces(r) },
		func() error { return o.checkWorkloads(r) },
		func() (err error) { differences, err = o.baselineCases(r, run); return err },
	)
	if err != nil {
		return nil, nil, nil, err
	}
	if before, now := hookWords(run.Hooks), hookWords(&o.hooks); before != now {
		differences = append(differences, fmt.Sprintf("it was measured with %s, and this would be with %s", document.Line(before), now))
	}
	more, err := o.surroundings(ctx, r, base)
	return base, r, append(differences, more...), err
}

// checkStored uses the drivers of a stored baseline as candidates if the user named none. It returns an
// error if one of these drivers is not a released driver ([build.Released]), because the baseline may be
// somebody else's.
func (o *gateOptions) checkStored(drivers []string) error {
	shop, err := o.workers.Workshop()
	if err != nil || len(o.drivers) > 0 {
		return err
	}
	for _, name := range drivers {
		if !build.Released(name, shop.Known) {
			return cli.Usagef("the baseline %s has the driver %s, which %w: name the drivers to run with --drivers", o.baseline, document.Line(name), cli.ErrRetype)
		}
	}
	o.drivers = drivers
	return nil
}

func (o *gateOptions) baselineCases(r *request, run *result.Run) (differences []string, err error) {
	r.matrix.Scale, r.matrix.Computing = o.scale, o.computing
	for _, w := range r.matrix.Workloads {
		parameters, settings := map[string][]int64{}, map[string][]string{}
		wanted := map[string]bool{}
		for _, c := range run.Cases {
			if c.Workload != w.Name {
				continue
			}
			if c.WorkloadSHA256 != w.SHA256() {
				differences = distinct.Append(differences, w.Name+" has been changed")
			}
			wanted[document.Assigned(c.Parameters)+"|"+document.Assigned(c.Settings)] = true
			for name, v := range c.Parameters {
				parameters[name] = distinct.Append(parameters[name], v)
			}
			for name, v := range c.Settings {
				settings[name] = distinct.Append(settings[name], v)
			}
		}
		cases, err := r.matrix.CasesOf(w, settings, parameters)
		if err != nil {
			return nil, cli.WrongUsage(err)
		}
		for _, c := range cases {
			if wanted[document.Assigned(c.Parameters)+"|"+document.Assigned(c.Settings)] {
				c.ID = len(r.cases) + 1
				r.cases = append(r.cases, c)
			}
		}
	}
	if len(r.cases) == 0 {
		return nil, cli.Usagef("the baseline %s has none of the workloads %s", o.baseline, strings.Join(o.workloads, ", "))
	}
	return differences, nil
}

// surroundings lists how this machine differs from the baseline's machine, and which drivers have another
// version of SQLite than in the baseline.
func (o *gateOptions) surroundings(ctx context.Context, r *request, base *stats.Analysis) ([]string, error) {
	scratch, observer, err := cli.Observed(r.dir)
	if err != nil {
		return nil, err
	}
	defer scratch.Remove()
	var differences []string
	if differ := conditions.MachinesDiffer(base.Run.Machine, observer.Machine); differ != nil {
		differences = append(differences, "it was measured on another machine: "+strings.Join(differ, ", "))
	}
	for _, ref := range r.matrix.Drivers {
		before := base.Proof(ref.Name)
		path, _, err := r.Builder.Worker(ctx, ref, nil)
		if err != nil || before == nil {
			continue // the reason will be in the results of this driver's cases
		}
		now, err := (&lab.Processes{Dir: scratch.Dir, Limit: o.trialLimit}).SQLiteVersion(ctx, ref, path)
		if err == nil && now != before.SQLiteVersion {
			differences = append(differences, fmt.Sprintf("it was measured with SQLite %s in %s, which has %s now", before.SQLiteVersion, ref.Name, now))
		}
	}
	return differences, nil
}

// baselineDriver returns the driver of a stored case in the version that was measured, and builds its
// worker. If it cannot do that, it returns an error with the reason. A driver that the user has not named
// is built only if it is released ([build.Released]), because the baseline may be somebody else's.
func (o *gateOptions) baselineDriver(ctx context.Context, env *cli.Environment, r *request, base *stats.Analysis, before *result.Case, now *lab.Case) (build.Ref, error) {
	name := before.Driver
	fail := func(format string, args ...any) (build.Ref, error) {
		return build.Ref{}, fmt.Errorf("%s %w", document.Line(name), fmt.Errorf(format, args...))
	}
	switch {
	case build.NamesExecutable(name):
		return fail("is a program, which may have changed")
	case name != now.Driver && !build.Released(name, r.Known):
		return fail("%w", cli.ErrRetype)
	}
	ref, err := build.ParseRef(ctx, name, r.Known)
	switch {
	case err != nil:
		return build.Ref{}, err
	case ref.Dir != "":
		return fail("is a checkout, which may have changed")
	case len(ref.Known.Command) > 0:
		return fail("is not built, so it is there only in the version that is installed")
	}
	if ref.Version == "" {
		proof := base.Proof(name)
		plain := result.BaseDriver(name)
		switch {
		case proof == nil:
			return fail("has proven no version")
		case !build.Released(plain+"@"+proof.ModuleVersion, r.Known):
			return fail("has proven the version %s, which %w", document.Line(proof.ModuleVersion), cli.ErrRetype)
		}
		if ref, err = build.ParseRef(ctx, plain+"@"+proof.ModuleVersion+strings.TrimPrefix(name, plain), r.Known); err != nil {
			return build.Ref{}, err
		}
	}
	if ref.Same(now.Ref) {
		return ref, nil
	}
	if ref, err = r.Builder.Resolve(ctx, ref); err != nil {
		return build.Ref{}, err
	}
	_, _, err = r.Builder.Worker(ctx, ref, func() {
		if !o.quiet {
			fmt.Fprintf(env.Stderr, "building %s, to measure it together with %s\n", ref.Name, now.Driver)
		}
	})
	return ref, err
}
